"""The change plan: identical changes of many hosts as one, canaries among them, and drift of settings."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
import yaml
from sqlalchemy import text

from factories import batches
from factories.installations import enrol, store
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import NotFound, Unprocessable
from tierscope.core.settings import Settings
from tierscope.domain.knobs.facts import DEMOTION, NUMA_BALANCING, SCAN_SIZE, SWAPPINESS
from tierscope.storage.knobs.advice import Subject
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.knobs.advice_cards import Made
from tierscope.usecases.knobs.advice_refresh import RefreshAdvice, Refreshed
from tierscope.usecases.knobs.canaries import Canaries
from tierscope.usecases.knobs.drift import SettingDrifts
from tierscope.usecases.knobs.plan import ChangePlans
from tierscope.usecases.knobs.plan_answers import ChangePlan
from tierscope.usecases.knobs.reads import KnobReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


class Fleet:
    """Hosts with settings of a test's choice, and advice that it makes up."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.now = utc_now()
        self.context = ReadContext(database, lambda: self.now, Settings(_env_file=None))
        self.ids: dict[str, str] = {}

    def add(self, name: str, knobs: Mapping[str, str | None], *, kernel: str = "6.12", service: str = "cache") -> None:
        """A host whose newest inventory has these settings; None: its kernel has no such setting."""
        host = enrol(self.database, name=name)
        batch = batches.make_batch(host_id=host.id)
        batches.add_inventory(batch, services=(service,), hostname=name)
        batch.inventory.kernel_release = kernel
        for path, value in knobs.items():
            if value is None:
                batch.inventory.knobs.add(path=path, unavailable="no such setting")
            else:
                batch.inventory.knobs.add(path=path, value=value)
        assert store(self.database, host, [batch])
        self.ids[name] = host.id

    def advise(
        self, name: str, rule: str, *changes: tuple[str, str, str], stake: float | None = 10.0, risk: str = "Some."
    ) -> None:
        """Store advice to a host: (path, current, proposed) of each setting."""
        answer: dict[str, Any] = {
            "rule": rule,
            "title": f"Do {rule}",
            "changes": [
                {"path": path, "current": current, "proposed": proposed, "rollback": current}
                for path, current, proposed in changes
            ],
            "evidence": [{"metric": "promoted pages", "value": stake or 0.0, "unit": "pages/s", "figure": None}],
            "effect": "It helps.",
            "effect_figure": None,
            "risk": risk,
            "verify": "It rises.",
            "verdict": "healthy",
            "explanation": f"{name} is so.",
            "leading": {"hot_outside_dram_bytes": {"value": stake, "grade": "early"}},
        }
        says: dict[str, str | float | None] = {path: proposed for path, _, proposed in changes}
        with self.database.read() as session:
            number = session.execute(text("SELECT id FROM hosts WHERE name = :name"), {"name": name}).scalar_one()
        run = RefreshAdvice(self.database, lambda: self.now, Settings(_env_file=None))
        made = Made("knob", rule, f"Do {rule}", "It helps.", stake, answer, says)
        run.store_cards(Refreshed(), Subject(int(number), is_host=True), [made], {"F1", "F2", "F8"}, ["s"])

    def plan(self) -> ChangePlan:
        return ChangePlans(self.context).plan()


def make_fleet(database: Database) -> Fleet:
    fleet = Fleet(database)
    for number in range(6):
        fleet.add(f"node-{number}", {NUMA_BALANCING: "0", DEMOTION: "false", SWAPPINESS: "60"})
        fleet.advise(f"node-{number}", "F1", (NUMA_BALANCING, "0", "2"), stake=float(10 + number))
    fleet.advise("node-0", "F2", (DEMOTION, "false", "1"), stake=None)
    return fleet


