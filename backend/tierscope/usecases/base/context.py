"""What reads stand on: the database, the clock and the settings of the application."""

from dataclasses import dataclass

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.core.settings import Settings


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Handed to every read use case by the router's dependency."""

    database: Database
    clock: Clock
    settings: Settings
