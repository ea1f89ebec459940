"""Scenarios filled in from the real hosts of the fleet or of one service: today, CXL, and reused DDR4 behind CXL."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.core.errors import NotFound
from tierscope.domain.base.described import Described
from tierscope.domain.fleet.host_facts import read_facts
from tierscope.domain.fleet.hosts_away import HostsAway
from tierscope.domain.tco.scenario import GIB, HIGHEST_LOSS
from tierscope.storage.fleet.hosts import read_inventories
from tierscope.storage.fleet.memory import MemoryGroup, group_memory
from tierscope.storage.fleet.services import ServiceRow, count_hosts, find_service, list_services
from tierscope.storage.nodes.counts import read_hosts_away
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.tco.losses import ServiceFacts, advised_loss
from tierscope.usecases.tco.scenario_documents import (
    ExpanderDocument,
    HostDocument,
    LossDocument,
    NumberLoss,
    OptionDocument,
    ScenarioDocument,
    ServiceLoss,
    ServiceNeed,
)
from tierscope.usecases.tco.scenarios import starting_scenario

MOST_ADVISED = 4
"""Services of a fleet whose advice is read: those with the most hosts. Advice of a large service takes seconds."""
MOST_GROUPS = 2_000
"""Groups of hosts of a kind whose inventory is read, the largest first: hosts of further ones state no memory here."""
GB_PER_DEVICE = 256.0
"""Memory behind one CXL controller [A]."""
MOST_DEVICES = 64
SMALL_GB = 20.0
_ASSUMED = NumberLoss(value=0.01, low=0.0, high=0.05)
_ALL_DRAM = 0.999
"""DRAM shares from here on leave nothing for slow memory."""

PresetKey = Literal["today", "cxl", "ddr4"]
LABELS: dict[PresetKey, str] = {
    "today": "Today against all DRAM",
    "cxl": "CXL at the advised ratio",
    "ddr4": "Reused DDR4 behind CXL",
}


@dataclass(frozen=True, slots=True)
class ScenarioPreset:
    """A scenario to start from; `spec` None where `why_not` says what is missing."""

    key: PresetKey
    label: str
    spec: ScenarioDocument | None
    why_not: str | None


@dataclass(frozen=True, slots=True)
class ScenarioPresets:
    """Hosts as they are, and scenarios made from them. Sizes are means over the hosts that state them."""

    subject: Annotated[str, Described("`fleet`, or the service as namespace/name.")]
    simulated: Annotated[bool, Described("Whether the hosts are simulated or recorded ones: no live host exists.")]
    n_hosts: int
    away: Annotated[HostsAway, Described("Hosts that are not counted now, of any service.")]
    n_hosts_known: Annotated[int, Described("Hosts whose inventory states their memory.")]
    dram_gb: Annotated[float | None, Described("DRAM of a host, GiB; null: no host states it.")]
    slow_gb: Annotated[float | None, Described("Memory of a host that is slower than DRAM.")]
    dram_ratio: Annotated[float | None, Described("DRAM's share of the memory in the options; null: no advice.")]
    advice: Annotated[str, Described("Where that share and the loss of throughput are from.")]
    presets: tuple[ScenarioPreset, ...]


@dataclass(frozen=True, slots=True)
class _Advised:
    """DRAM's share, the loss at it and at that of today, and where they are from; `dram_ratio` None without advice."""

    dram_ratio: float | None
    loss: LossDocument
    loss_today: LossDocument
    says: str


@dataclass(frozen=True, slots=True)
class _Hosts:
    """Hosts with the mean memory of those that state it, in GiB."""

    n: int
    n_known: int
    dram_gb: float
    slow_gb: float
    simulated: bool

    @property
    def total_gb(self) -> float:
        return self.dram_gb + self.slow_gb

    @property
    def dram_ratio(self) -> float:
        return self.dram_gb / self.total_gb if self.total_gb else 1.0


