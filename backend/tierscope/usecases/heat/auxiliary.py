"""Figures that stand beside heat and are none: written and dirty bytes, and the insides of huge pages."""

from dataclasses import dataclass, replace
from typing import Annotated

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, absent
from tierscope.domain.heat import CLASSES, WINDOWS, HeatClass, Rule
from tierscope.domain.heat.source import HeatSource
from tierscope.domain.heat.summary import ClassParts, Part
from tierscope.usecases.heat.figures import Evidence

SKEWED_BELOW = 0.1
"""Share of a huge page's bytes that its active sub-pages make up, below which splitting it may pay (analytics a3)."""
_NOT_TRACKED = (
    "Writes are not tracked here: a service opts in on its hosts (soft-dirty or userfaultfd, `heat.write_tracking`)."
)
_NO_DIRTY = "Only the collector `referenced` reads how much of each mapping is dirty (smaps)."
_NO_SUBPAGES = "No collector here tells the sub-pages of huge pages apart, or none of them was active."
_ALL_PAGES = "All resident pages were scanned: the figures are not scaled up from a sample."


@dataclass(frozen=True, slots=True)
class WrittenWindow:
    """Memory written within w intervals, from write tracking: shown beside heat, never as heat."""

    intervals: int
    bytes: Figure
    ratio: Figure


@dataclass(frozen=True, slots=True)
class ClassPart:
    """How much of a part of resident memory lies in one class: which pages make it up is known by their row alone."""

    heat_class: HeatClass
    bytes_lower: Figure
    bytes_upper: Figure


@dataclass(frozen=True, slots=True)
class DirtyMemory:
    """Memory that has to be saved to its file or to swap before it can be given away; `ratio` is of what is known."""

    bytes: Figure
    ratio: Figure
    classes: tuple[ClassPart, ...]


@dataclass(frozen=True, slots=True)
class HugePages:
    """Hot bytes of huge pages: as whole pages (upper), and of the sub-pages that were seen active (lower).

    `skewed`: the lower bound is below a tenth of the upper one, so that splitting may pay; null where not known.
    """

    hot_bytes_upper: Figure
    hot_bytes_lower: Figure
    skewed: bool | None


@dataclass(frozen=True, slots=True)
class BesideHeat:
    """What stands beside heat: the size of the sample that it was scaled up from, writes, dirty and huge pages."""

    sampled_pages: Figure
    written: tuple[WrittenWindow, ...]
    written_classes: Annotated[
        tuple[ClassPart, ...],
        Described("Of the bytes written within the longest window: hot memory that nobody writes stands apart."),
    ]
    dirty: DirtyMemory
    huge_pages: HugePages


def view_beside(source: HeatSource | None, rule: Rule, evidence: Evidence) -> BesideHeat:
    """What stands beside the heat of a service; what was not measured says so."""
    longest = None if source is None else source.class_parts("written_bytes", len(WINDOWS) - 1, rule)
    writes = replace(evidence, method="writes")
    return BesideHeat(
        sampled_pages=_sampled(source, evidence),
        written=_written(source, writes),
        written_classes=_classes("writes.written_", longest, writes, _NOT_TRACKED),
        dirty=_dirty(source, rule, evidence),
        huge_pages=view_huge_pages(source, evidence),
    )


def _dirty(source: HeatSource | None, rule: Rule, evidence: Evidence) -> DirtyMemory:
    size, share = _part("dirty.", None if source is None else source.part("dirty_bytes"), 0, evidence, _NO_DIRTY)
    parts = None if source is None else source.class_parts("dirty_bytes", 0, rule)
    return DirtyMemory(size, share, _classes("dirty.", parts, evidence, _NO_DIRTY))


def _part(name: str, found: Part | None, at: int, evidence: Evidence, missing: str) -> tuple[Figure, Figure]:
    """A part of resident memory in bytes and as a share of what is known; `missing` says why there is none."""
    if found is None:
        reason = evidence.nothing or missing
        return (
            absent(f"{name}bytes/1", "bytes", "not_collected", reason, window=evidence.window),
            absent(f"{name}ratio/1", "ratio", "not_collected", reason, window=evidence.window),
        )
    size = float(found.bytes[at])
    share = evidence.bytes(f"{name}ratio/1", size / found.of, None, None)
    return evidence.bytes(f"{name}bytes/1", size, None, None), replace(share, unit="ratio")


def _classes(name: str, parts: ClassParts | None, evidence: Evidence, missing: str) -> tuple[ClassPart, ...]:
    """The bounds of each class under definitions that begin with `name`; `missing` says why there are none."""

    def bound(heat_class: HeatClass, side: str, bytes_: float | None) -> Figure:
        definition = f"{name}{heat_class}_bytes_{side}/1"
        if bytes_ is None:
            reason = evidence.nothing or missing
            return absent(definition, "bytes", "not_collected", reason, window=evidence.window)
        return evidence.bytes(definition, bytes_, None, None)

    return tuple(
        ClassPart(
            heat_class,
            bound(heat_class, "lower", None if parts is None else float(parts.lo[at])),
            bound(heat_class, "upper", None if parts is None else float(parts.hi[at])),
        )
        for at, heat_class in enumerate(CLASSES)
    )


def _sampled(source: HeatSource | None, evidence: Evidence) -> Figure:
    definition, pages = "heat.sampled_pages/1", None if source is None else source.sampled_pages()
    if pages is None:
        status, reason = ("not_collected", evidence.nothing) if evidence.nothing else ("not_supported", _ALL_PAGES)
        return absent(definition, "pages", status, reason, window=evidence.window, method=evidence.method)  # type: ignore[arg-type]
    return replace(evidence.bytes(definition, pages, None, None), unit="pages")


def _written(source: HeatSource | None, evidence: Evidence) -> tuple[WrittenWindow, ...]:
    found = None if source is None else source.part("written_bytes")
    return tuple(
        WrittenWindow(length, *_part("writes.written_", found, at, evidence, _NOT_TRACKED))
        for at, length in enumerate(WINDOWS)
    )


def view_huge_pages(source: HeatSource | None, evidence: Evidence) -> HugePages:
    """Hot bytes of huge pages as whole pages, and of their sub-pages alone."""
    upper, lower = "heat.huge_hot_bytes_upper/1", "heat.huge_hot_bytes_lower/1"
    found = None if source is None else source.huge_pages()
    if found is None:
        reason = evidence.nothing or _NO_SUBPAGES
        high, low = (absent(name, "bytes", "not_collected", reason, window=evidence.window) for name in (upper, lower))
        return HugePages(high, low, None)
    return HugePages(
        evidence.bytes(upper, found.hot_bytes, None, None),
        evidence.bytes(lower, found.hot_bytes_lower, None, None),
        found.hot_bytes_lower < SKEWED_BELOW * found.hot_bytes,
    )
