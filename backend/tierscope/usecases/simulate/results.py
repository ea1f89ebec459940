"""From stored runs to figures with their evidence, the frontier, and the searches. Everything here is simulated."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from tierscope.domain.base.figures import Figure, Interval
from tierscope.domain.simulate import Claim, Ends
from tierscope.domain.simulate.frontier import Point, cost_ratio, find_frontier
from tierscope.domain.simulate.knob_search import WITHIN_RATIO, Optimum, Tried, find_optimum
from tierscope.domain.simulate.swap_devices import DEVICE_LABELS, LEVEL
from tierscope.domain.simulate.sweep import SweepRun
from tierscope.storage.simulate.sweeps import RunRow, SweepRow
from tierscope.usecases.simulate.basis import Basis
from tierscope.usecases.simulate.load import Facts
from tierscope.usecases.simulate.progress import label_of
from tierscope.usecases.simulate.spec import StoredSpec, read_spec
from tierscope.usecases.simulate.views import (
    Flatness,
    FrontierPoint,
    OraclePoint,
    SearchBest,
    SearchPoint,
    SweepCell,
    SweepResults,
    SweepSearch,
    SweepSwap,
)

_GROUNDING = "A model of swap devices, compared with ZNSwap: docs/validation.md"
_NOTHING_WRITTEN = "Nothing is written to flash."
_NO_SWAP_INS = "Nothing is swapped in."
_UNSETTLED = "Too little is written for the flash to be in a steady state: amplification may still grow."


def view_swap(use: Mapping[str, Any] | None, basis: Basis) -> SweepSwap | None:
    """A stored `DeviceUse` with its evidence; None where nothing swapped.

    Without figures each of them says why: the area is too small for the model, or the device has no room.
    """
    if use is None:
        return None
    point = use["point"]
    tenant = point["tenants"][0] if point["tenants"] else {}
    warnings = (_UNSETTLED,) if use["is_settled"] is False else ()

    def make(name: str, unit: str, found: Mapping[str, float] | None, reason: str, scale: float = 1.0) -> Figure:
        value = None if found is None else found["value"] * scale
        figure = basis.figure(f"simulator.swap_{name}/1", unit, value, point["error"] or reason)
        if found is None:
            return figure
        interval = Interval(found["lo"] * scale, found["hi"] * scale, LEVEL, "confidence")
        return replace(figure, interval=interval, grounding=_GROUNDING, warnings=(*figure.warnings, *warnings))

    return SweepSwap(
        device=point["device"],
        label=DEVICE_LABELS[point["device"]],
        used_ratio=basis.figure("simulator.swap_used_ratio/1", "ratio", point["utilisation"], ""),
        write_amplification=make("write_amplification", "times", point["write_amplification"], _NOTHING_WRITTEN),
        swap_out_bytes_per_s=make("out_bytes_per_s", "bytes_per_s", tenant.get("swap_out_bytes_per_s"), _NO_SWAP_INS),
        swap_in_bytes_per_s=make("in_bytes_per_s", "bytes_per_s", tenant.get("swap_in_bytes_per_s"), _NO_SWAP_INS),
        swap_in_p99_us=make("in_p99_us", "us", tenant.get("swap_in_p99_seconds"), _NO_SWAP_INS, 1e6),
        flash_writes_per_day=make("flash_writes_per_day", "per_day", use["flash_writes_per_day"], _NOTHING_WRITTEN),
        drive_life_years=make("drive_life_years", "years", use["drive_life_years"], _NOTHING_WRITTEN),
        keeps_up_ratio=make("keeps_up_ratio", "ratio", use["keeps_up_ratio"], _NOTHING_WRITTEN),
    )


LOSS_LEVEL = 0.9
_FACTS = TypeAdapter(Facts)
_PRIOR = "S slowdown model of 13 published pairs; A exponent"
_STALL = "A costs of single events"
_SWAP = "Pages fault in from swap or disk: set cpu_seconds, the processor time of the trace, to say what that costs."
_ONE_TRACE = "One trace with every page: other runs of the service differ."
_OLD = "Replayed before intervals were: replay the sweep again to have them."
_CLAIM = TypeAdapter(Claim)


def read_facts(row: SweepRow) -> Facts | None:
    """What the traces are, None until a worker has read them."""
    return None if row.facts is None else _FACTS.validate_python(row.facts)


def view_cell(run: SweepRun, body: Mapping[str, Any], spec: StoredSpec, basis: Basis) -> SweepCell:
    """One run with its figures."""
    error, totals = body.get("error"), body.get("totals") or {}
    why = error or "The trace has no accesses."
    seconds = body.get("seconds") or 0.0

    def rate(name: str) -> float | None:
        return totals[name] / seconds if totals and seconds else None

    def make(name: str, unit: str, value: float | None, reason: str = why) -> Figure:
        return basis.figure(f"simulator.{name}/1", unit, value, reason)

    claim = None if body.get("claim") is None else _CLAIM.validate_python(body["claim"])

    def moves(name: str, unit: str, value: float | None) -> Figure:
        return _moves(claim, make(name, unit, value))

    no_moves = error or "No page was promoted."
    return SweepCell(
        run_id=str(run.number),
        policy=run.policy,
        label=label_of(run.policy),
        dram_ratio=run.dram_ratio,
        settings=dict(body["settings"]),
        local_ratio=_local(body, claim, make("local_ratio", "ratio", totals.get("local_ratio"))),
        loss=_loss(body, basis, why),
        promoted_pages_per_s=moves("promoted_pages_per_s", "pages_per_s", rate("promoted_pages")),
        demoted_pages_per_s=moves("demoted_pages_per_s", "pages_per_s", rate("demoted_pages")),
        tier_move_mb_per_s=moves("tier_move_mb_per_s", "mb_per_s", totals.get("tier_move_mb_per_s")),
        ping_pong_ratio=make("ping_pong_ratio", "ratio", totals.get("ping_pong_ratio"), no_moves),
        major_faults_per_s=make("major_faults_per_s", "events_per_s", rate("major_faults")),
        cost_ratio=cost_ratio(run, spec.prices),
        error=error,
        swap=view_swap(body.get("swap"), basis),
    )


def _local(body: Mapping[str, Any], claim: Claim | None, figure: Figure) -> Figure:
    """The local share with its interval: what recorded kernels differ from their replay by, and the draw of pages."""
    away = body.get("away")
    if figure.value is None or away is None:
        return figure
    is_drawn = away["lo"] < away["hi"]
    warnings = [] if is_drawn else [_ONE_TRACE]
    if claim is None or claim.share_error is None:
        warnings.append(_OLD if claim is None else claim.share_reason or "")
        return replace(figure, warnings=(*figure.warnings, *warnings))
    ends = claim.share_ends(1.0 - away["hi"], 1.0 - away["lo"])
    return replace(figure, interval=_interval(ends), warnings=(*figure.warnings, *warnings))


def _moves(claim: Claim | None, figure: Figure) -> Figure:
    """A rate of moves with its interval, or why it is not claimed."""
    if figure.value is None:
        return figure
    if claim is None or claim.moves_reason is not None:
        return replace(figure, warnings=(*figure.warnings, _OLD if claim is None else claim.moves_reason or ""))
    return replace(figure, interval=_interval(claim.moves_ends(figure.value)))


def _interval(ends: Ends | None) -> Interval | None:
    """As figures have it; none where both ends are one."""
    return None if ends is None or ends.lo >= ends.hi else Interval(ends.lo, ends.hi, ends.level, "confidence")


def _loss(body: Mapping[str, Any], basis: Basis, why: str) -> Figure:
    loss = body.get("loss")
    definition = "simulator.loss_ratio/1"
    if loss is None:
        faults = (body.get("totals") or {}).get("away_accesses")
        return basis.figure(definition, "ratio", None, _SWAP if faults else why)
    figure = basis.figure(definition, "ratio", loss["median"], why)
    if loss["method"] == "stall":
        return replace(figure, grounding=_STALL)
    interval = Interval(loss["lo"], loss["hi"], LOSS_LEVEL, "confidence")
    return replace(figure, interval=interval, grounding=_PRIOR)


def make_results(row: SweepRow, runs: Sequence[RunRow]) -> SweepResults:
    """All that the finished runs say."""
    spec, facts = read_spec(row.spec), read_facts(row)
    basis = Basis(facts, spec.source.window)
    planned = {run.number: run for run in spec.runs()}
    bodies = {found.number: found.body for found in runs}
    known = [planned[number] for number in bodies]
    cells = [view_cell(run, bodies[run.number], spec, basis) for run in known if not run.searched]
    return SweepResults(
        sweep_id=row.public_id,
        origin="simulated",
        peak_bytes=facts.peak_bytes if facts else None,
        pages=facts.pages if facts else None,
        intervals=facts.intervals if facts else None,
        interval_seconds=spec.conditions(facts.interval_s).interval_s if facts else None,
        sampled_ratio=facts.sampled_ratio if facts else None,
        n_hosts=facts.n_hosts if facts else None,
        window=spec.source.window,
        cells=tuple(cells),
        oracle=() if facts is None else tuple(OraclePoint(share, local) for share, local in facts.oracle),
        frontier=_frontier(known, bodies, spec),
        searches=_searches(known, bodies, spec),
        notes=(*_notes(facts, spec, len(planned) - len(known)), *_not_claimed(known, bodies)),
    )


def _frontier(
    known: Sequence[SweepRun], bodies: Mapping[int, Mapping[str, Any]], spec: StoredSpec
) -> tuple[FrontierPoint, ...]:
    by_number = {run.number: run for run in known}
    points = [
        Point(run.number, cost_ratio(run, spec.prices), _median(bodies[run.number]))
        for run in known
        if run.policy != "oracle"
    ]
    return tuple(
        FrontierPoint(
            str(point.number),
            by_number[point.number].policy,
            by_number[point.number].dram_ratio,
            point.cost_ratio,
            point.loss or 0.0,
        )
        for point in find_frontier(points)
    )


def _median(body: Mapping[str, Any]) -> float | None:
    loss = body.get("loss")
    return None if loss is None else float(loss["median"])


def _searches(
    known: Sequence[SweepRun], bodies: Mapping[int, Mapping[str, Any]], spec: StoredSpec
) -> tuple[SweepSearch, ...]:
    """The search of each policy at each share; the settings as asked take part where they are among the values."""
    out = []
    for policy, share in dict.fromkeys((run.policy, run.dram_ratio) for run in known if run.searched):
        some = [run for run in known if (run.policy, run.dram_ratio) == (policy, share)]
        settings = {run.number: bodies[run.number]["settings"] for run in some}
        keys = tuple(key for key in spec.search if all(key in values for values in settings.values()))
        inside = [
            run
            for run in some
            if run.searched or all(settings[run.number][key] in map(float, spec.search[key]) for key in keys)
        ]
        tried = [
            Tried(
                run.number,
                {key: settings[run.number][key] for key in keys},
                _median(bodies[run.number]),
                (bodies[run.number].get("totals") or {}).get("tier_move_mb_per_s") or 0.0,
            )
            for run in inside
        ]
        out.append(_search(policy, share, keys, tried, bodies))
    return tuple(out)


def _search(
    policy: str, share: float, keys: tuple[str, ...], tried: Sequence[Tried], bodies: Mapping[int, Mapping[str, Any]]
) -> SweepSearch:
    optimum = find_optimum(tried, keys)
    return SweepSearch(
        policy=policy,
        label=label_of(policy),
        dram_ratio=share,
        keys=keys,
        points=tuple(
            SearchPoint(
                str(item.number),
                dict(item.settings),
                item.loss,
                item.tier_move_mb_per_s if bodies[item.number].get("totals") else None,
            )
            for item in tried
        ),
        best=None if optimum is None else _best(optimum),
        flatness=None
        if optimum is None
        else Flatness(WITHIN_RATIO, optimum.n_within, optimum.n, dict(optimum.spans), optimum.at_edge),
    )


def _best(optimum: Optimum) -> SearchBest:
    best = optimum.best
    return SearchBest(str(best.number), dict(best.settings), best.loss or 0.0)


def _not_claimed(known: Sequence[SweepRun], bodies: Mapping[int, Mapping[str, Any]]) -> tuple[str, ...]:
    """Why local shares have no interval and moves are not claimed, with the policies of each reason."""
    labels: dict[str, dict[str, None]] = {}
    for run in known:
        claim = bodies[run.number].get("claim") or {}
        for reason in (claim.get("share_reason"), claim.get("moves_reason")):
            if reason is not None:
                labels.setdefault(reason, {})[label_of(run.policy)] = None
    return tuple(f"{', '.join(names)}: {reason}" for reason, names in labels.items())


def _notes(facts: Facts | None, spec: StoredSpec, missing: int) -> tuple[str, ...]:
    notes = ["Simulated: nothing was changed or measured on any host."]
    if facts is None:
        notes.append("No worker has read the trace yet.")
    else:
        notes += facts.notes
        warm_up = spec.conditions(facts.interval_s).warm_up_intervals
        if warm_up:
            notes.append(f"The first {warm_up} intervals warm up and are not counted; series show them.")
    if missing:
        notes.append(f"{missing} runs are not finished: frontier and searches are of those that are.")
    if spec.cpu_seconds is None:
        notes.append(
            "Losses come from the share of accesses outside DRAM by the slowdown model, with its interval widened by"
            " that of the share. With cpu_seconds they come from stall time."
        )
    return tuple(notes)
