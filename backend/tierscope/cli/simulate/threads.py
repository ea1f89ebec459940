"""`tierscope threads`: throughput by threads, and tails by load, over two tiers of memory; a model, nothing is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer
from tierscope.cli.base.options import AsJson

if TYPE_CHECKING:
    from tierscope.domain.slowdown import Device
    from tierscope.domain.slowdown.thread_rate import ThreadPreset, Tiers

SCHEMA = "tierscope.threads/1"
SLOW = (0.0, 0.0323, 0.1, 0.2, 0.5, 1.0)
"""Shares of accesses on the slower tier that MEMO interleaved: 30:1, 9:1, and more."""
TAILS = "Tails are those of one queue with random arrivals [A]: their order, not their size."
QPS = (20_000.0, 40_000.0, 50_000.0, 60_000.0, 70_000.0)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("threads")(threads)


def threads(
    workload: Annotated[str, typer.Argument(help="dlrm or redis.")],
    *,
    channels: Annotated[int, typer.Option(min=1, max=8, help="DRAM channels of eight that dlrm has.")] = 8,
    counts: Annotated[list[int] | None, typer.Option("--threads", min=1, help="Threads, more than once.")] = None,
    slow: Annotated[
        list[float] | None, typer.Option("--slow", min=0, max=1, help="Share of accesses on slow memory, repeatable.")
    ] = None,
    qps: Annotated[
        list[float] | None, typer.Option("--qps", min=0, help="Of redis: operations a second offered, repeatable.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="The slower tier: a preset (`recommend --device list`) or a file; MEMO's."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what threads do over two tiers: bound by latency, or by bandwidth, by the share on slow memory.

    A model of the papers' workloads (docs/method/workloads.md). Simulated: nothing on this host is looked at.
    """
    from tierscope.domain.slowdown.thread_rate import THREAD_PRESETS

    preset = THREAD_PRESETS.get(workload)
    if preset is None:
        fail(f"{workload} is no workload", next_step=f"name one of {', '.join(THREAD_PRESETS)}", status=BAD_USAGE)
    chosen = _device(device)
    tiers = preset.on(
        channels=channels,
        rho=None if chosen is None else chosen.rho,
        gb_per_s=None if chosen is None else chosen.gb_per_s,
    )
    document = _document(preset, tiers, tuple(counts or preset.threads), tuple(slow or SLOW), tuple(qps or QPS))
    print_answer(
        {"schema": SCHEMA, "simulated": True, "workload": workload, "channels": channels, **document},
        _describe(document),
        as_json=as_json,
    )


def _device(word: str | None) -> Device | None:
    from tierscope.core.errors import BadRequest
    from tierscope.usecases.slowdown.devices import read_named_devices

    if word is None:
        return None
    try:
        found = read_named_devices([word])
    except BadRequest as error:
        fail(error.detail, next_step=error.next_step, status=BAD_USAGE)
    return found[0]


def _document(
    preset: ThreadPreset, tiers: Tiers, counts: tuple[int, ...], slow: tuple[float, ...], qps: tuple[float, ...]
) -> dict[str, Any]:
    from tierscope.domain.slowdown.thread_rate import tail_seconds, thread_rate

    def rate(n: int, share: float) -> float:
        return thread_rate(n, share, memory_ratio=preset.memory_ratio, tiers=tiers)

    runs = []
    for n in counts:
        alone = rate(n, 0.0)
        runs += [{"threads": n, "slow_ratio": share, "gain_ratio": rate(n, share) / alone - 1.0} for share in slow]
    peaks = []
    if preset.peak_per_s is not None:
        for share in slow:
            most = preset.peak_per_s * rate(1, share)
            tails = [{"offered_per_s": load, "p99_seconds": tail_seconds(most, load)} for load in qps]
            peaks.append({"slow_ratio": share, "peak_per_s": most, "tails": tails})
    return {
        "label": preset.label,
        "source": preset.source,
        "latency_ratio": tiers.latency_ratio,
        "memory_ratio": preset.memory_ratio,
        "runs": runs,
        "peaks": peaks,
    }


def _describe(found: dict[str, Any]) -> str:
    lines = [f"{found['label']}, modelled: slow memory at {found['latency_ratio']:.2f} times the latency of DRAM."]
    lines += [f"{found['source']}.", ""]
    if found["peaks"]:
        loads = [tail["offered_per_s"] for tail in found["peaks"][0]["tails"]]
        lines.append("  ".join(["on slow", " most/s", *(f"p99 at {load:>6,.0f}/s" for load in loads)]))
        for peak in found["peaks"]:
            tails = (tail["p99_seconds"] for tail in peak["tails"])
            words = ["saturated" if tail is None else f"{tail * 1e6:,.0f} us" for tail in tails]
            lines.append(
                "  ".join([f"{peak['slow_ratio']:7.1%}", f"{peak['peak_per_s']:7,.0f}", *(f"{w:>15}" for w in words)])
            )
        return "\n".join([*lines, "", TAILS])
    shares = list(dict.fromkeys(run["slow_ratio"] for run in found["runs"]))
    lines.append("  ".join(["threads", *(f"{share:>7.1%}" for share in shares), "  of accesses on slow memory"]))
    for n in dict.fromkeys(run["threads"] for run in found["runs"]):
        gains = [run["gain_ratio"] for run in found["runs"] if run["threads"] == n]
        lines.append("  ".join([f"{n:7}", *(f"{gain:>+7.1%}" for gain in gains)]))
    return "\n".join([*lines, "", "Throughput against all memory in DRAM with as many threads."])
