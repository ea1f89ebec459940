"""`tierscope simulate`: what placement policies would have done with a page trace or a synthetic workload."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer, print_json
from tierscope.cli.simulate.swap_device import figure_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tierscope.domain.simulate import Ends
    from tierscope.domain.simulate.swap_replay import DeviceUse
    from tierscope.usecases.recordings.replay import Replays, Run, Wanted

SCHEMA = "tierscope.simulate/1"
MAX_THREADS = 64
WORKLOAD = "workload:"
INTERVAL_FROM = {
    "set": "as set",
    "recording": "as the recording says",
    "default": "by default (--set interval_s=S)",
}
KEEPS_UP = 0.99
"""Below it a device is said not to keep up with the traffic."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(simulate)


def simulate(
    path: Annotated[
        str | None, typer.Argument(help="A page trace (Parquet), or workload:NAME for a synthetic one.")
    ] = None,
    *,
    workload: Annotated[
        str | None, typer.Option(help="A synthetic workload by its name; `list` prints them with their sources.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="A policy, more than once, or all.")
    ] = None,
    dram_share: Annotated[
        float | None, typer.Option("--dram-share", help="DRAM as a share of the trace's peak of resident pages.")
    ] = None,
    dram_pages: Annotated[int | None, typer.Option("--dram-pages", min=1, help="DRAM in base pages.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: a setting of policy, machine or costs.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="The slower tier: a preset (`recommend --device list`) or a file; --set goes first."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draw the times of hint faults; without it they come as expected.")
    ] = None,
    pages: Annotated[int | None, typer.Option(min=1, help="Pages of a synthetic workload (50000).")] = None,
    intervals: Annotated[int | None, typer.Option(min=1, help="Intervals of a synthetic workload (60).")] = None,
    swap_devices: Annotated[
        list[str] | None,
        typer.Option("--swap-device", help="A swap device under the policy's traffic, more than once (its own)."),
    ] = None,
    swap_utilisation: Annotated[
        float | None,
        typer.Option("--swap-utilisation", help="How full the traffic makes that device at most (size of the area)."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=MAX_THREADS, help="Policies replayed at once (as many as there are cores).")
    ] = None,
    series: Annotated[bool, typer.Option("--series", help="Print the intervals as well (with --json).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON (docs/simulate-json.md).")] = False,
) -> None:
    """Replay a page trace under placement policies: local accesses, tier moves, ping-pong, stall and loss.

    Synthetic workloads are those of the papers (`--workload list`; docs/method/workloads.md). Simulated: nothing on
    this host is looked at or changed.
    """
    from tierscope.core.errors import BadRequest
    from tierscope.domain.simulate import SettingsError, parse_settings
    from tierscope.usecases.recordings.replay import Wanted

    if workload == "list" and path is None:
        _list_workloads(as_json=as_json)
        return
    if (path is None) == (workload is None):
        fail("say what to replay, once", next_step="name a page trace, or --workload NAME", status=BAD_USAGE)
    path = path or f"{WORKLOAD}{workload}"
    if not policy:
        fail("no policy is named", next_step="add --policy P, or --policy all", status=BAD_USAGE)
    if (dram_share is None) == (dram_pages is None):
        fail("the size of DRAM is not said", next_step="add --dram-share X or --dram-pages N", status=BAD_USAGE)
    try:
        values = {**_settings_of(device), **parse_settings(settings or [])}
    except SettingsError as error:
        fail(str(error), next_step="write --set key=value", status=BAD_USAGE)
    at_once = threads or len(os.sched_getaffinity(0))
    wanted = Wanted(policy, dram_share, dram_pages, values, seed, at_once, swap_devices or (), swap_utilisation)
    try:
        found = _replay(path, wanted, pages, intervals)
    except BadRequest as error:
        fail(error.detail, next_step=error.next_step, status=BAD_USAGE)
    print_answer(_document(path, found, series=series), _describe(found), as_json=as_json)


def _settings_of(device: str | None) -> dict[str, float]:
    from tierscope.core.errors import BadRequest
    from tierscope.usecases.slowdown.devices import device_settings

    try:
        return device_settings(device)
    except BadRequest as error:
        fail(error.detail, next_step=error.next_step, status=BAD_USAGE)


def _list_workloads(*, as_json: bool) -> None:
    """Print the synthetic workloads with their sources, parameters and what their papers measured."""
    from tierscope.domain.simulate import WORKLOADS

    if as_json:
        print_json({"simulated": True, "workloads": {name: asdict(kind) for name, kind in WORKLOADS.items()}})
        return
    for name, kind in WORKLOADS.items():
        typer.echo(f"{name}: {kind.label}; {kind.source}")
        for key, value in kind.parameters.items():
            typer.echo(f"  {key}: {value}")
        for statement in kind.measured:
            typer.echo(f"  measured, {statement}")


def _replay(path: str, wanted: Wanted, pages: int | None, intervals: int | None) -> Replays:
    """The replays of a file or a workload. Only a workload has a size to choose."""
    from tierscope.domain.simulate import WORKLOAD_INTERVALS, WORKLOAD_PAGES
    from tierscope.usecases.recordings.replay import simulate_recording, simulate_workload

    if path.startswith(WORKLOAD):
        name = path.removeprefix(WORKLOAD)
        return simulate_workload(name, wanted, pages=pages or WORKLOAD_PAGES, intervals=intervals or WORKLOAD_INTERVALS)
    if pages is not None or intervals is not None:
        fail(f"{path} has a size of its own", next_step="leave out --pages and --intervals", status=BAD_USAGE)
    if not Path(path).is_file():
        fail(f"{path} is no file", next_step="name a page trace (Parquet) or workload:NAME", status=BAD_USAGE)
    return simulate_recording(Path(path), wanted)


def _document(path: str, found: Replays, *, series: bool) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "simulated": True,
        "path": path,
        "workload": path.removeprefix(WORKLOAD) if path.startswith(WORKLOAD) else None,
        "trace": {
            "intervals": found.intervals,
            "interval_seconds": found.interval_s,
            "interval_from": found.interval_from,
            "page_size_bytes": found.page_bytes,
            "pages": found.pages,
            "peak_resident_pages": found.peak_pages,
            "touched_pages": found.touched,
            "accesses": found.accesses,
        },
        "costs": {name: getattr(found.costs, name) for name in found.costs.__dataclass_fields__},
        "cpu_seconds": found.cpu_seconds,
        "runs": [_run(run, found, series=series) for run in found.runs],
    }


