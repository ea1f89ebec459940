"""Reads of sweeps: the list, one with its progress, its results, one run's series, and the heat of its trace."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.core.errors import NotFound
from tierscope.domain.base.pages import Page
from tierscope.domain.simulate.bands import Bands, join_bands
from tierscope.storage.simulate import sweeps as stored
from tierscope.storage.simulate.sweeps import SweepRow
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import decode_position, parse_number
from tierscope.usecases.simulate.basis import Basis
from tierscope.usecases.simulate.packed import unpack, unpack_bands
from tierscope.usecases.simulate.progress import view_sweep
from tierscope.usecases.simulate.results import make_results, read_facts, view_cell
from tierscope.usecases.simulate.spec import read_spec
from tierscope.usecases.simulate.views import (
    HeatBand,
    SharesByKind,
    StallSeconds,
    Sweep,
    SweepCell,
    SweepHeat,
    SweepResults,
    SweepRun,
    SweepRunSeries,
)

_NO_HEAT = "A worker reads the trace when the sweep begins; its heat comes then."


class SweepReads(ContextUseCase):
    """Reads of sweeps."""

    def list(self, *, service: str | None, limit: int, cursor: str | None) -> Page[Sweep]:
        """Sweeps, newest first, without those that cannot be read: the status page tells of them.

        Raises:
            BadRequest: the cursor is not one of ours.
        """
        before = None if cursor is None else decode_position(cursor)
        with self._context.database.read() as session:
            rows = stored.list_sweeps(session, service=service, before=before, limit=limit)
        return Page(tuple(_readable(rows)), str(rows[-1].id) if len(rows) == limit else None)

    def show(self, sweep_id: str) -> Sweep:
        """One sweep. Raises NotFound."""
        with self._context.database.read() as session:
            return view_sweep(_require(session, sweep_id))

    def results(self, sweep_id: str) -> SweepResults:
        """What its finished runs say. Raises NotFound."""
        with self._context.database.read() as session:
            row = _require(session, sweep_id)
            return make_results(row, stored.read_runs(session, row.id))

    def run(self, sweep_id: str, run_id: str) -> SweepRun:
        """One finished run with its series.

        Raises:
            NotFound: there is no such sweep, or no such run is finished.
        """
        with self._context.database.read() as session:
            row = _require(session, sweep_id)
            number = parse_number(run_id)
            found = None if number is None else stored.read_run(session, row.id, number)
        if number is None or found is None:
            raise NotFound(
                f"the sweep has no finished run {run_id[:20]!r}",
                next_step="GET /v1/sweeps/{id}/results lists its runs.",
            )
        spec = read_spec(row.spec)
        run = spec.runs()[number]
        body = found[0].body
        cell = view_cell(run, body, spec, Basis(read_facts(row), spec.source.window))
        values = {field.name: getattr(cell, field.name) for field in fields(SweepCell)}
        stall = body.get("stall")
        return SweepRun(
            **values,
            sweep_id=row.public_id,
            origin="simulated",
            searched=run.searched,
            totals=body.get("totals"),
            local_ratio_by_kind=body.get("local_ratio_by_kind"),
            stall_seconds=None if stall is None else _stall(stall),
            series=None if found[1] is None else _series(unpack(found[1])),
        )

    def heat(self, sweep_id: str, *, rows: int, columns: int) -> SweepHeat:
        """The heat of its trace in at most so many bands and columns. Raises NotFound."""
        with self._context.database.read() as session:
            row = _require(session, sweep_id)
            packed = stored.read_heat(session, row.id)
        facts = read_facts(row)
        if packed is None:
            return SweepHeat(row.public_id, "simulated", (), (), (), log2=True, host_name=None, reason=_NO_HEAT)
        bands = join_bands(unpack_bands(packed), rows=rows, columns=columns)
        return SweepHeat(
            sweep_id=row.public_id,
            origin="simulated",
            rows=_label(bands),
            interval=bands.intervals,
            accesses=tuple(
                tuple(None if math.isnan(value) else round(value, 3) for value in band)
                for band in np.log2(1.0 + bands.accesses).tolist()
            ),
            log2=True,
            host_name=facts.host_name if facts else None,
            reason=None,
        )


def _readable(rows: Sequence[SweepRow]) -> Iterator[Sweep]:
    for row in rows:
        with suppress(NotFound):
            yield view_sweep(row)


def _require(session: ReadSession, sweep_id: str) -> SweepRow:
    row = stored.find_sweep(session, sweep_id)
    if row is None:
        raise NotFound(f"there is no sweep {sweep_id[:80]!r}", next_step="List sweeps with GET /v1/sweeps.")
    return row


def _stall(stall: Mapping[str, float]) -> StallSeconds:
    return StallSeconds(
        slow_accesses=stall["slow_accesses_s"],
        faults=stall["faults_s"],
        hint_faults=stall["hint_faults_s"],
        tier_moves=stall["tier_moves_s"],
        total=stall["total_s"],
    )


def _series(packed: Mapping[str, Any]) -> SweepRunSeries:
    by_kind = SharesByKind(*(tuple(packed[f"local_ratio_{kind}"]) for kind in ("anon", "file", "tmpfs")))
    names = [field.name for field in fields(SweepRunSeries) if field.name != "local_ratio_by_kind"]
    others = {name: tuple(packed[name]) for name in names}
    return SweepRunSeries(local_ratio_by_kind=by_kind, **others)


def _label(bands: Bands) -> tuple[HeatBand, ...]:
    """Bands with their place among those of their kind."""
    seen: dict[str, int] = {}
    out = []
    for kind, pages in zip(bands.kinds, bands.pages, strict=True):
        seen[kind] = seen.get(kind, 0) + 1
        out.append(HeatBand(f"{kind} {seen[kind]}", kind, pages))
    return tuple(out)
