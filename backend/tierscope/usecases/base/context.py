"""What reads stand on: the database, the clock and the settings of the application."""

from dataclasses import dataclass

from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Handed to every read use case by the router's dependency."""

    database: Database
    clock: Clock
    settings: Settings


class ContextUseCase:
    """A use case that reads what the context gives."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context


class ClockedUseCase:
    """A use case of a database that asks a clock for the time."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock
