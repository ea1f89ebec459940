"""Devices of slow memory as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierscope.usecases.ratio.sentence import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tierscope.usecases.ratio.devices import RankedDevice


def describe_devices() -> str:
    """The presets with latency, bandwidth and source."""
    from tierscope.domain.slowdown import device_presets

    lines = []
    for device in device_presets().values():
        rate = "bandwidth not known" if device.gb_per_s is None else f"{device.gb_per_s:g} GB/s"
        latency = f"{device.idle_ns:g} ns ({device.low_ns:g} to {device.high_ns:g})"
        lines.append(f"{device.name}: {device.label}; {latency}, {rate}")
        lines.append(f"  {device.source}; {device.date}")
    return "\n".join(lines)


def describe_ranking(ranked: Sequence[RankedDevice], host_usd: float) -> str:
    """A line that compares the best with the worst, then one line each."""
    judged = [one for one in ranked if one.at is not None]
    if not judged:
        return "\n".join(f"{one.device.label}: {one.answer.sentence}" for one in ranked)
    first, last = judged[0], judged[-1]
    assert first.at is not None
    assert last.at is not None
    lines = [f"At {first.at.name}, {first.device.name} is expected to lose {percent(first.at.loss_median.value)}"]
    if first is not last:
        lines[0] += f", {last.device.name} {percent(last.at.loss_median.value)}"
        if first.worth_usd_per_gb is not None:
            lines[0] += (
                f": {first.device.name} is worth ${first.worth_usd_per_gb:,.2f} a GiB more,"
                f" where one more host of {first.host_bytes / 2**30:,.0f} GiB costs ${host_usd:,.0f} (--host-price)"
            )
    lines[0] += "."
    placement = first.answer.placement
    if placement is not None and placement.policy is not None:
        lines.append(f"Placement: {placement.policy} ({placement.policy_from}).")
    lines += ["", "device            latency  expected  at most (95 %)  worth a GiB  price a GiB  keeps the target"]
    for one in judged:
        assert one.at is not None
        worth = "-" if one.worth_usd_per_gb is None else f"+${one.worth_usd_per_gb:,.2f}"
        price = "-" if one.device.usd_per_gb is None else f"${one.device.usd_per_gb:,.2f}"
        ends = one.answer.range
        safe = "all DRAM" if ends is None or ends.safe is None else ends.safe
        likely = "all DRAM" if ends is None or ends.likely is None else ends.likely
        lines.append(
            f"{one.device.name:16}  {one.device.idle_ns:4g} ns  {percent(one.at.loss_median.value):>8}"
            f"  {percent(one.at.loss_upper.value):>14}  {worth:>11}  {price:>11}  {safe} surely, {likely} likely"
        )
    return "\n".join(lines)
