"""Recorded hosts whose lists were cut off, masked or overwritten: what is missing is not the kernel's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from factories.snapshot_trees import Tree, unpack
from tierscope.cli.base.source_tree import find_agent
from tierscope.usecases.recordings.snapshot_trees import analyze_snapshots

AGENT = find_agent()
pytestmark = pytest.mark.skipif(AGENT is None, reason="the agent's program is not built: run `make agent`")
VMSTAT = "proc/vmstat"


@pytest.mark.parametrize(
    ("damage", "is_seen"),
    [
        pytest.param(lambda _: "", True, id="empty"),
        pytest.param(lambda text: text[: text.index("nr_dirty ")], False, id="cut-early"),
        pytest.param(lambda text: text[: text.index("pgfault")], False, id="cut-before-the-faults"),
        pytest.param(lambda _: "cat: read error: Input/output error\n", True, id="overwritten"),
    ],
)
def test_what_a_damaged_list_lacks_is_not_said_of_the_kernel(
    damage: Callable[[str], str], *, is_seen: bool, tmp_path: Path
) -> None:
    assert AGENT is not None
    whole = unpack("04-pingpong", tmp_path, step=8)
    lacking = {total.key for total in analyze_snapshots(AGENT, whole).totals if total.trust == "not_supported"}
    tree = Tree(whole, tmp_path / "damaged").edit(VMSTAT, lambda text, _: damage(text))

    read = analyze_snapshots(AGENT, tree.path)

    missing = {total.key: total for total in read.totals if total.value is None and total.key not in lacking}
    assert {"migrate_success_pages", "hint_faults"} <= missing.keys()
    assert {total.trust for total in missing.values()} == {"not_collected"}
    assert all("did not come whole" in total.note for total in missing.values())
    assert any(VMSTAT in problem for problem in read.problems) is is_seen
