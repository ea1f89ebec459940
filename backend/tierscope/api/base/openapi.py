"""The description of the API: FastAPI's, with the problems that each operation can answer written once for all.

An operation's problems follow from what it is: whether it names something, takes a body, changes something, and which
permission it needs. An operation that can answer another one names it in its own `responses`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import orjson
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.types import ASGIApp

from tierscope.api.base.answers import WHOLE
from tierscope.api.base.figures import Problem
from tierscope.api.base.permissions import SELF_CHECKED, Permission, declared_permissions
from tierscope.api.base.problems import PROBLEM_TYPE
from tierscope.api.base.table_files import FILE_ANSWER, FILE_HEADERS
from tierscope.domain.base.described import OPTIONAL

_METHODS = ("get", "put", "post", "delete", "patch")
_SAFE = frozenset({"get"})
_MEANINGS: Mapping[int, str] = {
    400: "The request is not understood, or its Host header is not on the list",
    401: "Login or a valid token is needed",
    403: "The caller may not do this, or the CSRF token of its session is missing",
    404: "There is no such thing",
    409: "The request contradicts what is stored",
    413: "The body is too large",
    415: "The content type or encoding is another than the operation takes",
    422: "Values are not acceptable",
    429: "Too many requests: wait as long as Retry-After says",
    502: "Another service did not take the call",
    503: "The service cannot answer now: try again as Retry-After says",
}
TAGS: Mapping[str, str] = {
    "access": "Sessions, one's own account and tokens, links that log in, saved views, and who changed what.",
    "advice": "Advice on ratios and settings with its evidence and effect, and the plan of changes made of it.",
    "agents": "Enrolment and settings of agents, their versions, and the switch that pauses them.",
    "alerts": "Alert rules, alerts with their history, and what happened around one.",
    "analytics": "Statistics of the fleet: peers, outliers, change points, services that behave alike.",
    "capacity": "What services and hosts hold, how it grows, when it runs out, and how many hosts that takes.",
    "counters": "Counters of kernels as series, as they were sent and as rates.",
    "curve": "Accesses served against the size of DRAM, from page samples.",
    "events": "Marks on charts: deploys and other changes.",
    "experiments": "Hosts with a change against hosts without it, before and after.",
    "fairness": "What services hold of a host's top tier against their fair shares, and what a limit would do.",
    "fleet": "All hosts at once: the overview, data quality, drift of settings.",
    "health": "Whether the service lives and is ready, and the description of its API.",
    "heat": "Hot, warm and cold memory of services, re-access, stability and objectives.",
    "hosts": "Hosts with their inventory, findings and labels.",
    "ingest": "What agents send.",
    "knobs": "Advice on kernel settings and on swap.",
    "operations": "Removing the data of a host or a service.",
    "opentelemetry": "Metrics that OpenTelemetry sends.",
    "prometheus": "Samples that Prometheus sends, and queries in PromQL of what is stored.",
    "ratio": "Which share of DRAM a service needs for a loss that its owner accepts.",
    "reports": "Reports that are sent on a schedule.",
    "services": "Services with their memory, tier moves, throughput and latency.",
    "simulator": "Placement policies and swap devices, replayed on page traces and sampled pages.",
    "status": "The installation's components, and the catalogue of metrics.",
    "tco": "Prices, scenarios, and what tiers of memory cost and save.",
    "telemetry": "The service's own figures, and the fleet's, for Prometheus.",
    "tier moves": "The ledger of promotions and demotions, and pages that go to and fro.",
    "tiles": "Activity by time and address.",
    "users": "People who may log in, and teams that own services.",
}
"""What the operations of each tag are about."""
EXAMPLES = Path(__file__).with_name("examples")
"""True answers of a simulated fleet, cut to a few items; a file for each, named after the function that answers it."""
_CONDITION = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of an answer that the caller has: 304 where it is still the same.",
    "schema": {"type": "string", "maxLength": 1000},
}
_RETRIED = frozenset({429, 503})
_RETRY_AFTER = {"schema": {"type": "string"}, "description": "Seconds to wait before the request is sent again."}


class Application(FastAPI):
    """FastAPI with a complete description of what it answers."""

    first: Callable[[ASGIApp], ASGIApp] | None = None
    """What stands before all middleware."""

    _writing = Lock()
    _written: bytes | None = None

    def build_middleware_stack(self) -> ASGIApp:
        """The middleware, behind what stands before it."""
        stack = super().build_middleware_stack()
        return stack if self.first is None else self.first(stack)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document; made once."""
        made = self.openapi_schema is not None
        document = super().openapi()
        if not made:
            _complete(document, {(m.lower(), path): needed for m, path, needed in declared_permissions(self)})
        return document

    def document(self) -> bytes:
        """The OpenAPI document as JSON, written once: as objects it takes tens of megabytes, and anybody may ask."""
        with self._writing:
            if self._written is None:
                self._written = orjson.dumps(self.openapi())
                self.openapi_schema = None
            return self._written


