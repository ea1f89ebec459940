"""Answers about cost as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tierscope.usecases.tco.answers import Option, TcoAnswer

_WIDEST_BARS = 3


def describe_tco(view: TcoAnswer) -> str:
    """A table of all designs, then what decides about each option."""
    baseline = view.baseline
    assert baseline is not None
    header = ("", "price", "per year", "per work", "saving (median)", "10 % to 90 %", "P(saving > 0)", "hosts")
    rows: list[tuple[str, ...]] = [header]
    host = baseline.per_host
    amounts = (host.capex, host.annual, host.annual_per_work)
    rows.append((baseline.name, *map(_money, amounts), "", "", "", f"{baseline.fleet.hosts:,}"))
    rows += [_row(option) for option in view.options]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = [f"{view.name}: {view.currency} per host; price of DRAM of {view.price_date}.", ""]
    for row in rows:
        numbers = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join((row[0].ljust(widths[0]), *numbers)).rstrip())
    for option in view.options:
        lines += ["", *_details(option)]
    lines += [""] if view.notes else []
    lines += view.notes
    return "\n".join(lines)


def describe_missing(view: TcoAnswer) -> str:
    """What is missing, with prices that could be stated."""
    lines = []
    for item in view.missing:
        lines += [f"missing: {item.what} ({item.path}): {item.why}", f"next:    {item.next_step}"]
        lines += [
            f"         {price.label}: {price.value:g} ({price.low:g} to {price.high:g}) {price.currency} {price.unit},"
            f" {price.date}, {price.source}"
            for price in item.presets
        ]
    return "\n".join(lines)


def _row(option: Option) -> tuple[str, ...]:
    host, spread = option.per_host, option.distribution
    return (
        option.name,
        *map(_money, (host.capex, host.annual, host.annual_per_work)),
        f"{option.saving:,.0f} ({option.saving_ratio:.1%})",
        f"{spread.p10:,.0f} to {spread.p90:,.0f}",
        f"{spread.p_positive:.0%}",
        f"{option.hosts_needed:,}",
    )


def _details(option: Option) -> list[str]:
    found = option.break_even
    points = {"CXL price": found.cxl_price, "DDR4 price": found.ddr4_price, "DRAM price": found.dram_price}
    texts = [f"{name} {value:,.2f}" for name, value in points.items() if value is not None]
    texts += [] if found.loss is None else [f"loss {found.loss:.2%}"]
    lines = [f"{option.name} breaks even at: {', '.join(texts) or 'none in range'}"]
    lines += [
        f"  {bar.input} {bar.low:g} to {bar.high:g}: saving {bar.saving_low:,.0f} to {bar.saving_high:,.0f}"
        for bar in option.tornado[:_WIDEST_BARS]
    ]
    return [*lines, *(f"  {warning}" for warning in option.warnings)]


def _money(amount: float) -> str:
    return f"{amount:,.0f}"
