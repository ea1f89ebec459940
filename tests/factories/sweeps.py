"""Sweeps that tests ask for, work through and read."""

import tempfile
from pathlib import Path
from typing import Any

from factories.sampled_services import now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.simulate.reads import SweepReads
from tierscope.usecases.simulate.spec import NewSweep, Prices, SweepSourceRequest
from tierscope.usecases.simulate.uploads import TraceUploads
from tierscope.usecases.simulate.views import Sweep
from tierscope.usecases.simulate.work import SweepWork
from tierscope.usecases.simulate.writes import SweepWrites

TRACE = Path(__file__).parents[1] / "data" / "page-traces" / "sqlite.parquet"
NONE: dict[str, Any] = dict.fromkeys(SweepSourceRequest.__slots__)
WEB = {"kind": "workload", "workload": "web1", "pages": 2000, "intervals": 30}


def reads(database: Database) -> SweepReads:
    return SweepReads(ReadContext(database, now, Settings(_env_file=None)))


def asked_for(source: dict[str, Any] | None = None, **options: Any) -> NewSweep:  # noqa: ANN401
    """A sweep of two policies over two shares, by default of a small workload."""
    asked: dict[str, Any] = {
        "name": "a sweep",
        "policies": ("first_touch", "tpp"),
        "dram_ratios": (0.5, 0.8),
        "settings": {},
        "search": {},
        "seed": None,
        "cpu_seconds": None,
        "prices": Prices(),
    }
    found = SweepSourceRequest(**{**NONE, **(source or WEB)})
    return NewSweep(source=found, **{**asked, **options})


def start(database: Database, source: dict[str, Any] | None = None, **options: Any) -> Sweep:  # noqa: ANN401
    return SweepWrites(database, clock=now).create(asked_for(source, **options), actor="ann")


def work_through(database: Database) -> int:
    """Replay all that waits; how many runs."""
    return SweepWork(database, now).run().runs


def upload(database: Database, body: bytes, name: str = "sqlite") -> str:
    """Store a trace; its id."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        return TraceUploads(database, clock=now).create(name, Path(file.name), actor="ann").id
