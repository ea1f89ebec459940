"""Turns of those who ask for what may take much: a few at once, the others in a line that is short and known."""

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from tierscope.core.errors import BusyReading

AT_ONCE = 2
WAITING_MAX = 128
WAITING_OF_ONE_MAX = 48
"""A dashboard asks for all its panels at once."""
AT_DOOR = 6
"""Readers that are let in at once (limited.py): more of them would wait for each other inside."""
DOOR_WAITING_MAX = 1024
DOOR_WAITING_OF_ONE_MAX = 256
AT_DOOR_SECONDS = 2.0
"""As `BESIDE_OTHERS_SECONDS`, for the door: a turn may have to be waited for behind it."""
BESIDE_OTHERS_SECONDS = 4.0
"""So long a question waits for those of others. Who would wait longer is told at once, and not after it."""
WAIT_SECONDS = 15.0
"""So long one waits for those of the same caller alone, which has nobody but itself to wait for."""
RETRY_SECONDS = 5
MOST_RETRY_SECONDS = 10
_COMING_MAX = 4096
_NEWEST_WEIGHT = 0.1
"""Of the newest question in the mean of how long they take."""


@dataclass(slots=True, eq=False)
class Working:
    """A question that is worked on, and whether others were answered beside it."""

    beside: bool


@dataclass(slots=True)
class Held:
    """A turn that somebody has."""

    _end: Callable[[], None]
    _given: bool = False

    def give(self) -> None:
        """Lets the next one have it; once, however often it is called."""
        if not self._given:
            self._given = True
            self._end()


class Turns:
    """Lets a few through at once; callers that wait take turns, each with its oldest question."""

    def __init__(
        self,
        at_once: int = AT_ONCE,
        *,
        waiting_max: int = WAITING_MAX,
        waiting_of_one_max: int = WAITING_OF_ONE_MAX,
        wait_seconds: float = WAIT_SECONDS,
        beside_others_seconds: float = BESIDE_OTHERS_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._free = self._at_once = at_once
        self._waiting_max = waiting_max
        self._waiting_of_one_max = waiting_of_one_max
        self._wait_seconds = wait_seconds
        self._beside_others_seconds = min(beside_others_seconds, wait_seconds)
        self._clock = clock
        self._held_seconds = 0.0
        """How long questions hold their turn, the newest counting most."""
        self._coming: deque[float] = deque(maxlen=_COMING_MAX)
        """When those come again who were sent away."""
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._working: list[Working] = []
        self.began_bytes = 0
        """What the process had when the first of those began that were worked on without a pause. What it had when the
        oldest of them began would grow without end: each begins beside what another one has taken."""
        self._uploads = 0

    def __len__(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    @property
    def at_work(self) -> bool:
        """Whether any question is worked on."""
        return bool(self._working)

    @contextmanager
    def working(self, resident_bytes: int) -> Iterator[Working]:
        """A question from its turn to its answer; `resident_bytes`: what the process has now."""
        if not self._working:
            self.began_bytes = resident_bytes
        own = Working(bool(self._working or self._uploads))
        self._mark()
        self._working.append(own)
        try:
            yield own
        finally:
            self._working.remove(own)

    @contextmanager
    def uploading(self) -> Iterator[None]:
        """A body that takes memory beside questions."""
        self._mark()
        self._uploads += 1
        try:
            yield
        finally:
            self._uploads -= 1

    def _mark(self) -> None:
        for one in self._working:
            one.beside = True

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Waits for a turn of a caller and holds it. Raises what `take` raises."""
        held = await self.take(key)
        try:
            yield
        finally:
            held.give()

    async def take(self, key: str) -> "Held":
        """Waits for a turn of a caller, who gives it back.

        Raises:
            BusyReading: too many wait, or none came in time, or would.
        """
        if self._free:
            self._free -= 1
        else:
            await self._line_up(key)
        begin = self._clock()
        return Held(lambda: self._end(self._clock() - begin))

    def _end(self, held_seconds: float) -> None:
        self._held_seconds += _NEWEST_WEIGHT * (held_seconds - self._held_seconds)
        self._give()

    async def _line_up(self, key: str) -> None:
        own = self._waiting.get(key, ())
        if len(self) >= self._waiting_max or len(own) >= self._waiting_of_one_max:
            raise self._busy(f"{len(self)} questions wait, {len(own)} of this caller")
        before = sum(min(len(theirs), len(own) + 1) for other, theirs in self._waiting.items() if other != key)
        if self._seconds_of(before) > self._beside_others_seconds:
            raise self._busy(f"{before} questions of others are answered first")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(turn)
        try:
            await self._wait(turn)
        except BaseException:
            self._leave(key, turn)
            raise

    async def _wait(self, turn: "asyncio.Future[None]") -> None:
        done, _ = await asyncio.wait([turn], timeout=self._beside_others_seconds)
        if not done and len(self._waiting) == 1:
            done, _ = await asyncio.wait([turn], timeout=self._wait_seconds - self._beside_others_seconds)
        if not done:
            raise self._busy("no turn came in time")

    def _busy(self, cause: str) -> BusyReading:
        """Who is sent away comes again when those are answered who wait now, or were sent away before."""
        now = self._clock()
        while self._coming and self._coming[0] <= now:
            self._coming.popleft()
        wait = math.ceil(self._seconds_of(len(self) + len(self._coming)))
        wait = min(max(wait, 1), MOST_RETRY_SECONDS)
        self._coming.append(now + wait)
        return BusyReading(cause, retry_after_seconds=wait)

    def _seconds_of(self, questions: int) -> float:
        return questions * self._held_seconds / self._at_once

    def _leave(self, key: str, turn: "asyncio.Future[None]") -> None:
        if turn.done():  # it came at the last moment
            self._give()
            return
        self._waiting[key].remove(turn)
        if not self._waiting[key]:
            del self._waiting[key]

    def _give(self) -> None:
        """Hands the turn to the caller who waits longest for one."""
        if not self._waiting:
            self._free += 1
            return
        key, own = self._waiting.popitem(last=False)
        turn = own.popleft()
        if own:
            self._waiting[key] = own
        turn.set_result(None)


def make_door() -> Turns:
    """Where all readers of a process wait to be let in (limited.py)."""
    return Turns(
        AT_DOOR,
        waiting_max=DOOR_WAITING_MAX,
        waiting_of_one_max=DOOR_WAITING_OF_ONE_MAX,
        beside_others_seconds=AT_DOOR_SECONDS,
    )
