"""What the owners of the demonstration's fleet would have entered: a price, scenarios of cost, and experiments."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from tierscope.core.errors import Conflict
from tierscope.storage.base.subjects import hosts_of_service
from tierscope.storage.experiments.rows import list_experiments
from tierscope.storage.fleet.services import list_services
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.experiments.writes import ExperimentWrites, MetricRequest, NewExperiment
from tierscope.usecases.operate.load_figures import LoadFigures
from tierscope.usecases.tco.prices import Prices
from tierscope.usecases.tco.scenario_documents import (
    ExpanderDocument,
    HostDocument,
    OptionDocument,
    ScenarioDocument,
    ServiceLoss,
    ServiceNeed,
    SkuDocument,
)
from tierscope.usecases.tco.scenarios import Scenarios

ACTOR = "demonstration"
PRICE = "preset-dram-2025-late"
"""A published price of DRAM, with its date and source."""
METRICS = ("latency_p50_ns", "latency_p99_ns", "throughput_per_s")
MARGIN_RATIO = 0.1
SETTLING_SECONDS = 1800
MOST_BEHIND_S = 120.0
"""Answers on experiments are kept once they have ended: they wait until workers have caught up so far."""
COSTED = {"guests": 2048.0, "redis": 256.0}
"""Services with a scenario of cost, and the GB of a host of theirs: one that saves much and one that saves little."""
COSTED_DRAM_RATIO = 2 / 3
_MOST = 100


@dataclass(frozen=True, slots=True)
class TriedExperiment:
    """An experiment of the simulated fleet: times in Unix seconds, a service and hosts by name."""

    name: str
    service: str
    canary: tuple[str, ...]
    control: tuple[str, ...]
    before_unix_s: Annotated[int, Field(ge=0)]
    change_unix_s: Annotated[int, Field(ge=0)]
    end_unix_s: Annotated[int, Field(ge=0)]


TRIED: Final = TypeAdapter(tuple[TriedExperiment, ...])
"""Reads the file in which the fleet says what was tried on it."""


class Demonstration(ClockedUseCase):
    """Enters what owners would; what is there already stays as it is."""

    def enter_scenarios(self) -> None:
        """Store what-ifs of cost whose losses are those that ratio advice believes; each of them once.

        One that an earlier version of the product entered, in its words of then, was entered too.
        """
        with self._database.read() as session:
            services = list_services(session, origin=None, host=None, after=None, limit=None)
        scenarios = Scenarios(self._database, clock=self._clock)
        for service in services:
            if service.name in COSTED:
                spec = _costed(service.name, service.public_id, COSTED[service.name])
                with suppress(Conflict):
                    scenarios.create(name=None, spec=spec, yaml=None, actor=ACTOR, idempotency_key=spec.name)

    def confirm_price(self) -> None:
        """Stand for a price of DRAM, if nobody stands for one yet."""
        prices = Prices(self._database, clock=self._clock)
        if "dram" not in prices.in_force("USD"):
            prices.confirm(PRICE, actor=ACTOR)

    def enter(self, tried: Sequence[TriedExperiment]) -> int | None:
        """Enter the experiments that have ended, and how many are there; None while their data is not worked up."""
        now = self._clock()
        if LoadFigures(self._database, self._clock).lag().oldest_due_s > MOST_BEHIND_S:
            return None
        with self._database.read() as session:
            known = list_experiments(session, service=None, state=None, now=now, before=None, limit=_MOST)
            services = list_services(session, origin=None, host=None, after=None, limit=None)
            ids = {
                service.name: (
                    service.public_id,
                    {host.name: host.public_id for host in hosts_of_service(session, service.id)},
                )
                for service in services
            }
        there = {row.name for row in known}
        writes = ExperimentWrites(self._database, clock=self._clock)
        for one in tried:
            service_id, hosts = ids.get(one.service, ("", {}))
            is_known = {*one.canary, *one.control} <= hosts.keys()
            if one.name in there or not is_known or _at(one.end_unix_s) > now:
                continue
            writes.create(_new(one, service_id, hosts), actor=ACTOR)
            there.add(one.name)
        return len(there)


def _costed(name: str, service_id: str, memory_gb: float) -> ScenarioDocument:
    """A third of the memory of a service's hosts behind CXL, new or reused."""
    loss = ServiceLoss(kind="service", service=service_id, dram_ratio=COSTED_DRAM_RATIO)
    slow = ExpanderDocument(gb=memory_gb * (1.0 - COSTED_DRAM_RATIO))
    host = {"sku": "two sockets", "dram_gb": memory_gb * COSTED_DRAM_RATIO, "loss": loss}
    return ScenarioDocument(
        name=f"{name} at 2:1",
        description="A third of the memory behind CXL; the loss is that of ratio advice, from measured heat.",
        skus=[SkuDocument(name="two sockets", price=10_000.0, watts=400.0)],
        baseline=HostDocument(name="all DRAM", sku="two sockets", dram_gb=memory_gb),
        options=[
            OptionDocument.model_validate({"name": "reused DDR4 behind CXL", "ddr4_reused": slow, **host}),
            OptionDocument.model_validate({"name": "new memory behind CXL", "cxl": slow, **host}),
        ],
        memory=ServiceNeed(kind="service", service=service_id),
    )


def _new(one: TriedExperiment, service_id: str, hosts: dict[str, str]) -> NewExperiment:
    return NewExperiment(
        name=one.name,
        service_id=service_id,
        advice_id=None,
        hypothesis="Hosts with the change answer sooner than those without it.",
        metrics=tuple(MetricRequest(metric, None, MARGIN_RATIO) for metric in METRICS),
        canary=tuple(hosts[name] for name in one.canary),
        control=tuple(hosts[name] for name in one.control),
        canary_n=None,
        seed=None,
        before_from=_at(one.before_unix_s),
        change_at=_at(one.change_unix_s),
        settling_seconds=SETTLING_SECONDS,
        planned_end=_at(one.end_unix_s),
    )


def _at(unix_s: int) -> datetime:
    return datetime.fromtimestamp(unix_s, UTC)
