"""Time tables: what was measured. All have `ts`; old rows leave by dropping chunks or partitions, never by DELETE.

`ts` is the end of an interval in live tables and the start of the bucket in rolled-up ones. There are no unique keys:
readers drop repeats of one ts (the last one stored wins). A row holds many values: see
docs/decisions/0001-storage-shapes.md.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Double, Index, Integer, LargeBinary, SmallInteger, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import TypeEngine

from tierscope.domain._generated.heat_columns import HEAT_COLUMNS
from tierscope.domain.heat.beside import BESIDE_WIDTHS
from tierscope.domain.heat.classes import FOLDED_COLUMNS
from tierscope.domain.ledger import COLUMN_KEYS
from tierscope.storage.tables.fleet_moves import fleet_moves
from tierscope.storage.tables.plain import Instant, metadata
from tierscope.storage.tables.samples import samples_live, samples_packed

FLAG_CLOCK_CORRECTED = 1
"""The time was rebuilt from arrival and boot-time clock."""
FLAG_PARTIAL = 2
"""The interval is shorter or longer than nominal."""

TIER_MOVE_COLUMNS = COLUMN_KEYS
"""Differences over the interval (the last two are states at its end), null where the host has no such counter."""


@dataclass(frozen=True, slots=True)
class TimeTable:
    """How a time table is cut and how long it is kept."""

    table: Table
    chunk_days: float
    """Length of a native partition, in whole hours."""
    chunk_hours: int
    """Length of a TimescaleDB chunk."""
    keep_days: float
    """How old a row is at least when it goes: with its chunk, so that it stays for up to a chunk longer."""
    work: tuple[str, ...] = ()
    """Marks of the work that rows are kept for, however old they are: to be packed from here, or into it."""
    kind: str = ""
    """Of the rows of one kind of `blocks` alone, which are a partition of this name, natively cut in any mode."""

    @property
    def name(self) -> str:
        """Of the table, or of the kind's partition of it."""
        return self.kind or self.table.name

    @property
    def source(self) -> str:
        """What a statement reads from or deletes from, up to the first condition of its own."""
        return f"{self.table.name} WHERE kind = '{self.kind}' AND" if self.kind else f"{self.table.name} WHERE"

    @property
    def keep(self) -> timedelta:
        """`keep_days`."""
        return timedelta(days=self.keep_days)

    @property
    def partition(self) -> timedelta:
        """`chunk_days`."""
        return timedelta(days=self.chunk_days)


def _table(name: str, *columns: Column[Any] | Index, service: bool) -> Table:
    key = ["host_id", "service_id"] if service else ["host_id"]
    return Table(
        name,
        metadata,
        Column("host_id", BigInteger, nullable=False),
        *([Column("service_id", BigInteger, nullable=False)] if service else []),
        Column("ts", Instant, nullable=False),
        *columns,
        Index(None, *key, "ts"),
    )


def _int(name: str, *, null: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=null)


def _small(name: str, *, null: bool = False) -> Column[int]:
    return Column(name, SmallInteger, nullable=null)


def _float(name: str, *, null: bool = False) -> Column[float]:
    return Column(name, Double, nullable=null)


def _array(name: str, item: type[TypeEngine[Any]], *, null: bool = False) -> Column[Any]:
    return Column(name, ARRAY(item), nullable=null)