def problem_answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route that can answer these problems beside those that follow from what it is."""
    return {status: _problem(status) for status in statuses}


def _complete(document: dict[str, Any], permissions: Mapping[tuple[str, str], Permission | None]) -> None:
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    models = set(_model_names(BaseModel))
    for name, schema in schemas.items():
        if name.partition("-")[0] not in models:
            _close(schema)
    components["responses"] = {f"Problem{status}": _problem(status) for status in _MEANINGS}
    components["headers"] = {name: dict(described) for name, described in FILE_HEADERS.items()}
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "An API token, or the credential of a host."},
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "tierscope_session_<instance>",
            "description": "Set by logging in; its name ends with what tells this instance from others, and begins with"
            " `__Host-` by TLS. Without TLS each request needs the session's key as X-Session-Key, too.",
        },
    }
    document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    examples = {file.stem: orjson.loads(file.read_bytes()) for file in EXAMPLES.glob("*.json")}
    for method, path, operation in _operations(document):
        name = operation["operationId"].removesuffix(re.sub(r"\W", "_", path) + f"_{method}")
        if name in examples:
            operation["responses"]["200"]["content"]["application/json"]["example"] = examples[name]
        needed = permissions.get((method, path))
        _document(operation, method=method, path=path, needed=needed)
        if needed == "agent":
            operation["security"] = [{"token": []}]
        elif needed not in SELF_CHECKED:
            operation["security"] = [{"token": []}, {"session": []}]


def _close(schema: dict[str, Any]) -> None:
    """Say of the shape of a dataclass what models say themselves: every field is there, and no other one.

    Those that people send say so themselves.
    """
    if "properties" in schema and not schema.pop(OPTIONAL, False):
        schema["additionalProperties"] = False
        schema["required"] = list(schema["properties"])
        for described in schema["properties"].values():
            described.pop("default", None)


def _model_names(model: type[BaseModel]) -> Iterator[str]:
    for found in model.__subclasses__():
        yield found.__name__
        yield from _model_names(found)


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document.get("paths", {}).items():
        for method in _METHODS:
            if method in methods:
                yield method, path, methods[method]


def _document(operation: dict[str, Any], *, method: str, path: str, needed: Permission | None) -> None:
    responses = operation["responses"]
    conditional = False
    for described in responses.values():
        for content in described.get("content", {}).values():
            if "schema" in content:
                conditional = conditional or WHOLE in content["schema"]
                content["schema"] = _unwrapped(content["schema"])
    if "HTTPValidationError" in str(responses.get("422", "")):
        del responses["422"]
    for status in _statuses(operation, method=method, path=path, needed=needed):
        responses.setdefault(str(status), {"$ref": f"#/components/responses/Problem{status}"})
    if any(one["name"] == "format" and "arrow" in one["schema"].get("enum", ()) for one in _parameters(operation)):
        for part, more in FILE_ANSWER.items():
            responses["200"].setdefault(part, {}).update(more)
    if method in _SAFE and conditional:
        responses.setdefault("304", {"description": "Unchanged since the answer whose ETag was sent"})
        operation.setdefault("parameters", []).append(_CONDITION)


def _parameters(operation: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = operation.get("parameters", ())
    return found


def _unwrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an answer without what it came in; its title is FastAPI's for what has no name of its own."""
    if WHOLE not in schema:
        return schema
    (whole,) = schema[WHOLE]
    return dict(whole) if "$ref" in whole else {**whole, "title": schema["title"]}


def _statuses(operation: Mapping[str, Any], *, method: str, path: str, needed: Permission | None) -> Iterator[int]:
    yield 400
    if needed != "public":
        yield from (401, 403)
    elif method not in _SAFE:
        yield from (401, 403)  # sessions and tokens are checked by the operation itself
    if "parameters" in operation or "requestBody" in operation:
        yield 422
    if "{" in path or "parameters" in operation or method not in _SAFE:
        yield 404
    if method not in _SAFE:
        yield 409
    if "requestBody" in operation:
        yield from (413, 415)
    yield from (429, 503)


def _problem(status: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": _MEANINGS[status],
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status in _RETRIED:
        described["headers"] = {"Retry-After": _RETRY_AFTER}
    return described
