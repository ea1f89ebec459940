"""Answers over long windows are used again for a while: a thousandth of the window, less than a step of its charts.

Only answers that nobody's request changes are kept, per process, and each for the servers that it is of: one that
leaves out the hosts of a server is never given once the server is back, nor the other way round. Who asks meanwhile for
the same waits for the one that computes it, so that many viewers of a page cost what one does.
"""

from collections.abc import Callable

from fastapi import Request

from tierscope.api.base.answers import Answer, T, answer, answer_bytes, as_sure_as_files, serialise
from tierscope.api.base.use_cases import use_cases
from tierscope.core.clock import utc_now
from tierscope.usecases.base.windows import parse_window

PART_OF_WINDOW = 1000
LONGEST_SECONDS = 600.0
SHORTEST_SECONDS = 60.0
"""Windows of less than most of a day are computed each time."""


def answer_reused(
    request: Request,
    model: type[T],
    from_: str | None,
    to: str | None,
    make: Callable[[], T],
    *,
    at_least_seconds: float = 0.0,
) -> Answer[T]:
    """Serialise what `make` returns, or what it returned a while ago for the same request.

    `at_least_seconds`: used for that long however short the window, where what it rests on changes less often.
    """
    seconds = max(reuse_seconds(from_, to), at_least_seconds)
    if seconds < SHORTEST_SECONDS:
        return answer(request, model, make())

    def body() -> bytes:
        return serialise(model, as_sure_as_files(request, model, make()))

    return answer_bytes(request, body_reused(request, seconds, body), "application/json")


def body_reused(request: Request, seconds: float, make: Callable[[], bytes]) -> bytes:
    """The body that `make` made less than `seconds` ago for the same request, of the same servers, else a new one."""
    known = use_cases(request)
    known.database.generation()  # what was purged or restored since is in no kept answer
    asked = f"{request.url.path}?{request.url.query} without {' '.join(known.node_watch.away)}"
    return known.answers.get(asked, seconds, make)


def reuse_seconds(from_: str | None, to: str | None) -> float:
    """For how long an answer over a window may be used again; BadRequest where the window is not understood."""
    window = parse_window(from_, to, now=utc_now())
    return min((window.end - window.start).total_seconds() / PART_OF_WINDOW, LONGEST_SECONDS)