def _run(run: Run, found: Replays, *, series: bool) -> dict[str, Any]:
    outcome, totals, machine = run.outcome, run.totals, run.outcome.machine
    document: dict[str, Any] = {
        "policy": outcome.policy.name,
        "label": outcome.policy.kind.label,
        "settings": dict(outcome.policy.settings),
        "seed": outcome.seed,
        "machine": {
            "dram_pages": machine.dram_pages,
            "slow_pages": machine.slow_pages,
            "swap": machine.swap,
            "swap_pages": machine.swap_pages,
            "watermark_scale_factor": machine.watermark_scale_factor,
        },
        "local_ratio": totals.local_ratio,
        "local_interval": _ends(_local_ends(run)),
        "local_interval_reason": run.claim.share_reason,
        "local_ratio_by_kind": dict(totals.local_ratio_by_kind),
        "oracle_local_ratio": found.oracle_ratio,
        "totals": {
            name: getattr(totals, name)
            for name in totals.__dataclass_fields__
            if name not in ("local_ratio", "local_ratio_by_kind")
        },
        "moves": {
            "claimed": run.claim.moves_factor is not None,
            "promoted_pages": _ends(run.claim.moves_ends(totals.promoted_pages)),
            "demoted_pages": _ends(run.claim.moves_ends(totals.demoted_pages)),
            "reason": run.claim.moves_reason,
        },
        "stall_seconds": {
            "slow_accesses": run.stall.slow_accesses_s,
            "faults": run.stall.faults_s,
            "hint_faults": run.stall.hint_faults_s,
            "tier_moves": run.stall.tier_moves_s,
            "total": run.stall.total_s,
        },
        "loss": _loss(run),
        "swap_devices": [asdict(use) for use in run.swap],
    }
    if series:
        document["series"] = _series(run, found)
    return document


def _local_ends(run: Run) -> Ends | None:
    local = run.totals.local_ratio
    return None if local is None else run.claim.share_ends(local, local)


def _ends(ends: Ends | None) -> dict[str, float] | None:
    return None if ends is None else asdict(ends)


def _loss(run: Run) -> dict[str, Any]:
    loss = run.loss
    if loss is None:
        reason = (
            "pages fault in from swap or disk: set cpu_seconds to say what that costs"
            if run.totals.away_accesses
            else "the trace has no accesses"
        )
        return {"value": None, "interval": None, "method": "none", "reason": reason}
    interval = None if loss.lo is None else {"lo": loss.lo, "hi": loss.hi, "level": 0.9}
    return {"value": loss.median, "interval": interval, "method": loss.method, "reason": None}


