"""What came by remote write or OTLP and gives no host: said in words, with what it looks like."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.base.names import escaped_name
from tierscope.storage.ingest.unread import LOOKED_AT, UnreadRow, read_unread

_OF_MACHINES = frozenset(
    {
        "atop",
        "collectd",
        "host",
        "kernel",
        "mem",
        "netdata",
        "node",
        "numa",
        "swap",
        "sysstat",
        "system",
        "vmem",
        "windows",
    }
)
"""First words of metrics by which programs tell of machines: whoever sends them means to add hosts."""
_SHOWN_LABELS = 4
_SHOWN_LENGTH = 60


@dataclass(frozen=True, slots=True)
class UnreadSeries:
    """Series that came lately and give no host."""

    word: Annotated[str, Described("The first word of their names.")]
    series: int
    senders: Annotated[int, Described("Different instances, hosts or jobs in their labels.")]
    example: Annotated[str, Described("One of them, with some of its labels.")]
    reason: Annotated[str, Described("Why they give no host.")]
    of_machines: Annotated[bool, Described("Whether they tell of machines, by their names.")]


def find_unread(session: ReadSession, now: datetime) -> tuple[UnreadSeries, ...]:
    """Groups of series, the largest first."""
    return tuple(_view(row) for row in read_unread(session, now))


def describe_unread(found: Sequence[UnreadSeries]) -> str:
    """All of them in one sentence."""
    series, senders = sum(one.series for one in found), max(one.senders for one in found)
    least = "at least " if series >= LOOKED_AT else ""
    looks = "; ".join(f"{one.example} ({one.reason})" for one in found[:2])
    return f"{least}{series:,} series of {senders:,} senders came and give no host: {looks}"


def _view(row: UnreadRow) -> UnreadSeries:
    if row.is_histogram:
        reason = "native histograms, which are not kept: what they tell is no counter of a machine"
    elif row.is_made:
        reason = "made of other series by a recording rule or by aggregation, so that they count nothing: send those"
    elif row.reason is not None:
        reason = f"counters that are not taken: {row.reason}"
    else:
        reason = "none is a counter that we read"
    # A rule is named by its level, a colon and the metric: `instance:node_vmstat_pgmajfault:rate5m`.
    of_machines = not row.is_histogram and (row.reason is not None or row.word.rpartition(":")[2] in _OF_MACHINES)
    return UnreadSeries(row.word, row.series, row.senders, _example(row), reason, of_machines)


def _example(row: UnreadRow) -> str:
    labels = [(name, value) for name, value in sorted(row.labels.items()) if name != "__name__"][:_SHOWN_LABELS]
    inside = ",".join(f'{name}="{escaped_name(value[:_SHOWN_LENGTH])}"' for name, value in labels)
    return f"{row.labels.get('__name__', '')}{{{inside}}}"
