"""Questions that may take much: so many at once, callers by turns, and a clear refusal of the others."""

import asyncio
from contextlib import closing

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from factories.populated import populate
from factories.services import running
from factories.waiting import until
from tierscope.api.app import ROUTERS
from tierscope.api.base import limited
from tierscope.api.base.body_limits import DEFAULT_BYTES
from tierscope.api.base.turns import WAITING_MAX, WAITING_OF_ONE_MAX, Turns
from tierscope.core.database import Database
from tierscope.core.errors import BusyReading
from tierscope.core.settings import Settings
from tierscope.domain.base.budget import GROWN_BYTES
from tierscope.usecases.access.tokens import Access

SHORT = {
    "/healthz", "/readyz", "/openapi.json", "/docs", "/docs/{path:path}", "/{path:path}", "/login", "/login/password",
    "/metrics", "/metrics/fleet", "/prometheus/api/v1/metadata", "/prometheus/api/v1/status/buildinfo",
    "/v1/agent/config", "/v1/alert-routes", "/v1/login/methods", "/v1/login/oidc/callback", "/v1/login/oidc/logout",
    "/v1/login/oidc/start", "/v1/me", "/v1/rules/vocabulary", "/v1/rules/{rule_id}", "/v1/scenarios/defaults",
    "/v1/scenarios/schema", "/v1/scenarios/{scenario_id}", "/v1/session", "/v1/silences/{silence_id}", "/v1/status",
    "/v1/purges/{purge_id}", "/v1/simulator/policies", "/v1/advice/{advice_id}",
}  # fmt: skip
"""Reads of one row or a few, and what monitoring needs."""
COMPUTING = {"/v1/rules/backtest", "/v1/tco/evaluate", "/v1/tco/sheet", "/v1/reports/preview", "/v1/capacity/plan"}


def test_whatever_is_read_takes_turns_unless_it_is_short() -> None:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, routes=[r for one in ROUTERS for r in one.routes])
    waiting: set[str] = set()
    free: set[str] = set()
    for route in iter_route_contexts(app.routes):
        dependant = getattr(route, "dependant", None)
        if isinstance(dependant, Dependant) and ({"GET"} & (route.methods or set()) or route.path in COMPUTING):
            (waiting if _takes_turn(dependant) else free).add(str(route.path))
    assert waiting >= COMPUTING
    assert free - waiting == SHORT & free


