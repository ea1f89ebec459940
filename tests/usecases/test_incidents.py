"""The incident around an alert: lines as on the host's own pages, what is absent with its reason, onset and cause."""

import pytest
from sqlalchemy import text

from factories.watched import Cells, Watched
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.domain.alerts.rules import Rule, Scope
from tierscope.domain.base.figures import Series
from tierscope.usecases.alerts.incident import IncidentReads
from tierscope.usecases.alerts.incident_answers import Incident, IncidentRow
from tierscope.usecases.alerts.incident_rows import OF_A_HOST
from tierscope.usecases.alerts.rules import Rules
from tierscope.usecases.alerts.triage import TriageReads
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fairness.incidents import TakenReads
from tierscope.usecases.fleet.events import EventRequest, Events
from tierscope.usecases.ledger.reads import LedgerReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
PAGE = 4096
HOST_KEYS = (
    "host|pressure.memory|some_total_us",
    "host|vmstat|pgdemote_kswapd",
    "host|vmstat|pgpromote_success",
    "node:0|meminfo|MemFree",
    "zone:0/DMA32|zoneinfo|low",
    "zone:0/Normal|zoneinfo|low",
)
SERVICE_KEYS = ("service:demo/cache|memory.pressure|some_total_us", "service:demo/cache|memory.stat|pgpromote_success")
QUIET, BUSY = 10, 2000
RULE = Rule("busy", "promoted_pages > 1000/s", for_seconds=180, summary="{{ value }}")
MINUTES = 40


def watch(database: Database, rule: Rule) -> Watched:
    watched = Watched(database, MINUTES)
    Rules(database).create(rule, actor="test")
    watched.evaluate(2.5)
    return watched


def counting(rates: list[int], seconds: int = 60) -> list[Cells]:
    """Samples of a host that promotes at these rates; free memory falls by one MB a sample, a tenth of time waits."""
    rows: list[Cells] = []
    promoted = 10**6
    for i, rate in enumerate([0, *rates]):
        promoted += rate * seconds
        rows.append([i * seconds * 100_000, 7 * i * seconds, promoted, (500 - i) * 1_000_000, 100, 200])
    return rows


def incident(watched: Watched, minute: float = MINUTES, *, max_points: int = 500) -> Incident:
    """The incident of the alert of `RULE`, as seen at a minute."""
    with watched.database.read() as session:
        (alert,) = session.execute(text("SELECT public_id FROM alerts WHERE rule_name = 'busy'")).scalars()
    return reads(watched, minute).show(alert, max_points=max_points)


def reads(watched: Watched, minute: float) -> IncidentReads:
    read = context(watched, minute)
    return IncidentReads(read, TakenReads(read))


def context(watched: Watched, minute: float) -> ReadContext:
    return ReadContext(watched.database, lambda: watched.at(minute), Settings(_env_file=None))


def row(found: Incident, key: str) -> IncidentRow:
    return next(part for part in found.rows if part.key == key)


def line(series: tuple[Series, ...], key: str) -> tuple[float | None, ...]:
    return next(part.values for part in series if part.key == key)


def test_a_host_without_an_alert_has_the_same_lines_and_says_what_its_services_do_not_tell(database: Database) -> None:
    watched = watch(database, RULE)
    host = watched.enrol()
    watched.send(host, HOST_KEYS, counting([QUIET] * 9 + [BUSY] * 10 + [QUIET] * 18))
    watched.evaluate(MINUTES)
    alert = incident(watched)
    asked = {"from_": alert.window.start.isoformat(), "to": alert.window.end.isoformat()}
    found = TriageReads(context(watched, MINUTES)).show(host.id, **asked, max_points=500)
    assert (found.axis, found.ribbon) == (alert.axis, alert.ribbon)
    by_key = {part.key: part for part in found.rows}
    assert tuple(by_key) == OF_A_HOST
    assert all(by_key[part.key] == part for part in alert.rows)
    for key in ("latency", "hot_outside"):
        assert by_key[key].status == "not_collected"
        assert by_key[key].reason


