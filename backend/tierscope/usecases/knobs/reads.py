"""Reads of knob advice: which settings of a host to change, why, what to expect, and how its group is set."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin, Window, doubt_figures
from tierscope.domain.knobs import Facts, advise
from tierscope.domain.knobs.gather import gather
from tierscope.domain.knobs.levels import Samples, wanted_keys
from tierscope.domain.knobs.machine import SubtractedMemory, list_subtracted
from tierscope.domain.ledger import steady_intervals
from tierscope.domain.ratio.memory_bound import bandwidth_keys
from tierscope.storage.base.layouts import read_layouts
from tierscope.storage.base.subjects import SubjectHost, newest_inventories
from tierscope.storage.counters.rows import layouts_in, read_keys
from tierscope.storage.knobs.advice import Subject, read_stored
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_subject_host
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.knobs.answers import (
    Basis,
    KnobAdvice,
    UnknownRule,
    WaitingAdvice,
    WithheldRule,
    view_given,
)
from tierscope.usecases.knobs.groups import KnobState, KnownSettings, read_knob_states
from tierscope.usecases.knobs.heat import HostHeat, less_unmovable, read_host_heat
from tierscope.usecases.ledger.sources import HostLedger, read_ledgers

DEFAULT_WINDOW = timedelta(hours=6)
NO_RECENT = (
    "No counters of single nodes in the window, which are kept for a day: free memory, spill and bursts are not known."
)


@dataclass(frozen=True, slots=True)
class KnobLeadingFigures:
    """The two figures that people act on."""

    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure


@dataclass(frozen=True, slots=True)
class HostKnobAdvice:
    """Settings of a host to change, in which order, and why."""

    host_id: str
    origin: Origin
    window: Window
    verdict: str
    explanation: str
    leading: KnobLeadingFigures
    subtracted: tuple[SubtractedMemory, ...]
    advice: Annotated[tuple[KnobAdvice, ...], Described("In the order in which to try them, one at a time.")]
    waiting: tuple[WaitingAdvice, ...]
    nothing_to_do: KnobAdvice | None
    unknown: tuple[UnknownRule, ...]
    knobs: Annotated[tuple[KnobState, ...], Described("Settings beside those of peer hosts.", as_of="inventory")]
    notes: tuple[str, ...]
    withheld: Annotated[
        tuple[WithheldRule, ...], Described("Rules whose conditions hold and that something on this host forbids.")
    ] = ()
    notices: Annotated[
        tuple[KnobAdvice, ...], Described("What is to be known of the host and is no change of a setting.")
    ] = ()


class KnobReads:
    """Knob advice of hosts."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context
        self._settings = KnownSettings()

    def host(self, host_id: str, *, from_: str | None, to: str | None) -> HostKnobAdvice:
        """Advice on one host's settings.

        Raises:
            NotFound: no such host.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now, default=DEFAULT_WINDOW)
        with self._context.database.read() as session:
            host = require_subject_host(session, host_id)
            view = _with_group(session, host, advise_host(session, host, window, now), self._settings)
            return _with_cards(session, host, view)


def _with_group(
    session: ReadSession, host: SubjectHost, view: HostKnobAdvice, settings: KnownSettings
) -> HostKnobAdvice:
    """The answer with the host's settings beside those of its group."""
    inventory = newest_inventories(session, [host.id], view.window.end).get(host.id)
    return replace(view, knobs=read_knob_states(session, host, inventory, now=view.window.end, settings=settings))


def _with_cards(session: ReadSession, host: SubjectHost, view: HostKnobAdvice) -> HostKnobAdvice:
    """The answer with the ids under which its pieces are stored, so that a decision or an experiment can name them."""
    stored = read_stored(session, Subject(host.id, is_host=True))
    cards = {key: card.public_id for key, card in stored.items() if card.status != "gone"}
    return replace(view, advice=tuple(replace(piece, advice_id=cards.get(piece.rule)) for piece in view.advice))


def advise_host(session: ReadSession, host: SubjectHost, window: Window, now: datetime) -> HostKnobAdvice:
    """Judge one host over the window with all that is known of it.

    Its settings beside those of its group are left out: advice does not follow from them, and reading hundreds of
    inventories for each host would cost more than all else.
    """
    part = read_ledgers(session, [host], window)[0]
    inventory, before = (newest_inventories(session, [host.id], at).get(host.id) for at in (window.end, window.start))
    verdict = part.course().verdict
    heat = read_host_heat(session, host, window, now=now)
    samples = _read_samples(session, host, window)
    facts = gather(inventory, samples, part.ledger, verdict, heat.facts, before=before)
    subtracted = list_subtracted(inventory)
    given = doubt_figures(view_given(advise(facts), _basis(part, window)), part.machine.doubts)
    return copied(
        HostKnobAdvice,
        given,
        host_id=host.public_id,
        origin=host.origin,
        window=window,
        verdict=verdict.word,
        explanation=verdict.explanation,
        leading=KnobLeadingFigures(heat.hot_outside_dram_bytes, _movable(heat, facts)),
        subtracted=subtracted,
        knobs=(),
        notes=_notes(facts, samples),
    )


def _read_samples(session: ReadSession, host: SubjectHost, window: Window) -> Samples | None:
    """Counters of nodes and zones in the window; None where they are no longer kept one by one."""
    layout_ids = layouts_in(session, host.id, window.start, window.end)
    layouts = read_layouts(session, layout_ids).values()
    keys = sorted({key for names in layouts for key in (*wanted_keys(names), *bandwidth_keys(names))})
    if not keys:
        return None
    block = read_keys(session, host.id, keys, layout_ids, window.start, window.end)
    if not len(block):
        return None
    times_s = block.times_us.astype(np.float64) / 1e6
    return Samples(times_s, block.boots, block.keys, block.values, block.present)


def _basis(part: HostLedger, window: Window) -> Basis:
    seconds = float(part.ledger.dt_seconds.sum())
    intervals = int(steady_intervals(part.ledger).sum()) if len(part.ledger.times_s) else 0
    return Basis(window, intervals, min(seconds / window.seconds, 1.0) if window.seconds else None)


def _movable(heat: HostHeat, facts: Facts) -> Figure:
    """Cold bytes in DRAM less what cannot move: a lower bound where unmovable memory is known."""
    cold, stays = heat.cold_in_dram_bytes, facts.host.unmovable_bytes
    return cold if not stays else less_unmovable(cold, stays)


def _notes(facts: Facts, samples: Samples | None) -> tuple[str, ...]:
    found: Sequence[str] = (
        "One change set at a time, on a canary of five hosts or more for a day; advice expires after 14 days.",
    )
    if not facts.host.has_slow_tier:
        found = ("The host has one memory tier, or does not say which node is in which: no tiering setting fits it.",)
    return tuple(found) if samples is not None else (*found, NO_RECENT)
