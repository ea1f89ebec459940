"""What the safe ratio of a service saves a year: its scenarios of new and of reused memory, and its part of hosts."""

from dataclasses import replace
from datetime import datetime
from typing import Literal

from tierscope.core.database import ReadSession
from tierscope.domain.fleet.gain import ServiceGain
from tierscope.domain.tco.scenario import GIB
from tierscope.storage.base.subjects import find_service
from tierscope.storage.fleet.host_columns import read_members
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.heat.services import HeatNow, read_heat_now, service_figures
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.tco.losses import ServiceFacts
from tierscope.usecases.tco.presets import ScenarioPreset, ScenarioPresetReads
from tierscope.usecases.tco.reads import DEFAULT_SEED, TcoReads

DRAWS = 2_000


class ServiceCosts:
    """Gains of services by one reading of the fleet's heat, at the first that needs it: made anew for each run."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context
        self._parts: dict[int, float] | None = None

    def cost(self, view: Ratio) -> ServiceGain:
        """The gain of a service by its ratio answer, at the ratio that keeps the target with 95 % confidence."""
        ratio, share = _safe(view)
        if ratio is None:
            return _nothing(None, 1.0, view.grade, "No ratio is proven: all memory stays in DRAM.")
        facts = ServiceFacts(self._context)
        facts.know(view)
        presets = ScenarioPresetReads(self._context, facts).read(view.service_id, dram_ratio=share)
        part = self._part_of_hosts(view.service_id)
        if part is None:
            return _nothing(ratio, share, view.grade, "How much of its hosts' memory it holds is not known.")
        costed = [_cost(self._context, facts, preset, part) for preset in presets.presets if preset.key != "today"]
        gains = [gain for gain in costed if isinstance(gain, ServiceGain)]
        if not gains:
            return _nothing(ratio, share, view.grade, str(costed[0]))
        best = max(gains, key=lambda gain: gain.net_per_year_p10 or 0.0)
        return replace(best, ratio=ratio, dram_ratio=share, grade=view.grade)

    def _part_of_hosts(self, service_id: str) -> float | None:
        with self._context.database.read() as session:
            if self._parts is None:
                self._parts = _parts_of_hosts(session, self._context.clock())
            service = find_service(session, service_id)
        return None if service is None else self._parts.get(service.id)


def _safe(view: Ratio) -> tuple[str | None, float]:
    if view.chosen is not None:
        return view.chosen.name, view.chosen.dram_ratio
    if view.range is None:
        return None, 1.0
    return view.range.safe, view.range.safe_dram_ratio


def _nothing(ratio: str | None, share: float, grade: str | None, why: str) -> ServiceGain:
    return ServiceGain(ratio, share, None, None, None, None, None, None, grade, why)


def _cost(context: ReadContext, facts: ServiceFacts, preset: ScenarioPreset, part: float) -> ServiceGain | str:
    """One scenario; a text says why it cannot be costed."""
    spec = preset.spec
    if spec is None:
        return preset.why_not or "There is no scenario."
    answer = TcoReads(context, facts).evaluate(spec, draws=DRAWS, seed=DEFAULT_SEED)
    if not answer.options:
        return answer.missing[0].why if answer.missing else "It is not costed."
    fleet, hosts = answer.options[0].fleet, spec.fleet.hosts
    freed = max(spec.baseline.dram_gb - spec.options[0].dram_gb, 0.0) * GIB * hosts * part
    saving, low, high = (part * value for value in (fleet.saving, fleet.saving_p10, fleet.saving_p90))
    why = None if low > 0.0 else "No saving is proven at the prices in force."
    how: Literal["cxl", "ddr4"] = "ddr4" if preset.key == "ddr4" else "cxl"
    return ServiceGain(None, 0.0, how, freed, saving, low, high, spec.currency, None, why)


def _parts_of_hosts(session: ReadSession, now: datetime) -> dict[int, float]:
    """The mean part of its hosts that a service holds: by resident memory, among services whose heat is measured."""
    heats = read_heat_now(session, now=now)
    means = {number: mean for number, heat in heats.items() if (mean := _per_host(heat, now))}
    members = {number: hosts.tolist() for number, hosts in read_members(session, list(means)).items()}
    totals: dict[int, float] = {}
    for number, hosts in members.items():
        for host in hosts:
            totals[host] = totals.get(host, 0.0) + means[number]
    return {
        number: sum(means[number] / totals[host] for host in hosts) / len(hosts)
        for number, hosts in members.items()
        if hosts
    }


def _per_host(heat: HeatNow, now: datetime) -> float | None:
    resident = service_figures(heat, None, now=now).resident_bytes.value
    return None if not resident or heat.source is None else resident / max(len(heat.source.host_ids), 1)