def test_lines_are_those_of_the_ledger_and_what_is_not_sent_says_why(database: Database) -> None:
    watched = watch(database, RULE)
    host = watched.enrol()
    watched.send(host, HOST_KEYS, counting([QUIET] * 9 + [BUSY] * 10 + [QUIET] * 18))
    watched.evaluate(MINUTES)
    found = incident(watched)
    assert [part.key for part in found.rows] == ["tier_moves", "free_memory", "pressure", "refaults", "throughput"]
    ledger = LedgerReads(context(watched, MINUTES)).host(
        host.id, from_=found.window.start.isoformat(), to=found.window.end.isoformat(), max_points=500
    )
    assert found.axis == ledger.axis
    assert found.ribbon == ledger.ping_pong.ribbon
    moves = row(found, "tier_moves").series
    for key in ("promoted_pages", "demoted_pages"):
        assert line(moves, key) == line(ledger.series, key)
    assert BUSY in line(moves, "promoted_pages")
    pressure = [value for value in line(row(found, "pressure").series, "psi_some_ratio") if value is not None]
    assert pressure == pytest.approx([0.1] * len(pressure))
    assert {part.status for part in (row(found, "refaults"), row(found, "throughput"))} == {"not_collected"}
    assert "did not come whole" in (row(found, "refaults").reason or "")
    assert "service_metrics" in (row(found, "throughput").reason or "")
    assert row(found, "refaults").series == ()
    free = row(found, "free_memory").series
    at_minute_10 = found.axis.times.index(watched.at(10).timestamp())
    assert line(free, "top_free_bytes")[at_minute_10] == 490_000_000
    assert line(free, "top_low_watermark_bytes")[at_minute_10] == 300 * PAGE
    assert [part.key for part in free] == ["top_free_bytes", "top_low_watermark_bytes"], "min and high are not sent"


def test_the_cause_is_the_hosts_verdict_while_the_condition_held(database: Database) -> None:
    watched = watch(database, RULE)
    host = watched.enrol()
    watched.send(host, HOST_KEYS, counting([QUIET] * 4 + [BUSY] * 32))
    watched.evaluate(MINUTES)
    found = incident(watched)
    assert (found.judged.start, found.judged.end) == (watched.at(4), watched.at(MINUTES))
    window = {"from_": found.judged.start.isoformat(), "to": found.judged.end.isoformat()}
    ledger = LedgerReads(context(watched, MINUTES)).host(host.id, **window, max_points=1)
    (touched,) = found.hosts
    assert (found.cause.host_id, touched.host_id) == (host.id, host.id)
    assert found.cause.verdict == touched.verdict == ledger.ping_pong.verdict
    assert found.cause.explanation == ledger.ping_pong.explanation
    assert found.cause.evidence == ledger.ping_pong.evidence
    rate = next(column.rate for column in ledger.columns if column.key == "promoted_pages")
    assert touched.promotion_pages_per_s.value == pytest.approx(rate.value)
    assert found.services == ledger.services
    assert found.kind == "tiering"
    assert found.shared.taken == ()
    assert "no service shares its memory" in (found.shared.reason or "")


def test_the_onset_says_why_it_fired_later(database: Database) -> None:
    watched = watch(database, RULE)
    watched.send(watched.enrol(), HOST_KEYS, counting([QUIET] * 9 + [BUSY] * 10 + [QUIET] * 18))
    watched.evaluate(MINUTES)
    onset = incident(watched).onset
    assert (onset.held_at, onset.pending_at, onset.fired_at) == (watched.at(10), watched.at(10), watched.at(12))
    assert onset.resolved_at == watched.at(20)
    assert any("3 evaluated minutes in a row" in sentence and "held in 2 min" in sentence for sentence in onset.why)
    assert not any("Data comes every" in sentence for sentence in onset.why)


def test_hosts_that_send_rarely_fire_late_and_that_is_said(database: Database) -> None:
    watched = watch(database, RULE)
    watched.send(watched.enrol(), HOST_KEYS, counting([BUSY] * 7, seconds=300), seconds=300)
    watched.evaluate(MINUTES)
    onset = incident(watched).onset
    assert (onset.held_at, onset.fired_at) == (watched.at(5), watched.at(15))
    assert any("Data comes every 5 min" in sentence for sentence in onset.why)
    assert any("could not be evaluated in 8" in sentence for sentence in onset.why)