def test_identical_changes_are_one_with_its_hosts_and_the_most_at_stake_comes_first(database: Database) -> None:
    plan = make_fleet(database).plan()
    first, second = plan.changes
    assert (first.id, first.path, first.proposed, len(first.hosts)) == (
        "kernel_numa_balancing_2",
        NUMA_BALANCING,
        "2",
        6,
    )
    assert [(value.value, value.hosts) for value in first.values] == [("0", 6)]
    assert (first.stake_bytes.value, first.stake_bytes.n_hosts, first.grade) == (75.0, 6, "early")
    assert (first.reasons[0].hosts, first.reasons[0].explanation) == (6, "node-5 is so.")
    assert first.evidence[0].value == 12.5
    assert first.hosts[0].name == "node-5"
    assert first.hosts[0].service_names == ("demo/cache",)
    assert (second.id, second.stake_bytes.value, second.stake_bytes.status) == (
        "numa_demotion_enabled_1",
        None,
        "not_collected",
    )
    assert (plan.host_count, plan.conflicts, plan.left_out) == (6, (), ())


def test_what_is_a_risk_on_some_hosts_is_told_with_how_many_they_are(database: Database) -> None:
    fleet = make_fleet(database)
    for name in ("node-0", "node-1"):
        hangs = "Some. The host hangs. This host is one of them."
        fleet.advise(name, "F1", (NUMA_BALANCING, "0", "2"), stake=1.0, risk=hangs)
    (change,) = (one for one in fleet.plan().changes if one.path == NUMA_BALANCING)
    assert change.risk == "Some. On 2 of 6 hosts: The host hangs. This host is one of them."
    bundle = ChangePlans(fleet.context).bundle([change.id], host_ids=(), without_host_ids=())
    assert any("On 2 of 6 hosts: The host hangs." in file.text for file in bundle.files)
    for number in range(6):
        own = f"Some. Number {number} is so."
        fleet.advise(f"node-{number}", "F1", (NUMA_BALANCING, "0", "2"), stake=1.0, risk=own)
    (change,) = (one for one in fleet.plan().changes if one.path == NUMA_BALANCING)
    assert change.risk.endswith("1 more hosts have risks of their own, which their advice names.")


def test_a_host_counts_once_in_the_sum_and_keeps_the_value_that_it_has_now(database: Database) -> None:
    fleet = Fleet(database)
    fleet.add("a", {NUMA_BALANCING: "1", DEMOTION: "true", SWAPPINESS: "60"})
    fleet.advise("a", "F1", (NUMA_BALANCING, "0", "2"))
    fleet.advise("a", "F8", (SWAPPINESS, "60", "100"))
    fleet.advise("a", "F2", (DEMOTION, "false", "1"))
    plan = fleet.plan()
    assert {change.setting: change.hosts[0].current for change in plan.changes} == {
        "kernel.numa_balancing": "1",
        "vm.swappiness": "60",
    }, "the newest inventory says what takes a change back"
    assert plan.stake_bytes.value == 10.0
    assert [(out.path, "already" in out.why) for out in plan.left_out] == [(DEMOTION, True)]


def test_changes_of_one_piece_of_advice_name_each_other(database: Database) -> None:
    fleet = Fleet(database)
    fleet.add("a", {NUMA_BALANCING: "0"})
    fleet.advise("a", "F6", (SCAN_SIZE, "256", "128"), (SWAPPINESS, "60", "100"))
    plan = fleet.plan()
    assert {change.id: change.belongs_with for change in plan.changes} == {
        "vm_swappiness_100": ("sched_numa_balancing_scan_size_mb_128",),
        "sched_numa_balancing_scan_size_mb_128": ("vm_swappiness_100",),
    }


def test_two_values_for_one_setting_are_a_conflict_and_neither_is_planned(database: Database) -> None:
    fleet = Fleet(database)
    fleet.add("a", {NUMA_BALANCING: "0"})
    fleet.advise("a", "F1", (NUMA_BALANCING, "0", "2"))
    fleet.advise("a", "F2", (NUMA_BALANCING, "0", "3"))
    plan = fleet.plan()
    assert plan.changes == ()
    assert [(found.name, found.path, found.values) for found in plan.conflicts] == [("a", NUMA_BALANCING, ("2", "3"))]


