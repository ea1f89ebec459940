"""What goes into a group and what comes out of it."""

from dataclasses import dataclass, field
from typing import TypeAlias

from tierscope.core.errors import TierscopeError
from tierscope.domain.ingest.arrival import ArrivalRules, Clocks
from tierscope.domain.ingest.batch import Batch
from tierscope.storage.fleet.agents import HostIdentity


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Bounds that need the database to be checked."""

    services_per_host: int = 200
    layouts_per_host_day: int = 64
    arrival: ArrivalRules = field(default_factory=ArrivalRules)


@dataclass(frozen=True, slots=True, eq=False)
class Incoming:
    """A decoded batch of an authenticated host."""

    host: HostIdentity
    batch: Batch
    services_left_out: int
    clocks: Clocks

    @property
    def stream(self) -> tuple[int, bytes]:
        """The key of its stream."""
        return self.host.id, self.batch.stream_id


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a batch. `rows` by kind of data; a duplicate stored nothing."""

    duplicate: bool
    rows: dict[str, int]
    too_late: int
    set_aside: int
    warnings: tuple[str, ...]


Outcome: TypeAlias = Stored | TierscopeError
