"""Experiments that a fleet's owners would enter: those of the laws, and some in which nothing was changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tierscope.core.database import Database
from tierscope.storage.base.subjects import hosts_of_service
from tierscope.storage.fleet.services import list_services
from tierscope.usecases.experiments.writes import ExperimentWrites, MetricRequest, NewExperiment
from tierscope.usecases.operate.demonstration import METRICS, SETTLING_SECONDS, TriedExperiment

HOUR_S = 3600
ARM = 5
"""Hosts in each arm, at least."""
SLOT_S = 2 * HOUR_S
"""Before and after the moment at which nothing is changed."""
BEFORE_S = 6 * HOUR_S
"""Before a change of the laws, at most."""
QUIET_S = 4 * HOUR_S
"""After an incident, before hosts count as like each other again."""
NOTHING = ("nothing, arms drawn by host", "nothing, arms by rack")
MARGIN_RATIO = 0.05


@dataclass(frozen=True, slots=True)
class Entered:
    """An experiment in the service, and what was changed: an incident's name, or one of `NOTHING`."""

    id: str
    what: str


def enter_experiments(database: Database, truth: Mapping[str, Any], end_s: int) -> list[Entered]:
    with database.read() as session:
        rows = list_services(session, origin=None, host=None, after=None, limit=None)
        known = {
            row.name: (row.public_id, {host.name: host.public_id for host in hosts_of_service(session, row.id)})
            for row in rows
        }
    writes = ExperimentWrites(database)
    entered = []
    for service, new, what in plan_experiments(truth, end_s):
        service_id, ids = known[service]
        asked = NewExperiment(
            name=new.name,
            service_id=service_id,
            advice_id=None,
            hypothesis="",
            metrics=tuple(MetricRequest(metric, None, MARGIN_RATIO) for metric in METRICS),
            canary=tuple(ids[name] for name in new.canary),
            control=tuple(ids[name] for name in new.control),
            canary_n=None if new.canary else ARM,
            seed=None if new.canary else new.change_unix_s,
            before_from=_at(new.before_unix_s),
            change_at=_at(new.change_unix_s),
            settling_seconds=SETTLING_SECONDS,
            planned_end=_at(new.end_unix_s),
        )
        entered.append(Entered(writes.create(asked, actor="truth").experiment.id, what))
    return entered


Planned = tuple[str, TriedExperiment, str]


def plan_experiments(truth: Mapping[str, Any], end_s: int) -> list[Planned]:
    """Service, experiment and what was changed. Without names of hosts, the service draws the arms."""
    return [*_changes(truth, end_s), *_nothing(truth, end_s)]


def _changes(truth: Mapping[str, Any], end_s: int) -> Iterator[Planned]:
    """Those of the laws; the window before begins where the last one on the service ended."""
    begun: dict[str, int] = {}
    tried = [one for one in truth["incidents"] if one["change"]["kind"] == "experiment" and one["service"]]
    for one in sorted(tried, key=lambda incident: incident["begin_unix_s"]):
        service, end = one["service"], int(one["end_unix_s"])
        before = max(begun.get(service, int(truth["start_unix_s"])), int(one["begin_unix_s"]) - BEFORE_S)
        begun[service] = end
        if end <= end_s:
            hosts, controls = tuple(one["hosts"]), tuple(one["controls"])
            times = (before, int(one["begin_unix_s"]), end)
            yield service, TriedExperiment(one["name"], service, hosts, controls, *times), one["name"]


def _nothing(truth: Mapping[str, Any], end_s: int) -> Iterator[Planned]:
    """Hosts of one kind, while nothing happens to them: arms by host and by rack in turn."""
    for service, hosts in _alike(truth["hosts"]).items():
        racks = sorted({host["rack"] for host in hosts})
        canary = tuple(host["host"] for host in hosts if host["rack"] == racks[0])
        control = tuple(host["host"] for host in hosts if host["rack"] != racks[0])
        names = {host["host"] for host in hosts}
        number = 0
        for begin in range(int(truth["start_unix_s"]), end_s - 2 * SLOT_S + 1, 2 * SLOT_S):
            times = (begin, begin + SLOT_S, begin + 2 * SLOT_S)
            if not _is_quiet(truth["incidents"], names, begin, times[2]):
                continue
            by_rack = number % 2 == 1 and min(len(canary), len(control)) >= ARM
            arms = (canary, control) if by_rack else ((), ())
            number += 1
            yield service, TriedExperiment(f"nothing {number}", service, *arms, *times), NOTHING[by_rack]


def _alike(hosts: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Services with enough hosts of one kind for two arms, each with the hosts of its largest kind."""
    kinds: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for host in hosts:
        settings = tuple(sorted((name, str(value)) for name, value in host["settings"].items()))
        kinds.setdefault((*host["services"], host["dram_gib"], host["slow_gib"], settings), []).append(host)
    large = [found for found in kinds.values() if len(found) >= 2 * ARM and len(found[0]["services"]) == 1]
    return {found[0]["services"][0]: found for found in sorted(large, key=len)}


def _is_quiet(incidents: Sequence[Mapping[str, Any]], hosts: set[str], begin: int, end: int) -> bool:
    return not any(
        hosts & {*one["hosts"], *one["controls"]}
        and one["begin_unix_s"] - BEFORE_S < end
        and one["end_unix_s"] + QUIET_S > begin
        for one in incidents
    )


def _at(unix_s: int) -> datetime:
    return datetime.fromtimestamp(unix_s, UTC)
