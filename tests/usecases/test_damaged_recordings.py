"""Recorded hosts whose lists were cut off, masked or overwritten: what is missing is not the kernel's."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factories.snapshot_trees import Tree, unpack
from tierscope.cli.base.source_tree import find_agent
from tierscope.usecases.recordings.snapshot_trees import MovesAnalysis, analyze_snapshots

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


KEEPS = ("/proc/sys/", "/sys/devices/system/node/node1", "/sys/module/", "/sys/block", "/hugepages")
"""Settings and the likes of files that are taken already."""


def files_of(snapshot: Path) -> Iterator[str]:
    """Files of a snapshot that describe the host, a node and a group: one of each kind."""
    for path in sorted(path for path in snapshot.rglob("*") if path.is_file()):
        name = str(path.relative_to(snapshot))
        if len(path.read_text(errors="replace")) > 8 and not any(f"/{name}".startswith(kept) for kept in KEEPS):
            yield name


def kinds_of(snapshot: Path) -> list[str]:
    """By their names without numbers, those of processes left out."""
    kinds: dict[str, str] = {}
    for name in files_of(snapshot):
        folder, _, file = re.sub(r"[0-9]+", "", name).rpartition("/")
        group = "cgroup" if folder.startswith("sys/fs/cgroup") else folder
        if not re.match(r"proc/[0-9]+/", name):
            kinds.setdefault(f"{group}/{file}", name)
    return list(kinds.values())


def good_evidence(found: MovesAnalysis) -> list[str]:
    """Figures of good grade that advice on settings stands on."""
    evidence = (one.figure for piece in found.settings.advice for one in piece.evidence)
    return [figure.definition for figure in evidence if figure is not None and figure.grade == "good"]


def padded(text: str) -> str:
    """As `tar` stores a file whose size is announced as that of a page."""
    return text + "\0" * (-len(text) % 4096)


def of_another_system(text: str) -> str:
    """Lines that end as those of DOS do."""
    return text.replace("\n", "\r\n")


@pytest.mark.parametrize("change", [padded, of_another_system])
def test_padding_and_ends_of_lines_change_nothing(change: Callable[[str], str], tmp_path: Path) -> None:
    assert AGENT is not None
    whole = unpack("01-baseline-fits", tmp_path, step=12)
    tree = Tree(whole, tmp_path / "changed")
    names = [str(path.relative_to(tree.snapshots[-1])) for path in tree.snapshots[-1].rglob("*") if path.is_file()]
    for name in names:
        tree.edit(name, lambda text, _: change(text))

    found = analyze_snapshots(AGENT, tree.path)

    assert found == analyze_snapshots(AGENT, whole)
    assert found.problems == ()


def test_what_is_absent_makes_no_other_number(tmp_path: Path) -> None:
    assert AGENT is not None
    whole = unpack("01-baseline-fits", tmp_path, step=12)
    before = {total.key: total.value for total in analyze_snapshots(AGENT, whole).totals}
    changed = []
    for number, name in enumerate(kinds_of(min(path for path in whole.iterdir() if path.is_dir()))):
        tree = Tree(whole, tmp_path / str(number))
        for snapshot in tree.snapshots:
            (snapshot / name).unlink(missing_ok=True)
        found = analyze_snapshots(AGENT, tree.path)
        changed += [(name, total.key) for total in found.totals if total.value not in (None, before[total.key])]
    assert changed == []


def test_sums_that_cannot_be_make_nothing_certain(tmp_path: Path) -> None:
    assert AGENT is not None
    whole = {name: unpack(name, tmp_path) for name in ("01-baseline-fits", "04-pingpong")}
    before = {name: analyze_snapshots(AGENT, path) for name, path in whole.items()}
    assert before["01-baseline-fits"].verdict.confidence == "certain"
    assert good_evidence(before["04-pingpong"])
    for name, path in whole.items():
        view = Tree(path, tmp_path / f"view-of-{name}").edit(
            "proc/meminfo", lambda text, _: re.sub(r"(?m)^(MemTotal|MemFree): .*$", r"\1: 65536 kB", text)
        )
        found = analyze_snapshots(AGENT, view.path)
        assert found.verdict.confidence != "certain"
        assert good_evidence(found) == []


def test_nothing_is_exact_or_certain_that_stands_on_a_file_with_a_problem(tmp_path: Path) -> None:
    assert AGENT is not None
    whole = unpack("01-baseline-fits", tmp_path, step=12)
    first = min(path for path in whole.iterdir() if path.is_dir())
    before = analyze_snapshots(AGENT, whole)
    assert before.problems == ()
    assert any(total.trust == "exact" for total in before.totals)
    seen = set()
    for number, name in enumerate(kinds_of(first)):
        tree = Tree(whole, tmp_path / str(number)).edit(name, lambda text, _: text[: len(text.rstrip()) * 2 // 3])
        text = (first / name).read_text(errors="replace")
        found = analyze_snapshots(AGENT, tree.path)
        if not any(name in problem for problem in found.problems):
            continue
        seen.add(name)
        assert found.verdict.word == "not_known" or found.verdict.confidence != "certain", name
        assert good_evidence(found) == [], name
        stands = [
            total
            for total in found.totals
            if any(re.search(rf"^{one}\b", text, re.MULTILINE) for one in total.counters)
        ]
        exact = [total.key for total in stands if total.trust == "exact"]
        # Groups have counters of the host's names, and so has numastat, of which vmstat has the sums.
        assert exact == [] or name.startswith("sys/fs/cgroup/") or name.endswith("/numastat"), (name, exact)
    assert {"proc/vmstat", "proc/meminfo"} <= seen
    assert any(name.startswith("sys/devices/system/node/") for name in seen)
