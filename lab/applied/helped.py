"""Whether advice that is applied helps: a load before it, the advice of its recording, the same load with it."""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from applied.kept import differing
from applied.served import MEMORY, Guest, write_settings
from corpus.packing import pack, read_stream
from corpus.plan import Act, Load
from tierscope.domain.knobs import facts as settings
from tierscope.usecases.knobs.answers import KnobAdvice
from tierscope.usecases.recordings.snapshot_trees import analyze_snapshots

SLOW_NS = 12_000
"""Added to an access to a page on the slow node: some six times what another one takes."""
SNAPSHOT_S = 2
JUDGED_S = 20
"""The end of a load, of which its accesses are compared."""
_MOST_BYTES = 60_000
LAB_SETTINGS = {
    "/sys/kernel/mm/transparent_hugepage/enabled": "madvise",
    settings.SCAN_PERIOD_MAX: "1000",
    settings.HOT_THRESHOLD: "5000",
    settings.WATERMARK_SCALE: "100",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A load under settings that are not good for it, and the rule whose advice is wanted."""

    name: str
    rule: str
    load: Load
    site: Mapping[str, str]


def _site(balancing: int, demotion: int, **more: str) -> dict[str, str]:
    return {settings.DEMOTION: str(demotion), settings.NUMA_BALANCING: str(balancing), **LAB_SETTINGS, **more}


CASES = (
    Case("ping-pong", "F4", Load("too-large", 1.4, (Act(1.1, 0, 60),)), _site(2, 1)),
    Case("tiering-off", "F1", Load("rests", 1.4, (Act(0.3, 0, 60),)), _site(0, 0)),
    Case("promotion-off", "F1", Load("rests", 1.4, (Act(0.3, 0, 60),)), _site(0, 1)),
    Case("limit-zero", "F4", Load("rests", 1.4, (Act(0.3, 0, 60),)), _site(2, 1, **{settings.RATE_LIMIT: "0"})),
    Case("demotion-off", "F2", Load("rests", 1.4, (Act(0.3, 0, 60),)), _site(2, 0)),
)
"""Without demotion kswapd gives up, and what runs later in that boot finds it so: that comes last."""


@dataclass(frozen=True, slots=True)
class Course:
    """Of the end of a load: shares in 0..1 of accesses and of hot pages, accesses a second. Of all: moved pages."""

    slow_ratio: float
    hot_dram_ratio: float
    accesses_per_s: float
    promoted_pages: int
    demoted_pages: int
    hint_faults: int


@dataclass(frozen=True, slots=True)
class Applied:
    """One load with its advice. `advised` names the rules; `wrong` says what did not hold."""

    kernel: str
    case: str
    advised: str
    changes: tuple[str, ...]
    before: Course
    after: Course
    wrong: tuple[str, ...]


def judge(guest: Guest, case: Case, kernel: str, agent: Path, kept: Path) -> Applied:
    """Run the load, apply what the product advises of its recording, run it again, and take the advice back."""
    at_first = guest.settings()
    guest.run(write_settings(case.site))
    before = guest.settings()
    first, recording = _run(guest, f"{kernel}-{case.name}-before", case, kept)
    given = analyze_snapshots(agent, recording).settings
    advice = next((piece for piece in given.advice if piece.rule == case.rule or case.rule in piece.rules), None)
    wrong: list[str] = []
    changes: tuple[str, ...] = ()
    if advice is None:
        wrong.append(f"{case.rule} is not advised: {', '.join(piece.rule for piece in given.advice) or 'nothing'}")
        second = first
    else:
        guest.run(advice.files.commands)
        after = guest.settings()
        wrong += [
            f"{row.path} is {after.get(row.path)}"
            for row in advice.changes
            if not _took(row.proposed, after.get(row.path))
        ]
        second, _ = _run(guest, f"{kernel}-{case.name}-after", case, kept)
        guest.run(advice.files.rollback_commands)
        wrong += [
            f"not rolled back: {path} {old} {new}" for path, (old, new) in differing(before, guest.settings()).items()
        ]
        changes = tuple(f"{row.path} {row.current} to {row.proposed}" for row in advice.changes)
    guest.run(write_settings({path: _chosen(at_first[path]) for path in case.site}))
    return Applied(kernel, case.name, _rules(advice), changes, first, second, tuple(wrong))


def _rules(advice: KnobAdvice | None) -> str:
    return "-" if advice is None else "+".join(advice.rules or (advice.rule,))


def _chosen(value: str) -> str:
    """What is in force where a file lists all that may be."""
    return value.partition("[")[2].partition("]")[0] or value


def _took(proposed: str, value: str | None) -> bool:
    return value is not None and settings.is_same_value(proposed, value)


def _run(guest: Guest, name: str, case: Case, kept: Path) -> tuple[Course, Path]:
    act = case.load.acts[0]
    arguments = [MEMORY.dram_mib * case.load.memory_ratio, 0, SLOW_NS, 0]
    line = " ".join(f"{number:.0f}" for number in arguments)
    guest.run(f"load {name} {SNAPSHOT_S} {line} {MEMORY.dram_mib * act.hot_ratio:.0f}:0:{act.seconds}\n")
    snapshots = read_stream((guest.shared / name / "snapshots").read_bytes())
    log = guest.read(f"{name}/workload.log")
    course = course_of(log, snapshots)
    facts = {"kernel": guest.read("release").strip(), "load": asdict(case.load), "slow_ns": SLOW_NS}
    packed = pack(name, snapshots, {"workload.log": log}, facts, most_bytes=_MOST_BYTES)
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{name}.tar.zst"
    path.write_bytes(packed)
    shutil.rmtree(guest.shared / name)
    return course, path


def course_of(log: str, snapshots: Mapping[int, Mapping[str, bytes]]) -> Course:
    """What the load says of its last seconds, and the kernel's counters over the whole of it."""
    rows = [dict(pair.split("=", 1) for pair in line.split()) for line in log.splitlines() if line.startswith("ts=")]
    rows = rows[-JUDGED_S:]

    def mean(name: str) -> float:
        return float(np.mean([float(row[name]) for row in rows if name in row]))

    hot = mean("hot_n0") + mean("hot_n1") + mean("hot_absent")
    accesses = np.array([float(row["ops_s"]) for row in rows])
    slow = np.array([float(row.get("slow_frac", 0)) for row in rows])
    ends = [_vmstat(snapshots[second]) for second in (min(snapshots), max(snapshots))]

    def counted(*names: str) -> int:
        return sum(ends[1].get(name, 0) - ends[0].get(name, 0) for name in names)

    return Course(
        slow_ratio=float(slow @ accesses / accesses.sum()),
        hot_dram_ratio=mean("hot_n0") / hot,
        accesses_per_s=float(accesses.mean()),
        promoted_pages=counted("pgpromote_success"),
        demoted_pages=counted("pgdemote_kswapd", "pgdemote_direct"),
        hint_faults=counted("numa_hint_faults"),
    )


def _vmstat(files: Mapping[str, bytes]) -> dict[str, int]:
    pairs = (line.split() for line in files["proc/vmstat"].decode().splitlines())
    return {name: int(value) for name, value in pairs}
