"""What hosts swap to and how much they swap already, by their own counters: beside the advice on swap below DRAM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any

from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Window
from tierscope.domain.knobs.facts import SwapDrive
from tierscope.domain.knobs.machine import read_swap_drives
from tierscope.storage.base.subjects import SubjectHost
from tierscope.storage.statistics.host_means import FINE_TABLE, WIDTHS, read_counter_means, read_ledger_means

MOST_HOSTS = 20
Inventories = Mapping[int, Mapping[str, Any]]
_SWAPPED = ("swap_in_pages", "swap_out_pages")
_STALLED = "host|pressure.memory|full_total_us"
US = 1e6
STALLED_MIN = 0.01
"""Share of time in which all tasks wait for memory from which more swap is warned of [A]."""
_NO_DISCARD = (
    "{names}: swap on a solid-state drive that takes no TRIM; slots that are free stay written in it, so that it copies"
    " more than the model has it."
)
_STALLS = "{names}: all tasks wait for memory in {share:.1%} of the time already; more swap adds to that."


@dataclass(frozen=True, slots=True)
class SwapArea:
    """A swap area of a host; null where the host does not say."""

    name: str
    kind: Annotated[str, Described("`partition`, `file` or `zram`.")]
    zoned: Annotated[str | None, Described("`none`, `host-aware` or `host-managed`.")]
    rotational: bool | None
    discard: Annotated[bool | None, Described("Whether the device takes TRIM.")]
    used_ratio: float | None


@dataclass(frozen=True, slots=True)
class SwappingHost:
    """What a host swaps to, and the means over the window of its counters; null where not counted."""

    host_id: str
    host: str
    areas: tuple[SwapArea, ...]
    swapped_in_pages_per_s: float | None
    swapped_out_pages_per_s: float | None
    memory_stall_ratio: Annotated[
        float | None, Described("Share of time in which all tasks waited for memory (PSI, full).")
    ]


def read_swapping_hosts(
    session: ReadSession, hosts: Sequence[SubjectHost], bodies: Inventories, window: Window
) -> tuple[SwappingHost, ...]:
    """The first hosts by name with their swap areas, `pswpin`, `pswpout` and pressure. `bodies`: by number."""
    taken = hosts[:MOST_HOSTS]
    ids = [host.id for host in taken]
    span = window.start, window.end
    cells = [
        *read_ledger_means(session, ids, 0, _SWAPPED, span, WIDTHS[FINE_TABLE]),
        *read_counter_means(session, ids, [_STALLED], span, FINE_TABLE),
    ]
    values: dict[tuple[int, str], list[float]] = {}
    for cell in cells:
        values.setdefault((cell.host_id, cell.name), []).append(cell.value)
    means = {key: fmean(found) for key, found in values.items()}
    return tuple(_view(host, read_swap_drives(bodies.get(host.id)), means) for host in taken)


def warn_of_hosts(hosts: Sequence[SwappingHost]) -> tuple[str, ...]:
    """What their devices and counters say against more swap."""
    plain = [host.host for host in hosts if any(_takes_no_trim(area) for area in host.areas)]
    stalled = [host for host in hosts if (host.memory_stall_ratio or 0.0) >= STALLED_MIN]
    found = [_NO_DISCARD.format(names=", ".join(plain))] if plain else []
    if stalled:
        share = max(host.memory_stall_ratio or 0.0 for host in stalled)
        found.append(_STALLS.format(names=", ".join(host.host for host in stalled), share=share))
    return tuple(found)


def _takes_no_trim(area: SwapArea) -> bool:
    flash = area.kind != "zram" and area.rotational is False and area.zoned in (None, "none")
    return flash and area.discard is False


def _view(host: SubjectHost, drives: Sequence[SwapDrive], means: Mapping[tuple[int, str], float]) -> SwappingHost:
    stalled = means.get((host.id, _STALLED))
    return SwappingHost(
        host_id=host.public_id,
        host=host.name,
        areas=tuple(
            SwapArea(drive.name, drive.kind, drive.zoned, drive.rotational, drive.discard, drive.used_ratio)
            for drive in drives
        ),
        swapped_in_pages_per_s=means.get((host.id, _SWAPPED[0])),
        swapped_out_pages_per_s=means.get((host.id, _SWAPPED[1])),
        memory_stall_ratio=None if stalled is None else stalled / US,
    )
