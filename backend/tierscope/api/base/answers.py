"""How a use case's value becomes an HTTP answer: its JSON with an ETag, 304 when unchanged."""

import hashlib
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any, Generic, Never, TypeVar, get_args, get_origin, get_type_hints

from fastapi import Query, Request, Response
from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import any_schema, definitions_schema

from tierscope.domain.base.doubts import Doubts
from tierscope.domain.base.figures import Figure

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
OK = 200
WHOLE = "allOf"
"""Around the schema of an answer, which would else be written out at each operation; its description takes it off."""
_ADAPTERS: dict[object, TypeAdapter[Any]] = {}
_FIGURES: dict[object, bool] = {}

From = Annotated[
    str | None,
    Query(alias="from", description="RFC 3339 with zone, or relative to now such as `-6h`. Default `-6h`."),
]
To = Annotated[str | None, Query(description="RFC 3339 with zone, or relative to now such as `-10m`. Default now.")]
At = Annotated[str | None, Query(description="A moment: RFC 3339 with zone, or such as `-2h`. Default now.")]
MaxPoints = Annotated[int, Query(ge=1, le=2000, description="At most this many points; the resolution is named.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="At most this many items.")]
Tags = Annotated[
    list[str] | None,
    Query(
        alias="tag",
        max_length=32,
        description="`key=value` of service, owner, kernel or a label; values of one key widen, other keys narrow.",
    ),
]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.", max_length=512)]


class Answer(Response, Generic[T_co]):
    """A response whose JSON is a `T_co`. What a route returns by its signature is what the API documents.

    One whose body is not JSON is an `Answer[Never]`: it fits where any other does.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, _: GetCoreSchemaHandler) -> CoreSchema:
        """No schema for a response that is finished; the schema of its JSON where the API is described."""
        (model,) = get_args(source)

        def describe(_: CoreSchema, describing: GetJsonSchemaHandler) -> JsonSchemaValue:
            return {WHOLE: [describing(definitions_schema(_adapter(model).core_schema, []))]}

        # The schemas of all answers take a process most of a second, and few describe the API.
        return any_schema(metadata={"pydantic_js_functions": [describe]})


def answer(
    request: Request, model: type[T], value: T, *, status_code: int = OK, knows_its_files: bool = False
) -> Answer[T]:
    """Serialise `value` as `model` says and answer 304 if the client has it already.

    `knows_its_files`: its figures are graded already by which files of hosts they stand on.
    """
    told = value if knows_its_files else as_sure_as_files(request, model, value)
    return answer_bytes(request, serialise(model, told), "application/json", status_code=status_code)


def as_sure_as_files(request: Request, model: type[T], value: T) -> T:
    """`value` with no figure good that may stand on a file of a host that had a problem.

    What has no figures is answered without the database, such as the status while that is away.
    """
    if not has_figures(model):
        return value
    asked = [str(word) for word in (*request.path_params.values(), *request.query_params.values())]
    known: Doubts = request.app.state.use_cases.host_doubts.read(asked)
    return known.lower(value, asked)


def has_figures(model: object) -> bool:
    """Whether answers of a type can hold a figure, at any depth."""
    known = _FIGURES.get(model)
    return _FIGURES.setdefault(model, _holds_figures(model)) if known is None else known


def _holds_figures(model: object) -> bool:
    waiting, seen = [model], set[object]()
    while waiting:
        found = waiting.pop()
        if found is Figure:
            return True
        if found in seen:
            continue
        seen.add(found)
        origin = get_origin(found)
        waiting += [*get_args(found), *([] if origin is None else [origin])]
        if is_dataclass(found) or (isinstance(found, type) and issubclass(found, BaseModel)):
            waiting += get_type_hints(found).values()
    return False


def serialise(model: type[T], value: T) -> bytes:
    """The JSON of `value`."""
    return _adapter(model).dump_json(value)


def plain(model: type[T], value: T) -> dict[str, Any]:
    """`value` as it is sent: plain values as in JSON."""
    found: dict[str, Any] = _adapter(model).dump_python(value, mode="json")
    return found


def answer_bytes(request: Request, body: bytes, media_type: str, *, status_code: int = OK) -> Answer[Never]:
    """Answer a finished body with a strong ETag over its bytes; what was made now is never one that the client has."""
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if status_code == OK and _has(request, etag):
        return Answer(status_code=304, headers=headers)
    return Answer(content=body, status_code=status_code, media_type=media_type, headers=headers)


def answer_again(request: Request, found: Answer[T]) -> Answer[T]:
    """Answer with a finished answer that others get, too: an answer of its own, 304 if this client has it already."""
    etag = found.headers.get("etag")
    if found.status_code == OK and etag is not None and _has(request, etag):
        return Answer(status_code=304, headers={"ETag": etag, "Cache-Control": found.headers["cache-control"]})
    own: Answer[T] = Answer(content=found.body, status_code=found.status_code)
    own.raw_headers = list(found.raw_headers)
    return own


def _has(request: Request, etag: str) -> bool:
    sent = request.headers.get("if-none-match", "")
    return etag in {tag.strip().removeprefix("W/") for tag in sent.split(",")}


def answer_file(body: bytes, name: str, media_type: str, headers: Mapping[str, str] | None = None) -> Answer[Never]:
    """Answer a file of that name."""
    return Answer(
        content=body,
        media_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"', **(headers or {})},
    )


def _adapter(model: type[T]) -> TypeAdapter[T]:
    found = _ADAPTERS.get(model)
    return _ADAPTERS.setdefault(model, TypeAdapter(model)) if found is None else found
