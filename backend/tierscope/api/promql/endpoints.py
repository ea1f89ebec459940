"""The query API of Prometheus, as Grafana and promtool ask it: a documented part, over what is stored here.

`/prometheus` is the address that such clients are given. What they ask may come as a form, too. Errors of queries have
Prometheus' shape; those of login and of rate limits are problems as everywhere.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Never, TypeVar
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from tierscope.api.base.answers import Answer, answer, answer_bytes, serialise
from tierscope.api.base.bodies import check_sent_as
from tierscope.api.base.limited import COSTLY, budgeted
from tierscope.api.base.permissions import requires
from tierscope.api.base.problems import PROBLEM_TYPE
from tierscope.api.base.use_cases import use
from tierscope.core.errors import BadRequest, SlowQuery
from tierscope.domain.promql.budget import Budget, TimedOut
from tierscope.domain.promql.series import ExecutionError, QueryError
from tierscope.usecases.promql.answers import (
    BuildAnswer,
    MetadataAnswer,
    QueryAnswer,
    QueryProblem,
    SeriesAnswer,
    TextsAnswer,
)
from tierscope.usecases.promql.reads import SELECTORS_MAX, PromQueries

router = APIRouter(prefix="/prometheus/api/v1", tags=["prometheus"], dependencies=[Depends(requires("read:fleet"))])

T = TypeVar("T")
NO_MATCH: list[str] = []
FIELDS_MAX = 100
"""Fields of a form."""
_TIME_CHARACTERS = 64
Budgeted = Annotated[Budget, Depends(budgeted, scope="function")]
Reads = Annotated[PromQueries, Depends(use(lambda held: held.prom_queries))]
Asked = Annotated[str, Query(max_length=4000, description="A PromQL expression; longer ones come in a form.")]
Moment = Annotated[str | None, Query(max_length=_TIME_CHARACTERS, description="Unix seconds or RFC 3339. Default now.")]
Start = Annotated[
    str | None,
    Query(max_length=_TIME_CHARACTERS, description="Unix seconds or RFC 3339. Default six hours before `end`."),
]
Match = Annotated[
    list[str], Query(alias="match[]", max_length=SELECTORS_MAX, description="Selectors: series that meet any of them.")
]
_AS_EVERYWHERE = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": QueryProblem, "description": text, "content": _AS_EVERYWHERE}
    for status, text in {
        400: "It is no query, or has something that is not supported",
        422: "The query has no value, or needs more than one query may",
        503: "The query takes too long, or the service cannot answer now",
    }.items()
}

_PROTOBUF = {"application/x-protobuf": {"schema": {"type": "string", "format": "binary"}}}
_UNSUPPORTED: dict[str, Any] = {"description": "Another content type or encoding", "content": _AS_EVERYWHERE}


@router.get("/query", summary="Value of a PromQL expression", responses=_PROBLEMS)
def prom_query(
    request: Request, reads: Reads, budget: Budgeted, query: Asked = "", time: Moment = None
) -> Answer[QueryAnswer]:
    """The value of an expression at a moment. docs/howto/grafana.md lists what is supported."""
    return _body(request, lambda: reads.instant(query, time, budget))


@router.get("/query_range", summary="Values of a PromQL expression over a range", responses=_PROBLEMS)
def prom_query_range(
    request: Request,
    reads: Reads,
    budget: Budgeted,
    query: Asked = "",
    start: Annotated[str, Query(max_length=_TIME_CHARACTERS, description="Unix seconds or RFC 3339.")] = "",
    end: Annotated[str, Query(max_length=_TIME_CHARACTERS, description="Unix seconds or RFC 3339.")] = "",
    step: Annotated[
        str, Query(max_length=_TIME_CHARACTERS, description="Seconds, or a duration such as `1m30s`.")
    ] = "",
) -> Answer[QueryAnswer]:
    """The values of an expression at steps from `start` to `end`, at most 11,000 of them."""
    return _body(request, lambda: reads.range(query, start, end, step, budget))


@router.get("/series", summary="Series that selectors mean", responses=_PROBLEMS, dependencies=[COSTLY])
def prom_series(
    request: Request,
    reads: Reads,
    match: Match = NO_MATCH,
    start: Start = None,
    end: Moment = None,
) -> Answer[SeriesAnswer]:
    """Labels of all series that any selector means. Written series are told whenever they had samples."""
    return _answered(request, SeriesAnswer, lambda: reads.series(match, start, end))


@router.get("/labels", summary="Names of labels", responses=_PROBLEMS, dependencies=[COSTLY])
def prom_labels(
    request: Request,
    reads: Reads,
    match: Match = NO_MATCH,
    start: Start = None,
    end: Moment = None,
) -> Answer[TextsAnswer]:
    """Names of the labels of all series, or of those that any selector means."""
    return _answered(request, TextsAnswer, lambda: reads.names(match, start, end))


@router.get("/label/{name}/values", summary="Values of a label", responses=_PROBLEMS, dependencies=[COSTLY])
def prom_label_values(
    request: Request,
    reads: Reads,
    name: Annotated[str, Path(max_length=512)],
    match: Match = NO_MATCH,
    start: Start = None,
    end: Moment = None,
) -> Answer[TextsAnswer]:
    """Values of a label; those of `__name__` are the metrics."""
    return _answered(request, TextsAnswer, lambda: reads.values(name, match, start, end))


@router.get("/metadata", summary="What metrics are", responses=_PROBLEMS)
def prom_metadata(
    request: Request,
    reads: Reads,
    metric: Annotated[str | None, Query(max_length=512, description="This metric alone.")] = None,
    limit: Annotated[int | None, Query(description="At most so many metrics.")] = None,
) -> Answer[MetadataAnswer]:
    """Type, help and unit of the service's own metrics; of written series nothing is known."""
    return _answered(request, MetadataAnswer, lambda: reads.metadata(metric, limit))