def test_a_bundle_has_the_changes_and_hosts_that_were_picked(database: Database) -> None:
    fleet = make_fleet(database)
    plans = ChangePlans(fleet.context)
    one = plans.bundle(["kernel_numa_balancing_2"], host_ids=(), without_host_ids={fleet.ids["node-3"]})
    assert (one.change_ids, one.host_count) == (("kernel_numa_balancing_2",), 5)
    inventory = next(file.text for file in one.files if file.name == "inventory.yml")
    assert "node-2" in inventory
    assert "node-3" not in inventory
    both = ["numa_demotion_enabled_1", "kernel_numa_balancing_2"]
    assert plans.bundle(both, host_ids={fleet.ids["node-0"]}, without_host_ids=()).change_ids == tuple(both)
    assert plans.bundle(both, host_ids={fleet.ids["node-1"]}, without_host_ids=()).change_ids == tuple(both[1:])
    with pytest.raises(NotFound):
        plans.bundle(["vm_swappiness_1"], host_ids=(), without_host_ids=())
    with pytest.raises(Unprocessable):
        plans.bundle(["numa_demotion_enabled_1"], host_ids={fleet.ids["node-5"]}, without_host_ids=())


def test_a_bundle_of_half_a_change_set_has_the_other_half_first_and_only_where_it_belongs(database: Database) -> None:
    fleet = Fleet(database)
    for name, demotion in (("pair", "false"), ("alone", "true")):
        fleet.add(name, {NUMA_BALANCING: "0", DEMOTION: demotion})
    fleet.advise("pair", "F1", (DEMOTION, "false", "1"), (NUMA_BALANCING, "0", "2"))
    fleet.advise("alone", "F1", (NUMA_BALANCING, "0", "2"))
    found = ChangePlans(fleet.context).bundle(["kernel_numa_balancing_2"], host_ids=(), without_host_ids=())
    assert found.change_ids == ("numa_demotion_enabled_1", "kernel_numa_balancing_2")
    plays = next(file.text for file in found.files if file.name == "apply.yml")
    assert plays.index("demotion_enabled to 1") < plays.index("numa_balancing to 2")
    back = next(file.text for file in found.files if file.name == "rollback.yml")
    assert back.index("numa_balancing to 0") < back.index("demotion_enabled to false")
    inventory = yaml.safe_load(next(file.text for file in found.files if file.name == "inventory.yml"))
    groups = inventory["all"]["children"]
    demoting = groups["tierscope_numa_demotion_enabled_1"]["children"].values()
    assert [list(group["hosts"]) for group in demoting] == [["pair"]]
    left = ChangePlans(fleet.context).bundle(
        ["kernel_numa_balancing_2"], host_ids=(), without_host_ids={fleet.ids["pair"]}
    )
    assert left.change_ids == ("kernel_numa_balancing_2",)


def test_a_change_set_of_which_one_part_cannot_be_planned_is_left_out_whole(database: Database) -> None:
    fleet = Fleet(database)
    fleet.add("a", {NUMA_BALANCING: "0", DEMOTION: "false"})
    fleet.advise("a", "F1", (DEMOTION, "false", "1"), (NUMA_BALANCING, "0", "2"))
    fleet.advise("a", "F3", (NUMA_BALANCING, "0", "3"))
    plan = fleet.plan()
    assert plan.changes == ()
    assert [found.path for found in plan.conflicts] == [NUMA_BALANCING]
    assert [(out.path, NUMA_BALANCING in out.why) for out in plan.left_out] == [(DEMOTION, True)]


def test_canaries_are_drawn_once_among_the_hosts_of_the_change(database: Database) -> None:
    fleet = make_fleet(database)
    canaries = Canaries(fleet.context)
    found = canaries.propose("kernel_numa_balancing_2", service=None, canary_n=2)
    assert (len(found.canary), len(found.control), found.missing) == (2, 4, None)
    assert {host.name for host in (*found.canary, *found.control)} == {f"node-{number}" for number in range(6)}
    assert found == canaries.propose("kernel_numa_balancing_2", service=found.service_id, canary_n=2)
    assert found.seed is not None
    assert len(canaries.propose("kernel_numa_balancing_2", service=None, canary_n=100).canary) == 3
    single = canaries.propose("numa_demotion_enabled_1", service=None, canary_n=None)
    assert [host.name for host in single.canary] == ["node-0"]
    assert {(host.name, host.gets_advice) for host in single.control} == {(f"node-{n}", False) for n in range(1, 6)}
    assert len(single.notes) == 2
    assert single.seed is None, "hosts that are not advised the change were not drawn from"
    assert [(one.service_name, one.hosts) for one in found.services] == [("demo/cache", 6)]
    with pytest.raises(NotFound):
        canaries.propose("kernel_numa_balancing_2", service="s_none", canary_n=None)


