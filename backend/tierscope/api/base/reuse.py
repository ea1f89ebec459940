"""Answers over long windows are used again for a while: a thousandth of the window, less than a step of its charts.

Only answers that nobody's request changes are kept, per process. Who asks meanwhile for the same waits for the one that
computes it, so that many viewers of a page cost what one does.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request, Response

from tierscope.api.base.answers import answer_bytes, serialise
from tierscope.core.clock import utc_now
from tierscope.usecases.base.windows import parse_window

PART_OF_WINDOW = 1000
LONGEST_SECONDS = 600.0
SHORTEST_SECONDS = 60.0
"""Windows of less than most of a day are computed each time."""
MOST_BYTES = 64 << 20


@dataclass(slots=True)
class _Kept:
    made_at: float = float("-inf")
    body: bytes = b""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Answers:
    """Finished bodies by request; those that were not used for longest leave first."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def get(self, key: str, seconds: float, make: Callable[[], bytes]) -> bytes:
        """The body that was made less than `seconds` ago, else a new one."""
        with self._lock:
            kept = self._kept.setdefault(key, _Kept())
            self._kept.move_to_end(key)
        with kept.lock:
            if self._clock() - kept.made_at >= seconds:
                kept.body = make()
                kept.made_at = self._clock()
            body = kept.body
        with self._lock:
            while sum(len(one.body) for one in self._kept.values()) > MOST_BYTES:
                self._kept.popitem(last=False)
        return body


def answer_reused(
    request: Request,
    model: Any,  # noqa: ANN401 - as TypeAdapter takes it
    from_: str | None,
    to: str | None,
    make: Callable[[], object],
    *,
    at_least_seconds: float = 0.0,
) -> Response:
    """Serialise what `make` returns, or what it returned a while ago for the same request.

    `at_least_seconds`: used for that long however short the window, where what it rests on changes less often.
    """
    seconds = max(reuse_seconds(from_, to), at_least_seconds)
    if seconds < SHORTEST_SECONDS:
        return answer_bytes(request, serialise(model, make()), "application/json")
    kept: Answers = request.app.state.answers
    body = kept.get(f"{request.url.path}?{request.url.query}", seconds, lambda: serialise(model, make()))
    return answer_bytes(request, body, "application/json")


def reuse_seconds(from_: str | None, to: str | None) -> float:
    """For how long an answer over a window may be used again; BadRequest where the window is not understood."""
    window = parse_window(from_, to, now=utc_now())
    return min((window.end - window.start).total_seconds() / PART_OF_WINDOW, LONGEST_SECONDS)