@router.get("/status/buildinfo", summary="What answers queries", responses=_PROBLEMS)
def prom_build(request: Request, reads: Reads) -> Answer[BuildAnswer]:
    """The version of Prometheus whose PromQL is spoken, and of this service."""
    return _answered(request, BuildAnswer, reads.build)


@router.post(
    "/read",
    summary="Samples for the remote read of a Prometheus",
    response_class=Response,
    responses=_PROBLEMS | {200: {"description": "A `ReadResponse`", "content": _PROTOBUF}, 415: _UNSUPPORTED},
    openapi_extra={"requestBody": {"required": True, "content": _PROTOBUF}},
)
async def prom_read(request: Request, reads: Reads, budget: Budgeted) -> Response:
    """Take a `prometheus.ReadRequest`, compressed with snappy, and answer with all samples that its selectors mean.

    Answers are of the kind `SAMPLES`; streamed chunks are not written.
    """
    next_step = "Send a prometheus.ReadRequest, compressed with snappy."
    check_sent_as(request, "application/x-protobuf", ("snappy",), next_step)
    body = await request.body()
    return await run_in_threadpool(_read, reads, body, budget)


def _read(reads: PromQueries, body: bytes, budget: Budget) -> Response:
    read = _attempt(lambda: reads.read_remote(body, budget))
    if isinstance(read, Answer):
        return read
    headers = {"Content-Encoding": "snappy", "Cache-Control": "no-store"}
    return Response(read, media_type="application/x-protobuf", headers=headers)


@router.post("/query", include_in_schema=False)
async def prom_query_by_form(request: Request, reads: Reads, budget: Budgeted) -> Answer[QueryAnswer]:
    """The same as by GET."""
    form = await _read_form(request)
    query, time = (_first(form, name) for name in ("query", "time"))
    return await run_in_threadpool(_body, request, lambda: reads.instant(query, time, budget))


@router.post("/query_range", include_in_schema=False)
async def prom_query_range_by_form(request: Request, reads: Reads, budget: Budgeted) -> Answer[QueryAnswer]:
    """The same as by GET."""
    form = await _read_form(request)
    query, start, end, step = (_first(form, name) for name in ("query", "start", "end", "step"))
    return await run_in_threadpool(_body, request, lambda: reads.range(query, start, end, step, budget))


@router.post("/series", include_in_schema=False, dependencies=[COSTLY])
async def prom_series_by_form(request: Request, reads: Reads) -> Answer[SeriesAnswer]:
    """The same as by GET."""
    form = await _read_form(request)
    span = _first(form, "start"), _first(form, "end")
    return await run_in_threadpool(
        _answered, request, SeriesAnswer, lambda: reads.series(form.get("match[]", ()), *span)
    )


@router.post("/labels", include_in_schema=False, dependencies=[COSTLY])
async def prom_labels_by_form(request: Request, reads: Reads) -> Answer[TextsAnswer]:
    """The same as by GET."""
    form = await _read_form(request)
    span = _first(form, "start"), _first(form, "end")
    return await run_in_threadpool(_answered, request, TextsAnswer, lambda: reads.names(form.get("match[]", ()), *span))


async def _read_form(request: Request) -> dict[str, list[str]]:
    """Parameters of the form and of the address, by name."""
    body = (await request.body()).decode("utf-8", "replace")
    try:
        found = parse_qs(body, keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError as error:
        raise BadRequest(f"the form has more than {FIELDS_MAX} fields", next_step="Send fewer selectors.") from error
    for name, value in request.query_params.multi_items():
        found.setdefault(name, []).append(value)
    return found


def _first(form: dict[str, list[str]], name: str) -> str:
    values: Sequence[str] = form.get(name, ())
    return values[0] if values else ""


def _answered(request: Request, model: type[T], work: Callable[[], T]) -> Answer[T] | Answer[Never]:
    return _attempt(lambda: answer(request, model, work()))


def _body(request: Request, work: Callable[[], bytes]) -> Answer[Never]:
    return _attempt(lambda: answer_bytes(request, work(), "application/json"))


def _attempt(work: Callable[[], T]) -> T | Answer[Never]:
    try:
        return work()
    except TimedOut as error:
        return _refused(503, QueryProblem("error", "timeout", str(error)))
    except ExecutionError as error:
        return _refused(422, QueryProblem("error", "execution", str(error)))
    except QueryError as error:
        return _refused(400, QueryProblem("error", "bad_data", str(error)))
    except SlowQuery as error:
        return _refused(503, QueryProblem("error", "timeout", f"{error.detail}. {error.next_step}"))


def _refused(status: int, problem: QueryProblem) -> Answer[Never]:
    return Answer(
        content=serialise(QueryProblem, problem),
        status_code=status,
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )
