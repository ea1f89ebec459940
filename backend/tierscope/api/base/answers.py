"""How a use case's value becomes an HTTP answer: validated against its model, with an ETag, 304 when unchanged."""

import hashlib
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import TypeAdapter

_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}

From = Annotated[
    str | None,
    Query(alias="from", description="RFC 3339 with zone, or relative to now such as `-6h`. Default `-6h`."),
]
To = Annotated[str | None, Query(description="RFC 3339 with zone, or relative to now such as `-10m`. Default now.")]
MaxPoints = Annotated[int, Query(ge=1, le=2000, description="At most this many points; the resolution is named.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="At most this many items.")]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.", max_length=512)]


def answer(request: Request, model: Any, value: object) -> Response:  # noqa: ANN401 - as TypeAdapter takes it
    """Serialise `value` (a view with the same attributes as `model`) and answer 304 if the client has it already."""
    return answer_bytes(request, serialise(model, value), "application/json")


def serialise(model: Any, value: object) -> bytes:  # noqa: ANN401 - likewise
    """The JSON of `value`, checked against its model."""
    adapter = _ADAPTERS.get(model)
    if adapter is None:
        adapter = _ADAPTERS.setdefault(model, TypeAdapter(model))
    return adapter.dump_json(adapter.validate_python(value, from_attributes=True))


def validated(model: Any, value: object) -> dict[str, Any]:  # noqa: ANN401 - likewise
    """`value` as its model sends it: plain values as in JSON."""
    adapter = _ADAPTERS.setdefault(model, TypeAdapter(model))
    found: dict[str, Any] = adapter.dump_python(adapter.validate_python(value, from_attributes=True), mode="json")
    return found


def answer_bytes(request: Request, body: bytes, media_type: str) -> Response:
    """Answer a finished body with a strong ETag over its bytes."""
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    sent = request.headers.get("if-none-match", "")
    if etag in {tag.strip().removeprefix("W/") for tag in sent.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(content=body, media_type=media_type, headers=headers)
