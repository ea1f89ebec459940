"""Data quality: what should have arrived, what did, and why the rest did not."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ConfigDict, Field

from tierscope.api.base.answers import Cursor, From, Limit, To
from tierscope.api.base.figures import Model, Page
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import FILES, Format, answer_or_file
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Figure, Origin, Window
from tierscope.usecases.operate.data_quality import DataQualityReads, ReachedCap


class DataGap(Model):
    """A stretch of minutes without an interval, half-open. `kind` is the reason as a word, `why` in a sentence."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    from_: datetime = Field(validation_alias="from_", serialization_alias="from")
    to: datetime
    kind: Literal["silent", "restart", "new_stream", "dropped", "paused", "on_the_way", "unknown"]
    why: str


class _Arrivals(Model):
    expected_intervals: Figure
    received: Figure
    missing: Figure
    late: Figure
    corrected: Figure
    too_late: Figure
    set_aside: Figure
    duplicates: Figure
    dropped: Figure


class HostQuality(_Arrivals):
    """A host in its window: the part of the one asked for in which it was enrolled and not retired.

    Intervals end once a minute unless the host says otherwise. `late` ones arrived more than ten minutes after their
    end and `corrected` ones have a time that was rebuilt; both are stored. `too_late` and `set_aside` are not.
    `duplicates`: batches that came again and were stored once. `dropped`: batches that the agent gave up, its spool
    full. `gaps`: the newest; `more_gaps` older ones are not listed.
    """

    host_id: str
    name: str
    origin: Origin
    window: Window
    clock_skew_seconds: Figure
    caps: list[ReachedCap]
    gaps: list[DataGap]
    more_gaps: int


class FleetQuality(_Arrivals):
    """Sums over all hosts but those of recordings, of which nothing is expected."""

    hosts: Figure
    gapless_hosts: Figure
    skewed_hosts: Figure


class DataQuality(Model):
    """Fleet and hosts, those that miss most first. What arrived before `counted_since` was not counted."""

    window: Window
    counted_since: datetime
    fleet: FleetQuality
    hosts: Page[HostQuality]


router = APIRouter(prefix="/v1/data-quality", tags=["fleet"], dependencies=[Depends(requires("read:fleet"))])


@router.get("", response_model=DataQuality, responses=FILES, summary="What arrived, what is missing, and why")
def read_data_quality(
    request: Request,
    reads: Annotated[DataQualityReads, Depends(use(lambda held: held.data_quality))],
    from_: From = None,
    to: To = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    format: Format = "json",
) -> Response:
    """Completeness of the fleet's data in a window of at most 8 days; by default the last 24 hours.

    A file is the table of hosts.
    """
    view = reads.read(from_=from_, to=to, limit=limit, cursor=cursor)
    return answer_or_file(request, DataQuality, view, name="data-quality", format=format, part="hosts")
