"""Series that came lately and give no host a counter."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import text

from tierscope.core.database import ReadSession

LATELY = timedelta(hours=2)
LOOKED_AT = 100_000
"""Most series that are looked at: those of a fleet are many, and one look has to be cheap."""
_GROUPS = 20


@dataclass(frozen=True, slots=True)
class UnreadRow:
    """Series whose names begin with the same word: how many, of how many senders, and the labels of one of them.

    `reason`: why their counters are not taken; None where they are none. `is_made`: whether their names have a colon,
    as those of recording rules and of aggregation. `is_histogram`: whether native histograms came of them.
    """

    word: str
    is_made: bool
    is_histogram: bool
    reason: str | None
    series: int
    senders: int
    labels: Mapping[str, str]


def read_unread(session: ReadSession, now: datetime) -> list[UnreadRow]:
    """Series of targets that are no host and sent samples lately, and native histograms, the most frequent first."""
    floats = (
        "SELECT r.id, r.metric, r.labels, t.reason, false AS is_histogram FROM sample_series r"
        " JOIN (SELECT id, reason FROM sample_targets t WHERE host_id IS NULL AND EXISTS ("
        "  SELECT FROM samples_live l WHERE l.target_id = t.id AND l.hour > :since)) t ON t.id = r.target_id"
        " WHERE coalesce(r.histograms_at <= :since, true) LIMIT :most"
    )
    histograms = "SELECT id, metric, labels, NULL, true FROM sample_series WHERE histograms_at > :since LIMIT :most"
    statement = text(
        "SELECT g.word, g.is_made, g.is_histogram, g.reason, g.series, g.senders, one.labels FROM ("  # noqa: S608 - our own words
        " SELECT split_part(s.metric, '_', 1) AS word, strpos(s.metric, ':') > 0 AS is_made, s.is_histogram, s.reason,"
        " count(*) AS series, min(s.id) AS first,"
        " count(DISTINCT coalesce(s.labels ->> 'instance', s.labels ->> 'host', s.labels ->> 'hostname',"
        "  s.labels ->> 'job', '')) AS senders"
        f" FROM (({floats}) UNION ALL ({histograms})) AS s"
        " GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1 LIMIT :groups) AS g"
        " JOIN sample_series one ON one.id = g.first ORDER BY g.series DESC, g.word"
    )
    values = {"since": now - LATELY, "most": LOOKED_AT, "groups": _GROUPS}
    return [UnreadRow(**row) for row in session.execute(statement, values).mappings()]