def test_a_rule_that_came_later_says_so(database: Database) -> None:
    watched = Watched(database, MINUTES)
    watched.send(watched.enrol(), HOST_KEYS, counting([BUSY] * 30))
    Rules(database, clock=lambda: watched.at(20)).create(RULE, actor="test")
    watched.evaluate(22.5)
    watched.evaluate(MINUTES)
    onset = incident(watched).onset
    assert onset.held_at is not None
    assert onset.pending_at is not None
    assert onset.held_at < onset.pending_at
    assert "when the rule was added" in onset.why[0]


def test_events_of_the_host_and_of_nobody_are_marked(database: Database) -> None:
    watched = watch(database, RULE)
    host, other = watched.enrol(), watched.enrol("node-2")
    watched.send(host, HOST_KEYS, counting([QUIET] * 9 + [BUSY] * 10))
    watched.evaluate(MINUTES)
    events = Events(database)
    for minute, text_, where in ((8, "deploy 7", host.id), (3, "power test", None), (9, "elsewhere", other.id)):
        request = EventRequest(kind="deploy", text=text_, at=watched.at(minute), host_id=where, service_id=None)
        events.create(request, actor="test", idempotency_key=None)
    assert [event.text for event in incident(watched).events] == ["power test", "deploy 7"]


def test_an_alert_on_a_service_adds_up_its_hosts(database: Database) -> None:
    rule = Rule("busy", RULE.expression, for_seconds=180, summary="{{ value }}", scope=Scope("service"))
    watched = watch(database, rule)
    keys = tuple(sorted((*HOST_KEYS, *SERVICE_KEYS)))
    for name, rate in (("node-1", BUSY), ("node-2", 3 * BUSY)):
        rows = counting([QUIET] * 9 + [rate] * 20)
        both = [[*cells, cells[0], cells[2]] for cells in rows]
        order = [(*HOST_KEYS, *SERVICE_KEYS).index(key) for key in keys]
        watched.send(watched.enrol(name), keys, [[cells[place] for place in order] for cells in both])
    watched.evaluate(MINUTES)
    found = incident(watched)
    assert found.subject.kind == "service"
    at = found.axis.times.index(watched.at(20).timestamp())
    assert line(row(found, "tier_moves").series, "promoted_pages")[at] == pytest.approx(4 * BUSY)
    assert line(row(found, "free_memory").series, "top_free_bytes")[at] == 2 * 480_000_000
    assert {host.host_name for host in found.hosts} == {"node-1", "node-2"}
    assert row(found, "throughput").status == "not_collected"


def test_fewer_points_keep_one_axis(database: Database) -> None:
    watched = watch(database, RULE)
    watched.send(watched.enrol(), HOST_KEYS, counting([QUIET] * 9 + [BUSY] * 10 + [QUIET] * 18))
    watched.evaluate(MINUTES)
    found = incident(watched, max_points=20)
    assert len(found.axis.times) <= 20
    lengths = {len(series.values) for part in found.rows for series in part.series}
    assert lengths == {len(found.axis.times)}


def test_a_rule_that_is_gone_leaves_the_lines(database: Database) -> None:
    watched = watch(database, RULE)
    watched.send(watched.enrol(), HOST_KEYS, counting([QUIET] * 9 + [BUSY] * 10))
    watched.evaluate(25)
    (stored,) = [found for found in Rules(database).list() if found.row.rule.name == "busy"]
    Rules(database, clock=lambda: watched.at(25)).delete(stored.row.public_id, actor="test")
    found = incident(watched)
    assert (found.onset.held_at, found.onset.why) == (None, ())
    assert found.onset.fired_at == watched.at(12)
    assert row(found, "tier_moves").status == "ok"


def test_no_such_alert(database: Database) -> None:
    watched = Watched(database, MINUTES)
    with pytest.raises(NotFound, match="no alert 'a404'"):
        reads(watched, 5).show("a404", max_points=10)
