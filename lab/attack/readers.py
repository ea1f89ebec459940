"""Two hundred people who open a page at once: each gets all of it, or is told at once to come again, never an error."""

import asyncio
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

import httpx

from attack.assault import Assault
from bench.queries import PAGES
from bench.service_page import p95
from factories.api_watch import forget_peak, memory_mib, watching
from factories.loopback import NO_AUTHORITIES
from factories.waiting import DEADLINE_SECONDS

READERS = 200
CONNECTIONS = 6
"""As many as a browser opens to one address."""
WINDOWS = ("-1h", "-6h", "-24h", "-7d", "-30d")
"""What the dashboard offers."""
MOST_ANSWER_SECONDS = 10.0
"""An answer, also one that says to come again, takes no longer."""
MOST_PAGE_SECONDS = 90.0
"""Nobody waits longer for a whole page, asking again as told."""
MOST_HEALTH_MS = 200.0
_WINDOW = re.compile(r"(?<=from=)-\w+")
_ANSWERED, _LATER = 200, 429


@dataclass(slots=True)
class Seen:
    """What readers met: seconds of answers by status, and of whole pages."""

    seconds: dict[int, list[float]] = field(default_factory=dict)
    pages: list[float] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    """Answers that are neither one nor a word of when to come again."""


def attack(assault: Assault) -> None:
    """All readers at once, each with a page, a window and things of their own choice."""
    n_readers = assault.of(READERS, 20)
    access = assault.arena.access
    tokens = [
        access.create_api_token(role="operator", note=f"reader {n}", lifetime=None, actor="attack").secret
        for n in range(n_readers)
    ]
    pages = [_page(assault) for _ in tokens]
    pid = assault.arena.api.pid
    forget_peak(pid)
    seen = Seen()
    with watching(assault.arena.api.port) as watched:
        asyncio.run(_all(assault.arena.api.url, tokens, pages, assault.dice.randrange(1 << 30), seen))
    _, peak = memory_mib(pid)
    for status, seconds in seen.seconds.items():
        assault.requests += len(seconds)
        assault.answers[status] += len(seconds)
        assault.notes.append(f"{status}: {len(seconds)}, {_told(seconds)}")
    assault.notes.append(
        f"{n_readers} readers, {sum(map(len, pages))} questions: pages {_told(seen.pages)};"
        f" {assault.arena.idle_mib:.0f} MiB when idle, {peak:.0f} MiB at most;"
        f" /healthz p99 {watched.percentile_ms(0.99):.0f} ms"
    )
    for what, times in seen.others.most_common(5):
        assault.found(f"{times} times {what}")
    if assault.small:
        return
    slowest = max(max(seconds) for seconds in seen.seconds.values())
    if slowest > MOST_ANSWER_SECONDS:
        assault.found(f"an answer took {slowest:.1f} s")
    if max(seen.pages) > MOST_PAGE_SECONDS:
        assault.found(f"a page took {max(seen.pages):.0f} s")
    if watched.percentile_ms(0.99) > MOST_HEALTH_MS:
        assault.found(f"/healthz p99 was {watched.percentile_ms(0.99):.0f} ms")


def _page(assault: Assault) -> list[str]:
    """What one page asks for, about things that are there."""
    dice, ids = assault.dice, assault.arena.made.ids
    service = ids["service_id"][0]
    known = {"service": service, "large": service, "host": dice.choice(ids["host_id"])}
    window = dice.choice(WINDOWS)
    name = dice.choice([name for name in PAGES if name != "every page"])
    paths = (*PAGES["every page"].values(), *PAGES[name].values())
    return list(dict.fromkeys(_WINDOW.sub(window, path).format(**known) for path in paths))


async def _all(url: str, tokens: list[str], pages: list[list[str]], seed: int, seen: Seen) -> None:
    await asyncio.gather(*(_read(url, *reader, seen) for reader in zip(tokens, pages, count(seed), strict=False)))


async def _read(url: str, token: str, paths: list[str], seed: int, seen: Seen) -> None:
    # Kept for less than the service keeps them where there are many.
    limits = httpx.Limits(max_connections=CONNECTIONS, keepalive_expiry=2.0)
    async with httpx.AsyncHTTPTransport(verify=NO_AUTHORITIES, limits=limits) as transport:
        await _open_page(transport, url, token, paths, seed, seen)


async def _open_page(
    transport: httpx.AsyncHTTPTransport, url: str, token: str, paths: list[str], seed: int, seen: Seen
) -> None:
    dice = random.Random(seed)  # noqa: S311 - a seeded test
    connections = asyncio.Semaphore(CONNECTIONS)
    begin = time.perf_counter()

    async def ask(path: str) -> None:
        headers = {"Authorization": f"Bearer {token}", "Host": "localhost"}
        while True:
            async with connections:
                sent = time.perf_counter()
                request = httpx.Request("GET", url + path, headers=headers)
                request.extensions["timeout"] = httpx.Timeout(DEADLINE_SECONDS).as_dict()
                try:
                    answer = await transport.handle_async_request(request)
                except httpx.RemoteProtocolError:
                    continue  # closed as unused while this was on its way: RFC 9112, 9.3.1. One that has died says so
                body = await answer.aread()
                seen.seconds.setdefault(answer.status_code, []).append(time.perf_counter() - sent)
            wait = answer.headers.get("Retry-After", "")
            if answer.status_code == _ANSWERED:
                return
            if answer.status_code != _LATER or not wait.isdecimal():
                seen.others[f"{answer.status_code} with Retry-After {wait!r}: {body[:200]!r}"] += 1
                if not wait.isdecimal():
                    return
            await asyncio.sleep(int(wait) + dice.random())

    await asyncio.gather(*map(ask, paths))
    seen.pages.append(time.perf_counter() - begin)


def _told(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"p50 {ordered[len(ordered) // 2]:.2f} s, p95 {p95(ordered):.2f} s, {ordered[-1]:.2f} s at most"