def _bytes(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


@dataclass(frozen=True, slots=True)
class BlockKind:
    """Blocks of one kind: storage/base/blocks.py. ts = the start of a stretch of so many days."""

    name: str
    heads: int
    """Parts of every block; a part for each of its names follows."""
    rows: str = ""
    """The table that its rows leave for it."""
    days: int = 1

    @property
    def width(self) -> timedelta:
        """`days`."""
        return timedelta(days=self.days)


blocks = _table(
    "blocks",
    _int("layout_id"),  # layouts.id: names of the parts after the heads; 0 = none
    Column("n", Integer, nullable=False),  # rows
    _array("offsets", Integer),  # of the parts in body, and its end
    _bytes("body"),
    Column("kind", Text, nullable=False),
    service=True,
)

metrics_10m_days = BlockKind("metrics_10m_days", heads=1, rows="metrics_10m")
metrics_1h_days = BlockKind("metrics_1h_days", heads=1, rows="metrics_1h")
metrics_1d_months = BlockKind("metrics_1d_months", heads=1, rows="metrics_1d", days=30)
tier_move_days = BlockKind("tier_move_days", heads=4, rows="tier_moves")
rule_days = BlockKind("rule_days", heads=3)
gap_days = BlockKind("gap_days", heads=13, rows="gaps")
BLOCK_KINDS = (metrics_10m_days, metrics_1h_days, metrics_1d_months, tier_move_days, rule_days, gap_days)


def _over_time() -> Index:
    """For reads of a stretch of time over all hosts. Rows come nearly in its order, so that such an index is tiny."""
    return Index(None, "ts", postgresql_using="brin", postgresql_with={"pages_per_range": 32, "autosummarize": True})


def _object() -> tuple[Column[Any], ...]:
    """Where a row's body is once it was moved to the object store: objects.key, and its place in that object."""
    return Column("object_key", Text), Column("object_part", Integer)


METHOD_COLUMNS = ("backend", "granularity", "interval_ns")
"""What measured a row (numbers of the contract's enums) and the nominal interval."""
SUMMED_COLUMNS = tuple(FOLDED_COLUMNS)
"""Columns of heat that are summed over intervals."""


def _method() -> tuple[Column[Any], ...]:
    backend, granularity, interval_ns = METHOD_COLUMNS
    return _small(backend), _small(granularity), _int(interval_ns)


counters_live = _table(
    "counters_live",
    _int("layout_id"),
    _int("boot_ref"),  # boots.id
    _int("boottime_ns", null=True),
    _small("flags"),
    _array("vals", BigInteger),  # in the order of the layout's keys; an element is null where missing
    service=False,
)

counters_packed = _table(
    "counters_packed", _int("layout_id"), Column("n", Integer, nullable=False), _bytes("body"), service=False
)


def _metrics(name: str) -> Table:
    return _table(
        name,
        _int("keys_layout_id"),
        _array("first", Double),
        _array("last", Double),
        _array("min", Double),
        _array("max", Double),
        _array("sum", Double),  # for monotonic counters the reset-safe sum of differences
        _array("n", Integer),
        service=False,
    )


metrics_10m = _metrics("metrics_10m")
metrics_1h = _metrics("metrics_1h")
metrics_1d = _metrics("metrics_1d")

tier_moves = _table(
    "tier_moves",  # service_id 0 = the whole host
    _float("dt_seconds"),
    *(_int(name, null=True) for name in TIER_MOVE_COLUMNS),
    Column("trust", JSONB),  # null where `trust_id` says it: ledger_trusts.id
    _small("cause", null=True),
    _int("trust_id", null=True),
    _over_time(),
    service=True,
)

heat_live = _table(
    # One row = one interval of one service on one host; arrays run over its n (group, kind, page size, tier).
    "heat_live",
    _int("boottime_ns", null=True),
    *_method(),
    _array("groups", Text),
    _array("kinds", SmallInteger),
    _array("page_sizes", Integer),
    _array("tiers", Text),  # "" = unknown
    *(_array(column.name, BigInteger, null=column.presence != "required") for column in HEAT_COLUMNS),
    _float("period_events", null=True),
    _float("duty_ratio", null=True),
    _small("bits_per_interval", null=True),  # null = 1
    service=True,
)

heat = _table("heat", *_method(), Column("n", Integer, nullable=False), _bytes("body"), service=True)


def _heat_rollup(name: str) -> Table:
    return _table(
        name,
        *_method(),
        Column("n_intervals", Integer, nullable=False),
        _array("kinds", SmallInteger),
        _array("tiers", Text),
        *(_array(column, BigInteger) for column in SUMMED_COLUMNS),
        # What stands beside heat (domain/heat/beside.py); null where nothing of the kind was measured.
        *(_array(column, BigInteger, null=True) for column in BESIDE_WIDTHS),
        _array("page_sizes", Integer, null=True),  # null in rows of before: the sizes are summed up
        service=True,
    )


heat_1h = _heat_rollup("heat_1h")
heat_1d = _heat_rollup("heat_1d")


def _service_heat(name: str) -> Table:
    """Heat of all hosts of a service in one row per method and bucket: domain/heat/columns.py."""
    return Table(
        name,
        metadata,
        Column("service_id", BigInteger, nullable=False),
        Column("ts", Instant, nullable=False),
        *_method(),
        Column("n_hosts", Integer, nullable=False),
        Column("built_at", Instant, nullable=False),  # tells a row from the one that it replaced
        _bytes("body"),
        _bytes("counts"),  # of the frequency scheme, read for it alone
        _array("class_bytes", Double, null=True),  # over hosts by the usual rule; null in rows of before
        Index(None, "service_id", "ts"),
    )


service_heat_1h = _service_heat("service_heat_1h")
service_heat_1d = _service_heat("service_heat_1d")

service_moves_1h = Table(
    # The ledger of all hosts of a service: body holds what each counted since midnight (domain/ledger/gathered.py).
    "service_moves_1h",
    metadata,
    Column("service_id", BigInteger, nullable=False),
    Column("ts", Instant, nullable=False),
    Column("own", Boolean, nullable=False),  # of the service's own cgroups; else of its whole hosts
    Column("n_hosts", Integer, nullable=False),
    Column("lines", JSONB, nullable=False),  # rates over all hosts, and rows that were left out
    _bytes("body"),
    Index(None, "service_id", "ts"),
)

gaps = _table(
    "gaps",
    *_method(),
    _small("intervals"),
    _array("groups", Text),
    _array("kinds", SmallInteger),
    _array("closed_bytes", BigInteger),  # n x 63
    _array("freed_bytes", BigInteger),
    _array("open_bytes", BigInteger),  # a state at the block's end, never summed
    _array("censored_bytes", BigInteger, null=True),  # null where the agent does not tell them
    service=True,
)

tile_epochs = _table(
    "tile_epochs",  # ts = the epoch's start
    _int("epoch_id"),  # the contract's fixed64, as the signed integer of the same bits
    Column("group_name", Text, nullable=False),
    *_method(),
    _int("region_bytes"),
    _float("cell_log2_base"),
    _float("cell_unit"),
    Column("cell_measure", Text, nullable=False),
    _array("kinds", SmallInteger),
    _array("mappings", Text),
    _array("offsets_bytes", BigInteger),
    _array("sizes_bytes", BigInteger),
    service=True,
)

tile_columns = _table("tile_columns", _int("epoch_id"), _bytes("cells"), service=True)

traces = _table(
    "traces",  # ts = the end of the block; body: domain/curve/sample_blocks.py
    Column("group_name", Text, nullable=False),
    *_method(),
    _float("sampled_ratio"),  # share of the group's pages that the hash selects
    Column("counts", Boolean, nullable=False),  # loads and stores are counts; else 1 = active
    _float("period_events", null=True),
    _float("duty_ratio", null=True),
    Column("n_intervals", Integer, nullable=False),
    Column("n_pages", Integer, nullable=False),
    Column("n_rows", Integer, nullable=False),
    _bytes("body"),  # empty where an object holds it
    *_object(),
    _over_time(),
    service=True,
)

tiles = _table(
    "tiles",
    _int("epoch_id"),
    _small("level"),
    _bytes("cells"),  # this and `known`: empty where an object holds them
    _bytes("known"),
    *_object(),
    _over_time(),
    service=True,
)

self_reports = _table(
    "self_reports",
    _int("window_ns"),
    _int("cpu_ns"),
    _int("rss_bytes"),
    _int("spool_bytes"),
    _int("spool_batches"),
    _int("dropped_batches"),
    _int("sent_bytes"),
    _int("counters_dropped"),
    _int("services_dropped"),
    Column("collectors", JSONB, nullable=False),
    Column("budget_state", Text),  # this and the following: null where the agent did not say
    Column("heat_rung", Text),
    Column("budget_reason", Text),
    _int("guard_paused_intervals", null=True),
    _int("samples_taken", null=True),
    _int("samples_lost", null=True),
    _int("throttles", null=True),
    service=False,
)

fleet_sketches = Table(
    # Values of peer hosts by hour, and by day for long windows: domain/statistics/sketches.py. ts = the start.
    "fleet_sketches",
    metadata,
    _int("group_id"),  # fleet_groups.id
    Column("ts", Instant, nullable=False),
    _small("hours"),  # 1 or 24
    Column("n_hosts", Integer, nullable=False),
    _array("metrics", Text),
    _array("bodies", LargeBinary),  # by metric
    _array("medians", Double),  # by metric and ten minutes, NaN in gaps; empty in daily rows
    Column("outliers", JSONB, nullable=False),  # hosts beyond the limit in this hour; empty in daily rows
    Column("drifts", JSONB(none_as_null=True)),  # where each host is furthest from its peers; null after eight days
    Index(None, "hours", "ts"),
    Index(None, "group_id", "ts"),
)

rule_inputs = _table(
    # What alert rules judge, as it was when it became complete: rows are added, never changed. service_id 0 = the host.
    "rule_inputs",
    _int("layout_id"),  # layouts.id: the names of vals
    _float("dt_seconds"),
    _float("lag_seconds"),  # from the interval's end to when its row was made
    _array("vals", Double),  # an element is null where absent
    Index(None, "ts"),
    service=True,
)

CAPACITY_BYTES = (
    "capacity_bytes",
    "dram_bytes",
    "used_bytes",
    "resident_bytes",
    "hot_bytes",
    "cold_bytes",
    "untouched_bytes",
    "stranded_bytes",
)

capacity_days = Table(
    # A day of a service or of a host group: domain/capacity/days.py. ts = the day's start; null = not collected.
    "capacity_days",
    metadata,
    Column("kind", Text, nullable=False),  # service | host_group | made (one row for each day that was gone through)
    Column("subject", Text, nullable=False),  # a service's public id, or `<grouping>=<value>`
    Column("ts", Instant, nullable=False),
    Column("made_at", Instant, nullable=False),
    Column("n_hosts", Integer, nullable=False),
    Column("n_hours", Integer, nullable=False),  # with values of at least 90 % of the hosts
    Column("heat_hosts", Integer, nullable=False),
    Column("heat_method", Text),
    Column("resident_source", Text),
    *(_float(name, null=True) for name in CAPACITY_BYTES),
    _float("busy_cores", null=True),
    Index(None, "kind", "subject", "ts"),
)

quality_1h = Table(
    # What arrived of a host's intervals, by the hour in which they lie; what was sent again or left out, by the hour of
    # arrival. domain/operate/data_quality.py
    "quality_1h",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("ts", Instant, nullable=False),
    _int("minutes"),  # bit i = an interval that ends in minute i of the hour is stored
    Column("late", Integer, nullable=False),  # of those stored
    Column("corrected", Integer, nullable=False),  # of those stored
    Column("too_late", Integer, nullable=False),
    Column("set_aside", Integer, nullable=False),
    Column("duplicates", Integer, nullable=False),  # batches
    _float("skew_seconds", null=True),  # the largest either way
    _int("dropped_batches", null=True),  # that the agent counted since its stream began; null = no report
    _int("counters_dropped", null=True),
    _int("services_dropped", null=True),
    Index("ux_quality_1h_host_id_ts", "host_id", "ts", unique=True),
)

_SIX_HOURS_DAYS = 0.25
_COUNTED = ("counters", "counters_closed")
_MOVED = (*_COUNTED, "tier_move_days")
_ROLLED_UP = ("metrics_1h", "metrics_1d", "metrics_pack")
_DAYS = ("metrics_1d", "metrics_1d_pack")

# Rows that are packed leave after hours. Packs are kept for the whole window in which late data is taken, and a day
# more: a bucket is rebuilt from them and from what came late.
TIME_TABLES = (
    TimeTable(counters_live, chunk_days=_SIX_HOURS_DAYS, chunk_hours=6, keep_days=_SIX_HOURS_DAYS),
    TimeTable(counters_packed, chunk_days=1, chunk_hours=24, keep_days=8, work=(*_COUNTED, "counters_pack")),
    TimeTable(metrics_10m, chunk_days=1, chunk_hours=24, keep_days=8, work=_ROLLED_UP),
    TimeTable(blocks, chunk_days=10, chunk_hours=240, keep_days=30, work=_ROLLED_UP, kind=metrics_10m_days.name),
    TimeTable(metrics_1h, chunk_days=10, chunk_hours=240, keep_days=8, work=_ROLLED_UP),
    TimeTable(blocks, chunk_days=10, chunk_hours=240, keep_days=400, work=_ROLLED_UP, kind=metrics_1h_days.name),
    TimeTable(metrics_1d, chunk_days=90, chunk_hours=2160, keep_days=90, work=_DAYS),
    TimeTable(blocks, chunk_days=90, chunk_hours=2160, keep_days=1095, work=_DAYS, kind=metrics_1d_months.name),
    TimeTable(tier_moves, chunk_days=1, chunk_hours=24, keep_days=8, work=_MOVED),
    TimeTable(blocks, chunk_days=10, chunk_hours=240, keep_days=35, work=_MOVED, kind=tier_move_days.name),
    TimeTable(rule_inputs, chunk_days=1, chunk_hours=24, keep_days=2, work=("rule_days",)),
    TimeTable(blocks, chunk_days=10, chunk_hours=240, keep_days=36, work=("rule_days",), kind=rule_days.name),
    TimeTable(heat_live, chunk_days=_SIX_HOURS_DAYS, chunk_hours=6, keep_days=_SIX_HOURS_DAYS),
    TimeTable(heat, chunk_days=1, chunk_hours=24, keep_days=8, work=("heat", "heat_1h")),
    TimeTable(heat_1h, chunk_days=10, chunk_hours=240, keep_days=90),
    TimeTable(heat_1d, chunk_days=90, chunk_hours=2160, keep_days=1095),
    TimeTable(service_heat_1h, chunk_days=10, chunk_hours=240, keep_days=90),
    TimeTable(service_heat_1d, chunk_days=90, chunk_hours=2160, keep_days=1095),
    TimeTable(service_moves_1h, chunk_days=10, chunk_hours=240, keep_days=90),
    TimeTable(fleet_moves, chunk_days=10, chunk_hours=240, keep_days=90),
    TimeTable(gaps, chunk_days=1, chunk_hours=24, keep_days=8, work=("gap_days",)),
    TimeTable(blocks, chunk_days=10, chunk_hours=240, keep_days=90, work=("gap_days",), kind=gap_days.name),
    TimeTable(tile_epochs, chunk_days=10, chunk_hours=240, keep_days=90),
    TimeTable(tile_columns, chunk_days=1, chunk_hours=24, keep_days=8),
    TimeTable(tiles, chunk_days=1, chunk_hours=24, keep_days=14),
    TimeTable(traces, chunk_days=1, chunk_hours=24, keep_days=14),
    TimeTable(capacity_days, chunk_days=90, chunk_hours=2160, keep_days=1095),
    TimeTable(fleet_sketches, chunk_days=10, chunk_hours=240, keep_days=400),
    TimeTable(quality_1h, chunk_days=1, chunk_hours=24, keep_days=35),
    TimeTable(self_reports, chunk_days=1, chunk_hours=24, keep_days=14),
    TimeTable(samples_live, chunk_days=1, chunk_hours=6, keep_days=2, work=("samples", "samples_pack")),
    TimeTable(samples_packed, chunk_days=1, chunk_hours=24, keep_days=35),
)
