"""Every operation of the API under generated requests: no 5xx, no answer that the OpenAPI document does not describe.

Few examples by default. TIERSCOPE_FUZZ_EXAMPLES, set by `make fuzz-api` and `make nightly`, asks for more.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from architecture.tree import ROOT
from factories.figures import unregistered
from factories.installations import enrol
from factories.populated import Populated, populated_service
from fixtures.properties import keep_found
from fixtures.servers import Template

EXAMPLES = os.environ.get("TIERSCOPE_FUZZ_EXAMPLES")
DESCRIBED = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
REQUEST_SECONDS = 300
OUTGOING = "502"
"""Documented where the service itself calls another one, which the addresses of these tests never lead to."""
NAMED = {"host": "host_id", "service": "service_id"}
"""Query parameters that take ids."""

Operation = schemathesis.APIOperation[Any, Any, Any, Any]
Case = schemathesis.Case[Any]
PROTOBUF = "application/x-protobuf"
CODINGS = {"/v1/ingest/batches": "zstd", "/api/v1/write": "snappy"}


@schemathesis.serializer(PROTOBUF)
def send_as_it_is(ctx: schemathesis.SerializationContext, value: object) -> bytes:
    """Bytes that only look like a batch: their decoders are fuzzed by tests of their own."""
    del ctx
    return bytes(value) if isinstance(value, bytes | bytearray) else str(value).encode()


document = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
schema = schemathesis.openapi.from_dict(document)
operations: dict[str, Operation] = {
    found.ok().label: found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)
}


def rank(label: str) -> tuple[int, str]:
    """Operations that take things away come last, so that the others have something to find."""
    method = label.split(maxsplit=1)[0]
    return 2 if method == "DELETE" or label.endswith("/purge") else 0 if method == "GET" else 1, label


LABELS: list[str] = sorted(operations, key=rank)


@dataclass(slots=True)
class Service:
    """A running service with something of everything in it."""

    address: str
    made: Populated
    credential: str
    """Of a host."""


@pytest.fixture(scope="module")
def service(template: Template, storage_mode: str) -> Iterator[Service]:
    limits = {"read_statement_seconds": REQUEST_SECONDS}
    outgoing = {"connect_seconds": 0.5, "total_seconds": 1.0}
    with populated_service(template, storage_mode, limits=limits, outgoing=outgoing) as (client, database, made):
        yield Service(str(client.base_url), made, enrol(database, name="sender").credential)


def figures_are_registered(ctx: schemathesis.CheckContext, response: schemathesis.Response, case: Case) -> None:
    """Every figure of an answer is a quantity of contract/quantities.toml, in its unit."""
    del ctx, case
    if response.headers.get("content-type", [""])[0].startswith("application/json") and response.content:
        unknown = unregistered(response.json())
        assert not unknown, sorted(unknown)


def checks_of(label: str) -> list[schemathesis.CheckFunction]:
    responses = operations[label].definition.raw["responses"]
    checks = [*DESCRIBED, figures_are_registered]
    return checks if OUTGOING in responses else [not_a_server_error, *checks]


def headers_of(operation: Operation, service: Service) -> dict[str, str]:
    """Who asks: a host where the operation is one of agents, else an administrator's program."""
    agent = operation.definition.raw.get("security") == [{"token": []}]
    headers = {"Authorization": f"Bearer {service.credential if agent else service.made.token}"}
    coding = CODINGS.get(operation.path)
    return headers | ({"Content-Encoding": coding} if coding else {})


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize("label", LABELS)
def test_no_request_meets_a_fault_or_an_answer_that_is_not_described(
    service: Service, label: str, request: pytest.FixtureRequest
) -> None:
    operation, checks = operations[label], checks_of(label)
    headers = headers_of(operation, service)

    @settings(
        max_examples=int(EXAMPLES or 4),
        deadline=None,
        phases=[Phase.reuse, Phase.generate, *([] if EXAMPLES is None else [Phase.shrink])],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in GenerationMode)), known=st.booleans()
    )
    def ask(case: Case, known: bool) -> None:  # noqa: FBT001 - Hypothesis passes it by name
        if known:
            name_known_things(case, service.made)
        case.call_and_validate(
            base_url=service.address, session=session, headers=headers, checks=checks, timeout=REQUEST_SECONDS
        )

    keep_found(ask, request.node.nodeid)
    with requests.Session() as session:
        ask()


def name_known_things(case: Case, made: Populated) -> None:
    """Ids of things that exist in place of made-up ones."""
    for name in case.path_parameters:
        case.path_parameters[name] = made.ids.get(name, [case.path_parameters[name]])[0]
    for name, kind in NAMED.items():
        if name in case.query:
            case.query[name] = made.ids[kind][0]


def test_every_operation_is_asked() -> None:
    described = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
        if method in ("get", "put", "post", "delete", "patch")
    }
    assert set(operations) == described
