"""What a sweep was asked to do, as it comes, as it is stored, and as runs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field, TypeAdapter, ValidationError

from tierscope.core.errors import NotFound
from tierscope.domain.base.described import ASKED, NAMES
from tierscope.domain.base.figures import Window
from tierscope.domain.simulate import WORKLOAD_INTERVALS, WORKLOAD_PAGES
from tierscope.domain.simulate.frontier import Prices
from tierscope.domain.simulate.sweep import WARM_UP, SplitSettings, SweepRun, expand_sweep, split_settings
from tierscope.domain.simulate.sweep_replay import Conditions
from tierscope.usecases.simulate.views import SourceKind

__all__ = ["NewSweep", "Prices", "StoredSource", "StoredSpec", "SweepSourceRequest", "read_spec"]

SERVICE_WARM_UP = 10
"""Intervals of a service's sample in which policies find their state, which at its beginning is not known [A]."""


@dataclass(frozen=True, slots=True)
class SweepSourceRequest:
    """What to replay: sampled pages of a service, a synthetic workload, or an uploaded trace."""

    __pydantic_config__: ClassVar = {**NAMES, **ASKED}

    kind: SourceKind
    service_id: Annotated[str | None, Field(default=None, max_length=100)]
    host_id: Annotated[
        str | None, Field(default=None, max_length=100, description="Null: all sampled hosts of the service.")
    ]
    workload: Annotated[str | None, Field(default=None, max_length=100)]
    pages: Annotated[int | None, Field(default=None, ge=1, le=10_000_000, description="Of a workload; null: 50,000.")]
    intervals: Annotated[int | None, Field(default=None, ge=1, le=100_000, description="Of a workload; null: 60.")]
    upload_id: Annotated[str | None, Field(default=None, max_length=100)]
    from_: Annotated[
        str | None,
        Field(default=None, max_length=60, description="Of a service: RFC 3339 or `-24h`. Default: a day."),
    ]
    to: Annotated[str | None, Field(default=None, max_length=60, description="Default: the newest sample.")]


@dataclass(frozen=True, slots=True)
class NewSweep:
    """A sweep as it is asked for."""

    name: str
    source: SweepSourceRequest
    policies: tuple[str, ...]
    dram_ratios: tuple[float, ...]
    settings: dict[str, float]
    search: dict[str, tuple[float, ...]]
    seed: int | None
    cpu_seconds: float | None
    prices: Prices


@dataclass(frozen=True, slots=True)
class StoredSource:
    """What is replayed, with its name for people; `start` and `end` of a service's samples."""

    kind: SourceKind
    name: str
    service_id: str | None = None
    host_id: str | None = None
    workload: str | None = None
    pages: int | None = None
    intervals: int | None = None
    upload_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None

    @property
    def window(self) -> Window | None:
        """The window of the samples."""
        return None if self.start is None or self.end is None else Window(self.start, self.end)

    @property
    def workload_size(self) -> tuple[int, int]:
        """Pages and intervals of a workload."""
        return self.pages or WORKLOAD_PAGES, self.intervals or WORKLOAD_INTERVALS


@dataclass(frozen=True, slots=True)
class StoredSpec:
    """A sweep as it is stored."""

    source: StoredSource
    policies: tuple[str, ...]
    dram_ratios: tuple[float, ...]
    settings: dict[str, float]
    search: dict[str, tuple[float, ...]]
    seed: int | None
    cpu_seconds: float | None
    prices: Prices

    @classmethod
    def of(cls, new: NewSweep, source: StoredSource) -> "StoredSpec":
        """What was asked, of a source that was found."""
        return cls(
            source,
            new.policies,
            new.dram_ratios,
            new.settings,
            new.search,
            new.seed,
            new.cpu_seconds,
            new.prices,
        )

    def document(self) -> dict[str, Any]:
        """As JSON."""
        document: dict[str, Any] = _SPEC.dump_python(self, mode="json")
        return document

    def runs(self) -> tuple[SweepRun, ...]:
        """All runs. Raises SettingsError for what cannot be."""
        return expand_sweep(self.policies, self.dram_ratios, self.settings, self.search)

    @property
    def split(self) -> SplitSettings:
        """Settings by what they are of."""
        return split_settings(self.policies, self.settings)

    def conditions(self, interval_s: float) -> Conditions:
        """What all runs share; `interval_s` of the trace holds unless it was set."""
        shared = self.split.shared
        usual = SERVICE_WARM_UP if self.source.kind == "service" else 0
        return Conditions(
            costs=self.split.costs,
            seed=self.seed,
            interval_s=shared.get("interval_s", interval_s),
            warm_up_intervals=int(shared.get(WARM_UP, usual)),
            cpu_seconds=self.cpu_seconds,
        )


_SPEC = TypeAdapter(StoredSpec)


def read_spec(document: dict[str, Any]) -> StoredSpec:
    """What is stored, as it was.

    Raises:
        NotFound: it cannot be read any more.
    """
    try:
        return _SPEC.validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise NotFound(
            f"the stored sweep cannot be read: {place}: {first['msg']}", next_step="Delete it: DELETE /v1/sweeps/{id}."
        ) from error
