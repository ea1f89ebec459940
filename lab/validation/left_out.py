"""Both halves of the corpus, of which rules were made on one, replayed with three seeds, and why rows fail."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TypeVar

from tierscope.domain.simulate.claims import Claim, claim_regime
from validation import corpus
from validation.kernel_lab import FACTOR, FEW_PAGES, Found, compare
from validation.recordings import Recording
from validation.tables import Row, table, verdict

G = TypeVar("G")
T = TypeVar("T")

SEEDS = (1, 2, 3)
POINTS = 0.08
HEADER: Row = ("recording", "promotions", "demotions", "moves", "local", "points", "share")
CAUSES: Mapping[str, str] = {
    "-cxl-": "Emulated CXL memory: each copy of a page takes milliseconds of the real machine, while a demotion here "
    "takes what it takes in the other layouts.",
    "nvdimm-small-huge-pages": "The kernel puts broken pieces together again (`kcompactd`), and demotes more while "
    "memory fills; the replay does neither.",
    "flood": "Demotions of files are cheaper than those of mapped pages, which the replay does not tell apart: kswapd "
    "falls behind, and hot pages find less room. Files of an interval come before its hint faults, and take none of "
    "their room.",
    "6.12-hmat-large-moves-slower-default": "The kernel demotes 85,000 pages that it does not promote, of which no "
    "counter says why.",
    "6.1-nvdimm": "As many moves as in the kernel, but fewer of the pages that go down are hot: classic lists tell "
    "hot from cold better here.",
}
"""What may be the cause where a row fails, by what its name has; the first that fits."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One recording with the load drawn anew by each seed. Pages of the whole machine, shares in 0..1."""

    name: str
    found: tuple[Found, ...]

    @property
    def kernel(self) -> Found:
        """The kernel's numbers, which no seed changes."""
        return self.found[0]

    @property
    def points(self) -> float:
        """Replayed share of local accesses less the kernel's, on average."""
        return mean(one.local[1] for one in self.found) - self.kernel.local[0]

    @property
    def share_passes(self) -> bool:
        """Whether the local share is within eight points."""
        return abs(self.points) <= POINTS

    @property
    def claim(self) -> Claim:
        return claim_regime("kernel", self.kernel.regime, 1.0)

    @property
    def are_moves_claimed(self) -> bool:
        return self.claim.moves_factor is not None

    @property
    def moves_pass(self) -> bool:
        """Whether promotions and demotions are within a factor of two on average, or differ by a few pages."""
        pairs = (
            (self.kernel.promoted[0], mean(one.promoted[1] for one in self.found)),
            (self.kernel.demoted[0], mean(one.demoted[1] for one in self.found)),
        )
        return all(
            abs(kernel - replayed) < FEW_PAGES or (kernel > 0 and 1 / FACTOR <= replayed / kernel <= FACTOR)
            for kernel, replayed in pairs
        )

    def row(self) -> Row:
        local = [one.local[1] for one in self.found]
        return (
            self.name,
            _counted(self.kernel.promoted[0], [one.promoted[1] for one in self.found]),
            _counted(self.kernel.demoted[0], [one.demoted[1] for one in self.found]),
            verdict(passed=self.moves_pass) if self.are_moves_claimed else "not claimed",
            f"{mean(local):.3f} ± {_half(local):.3f} / {self.kernel.local[0]:.3f}",
            f"{100 * self.points:+.1f}",
            verdict(passed=self.share_passes),
        )


def _half(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / 2


def _counted(kernel: float, replayed: Sequence[float]) -> str:
    if not kernel:
        return f"{mean(replayed):,.0f} / 0"
    ratios = [value / kernel for value in replayed]
    return f"{mean(replayed):,.0f} / {kernel:,.0f} = {mean(ratios):.2f} ± {_half(ratios):.2f}"


def replay(name: str) -> Replayed:
    """A recording of the corpus under each seed."""
    return _replay(corpus.read(name))


def _replay(recording: Recording) -> Replayed:
    return Replayed(recording.name, tuple(compare(recording, seed=seed) for seed in SEEDS))


def replay_archive(path: Path) -> Replayed:
    """A recording that is not of the corpus under each seed."""
    return _replay(corpus.read_archive(path))


def replay_all(recordings: Sequence[str]) -> list[Replayed]:
    """All of these, on every core."""
    return replay_on_all_cores(replay, recordings)


def replay_on_all_cores(one: Callable[[G], T], recordings: Sequence[G]) -> list[T]:
    with ProcessPoolExecutor() as cores:
        return list(cores.map(one, recordings))


def names(*, left_out: bool = True) -> list[str]:
    """Those that are left out, or those that rules were made on."""
    return [name for name in corpus.names() if corpus.is_left_out(name) == left_out]


def section(replayed: Sequence[Replayed]) -> str:
    """The table, how many pass by kernel, and the names of those that fail."""
    kernels = sorted({one.name.partition("-")[0] for one in replayed})
    count: list[Row] = []
    for kernel in [*kernels, "all"]:
        own = [one for one in replayed if kernel in ("all", one.name.partition("-")[0])]
        claimed = [one.moves_pass for one in own if one.are_moves_claimed]
        shares, worst = sum(one.share_passes for one in own), max(abs(one.points) for one in own)
        moves = (str(sum(claimed)), str(len(claimed) - sum(claimed)), str(len(own) - len(claimed)))
        count.append((kernel, str(len(own)), str(shares), f"{100 * worst:.1f}", *moves))
    head: Row = (
        "kernel",
        "recordings",
        "share within 8 points",
        "worst, points",
        "moves within 2 times",
        "not within",
        "not claimed",
    )
    return table(HEADER, [one.row() for one in replayed]) + "\n" + table(head, count) + "\n" + _failing(replayed)


def _failing(replayed: Sequence[Replayed]) -> str:
    failing = [one.name for one in replayed if not one.share_passes or (one.are_moves_claimed and not one.moves_pass)]
    lines, unclaimed = [], [one for one in replayed if not one.are_moves_claimed]
    for reason in dict.fromkeys(one.claim.moves_reason for one in unclaimed):
        own = [one.name for one in unclaimed if one.claim.moves_reason == reason]
        lines.append(f"- {reason} Counted neither as pass nor as fail: {', '.join(own)}.")
    for named, cause in CAUSES.items():
        own = [name for name in failing if named in name]
        failing = [name for name in failing if name not in own]
        if own:
            lines.append(f"- {cause} Failing, by what may be the cause: {', '.join(own)}.")
    if failing:
        lines.append(f"- Failing, and the cause is not known: {', '.join(failing)}.")
    return "\n".join(lines) + "\n"