def test_a_change_without_control_hosts_says_so(database: Database) -> None:
    fleet = Fleet(database)
    fleet.add("alone", {NUMA_BALANCING: "0"})
    fleet.advise("alone", "F1", (NUMA_BALANCING, "0", "2"))
    found = Canaries(fleet.context).propose("kernel_numa_balancing_2", service=None, canary_n=None)
    assert (found.canary, found.control) == ((), ())
    assert found.missing is not None
    fleet.now += timedelta(days=30)
    gone = Canaries(fleet.context).propose("kernel_numa_balancing_2", service=None, canary_n=None)
    assert "silent" in gone.excluded[0].why


def test_drift_says_of_each_host_what_its_page_says(database: Database) -> None:
    fleet = Fleet(database)
    for number in range(5):
        fleet.add(f"same-{number}", {NUMA_BALANCING: "2", SWAPPINESS: "60"})
    fleet.add("odd", {NUMA_BALANCING: "0", SWAPPINESS: "60"})
    fleet.add("lacking", {NUMA_BALANCING: "1", SWAPPINESS: None})
    fleet.add("new-kernel", {NUMA_BALANCING: "0"}, kernel="6.18")
    fleet.add("elsewhere", {NUMA_BALANCING: "0"}, service="other")
    drift = SettingDrifts(fleet.context).read(service=None, limit=10)
    assert [(setting.path, setting.hosts) for setting in drift.settings] == [(NUMA_BALANCING, 2)]
    assert {host.name: [(cell.state, cell.value, cell.group_norm) for cell in host.cells] for host in drift.hosts} == {
        "lacking": [("differs", "1", "2")],
        "odd": [("differs", "0", "2")],
    }
    assert (drift.hosts_compared, drift.hosts_without_peers, drift.hosts_differing) == (7, 2, 2)
    shown = SettingDrifts(fleet.context).read(service=None, limit=1)
    assert (len(shown.hosts), shown.hosts_differing) == (1, 2)
    for row in drift.hosts:
        pages = KnobReads(fleet.context).host(row.host_id, from_=None, to=None).knobs
        page = {state.path: state for state in pages}
        for setting, cell in zip(drift.settings, row.cells, strict=True):
            state = page[setting.path]
            assert (state.group_norm, state.group_hosts, state.differs) == (
                cell.group_norm,
                cell.group_hosts,
                cell.state == "differs",
            )


def test_two_halves_of_a_group_do_not_drift_from_each_other(database: Database) -> None:
    fleet = Fleet(database)
    for number in range(4):
        fleet.add(f"node-{number}", {SWAPPINESS: str(number % 2)})
    assert SettingDrifts(fleet.context).read(service=None, limit=10).hosts == ()


def test_drift_tells_what_was_not_collected_from_what_a_kernel_lacks(database: Database) -> None:
    fleet = Fleet(database)
    for number in range(4):
        fleet.add(f"same-{number}", {NUMA_BALANCING: "2", SWAPPINESS: "60", DEMOTION: "true"})
    fleet.add("odd", {NUMA_BALANCING: "0", SWAPPINESS: None})
    fleet.add("swaps", {NUMA_BALANCING: "2", SWAPPINESS: "1", DEMOTION: "false"})
    drift = SettingDrifts(fleet.context).read(service=None, limit=10)
    states = {
        host.name: {setting.path: cell.state for setting, cell in zip(drift.settings, host.cells, strict=True)}
        for host in drift.hosts
    }
    assert states["odd"] == {NUMA_BALANCING: "differs", SWAPPINESS: "not_supported", DEMOTION: "not_collected"}
    assert states["swaps"] == {NUMA_BALANCING: "same", SWAPPINESS: "differs", DEMOTION: "differs"}
