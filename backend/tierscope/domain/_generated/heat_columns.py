"""The columns of heat rows; written by `contract/gen_heat.py` from `contract/heat_columns.toml`."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HeatColumn:
    """A column of heat rows by name, with its number of values per row.

    `field`: its type on the wire; a matrix is bytes of little-endian int64, all else a repeated field. `presence`:
    required, samples (there where sampled accesses are known) or optional. `absent`: the value in rows that lack an
    optional column, None where all rows of a block have it. `rule`: how it adds up (part, sample, huge, or "" for not
    at all), into the columns `sums` of the rollups.
    """

    name: str
    field: str
    width: int
    presence: str
    absent: int | None
    rule: str
    sums: tuple[str, ...]


HEAT_COLUMNS: tuple[HeatColumn, ...] = (
    HeatColumn("validity", "bits", 1, "required", None, "", ()),
    HeatColumn("resident_bytes", "int64", 1, "required", None, "", ()),
    HeatColumn("age_bytes", "matrix", 9, "required", None, "", ()),
    HeatColumn("never_bytes", "matrix", 9, "required", None, "", ()),
    HeatColumn("active_count_bytes", "matrix", 11, "required", None, "", ()),
    HeatColumn("active_lo_bytes", "matrix", 4, "required", None, "", ()),
    HeatColumn("active_hi_bytes", "matrix", 4, "required", None, "", ()),
    HeatColumn("load_samples", "uint64", 1, "samples", None, "", ()),
    HeatColumn("store_samples", "uint64", 1, "samples", None, "", ()),
    HeatColumn("distinct_pages", "matrix", 4, "optional", None, "", ()),
    HeatColumn("f1_pages", "matrix", 4, "optional", None, "", ()),
    HeatColumn("f2_pages", "matrix", 4, "optional", None, "", ()),
    HeatColumn("hot_intersection_bytes", "matrix", 3, "optional", None, "", ()),
    HeatColumn("hot_union_bytes", "matrix", 3, "optional", None, "", ()),
    HeatColumn("sampled_pages", "uint64", 1, "optional", 0, "sample", ("sampled_pages",)),
    HeatColumn("written_bytes", "matrix", 4, "optional", -1, "part", ("written_bytes", "written_of_bytes",)),
    HeatColumn("subpage_active_bytes", "sint64", 1, "optional", -1, "huge", ("huge_active_bytes", "huge_subpage_bytes",)),
    HeatColumn("dirty_bytes", "sint64", 1, "optional", -1, "part", ("dirty_bytes", "dirty_of_bytes",)),
)
"""In the order in which rows are packed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumns:
    """The columns of one interval: int64 over its n groups, None where not measured."""

    validity: Ints
    """[n]: validity of the newest 64 intervals, bit 0 = this one. A skipped interval is missing, not idle."""
    resident_bytes: Ints
    """[n]: resident bytes at the interval's end."""
    age_bytes: Ints
    """[n * 9]: bytes by age bucket [0, 1, 2, 3-4, 5-9, 10-19, 20-39, 40-63, >=64] intervals since last activity."""
    never_bytes: Ints
    """[n * 9]: bytes never seen active, by the run of newest valid intervals (same buckets)."""
    active_count_bytes: Ints
    """[n * 11]: bytes by number of active intervals among the last 10 (0..10)."""
    active_lo_bytes: Ints
    """[n * 4]: bytes active in windows of 1, 2, 5 and 10 intervals. `lo` and `hi` are equal where pages are told apart;
    at VMA granularity they are the two bounds, and age_bytes follows `lo`."""
    active_hi_bytes: Ints
    """[n * 4]: the upper bounds of the same."""
    load_samples: Ints | None = None
    """[n]: sampled loads of the interval. Zero samples are a measurement only where `samples_known` is set."""
    store_samples: Ints | None = None
    """[n]: sampled stores: another population than loads."""
    distinct_pages: Ints | None = None
    """[n * 4]: pages with sampled loads in windows of 1, 2, 5 and 10 intervals. Stores are another population and enter
    none of the three."""
    f1_pages: Ints | None = None
    """[n * 4]: pages with exactly one sampled load in these windows."""
    f2_pages: Ints | None = None
    """[n * 4]: pages with exactly two."""
    hot_intersection_bytes: Ints | None = None
    """[n * 3]: byte-weighted overlap of hot sets (active in 2 intervals) now and 10, 30, 60 intervals ago. Empty, or 0
    with a union of 0 = history too short or pages not told apart."""
    hot_union_bytes: Ints | None = None
    """[n * 3]: the same of their union."""
    sampled_pages: Ints | None = None
    """[n]: pages of the random sample that the row was scaled up from; none where every resident page was looked at. A
    group that lacks it has 0."""
    written_bytes: Ints | None = None
    """[n * 4]: bytes written in windows of 1, 2, 5 and 10 intervals, from write tracking beside the back end. A group
    that lacks it has -1."""
    subpage_active_bytes: Ints | None = None
    """[n]: 4,096 x distinct sub-pages of huge pages seen active in the newest 2 intervals: the lower bound of their hot
    bytes. A group that lacks it has -1."""
    dirty_bytes: Ints | None = None
    """[n]: resident bytes that were written and not yet saved to their file or to swap, at the interval's end: dirty in
    the page table or in the page's own flags (smaps). A group that lacks it has -1."""
