"""No request makes the API take much memory: each is bounded before anything is made of it."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import httpx
import pytest

from bench.ingest import serving
from bench.memory_watch import Cost, measure_costs
from factories import batches
from factories.api_watch import SELDOM_SECONDS
from factories.hostile_requests import hostile_requests
from factories.installations import Enrolled, enrol
from factories.loopback import NO_AUTHORITIES
from factories.services import batch_headers
from factories.waiting import DEADLINE_SECONDS
from fixtures.elsewhere import long
from tierscope.core.database import Database
from tierscope.domain.base.json_text import MAX_PARTS, has_too_many_parts
from tierscope.domain.base.yaml_text import MAX_DEPTH, YamlTooMuch, check_yaml
from tierscope.usecases.access.tokens import Access

pytestmark = long

REFUSED = (400, 413, 415, 422, 429, 503)
"""How a body is refused that is more than it seems."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A service of its own, a host of it, and what the hostile requests cost while they are sent."""

    address: str
    host: Enrolled
    costs: Iterator[Cost]


@pytest.fixture
def sent(database_url: str) -> Iterator[Sent]:
    with serving(database_url) as (address, pid), closing(Database(database_url)) as database:
        host = enrol(database)
        token = Access(database).create_api_token(role="operator", note="", lifetime=None, actor="test").secret
        requests = hostile_requests(host_id=host.id, credential=host.credential, token=token)
        quick = [request for request in requests if request.quick]
        yield Sent(address, host, measure_costs(address, pid, quick, pause_seconds=SELDOM_SECONDS))


@pytest.mark.slow
@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_no_request_takes_much_memory_and_none_breaks_the_service(sent: Sent) -> None:
    pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    found = list(sent.costs)
    assert [cost for cost in found if cost.problem is not None] == []
    assert len(found) > 40
    bombs = [cost for cost in found if cost.name.startswith("batch: 4 M")]
    assert all(status in REFUSED for cost in bombs for status in cost.statuses), bombs
    good = batches.make_batch(host_id=sent.host.id)
    batches.add_counters(good, [[1, 2, 3]])
    answer = httpx.post(
        f"{sent.address}/v1/ingest/batches",
        headers=batch_headers(sent.host.credential),
        content=batches.compress(good),
        timeout=DEADLINE_SECONDS,
        verify=NO_AUTHORITIES,
    )
    assert answer.status_code == httpx.codes.OK, "a batch as it should be is taken after all of them"


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"0," * MAX_PARTS,
        b"{" + b'"a":1,' * (MAX_PARTS // 3 + 1),
        b"[" * (MAX_PARTS + 1),
        b'""' * (MAX_PARTS + 1),
    ],
)
def test_json_of_many_parts_is_too_much(body: bytes) -> None:
    assert has_too_many_parts(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[" + b"0," * (MAX_PARTS - 2),
        b'{"yaml": "' + b"[,:{" * MAX_PARTS + b'"}',
        b'{"yaml": "' + rb"\"[,\\" * MAX_PARTS + b'"}',
        b'"' + b"\\" * MAX_PARTS,
        b"9" * 1_000_000,
    ],
)
def test_what_stands_within_strings_does_not_count(body: bytes) -> None:
    assert not has_too_many_parts(body)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [1]\nb: *a\n", "aliases"),
        ("[a, b, c]", "more than 4"),
        ("[" * (MAX_DEPTH + 1), "deep"),
    ],
)
def test_yaml_is_refused_with_the_place(text: str, said: str) -> None:
    with pytest.raises(YamlTooMuch, match=said) as raised:
        check_yaml(text, most=4 if said.startswith("more") else 1000)
    assert raised.value.line >= 1
