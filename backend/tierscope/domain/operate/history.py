"""What is published for other engines: kinds of rows of closed days, and what each column says.

A file has the rows of one kind, one day (UTC) and 64 hosts whose numbers follow each other, mostly neighbours:
a read of one host or rack opens few files, and the footer of a file stays small. docs/howto/export.md describes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.domain.heat.classes import CLASSES
from tierscope.domain.ledger import COLUMNS

HistoryKind = Literal["tier_moves", "service_heat", "counters"]
HOSTS_PER_FILE = 64
FORMAT = "tierscope-history/1"
CellKind = Literal["text", "integer", "number", "time"]


@dataclass(frozen=True, slots=True)
class HistoryColumn:
    """A column: null where nothing counts it, or nothing was collected; never zero in place of that."""

    name: str
    kind: CellKind
    says: str
    unit: str = ""


_HOST = (
    HistoryColumn("host_id", "text", "The host's id, as the API has it."),
    HistoryColumn("host", "text", "Its name when the file was written."),
    HistoryColumn("origin", "text", "live, import or simulated."),
)


def _service(absent: str = "") -> tuple[HistoryColumn, ...]:
    return (
        HistoryColumn("service_id", "text", f"The service's id, as the API has it.{absent}"),
        HistoryColumn("namespace", "text", "Of the service."),
        HistoryColumn("service", "text", "Its name."),
    )


_MEAN = "Mean over the intervals of the hour."
HISTORY: Mapping[HistoryKind, tuple[HistoryColumn, ...]] = {
    "tier_moves": (
        *_HOST,
        *_service(" Null: the whole host."),
        HistoryColumn("interval_end", "time", "UTC. An interval is of the day in which it ends, midnight included."),
        HistoryColumn("interval_seconds", "number", "Its length.", "seconds"),
        *(
            HistoryColumn(
                column.key,
                "integer",
                f"{column.label}: {'at the end' if column.gauge else 'in'} of the interval.".replace("in of", "in"),
                column.unit,
            )
            for column in COLUMNS
        ),
    ),
    "service_heat": (
        *_HOST,
        *_service(),
        HistoryColumn("hour_start", "time", "UTC."),
        HistoryColumn("method", "text", "What measured. Bytes of two methods must not be added."),
        HistoryColumn("interval_seconds", "number", "Its nominal interval.", "seconds"),
        HistoryColumn("page_kind", "text", "Kind of the pages."),
        HistoryColumn("tier", "text", "Memory tier; null where it is not known."),
        HistoryColumn("page_size_bytes", "integer", "Null where sizes are not told apart.", "bytes"),
        HistoryColumn("n_intervals", "integer", "Intervals that were measured in the hour."),
        HistoryColumn("resident_bytes", "number", f"Resident memory. {_MEAN}", "bytes"),
        *(
            HistoryColumn(f"{name}_bytes", "number", f"Of it {name} by the usual rule. {_MEAN}", "bytes")
            for name in CLASSES
        ),
    ),
    "counters": (
        *_HOST,
        HistoryColumn("counter", "text", "scope|source|name, as the API has it."),
        HistoryColumn("counter_kind", "text", "counter (only grows) or gauge."),
        HistoryColumn("unit", "text", "Of the values in this row."),
        HistoryColumn("hour_start", "time", "UTC."),
        HistoryColumn("first", "number", "First sample of the hour."),
        HistoryColumn("last", "number", "Last sample."),
        HistoryColumn("min", "number", "Smallest sample."),
        HistoryColumn("max", "number", "Largest sample."),
        HistoryColumn("sum", "number", "Of a counter what it counted, across restarts; of a gauge the sum of samples."),
        HistoryColumn("n", "integer", "Of a counter the differences in `sum`; of a gauge its samples."),
    ),
}


def first_host_of(host_id: int) -> int:
    """The first number of those hosts that share a file with this one."""
    return host_id // HOSTS_PER_FILE * HOSTS_PER_FILE


def file_key(kind: HistoryKind, day: datetime, first_host: int) -> str:
    """Where the file of a day lies: always the same, so that a directory never has two of one day and hosts."""
    return f"{kind}/day={day:%Y-%m-%d}/hosts-{first_host}.parquet"


def manifest_key(kind: HistoryKind) -> str:
    """Where the list of a kind's files lies."""
    return f"manifests/{kind}.json"


def described(kind: HistoryKind) -> list[dict[str, str]]:
    """The columns of a kind, as its manifest tells them."""
    return [{"name": one.name, "type": one.kind, "unit": one.unit, "says": one.says} for one in HISTORY[kind]]