class ScenarioPresetReads:
    """Fills scenarios in from inventories and ratio advice."""

    def __init__(self, context: ReadContext, facts: ServiceFacts) -> None:
        self._context = context
        self._facts = facts

    def read(self, service_id: str | None, *, dram_ratio: float | None) -> ScenarioPresets:
        """Scenarios of the fleet or one service.

        Args:
            service_id: public id; None for the fleet.
            dram_ratio: DRAM's share of the memory, 0..1, in place of the advised one.

        Raises:
            NotFound: no such service.
        """
        with self._context.database.read() as session:
            service = None if service_id is None else find_service(session, service_id)
            if service_id is not None and service is None:
                raise NotFound(f"there is no service {service_id[:80]!r}")
            hosts = _read_hosts(session, None if service is None else service.id)
            away = read_hosts_away(session)
            asked = [] if service else _largest_services(session, simulated=hosts.simulated)
        subject = "fleet" if service is None else f"{service.namespace}/{service.name}"
        if not hosts.n_known:
            none = "no host states its memory yet" if hosts.n else "no host reports yet"
            presets = tuple(ScenarioPreset(key, label, None, none) for key, label in LABELS.items())
            return ScenarioPresets(subject, hosts.simulated, hosts.n, away, 0, None, None, None, none, presets)
        if service is None:
            advised = self._of_fleet(asked, hosts, dram_ratio)
        else:
            advised = self._of_service(service.public_id, subject, hosts, dram_ratio)
        need = None if service is None else ServiceNeed(kind="service", service=service.public_id)
        presets = tuple(_preset(key, label, subject, hosts, away, advised, need) for key, label in LABELS.items())
        return ScenarioPresets(
            subject=subject,
            simulated=hosts.simulated,
            n_hosts=hosts.n,
            away=away,
            n_hosts_known=hosts.n_known,
            dram_gb=hosts.dram_gb,
            slow_gb=hosts.slow_gb,
            dram_ratio=advised.dram_ratio,
            advice=advised.says,
            presets=presets,
        )

    def _of_service(self, public_id: str, name: str, hosts: _Hosts, dram_ratio: float | None) -> _Advised:
        advice = self._facts.advice(public_id)
        asked = ServiceLoss(kind="service", service=public_id)
        today = asked if _reaches(advice, hosts.dram_ratio) else _ASSUMED
        share, says = _advised_share(advice)
        if dram_ratio is not None:
            share, says = dram_ratio, f"{dram_ratio:.0%} of the memory in DRAM as asked"
        if share is None or not _reaches(advice, share):
            return _Advised(share, _ASSUMED, today, f"{name}: {says}; the loss is assumed")
        return _Advised(share, asked, today, f"{name}: {says}; the loss is what ratio advice expects there")

    def _of_fleet(self, asked: Sequence[tuple[ServiceRow, int]], hosts: _Hosts, dram_ratio: float | None) -> _Advised:
        """Each service at its own advised share; shares and losses are means by hosts."""
        weights, shares, losses = [], [], []
        known: list[tuple[int, tuple[float, float, float]]] = []
        for service, n_hosts in asked:
            advice = self._facts.advice(service.public_id)
            if _reaches(advice, hosts.dram_ratio):
                known.append((n_hosts, _loss_at(advice, hosts.dram_ratio)))
            share = _advised_share(advice)[0] if dram_ratio is None else dram_ratio
            if share is not None and _reaches(advice, share):
                weights.append(n_hosts)
                shares.append(share)
                losses.append(_loss_at(advice, share))
        today = _mean_loss(known) if known else _ASSUMED
        if not weights:
            says = "no ratio advice for the services with the most hosts yet; the loss is assumed"
            return _Advised(dram_ratio, _ASSUMED, today, says)
        whose = "service, the one" if len(weights) == 1 else "services, those"
        says = f"mean by hosts of the advice for {len(weights)} {whose} with the most hosts"
        loss = _mean_loss(list(zip(weights, losses, strict=True)))
        return _Advised(float(np.average(shares, weights=weights)), loss, today, says)


def _read_hosts(session: ReadSession, service_id: int | None) -> _Hosts:
    """Hosts that are not retired: the live ones where any of these states its memory. A kind is as one of it says."""
    groups = group_memory(session, service_id=service_id)
    live, others = ([group for group in groups if group.live is is_live] for is_live in (True, False))
    found = _sum_up(session, live, simulated=False) or _sum_up(session, others, simulated=True)
    return found or _Hosts(sum(group.hosts for group in live or others), 0, 0.0, 0.0, simulated=not live)


def _sum_up(session: ReadSession, groups: Sequence[MemoryGroup], *, simulated: bool) -> _Hosts | None:
    """These hosts; None where none of them states its memory."""
    bodies = read_inventories(session, [group.example for group in groups[:MOST_GROUPS]])
    known = [
        (group.hosts, fact.dram_bytes, fact.memory_bytes)
        for group in groups
        if group.example in bodies and (fact := read_facts(bodies[group.example][1])).dram_bytes and fact.memory_bytes
    ]
    if not known:
        return None
    weights, *sizes = zip(*known, strict=True)
    dram, total = (float(np.average(values, weights=weights)) / GIB for values in sizes)
    n_hosts = sum(group.hosts for group in groups)
    return _Hosts(n_hosts, sum(weights), dram, max(total - dram, 0.0), simulated=simulated)


