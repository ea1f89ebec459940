"""What `tierscope knobs` prints, and the advice in `tierscope analyze`: documents (docs/analyze-json.md) and text."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tierscope.domain.base.figures import Figure
from tierscope.domain.knobs.machine import SubtractedMemory
from tierscope.usecases.knobs.answers import GivenView, KnobAdvice, UnknownRule, WaitingAdvice, first_of
from tierscope.usecases.knobs.reads import HostKnobAdvice
from tierscope.usecases.recordings.snapshot_trees import MovesAnalysis

SCHEMA = "tierscope.knobs/1"
_NO_HEAT = "A snapshot tree has counters and no heat."
_SHOWN = ("Hot memory outside DRAM", "Cold memory in DRAM")


def advice_document(given: GivenView) -> dict[str, Any]:
    """The fields that say what the rules found, the same wherever advice is printed."""
    return {
        "advice": [_plain(piece) for piece in given.advice],
        "first_advice": _plain(first_of(given.advice)),
        "waiting": [_plain(piece) for piece in given.waiting],
        "nothing_to_do": _plain(given.nothing_to_do),
        "unknown": [_plain(piece) for piece in given.unknown],
        "withheld": [_plain(piece) for piece in given.withheld],
        "notices": [_plain(piece) for piece in given.notices],
    }


def tree_document(path: Path, found: MovesAnalysis) -> dict[str, Any]:
    """The answer on a snapshot tree."""
    return {
        "schema": SCHEMA,
        "path": str(path),
        "host_id": None,
        "verdict": found.verdict.word,
        "explanation": found.verdict.explanation,
        "leading": None,
        "subtracted": [_plain(row) for row in found.subtracted],
        **advice_document(found.settings),
        "knobs": [],
        "notes": [_NO_HEAT],
    }


def given_of(found: HostKnobAdvice) -> GivenView:
    """What the rules found on a host."""
    return GivenView(found.advice, found.waiting, found.nothing_to_do, found.unknown, found.withheld, found.notices)


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def describe_tree(found: MovesAnalysis) -> str:
    """The answer on a snapshot tree for people."""
    lines = [f"Verdict: {found.verdict.word}. {found.verdict.explanation}", f"Heat: not collected. {_NO_HEAT}"]
    return "\n".join([*lines, *_subtracted(found.subtracted), "", *describe_advice(found.settings)])


def describe_host(found: HostKnobAdvice) -> str:
    """The answer on a host for people: first the two figures that they act on."""
    figures = (found.leading.hot_outside_dram_bytes, found.leading.cold_in_dram_bytes)
    lines = [f"{name}: {_figure(figure)}" for name, figure in zip(_SHOWN, figures, strict=True)]
    lines += [*_subtracted(found.subtracted), f"Verdict: {found.verdict}. {found.explanation}", ""]
    lines += describe_advice(given_of(found))
    unlike = [row for row in found.knobs if row.differs]
    if unlike:
        lines += ["", "Set unlike most hosts of its group:"]
        lines += [f"  {row.path}: {row.current}, most have {row.group_norm}" for row in unlike]
    return "\n".join([*lines, "", *found.notes])


def describe_advice(given: GivenView) -> list[str]:
    """What the rules found, in words."""
    lines: list[str] = []
    for number, piece in enumerate(given.advice, start=1):
        lines += [f"{number}. {piece.rule}: {piece.title}", *_piece(piece)]
    lines += [line for waiting in given.waiting for line in _waits(waiting)]
    if given.nothing_to_do is not None:
        lines += [f"{given.nothing_to_do.rule}: {given.nothing_to_do.title}. {given.nothing_to_do.note or ''}".rstrip()]
        lines += _found(given.nothing_to_do)
    if not lines:
        lines = ["No change is advised." if given.withheld else "No rule fires."]
    for notice in given.notices:
        lines += [f"Note, {notice.rule}: {notice.title}", *_piece(notice)]
    lines += [f"Not given, {row.rule}: {row.why}" for row in given.withheld]
    return [*lines, *_unknown(given.unknown)]


def _piece(piece: KnobAdvice) -> list[str]:
    lines = [f"   {change.path}: {change.current} -> {change.proposed}" for change in piece.changes]
    lines += _found(piece)
    lines.append(f"   effect: {piece.effect}" + ("" if piece.effect_figure is None else f" {_effect(piece)}"))
    lines.append(f"   risk: {piece.risk}")
    lines += [f"   keep: {row.path}" for row in piece.files.destinations]
    lines += [f"   roll back: {line}" for line in piece.files.rollback_commands.splitlines()]
    lines += [f"   roll back, where kept: {line}" for line in piece.files.forget_commands.splitlines()]
    lines.append(f"   verify: {piece.verify}")
    return lines if piece.note is None else [*lines, f"   note: {piece.note}"]


def _found(piece: KnobAdvice) -> list[str]:
    return [f"   evidence: {row.metric} {row.value:,.4g} {row.unit}" for row in piece.evidence]


def _effect(piece: KnobAdvice) -> str:
    figure = piece.effect_figure
    if figure is None or figure.value is None:
        return ""
    around = figure.interval
    ends = "" if around is None else f", between {around.lo:,.4g} and {around.hi:,.4g}"
    return f"[{figure.value:,.4g} {figure.unit}{ends}; {figure.grounding}]"


def _waits(waiting: WaitingAdvice) -> list[str]:
    piece = waiting.advice
    changes = "; ".join(f"{change.path}: {change.current} -> {change.proposed}" for change in piece.changes)
    return [f"Later, {piece.rule}: {piece.title} ({changes or 'no setting'})", f"   {waiting.why}"]


def _unknown(rules: Sequence[UnknownRule]) -> list[str]:
    return [f"Not judged, {row.rule}: lacks {'; '.join(row.missing)}." for row in rules]


def _subtracted(rows: Sequence[SubtractedMemory]) -> list[str]:
    return [f"Cannot move: {row.what}, {_mib(row.bytes)}" for row in rows if row.bytes]


def _figure(figure: Figure) -> str:
    if figure.value is None:
        return f"{figure.status.replace('_', ' ')}. {figure.reason or ''}".rstrip()
    around = figure.interval
    return _mib(figure.value) + ("" if around is None else f" [{_mib(around.lo)}, {_mib(around.hi)}]")


def _mib(value: float | None) -> str:
    return "-" if value is None else f"{value / 2**20:,.1f} MiB"