def _series(run: Run, found: Replays) -> dict[str, Any]:
    figures = run.outcome.figures
    by_place = figures.accesses.sum(axis=1)
    return {
        "local_accesses": by_place[:, 0].tolist(),
        "slow_accesses": by_place[:, 1].tolist(),
        "away_accesses": by_place[:, 2].tolist(),
        "oracle_accesses": found.oracle_accesses.tolist(),
        "promoted_pages": figures.promoted.sum(axis=1).tolist(),
        "demoted_pages": figures.demoted.sum(axis=1).tolist(),
        "dram_pages_by_kind": figures.used[:, 0].tolist(),
        "slow_pages_by_kind": figures.used[:, 1].tolist(),
        **{name: values.tolist() for name, values in figures.others.items()},
    }


def _describe(found: Replays) -> str:
    header = ("policy", "local (80 %)", "promoted", "demoted", "ping-pong", "MB/s", "faults", "loss (90 %)")
    rows = [header]
    for run in sorted(found.runs, key=lambda run: -(run.totals.local_ratio or 0.0)):
        totals, loss, ends = run.totals, run.loss, _local_ends(run)
        local = "" if ends is None or ends.lo == ends.hi else f" ({ends.lo:.1%} to {ends.hi:.1%})"
        interval = "" if loss is None or loss.lo is None else f" ({loss.lo:.1%} to {loss.hi:.1%})"
        rows.append(
            (
                run.outcome.policy.name,
                "-" if totals.local_ratio is None else f"{totals.local_ratio:.1%}{local}",
                _moves_text(run, totals.promoted_pages),
                _moves_text(run, totals.demoted_pages),
                "-" if totals.ping_pong_ratio is None else f"{totals.ping_pong_ratio:.1%}",
                f"{totals.tier_move_mb_per_s:.2f}",
                f"{totals.major_faults:,}",
                "needs cpu_seconds" if loss is None else f"{loss.median:.1%}{interval}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    machine = found.runs[0].outcome.machine
    title = (
        f"Simulated: {found.pages:,} pages, {found.accesses:,} accesses over {found.intervals} intervals; "
        f"DRAM {machine.dram_pages:,} of {found.peak_pages:,} pages resident at the peak.\n"
        f"Intervals of {found.interval_s:g} s, {INTERVAL_FROM[found.interval_from]}."
    )
    return "\n".join([title, "", *lines, *_claim_lines(found.runs), *_swap_lines(found.runs)])


def _moves_text(run: Run, pages: int) -> str:
    """A count of moves with its interval; a tilde where it is not claimed."""
    ends = run.claim.moves_ends(pages)
    if ends is None:
        return f"~{pages:,}"
    return f"{pages:,}" if ends.lo == ends.hi else f"{pages:,} ({ends.lo:,.0f} to {ends.hi:,.0f})"


def _claim_lines(runs: Sequence[Run]) -> list[str]:
    """Why local shares have no interval, and why moves are not claimed, with the policies of each reason."""
    policies: dict[str, list[str]] = {}
    for run in runs:
        for reason in (run.claim.share_reason, run.claim.moves_reason):
            if reason is not None:
                policies.setdefault(reason, []).append(run.outcome.policy.name)
    return ["", *(f"{', '.join(names)}: {reason}" for reason, names in policies.items())] if policies else []


def _swap_lines(runs: Sequence[Run]) -> list[str]:
    """A line for each swap device under the traffic of a policy."""
    uses = [(run.outcome.policy.name, use) for run in runs for use in run.swap]
    lines = [f"  {policy} on {use.point.device}: {_swap_text(use)}" for policy, use in uses]
    return ["", "Swap devices under this traffic (mean of three seeds, in brackets the 95 % interval):", *lines] * bool(
        lines
    )


def _swap_text(use: DeviceUse) -> str:
    point = use.point
    if point.error is not None:
        return point.error
    tenant = point.tenants[0]
    parts = [f"{point.utilisation:.0%} full at most", f"{use.area_bytes / 1e9:.2f} GB"]
    parts.append(f"WAF {figure_text(point.write_amplification, 1, digits=2, interval=True)}")
    parts.append(f"out {figure_text(tenant.swap_out_bytes_per_s, 1e-3, digits=1)} kB/s")
    parts.append(f"swap-in p99 {figure_text(tenant.swap_in_p99_seconds, 1e3, digits=2, interval=True)} ms")
    parts.append(f"flash {figure_text(use.flash_writes_per_day, 1, digits=2)} drive sizes a day")
    parts.append(f"lasts {figure_text(use.drive_life_years, 1, digits=1, interval=True)} years")
    if use.keeps_up_ratio is not None and use.keeps_up_ratio.value < KEEPS_UP:
        parts.append(f"does not keep up: needs {1 / use.keeps_up_ratio.value:.1f} times as long")
    if not use.is_settled:
        parts.append("not in a steady state yet: too little is written")
    return ", ".join(parts)