def _largest_services(session: ReadSession, *, simulated: bool) -> list[tuple[ServiceRow, int]]:
    rows = list_services(session, origin=None if simulated else "live", host=None, after=None, limit=None)
    counts = count_hosts(session, [row.id for row in rows])
    found = [(row, counts[row.id]) for row in rows if row.id in counts]
    return sorted(found, key=lambda pair: -pair[1])[:MOST_ADVISED]


def _advised_share(advice: Ratio) -> tuple[float | None, str]:
    """The share that advice names: of one ratio, else of the likeliest."""
    ends, chosen = advice.range, advice.chosen
    if ends is None:
        return None, f"no ratio advice ({'; '.join(advice.refused)})"
    if chosen is not None:
        return chosen.dram_ratio, f"{chosen.name} keeps {advice.loss_target:.0%} of loss with 95 % confidence"
    if ends.likely is not None:
        safe = ends.safe or "only all DRAM"
        return ends.likely_dram_ratio, f"{ends.likely} is the likeliest ratio, {safe} is safe so far"
    return None, "advice keeps all memory in DRAM"


def _reaches(advice: Ratio, share: float) -> bool:
    """Whether advice knows the loss at this share."""
    if advice.sweep is None:
        return False
    return share >= _ALL_DRAM or min(advice.sweep.dram_ratio) <= share <= max(advice.sweep.dram_ratio)


def _loss_at(advice: Ratio, share: float) -> tuple[float, float, float]:
    """Median, 5th and 95th percentile of the loss at a share."""
    assert advice.sweep is not None
    if share >= _ALL_DRAM:
        return 0.0, 0.0, 0.0
    loss = advised_loss(advice.sweep, share)
    return loss.value, loss.low, min(loss.high, HIGHEST_LOSS)


def _mean_loss(losses: Sequence[tuple[int, tuple[float, float, float]]]) -> NumberLoss:
    """The mean by hosts of medians and of ends: as if all services erred to one side, which is not too narrow."""
    value, low, high = np.average([loss for _, loss in losses], axis=0, weights=[n_hosts for n_hosts, _ in losses])
    return NumberLoss(value=float(value), low=float(low), high=float(high))


def _preset(
    key: PresetKey,
    label: str,
    subject: str,
    hosts: _Hosts,
    away: HostsAway,
    advised: _Advised,
    need: ServiceNeed | None,
) -> ScenarioPreset:
    """One scenario: hosts of today as the baseline, and the same memory in other tiers as its option."""
    if key != "today" and advised.dram_ratio is None:
        return ScenarioPreset(key, label, None, advised.says)
    start = starting_scenario()
    share = 1.0 if key == "today" or advised.dram_ratio is None else advised.dram_ratio
    total = _whole(hosts.total_gb)
    dram, dram_today = _whole(share * total), min(_whole(hosts.dram_gb), total)
    slow, slow_today = _expander(total - dram), _expander(total - dram_today)
    nothing = NumberLoss(value=0.0)
    sku = start.skus[0].name
    told = away.tell()
    not_counted = "" if told is None else f" Not counted: {told}."
    baseline = HostDocument(
        name="current hosts",
        sku=sku,
        dram_gb=dram_today,
        cxl=slow_today,
        loss=nothing if slow_today is None else advised.loss_today,
    )
    option = OptionDocument(
        name="all DRAM" if slow is None else f"{label}, {share:.0%} DRAM",
        sku=sku,
        dram_gb=dram,
        cxl=None if key == "ddr4" else slow,
        ddr4_reused=slow if key == "ddr4" else None,
        loss=nothing if slow is None else advised.loss,
    )
    spec = start.model_copy(
        update={
            "name": f"{label}: {subject}",
            "description": (
                f"{hosts.n:,} hosts of the {'fleet' if need is None else 'service ' + subject}, mean memory of"
                f" {hosts.n_known:,} that state it. {advised.says[0].upper()}{advised.says[1:]}.{not_counted}"
            ),
            "baseline": baseline,
            "options": [option],
            "fleet": start.fleet.model_copy(update={"hosts": hosts.n}),
            "memory": need,
        }
    )
    return ScenarioPreset(key, label, spec, None)


def _whole(gb: float) -> float:
    """Whole GiB; of very small hosts hundredths."""
    return float(round(gb)) if gb >= SMALL_GB else round(gb, 2)


def _expander(gb: float) -> ExpanderDocument | None:
    """Memory behind as many devices as it takes; None for none."""
    if gb <= 0.0:
        return None
    return ExpanderDocument(gb=gb, devices=min(max(math.ceil(gb / GB_PER_DEVICE), 1), MOST_DEVICES))
