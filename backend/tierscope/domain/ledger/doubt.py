"""Files of a host that had a problem, or contradict each other: nothing that stands on one is exact or certain."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tierscope.domain.ledger.columns import Trust
from tierscope.domain.ledger.plan import ColumnPlan, Plan

NOT_UNDERSTOOD = "file-not-understood"
CONTRADICTIONS = ("container-view", "count-above-memory")
"""The agent's findings of sizes that cannot be those of one kernel, and of sizes that the kernel has wrong."""
_LEFT_OUT = "counts below zero"
"""What the agent says of a count that the kernel has wrong and that is left out: the rest of its file stands."""
_CUT = " more"
"""What ends the agent's list of such files where it names not all of them."""
_NODES = "/sys/devices/"
_SURE: frozenset[Trust] = frozenset({"exact", "bound", "sampled"})


def read_doubts(body: Mapping[str, Any]) -> tuple[str, ...]:
    """What an inventory says of such files, each with its path: of single files, else the agent's finding."""
    files = (f"{problem.get('path')}: {problem.get('reason')}" for problem in body.get("problems") or ())
    problems = tuple(problem for problem in files if _LEFT_OUT not in problem)
    causes = {finding.get("id"): str(finding.get("cause") or "") for finding in body.get("findings") or ()}
    told = problems or ((causes[NOT_UNDERSTOOD],) if NOT_UNDERSTOOD in causes else ())
    return (*told, *(f"/proc/meminfo: {causes[name]}" for name in CONTRADICTIONS if name in causes))


def list_doubts(bodies: Iterable[Mapping[str, Any] | None]) -> tuple[str, ...]:
    """Those of several hosts, each once."""
    return tuple(dict.fromkeys(doubt for body in bodies for doubt in read_doubts(body or {})))


def bears_on(doubt: str, source: str) -> bool:
    """Whether it is about a file of this source, such as `vmstat`: the file of the host, a node or a group."""
    return f"/{source}" in doubt or doubt.endswith(_CUT)


def doubt_plan(plan: Plan, keys: Sequence[str], doubts: Sequence[str]) -> Plan:
    """The plan with no column trusted whose counters, or whose nodes, stand on a file with a problem."""
    return replace(plan, columns=tuple(_doubt_column(column, keys, doubts) for column in plan.columns))


def _doubt_column(plan: ColumnPlan, keys: Sequence[str], doubts: Sequence[str]) -> ColumnPlan:
    if not plan.plus or plan.trust not in _SURE:
        return plan
    found = next(_bearing(plan, keys, doubts), None)
    return plan if found is None else replace(plan, trust="partial", note=f"{plan.note} {found}".strip())


def _bearing(plan: ColumnPlan, keys: Sequence[str], doubts: Sequence[str]) -> Iterator[str]:
    sources = {keys[place].split("|")[1] for place in (*plan.plus, *plan.minus)}
    by_node = any(keys[place].startswith(("node:", "zone:")) for place in (*plan.plus, *plan.minus))
    for doubt in doubts:
        if any(bears_on(doubt, source) for source in sources) or (by_node and _NODES in doubt):
            yield doubt