def _takes_turn(dependant: Dependant) -> bool:
    calls = [one.call for one in dependant.dependencies]
    is_table = getattr(dependant.call, "takes_turn", None)
    return limited.costly in calls or limited.budgeted in calls or is_table is not None


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_any_answer_ends_with_its_budget(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    with closing(Database(database_url)) as database:
        made = populate(database)
    host_id = made.ids["host_id"][0]
    with running(Settings.model_validate({"database_url": database_url})) as (_, client):
        client.headers["Authorization"] = f"Bearer {made.token}"
        for seconds, grown, said in (
            (limited.READER_SECONDS, GROWN_BYTES, (200, "")),
            (limited.READER_SECONDS, GROWN_BYTES + 1, (422, "answer-too-large")),
            (0.0, 0, (503, "slow-query")),
        ):
            monkeypatch.setattr(limited, "READER_SECONDS", seconds)
            for path in ("/v1/fleet", "/v1/fleet?format=csv", f"/v1/hosts/{host_id}"):
                looks = iter([0])
                monkeypatch.setattr(limited, "resident_bytes", lambda looks=looks, grown=grown: next(looks, grown))
                answer = client.get(path)
                slug = "" if answer.is_success else answer.json()["type"].rpartition("/")[2]
                assert (answer.status_code, slug) == said, path


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_growth_that_others_share_is_asked_for_again_and_is_no_fault_of_the_question(
    monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    with closing(Database(database_url)) as database:
        token = Access(database).create_api_token(role="admin", scopes=None, note="", lifetime=None, actor="t").secret
    with running(Settings.model_validate({"database_url": database_url})) as (app, client):
        client.headers["Authorization"] = f"Bearer {token}"
        turns = app.state.use_cases.turns

        def ask(*, trimmed: int = GROWN_BYTES + 1) -> tuple[int, str, str]:
            looks = iter([0, GROWN_BYTES + 1])
            monkeypatch.setattr(limited, "resident_bytes", lambda: next(looks, trimmed))
            answer = client.get("/v1/fleet")
            slug = "" if answer.is_success else answer.json()["type"].rpartition("/")[2]
            return answer.status_code, slug, answer.headers.get("retry-after", "")

        def is_alone() -> bool:
            with turns.working(0) as own:
                return not own.beside

        assert ask() == (422, "answer-too-large", "")
        assert ask(trimmed=GROWN_BYTES) == (200, "", ""), "free pages of the heap are no growth"
        with turns.working(0) as another:
            assert ask() == (429, "busy-reading", "5")
        assert another.beside
        with turns.uploading():
            assert ask() == (429, "busy-reading", "5")
        # A request is over a moment after its caller has the answer.
        until(is_alone, "the requests before are over")
        assert ask() == (422, "answer-too-large", "")
        until(is_alone, "it is over")
        for size_bytes, beside in ((DEFAULT_BYTES // 2, False), (DEFAULT_BYTES + 1, True)):
            with turns.working(0) as own:
                assert client.post("/v1/scenarios", content=b" " * size_bytes).status_code == 422
            assert own.beside is beside
        until(is_alone, "the body is gone")


def test_callers_take_turns_each_with_its_oldest_question() -> None:
    async def work() -> list[str]:
        turns = Turns(1)
        done: list[str] = []

        async def ask(key: str, name: str) -> None:
            async with turns.turn(key):
                done.append(name)
                await asyncio.sleep(0)

        asked = ("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2"), ("c", "c1")
        await asyncio.gather(*(ask(key, name) for key, name in asked))
        assert len(turns) == 0
        return done

    assert asyncio.run(work()) == ["a1", "a2", "b1", "c1", "a3", "b2"]


def test_who_would_wait_too_long_is_told_to_come_again_and_leaves_no_gap() -> None:
    async def work() -> None:
        turns = Turns(1, wait_seconds=0.0)
        async with turns.turn("a"):
            with pytest.raises(BusyReading, match="no turn came"):
                await turns.turn("b").__aenter__()
            assert len(turns) == 0
        async with turns.turn("b"):
            pass

    asyncio.run(work())


def test_so_many_wait_and_no_more() -> None:
    async def work() -> None:
        turns = Turns(1)
        waiting: list[asyncio.Task[None]] = []

        async def ask(key: str) -> None:
            async with turns.turn(key):
                pass

        async with turns.turn("a"):
            for n in range(WAITING_MAX):
                waiting.append(asyncio.create_task(ask(f"{n // WAITING_OF_ONE_MAX}")))
                await asyncio.sleep(0)
            assert len(turns) == WAITING_MAX
            for key in ("0", "another"):
                with pytest.raises(BusyReading, match="questions wait"):
                    await ask(key)
            waiting[-1].cancel()  # a client that goes leaves its place
            await asyncio.wait(waiting[-1:])
            assert len(turns) == WAITING_MAX - 1
        await asyncio.gather(*waiting[:-1])

    asyncio.run(work())


class Held:
    """A clock by which each question holds its turn for a second."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    async def learn(self, turns: Turns) -> None:
        """So many questions that their mean is known."""
        for _ in range(60):
            async with turns.turn("before"):
                self.now_s += 1.0


def test_who_would_wait_long_for_others_is_told_when_to_come_and_a_caller_alone_waits() -> None:
    async def work() -> None:
        clock = Held()
        turns = Turns(1, beside_others_seconds=2.0, clock=clock)
        await clock.learn(turns)
        waiting: list[asyncio.Task[None]] = []

        async def ask(key: str) -> None:
            async with turns.turn(key):
                pass

        async def line_up(*keys: str) -> None:
            for key in keys:
                waiting.append(asyncio.create_task(ask(key)))
                await asyncio.sleep(0)

        async with turns.turn("alone"):
            await line_up(*["alone"] * 5)
            assert len(turns) == 5, "who is alone waits for nobody else"
            await line_up("a", "b")
            assert len(turns) == 7, "each of them is after one question of each other caller"
            for key, seconds in (("c", 7), ("d", 8)):
                with pytest.raises(BusyReading, match="3 questions of others") as refused:
                    await ask(key)
                assert refused.value.retry_after_seconds == seconds, "after those who wait, and who were sent away"
        await asyncio.gather(*waiting)

    asyncio.run(work())


def test_nobody_waits_long_beside_others_whatever_was_expected() -> None:
    async def work() -> None:
        turns = Turns(1, beside_others_seconds=0.0)

        async def ask(key: str) -> None:
            async with turns.turn(key):
                pass

        async with turns.turn("a"):
            alone = asyncio.create_task(ask("a"))
            await asyncio.sleep(0.05)
            assert not alone.done(), "it waits for its own caller's questions alone"
            with pytest.raises(BusyReading, match="no turn came") as refused:
                await ask("b")
            assert refused.value.status == 429
        await alone

    asyncio.run(work())


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_readers_wait_at_the_door_and_nobody_else_does(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        token = Access(database).create_api_token(role="admin", scopes=None, note="", lifetime=None, actor="t").secret
    with running(Settings.model_validate({"database_url": database_url})) as (app, client):
        reader = {"Authorization": f"Bearer {token}"}
        app.state.use_cases.door = door = Turns(1, waiting_max=0)
        for path in ("/v1/status", "/v1/hosts", "/v1/fleet", "/v1/hosts/unknown", "/v1/agents?limit=x"):
            for _ in range(2):
                assert client.get(path, headers=reader).status_code in (200, 404, 422), "it leaves, however it ends"
        held = asyncio.run(door.take("another"))
        for path in ("/v1/status", "/v1/fleet"):
            answer = client.get(path, headers=reader)
            assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1"), path
        assert client.get("/healthz").status_code == 200
        assert client.get("/v1/session", headers=reader).status_code == 200
        assert client.post("/v1/tokens", headers=reader, json={"role": "viewer", "note": "n"}).status_code == 201
        held.give()
        assert client.get("/v1/status", headers=reader).status_code == 200
