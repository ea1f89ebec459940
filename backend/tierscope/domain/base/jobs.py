"""What is rebuilt from what, how wide its buckets are, and when a bucket is due.

A mark names a kind, a subject and a bucket. The ledger's kind is rebuilt while its bucket is still open, because people
look at it now; all others wait until their bucket has closed, since reads take the newest stretch from live rows.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from tierscope.domain.base.buckets import DAY_US, HOUR_US, MINUTE_US, TEN_MINUTES_US, THIRTY_DAYS_US


@dataclass(frozen=True, slots=True)
class Job:
    """One kind of rebuilding."""

    kind: str
    width_us: int
    open_buckets: bool
    """Whether a bucket is worked on before it has closed."""
    claim_limit: int
    """Most buckets of one subject in one transaction."""
    wait: timedelta = timedelta(seconds=90)
    """How long after its end a bucket is due: uploads are spread over a minute."""

    by_prometheus: bool = False
    """Whether it works on what Prometheus sends: subjects are targets, on the coordinator, and nobody holds it back."""

    def due_before(self, now: datetime, held: timedelta = timedelta()) -> datetime:
        """Buckets that start before this moment are due. `held`: the longest that a host holds samples back."""
        if self.open_buckets:
            return now
        waits = self.wait if self.by_prometheus else self.wait + held
        return now - timedelta(microseconds=self.width_us) - waits


_AFTER_HOSTS = timedelta(minutes=5)
"""What is made of all hosts waits for their own buckets, so that it is made once and not once per host."""

COUNTERS = Job("counters", TEN_MINUTES_US, open_buckets=True, claim_limit=144)
COUNTERS_CLOSED = Job("counters_closed", TEN_MINUTES_US, open_buckets=False, claim_limit=144)
"""Of open buckets only new rows are made: each is rebuilt whole once it has closed."""
HEAT = Job("heat", TEN_MINUTES_US, open_buckets=False, claim_limit=144)
TILES = Job("tiles", HOUR_US, open_buckets=False, claim_limit=60)
METRICS_1H = Job("metrics_1h", HOUR_US, open_buckets=False, claim_limit=168)
METRICS_1D = Job("metrics_1d", DAY_US, open_buckets=False, claim_limit=31)
HEAT_1H = Job("heat_1h", HOUR_US, open_buckets=False, claim_limit=48)
HEAT_1D = Job("heat_1d", DAY_US, open_buckets=False, claim_limit=31)
SERVICE_HEAT_1H = Job("service_heat_1h", HOUR_US, open_buckets=False, claim_limit=24, wait=_AFTER_HOSTS)
SERVICE_HEAT_1D = Job("service_heat_1d", DAY_US, open_buckets=False, claim_limit=8, wait=_AFTER_HOSTS)
SERVICE_MOVES_1H = Job("service_moves_1h", HOUR_US, open_buckets=False, claim_limit=24, wait=_AFTER_HOSTS)
FLEET_MOVES = Job("fleet_moves", TEN_MINUTES_US, open_buckets=False, claim_limit=36)
COUNTERS_PACK = Job("counters_pack", HOUR_US, open_buckets=False, claim_limit=24)

SAMPLES = Job("samples", MINUTE_US, open_buckets=False, claim_limit=1440, wait=timedelta(seconds=5), by_prometheus=True)
"""Samples of Prometheus: a minute is taken when the scrapes that end in it have usually come."""
SAMPLES_PACK = Job("samples_pack", HOUR_US, open_buckets=False, claim_limit=24, by_prometheus=True)
RULE_DAYS = Job("rule_days", DAY_US, open_buckets=False, claim_limit=8)
LATE = timedelta(days=8)
"""Rows stay rows for so long: for the seven days in which late data is taken, and one more."""
TIER_MOVE_DAYS = Job("tier_move_days", DAY_US, open_buckets=False, claim_limit=4, wait=LATE)
GAP_DAYS = Job("gap_days", DAY_US, open_buckets=False, claim_limit=8, wait=LATE)
METRICS_PACK = Job("metrics_pack", DAY_US, open_buckets=False, claim_limit=8, wait=timedelta(days=2))
"""Rolled-up counters of ten minutes and of an hour move into blocks once late samples of their day have mostly come."""
CAPACITY_DAYS = Job("capacity_days", DAY_US, open_buckets=False, claim_limit=400)
"""Points of capacity of days that were gone through before older data came: they are to be made again."""
HISTORY_DAYS = Job("history_days", DAY_US, open_buckets=False, claim_limit=400, wait=timedelta(minutes=5))
"""Days of a host that were rebuilt: what is published of them is to be published anew."""
METRICS_1D_PACK = Job("metrics_1d_pack", THIRTY_DAYS_US, open_buckets=False, claim_limit=2, wait=timedelta(days=2))

JOBS = (
    SAMPLES,
    COUNTERS,
    COUNTERS_CLOSED,
    HEAT,
    HEAT_1H,
    SERVICE_HEAT_1H,
    SERVICE_MOVES_1H,
    FLEET_MOVES,
    TILES,
    METRICS_1H,
    METRICS_1D,
    HEAT_1D,
    SERVICE_HEAT_1D,
    CAPACITY_DAYS,
    HISTORY_DAYS,
    COUNTERS_PACK,
    SAMPLES_PACK,
    RULE_DAYS,
    TIER_MOVE_DAYS,
    GAP_DAYS,
    METRICS_PACK,
    METRICS_1D_PACK,
)
"""In the order in which they are worked: what people look at first comes first, and fine before coarse."""
OF_THE_FLEET = (SERVICE_HEAT_1H, SERVICE_MOVES_1H, FLEET_MOVES, SERVICE_HEAT_1D, CAPACITY_DAYS, HISTORY_DAYS)
"""What is made of hosts of several servers, where a fleet has them: made and kept by the coordinator."""
OF_ONE_HOST = [job.kind for job in JOBS if job not in OF_THE_FLEET and not job.by_prometheus]
"""Kinds of work on a host's own rows: the subject of a mark is the host."""


def due_table(now: datetime, held: timedelta = timedelta()) -> dict[str, datetime]:
    """For each kind, the moment before which buckets are due."""
    return {job.kind: job.due_before(now, held) for job in JOBS}
