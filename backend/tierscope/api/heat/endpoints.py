"""Heat of a service: hot, warm and cold by scheme, with method, window, coverage and interval."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, MaxPoints, To
from tierscope.api.base.figures import Figure, Model, PageKind, Series, TimeAxis, Window
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import FILES, Format, answer_or_file
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin
from tierscope.usecases.heat.reads import HeatReads

Scheme = Literal["recency", "frequency", "cold_age"]
HeatClass = Literal["hot", "warm", "cold", "unknown"]


class SchemeInfo(Model):
    """The scheme in force, in words and thresholds (intervals), and what was snapped to bucket edges."""

    name: Scheme
    hot: str
    warm: str | None
    cold: str
    threshold_intervals: int | None
    snapped: str | None


class ClassFigures(Model):
    """Bytes of one class; its share as the median over hosts, and in all bytes together (hosts weigh by memory)."""

    heat_class: HeatClass
    bytes: Figure
    ratio: Figure
    weighted_ratio: Figure


class KindHeat(Model):
    """Heat of one page kind."""

    kind: PageKind
    resident_bytes: Figure
    classes: list[ClassFigures]


class WindowHeat(Model):
    """HF_w: share of resident bytes active within w intervals (analytics a2)."""

    intervals: int
    active_ratio: Figure


class WrittenWindow(Model):
    """Memory written within w intervals, from write tracking: shown beside heat, never as heat."""

    intervals: int
    bytes: Figure
    ratio: Figure


class HugePages(Model):
    """Hot bytes of huge pages: as whole pages (upper), and of the sub-pages that were seen active (lower).

    `skewed`: the lower bound is below a tenth of the upper one, so that splitting may pay; null where not known.
    """

    hot_bytes_upper: Figure
    hot_bytes_lower: Figure
    skewed: bool | None


class SizeHeat(Model):
    """Heat of pages of one size. One touch makes a whole huge page hot: `huge_pages` bounds what that may hide."""

    page_size_bytes: int | None = Field(description="Null where rows were stored before sizes were kept apart.")
    resident_bytes: Figure
    classes: list[ClassFigures]
    huge_pages: HugePages | None = Field(description="Null for base pages.")


class BesideHeat(Model):
    """What stands beside heat: the size of the random sample that it was scaled up from, writes, huge pages."""

    sampled_pages: Figure
    written: list[WrittenWindow]
    huge_pages: HugePages


class TouchedWindow(Model):
    """Memory touched within w intervals by loads, pages without a sample included: an interval, a lower bound, or none.

    `coverage`: share of the load traffic that goes to pages with samples.
    """

    intervals: int
    coverage: Figure
    touched_bytes: Figure


class Sampling(Model):
    """What hardware samplers (pebs, ibs, spe) saw in the newest 10 intervals. Loads and stores are never added."""

    loads: Figure
    stores: Figure
    load_events: Figure
    store_events: Figure
    windows: list[TouchedWindow]


class AgeBucket(Model):
    """One bar of the age histogram: [from, to) intervals since last activity; `to` null = open end."""

    from_intervals: int
    to_intervals: int | None
    active_bytes: int
    never_bytes: int


class HostHeat(Model):
    """A host's share in the service's heat."""

    host_id: str
    host_name: str
    resident_bytes: int
    hot_ratio: Figure


class ServiceHeat(Model):
    """Answer of /v1/services/{id}/heat."""

    service_id: str
    origin: Origin
    scheme: SchemeInfo
    method: str
    backend: str
    granularity: str
    interval_seconds: float | None = Field(description="Nominal length of a measured interval.")
    window: Window
    coverage: float | None
    classes: list[ClassFigures]
    by_kind: list[KindHeat]
    by_size: list[SizeHeat]
    by_window: list[WindowHeat]
    age_histogram: list[AgeBucket]
    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure
    beside: BesideHeat
    sampling: Sampling | None = Field(description="Null where the method does not sample in hardware.")
    hosts: list[HostHeat]
    axis: TimeAxis
    series: list[Series]
    other_methods: list[str]
    grounding_notes: list[str]


router = APIRouter(
    prefix="/v1/services/{service_id}/heat", tags=["heat"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[HeatReads, Depends(use(lambda held: held.heat))]


@router.get("", response_model=ServiceHeat, responses=FILES, summary="Hot, warm and cold memory of a service")
def read_heat(
    request: Request,
    reads: Reads,
    service_id: str,
    scheme: Scheme = "recency",
    threshold: Annotated[
        int | None,
        Query(
            ge=1,
            le=64,
            description="Intervals: recency hot below it (default 2), cold_age cold from it (default 2); "
            "frequency hot from this many active of the last 10 (default 5). Snapped to a bucket edge.",
        ),
    ] = None,
    kind: PageKind | None = None,
    host: Annotated[str | None, Query(description="Only this host id.")] = None,
    method: Annotated[
        str | None, Query(description="abit | referenced | trace | pebs | ...; default: the best one with data.")
    ] = None,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
    max_hosts: Annotated[
        int | None, Query(ge=0, le=10_000, description="List so many hosts, the largest; default all of them.")
    ] = None,
    format: Format = "json",
) -> Response:
    """Classes by scheme with method, window, coverage and interval; the age histogram; hosts; series over time."""
    view = reads.service(
        service_id,
        scheme=scheme,
        threshold=threshold,
        kind=kind,
        host=host,
        method=method,
        from_=from_,
        to=to,
        max_points=max_points,
        max_hosts=max_hosts,
    )
    return answer_or_file(request, ServiceHeat, view, name="heat", format=format)
