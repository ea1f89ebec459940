"""Live evaluation: nothing fires or resolves falsely, and a backtest of the same minutes gives the same changes."""

import json
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

import numpy as np
import pytest
from sqlalchemy import delete, insert, text

from factories.derived import drain
from factories.watched import Cells, Watched, recording
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.alerts.rules import LabelMatcher, MatchOperator, Rule, Scope
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.storage.tables import nodes
from tierscope.usecases.alerts.backtest import BacktestRequest, Backtests, LateData
from tierscope.usecases.alerts.evaluate import EvaluateRules
from tierscope.usecases.alerts.reads import AlertFilter, AlertReads
from tierscope.usecases.alerts.rules import Rules
from tierscope.usecases.base.context import ReadContext

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
KEYS = ("host|vmstat|pgdemote_kswapd", "host|vmstat|pgpromote_success")
BUSY, QUIET = 2000 * 60, 10 * 60
RULE = Rule("busy", "promoted_pages > 1000/s", for_seconds=180, keep_firing_for_seconds=120, summary="{{ value }}")


def counting(per_minute: list[int], start: int = 10**6) -> list[Cells]:
    """Samples whose differences are these promotions."""
    return [[0, int(total)] for total in np.cumsum([start, *per_minute])]


def watch(database: Database, minutes: int, *rules: Rule) -> Watched:
    watched = Watched(database, minutes)
    for rule in rules:
        Rules(database).create(rule, actor="test")
    watched.evaluate(2.5)
    return watched


def after(watched: Watched, rule: str = "busy") -> list[tuple[int, str]]:
    return [(change.minute, change.after) for change in watched.changes(rule)]


def test_an_alert_waits_fires_and_is_resolved(database: Database) -> None:
    watched = watch(database, 20, RULE)
    host = watched.enrol()
    watched.send(host, KEYS, counting([QUIET] * 4 + [BUSY] * 6 + [QUIET] * 6))
    watched.evaluate(20)
    assert after(watched) == [(5, "pending"), (7, "firing"), (12, "resolved")]
    page = AlertReads(ReadContext(database, lambda: watched.at(20), Settings(_env_file=None))).list(
        AlertFilter(), limit=10, cursor=None
    )
    (alert,) = page.items
    assert (alert.state, alert.summary) == ("resolved", "2,000 pages/s")
    assert alert.fired_at == watched.at(7)


def test_a_short_burst_only_waits(database: Database) -> None:
    watched = watch(database, 20, RULE)
    watched.send(watched.enrol(), KEYS, counting([QUIET] * 4 + [BUSY] * 2 + [QUIET] * 4))
    watched.evaluate(20)
    assert after(watched) == [(5, "pending"), (7, "resolved")]


@pytest.mark.parametrize("speed", [BUSY, QUIET])
@pytest.mark.parametrize("what", ["reset", "reboot", "loss"])
def test_breaks_in_the_counters_neither_fire_nor_resolve(database: Database, what: str, speed: int) -> None:
    watched = watch(database, 60, RULE)
    host = watched.enrol()
    before, later = counting([speed] * 10), counting([speed] * 12, start={"reset": 5, "reboot": 10**9, "loss": 0}[what])
    if what == "reset":
        watched.send(host, KEYS, [*before, *later])
    elif what == "reboot":
        boots = ["a" * 36] * len(before) + ["b" * 36] * len(later)
        watched.send(host, KEYS, [*before, *later], boots=boots)
    else:
        watched.send(host, KEYS, before)
        total = 10**6 + speed * 30
        watched.send(host, KEYS, counting([speed] * 12, start=total), first=30)
    watched.evaluate(60)
    assert after(watched) == ([(1, "pending"), (3, "firing")] if speed == BUSY else [])


def test_a_lost_agent_is_alerted_on_and_its_return_resolves_that(database: Database) -> None:
    watched = watch(database, 60)
    host = watched.enrol()
    watched.send(host, KEYS, counting([QUIET] * 8))
    watched.send(host, KEYS, counting([QUIET] * 8, start=10**6 + QUIET * 40), first=40)
    watched.evaluate(60)
    assert [change.after for change in watched.changes("agent-silent")] == ["pending", "firing", "resolved"]


def test_missing_data_can_be_an_alert_or_an_end(database: Database) -> None:
    watched = watch(
        database,
        60,
        Rule("says", "promoted_pages > 1000/s", no_data="alert"),
        Rule("ends", "promoted_pages > 1000/s", no_data="ok"),
    )
    host = watched.enrol()
    watched.send(host, KEYS, counting([BUSY] * 8))
    watched.send(host, KEYS, counting([QUIET] * 8, start=10**6 + BUSY * 8 + QUIET * 32), first=40)
    watched.evaluate(50)
    assert [state for _, state in after(watched, "says")] == ["firing", "no_data", "resolved"]
    assert after(watched, "ends") == [(1, "firing"), (13, "resolved")]


@pytest.mark.parametrize(("kind", "resolved"), [("host", 12), ("fleet", 21)])
def test_an_alert_of_several_hosts_is_not_resolved_by_what_a_node_that_is_away_lacks(
    database: Database, kind: ScopeKind, resolved: int
) -> None:
    watched = watch(database, 30, replace(RULE, scope=Scope(kind), no_data="ok"))
    host = watched.enrol()
    watched.send(host, KEYS, counting([QUIET] * 4 + [BUSY] * 6 + [QUIET] * 16))
    watched.evaluate(13.5)
    assert after(watched)[-1] == (7, "firing")
    with database.write() as transaction:
        away = {"number": 1, "name": "n1", "url": "postgresql://n1.invalid/fleet", "away_since": watched.at(10)}
        transaction.execute(insert(nodes), away)
    watched.evaluate(22.5)
    assert after(watched)[-1] == ((12, "resolved") if kind == "host" else (7, "firing"))
    with database.write() as transaction:
        transaction.execute(delete(nodes))
    watched.evaluate(30)
    assert after(watched) == [(5, "pending"), (7, "firing"), (resolved, "resolved")]


def test_a_restart_goes_on_where_it_stood(database: Database) -> None:
    speeds = [QUIET] * 3 + [BUSY] * 8 + [QUIET, QUIET, BUSY] * 4 + [QUIET] * 8
    watched = watch(database, 60, RULE)
    watched.send(watched.enrol(), KEYS, counting(speeds))
    for minute in range(4, 40):
        watched.evaluate(minute + 0.5)
    stepwise = after(watched)
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM alerts"))
        transaction.execute(text("DELETE FROM alert_states"))
    watched.evaluate(2.5)
    watched.evaluate(20)
    watched.evaluate(39.5)
    assert after(watched) == stepwise
    assert [state for _, state in stepwise].count("firing") == 1


def test_two_evaluators_at_once_judge_each_minute_once(database: Database) -> None:
    watched = watch(database, 60, RULE)
    watched.send(watched.enrol(), KEYS, counting([BUSY] * 20 + [QUIET] * 20))
    barrier = threading.Barrier(3)

    def work() -> None:
        barrier.wait()
        for _ in range(3):
            EvaluateRules(database, lambda: watched.at(50)).run()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watched.evaluate(50)
    assert [state for _, state in after(watched)] == ["pending", "firing", "resolved"]


def test_a_forecast_is_judged_and_recorded_for_backtests(database: Database) -> None:
    rule = Rule("soon", "days_to_exhaustion_early < 30d", scope=Scope("service"), for_seconds=120)
    watched = watch(database, 30, rule)
    keys, rows = recording("01-baseline-fits")
    watched.send(watched.enrol(), keys, rows[:4])
    body = {"median_days": None, "early_days": 20, "none_within_horizon": False, "threshold_bytes": 1.0}
    statement = text(
        "INSERT INTO capacity_forecasts (kind, subject, metric, last_day, made_at, body)"
        " SELECT 'service', public_id, 'resident', :day, :day, CAST(:body AS jsonb) FROM services"
    )
    with database.write() as transaction:
        transaction.execute(statement, {"day": watched.start, "body": json.dumps(body)})
    watched.evaluate(20)
    assert [state for _, state in after(watched, "soon")] == ["pending", "firing"]
    summary = AlertReads(ReadContext(database, lambda: watched.at(20), Settings(_env_file=None)))
    (alert,) = summary.list(AlertFilter(state="firing", rule=None), limit=10, cursor=None).items
    assert (alert.subject.name, round(alert.value or 0) // 86_400) == ("demo/cache", 19)
    asked = BacktestRequest(rule, watched.at(1).isoformat(), watched.at(17).isoformat())
    view = Backtests(database, clock=lambda: watched.at(20)).run(asked)
    assert (view.fired, view.unit) == (1, "seconds")


def live_minutes(watched: Watched, name: str, minutes: int, *, late: range) -> None:
    """A recording of a live host, sample by sample, each judged as soon as it can be.

    In the minutes `late` the host cannot send: it sends what it kept in the minute after them.
    """
    keys, rows = recording(name)
    host = watched.enrol(origin="live")
    waiting: list[int] = []
    for minute in range(minutes):
        if minute in late:
            waiting.append(minute)
        else:
            watched.send(host, keys, [rows[i] for i in (*waiting, minute)], first=min((*waiting, minute)))
            waiting = []
        watched.evaluate(minute + 0.5)
    watched.evaluate(minutes + 3)


def backtested(watched: Watched, rule: Rule, late_data: LateData = "as_live") -> list[tuple[int, str]]:
    asked = BacktestRequest(rule, watched.start.isoformat(), watched.at(66).isoformat(), late_data=late_data)
    view = Backtests(watched.database, clock=lambda: utc_now() + timedelta(days=3)).run(asked)
    (subject,) = view.subjects
    found: list[tuple[int, str]] = []
    shown = [span for span in subject.spans if span.state != "no_data"]
    for place, span in enumerate(shown):
        found.append((watched_minute(watched, span.from_), span.state))
        following = shown[place + 1].from_ if place + 1 < len(shown) else None
        if span.to is not None and span.to != following:
            found.append((watched_minute(watched, span.to), "resolved"))
    return found


def watched_minute(watched: Watched, at: datetime) -> int:
    return round((at - watched.start).total_seconds() / 60)


@long
def test_a_backtest_says_what_live_evaluation_did(database: Database) -> None:
    rules = (
        Rule("moves", "tier_move_bytes > 400kB/s", for_seconds=120, keep_firing_for_seconds=120),
        Rule("mean", "avg_over(tier_move_bytes, 5m) > 350kB/s", recovery_expression="tier_move_bytes < 250kB/s"),
        Rule("often", "promoted_pages > demoted_pages", n=3, m=5),
        Rule("peak", "quantile_over(90%, promoted_pages, 10m) > 70/s or ping_pong_state >= warn"),
        Rule("silent", "agent_report_age > 3m"),
    )
    watched = watch(database, 80, *rules)
    live_minutes(watched, "04-pingpong", 66, late=range(30, 46))
    for rule in rules:
        live = after(watched, rule.name)
        assert live, rule.name
        assert backtested(watched, rule) == live, rule.name
    drain(database, utc_now() + timedelta(days=2))
    with database.write() as transaction:
        assert transaction.execute(text("SELECT count(*) FROM rule_days")).scalar_one() > 0
        transaction.execute(text("DELETE FROM rule_inputs"))
    for rule in rules:
        assert backtested(watched, rule) == after(watched, rule.name), rule.name
    assert backtested(watched, rules[4], "used") == []


def test_a_backtest_and_live_evaluation_mean_the_same_hosts(database: Database) -> None:
    exploding = "x" * 28
    everyone = {"node-1", "node-2", exploding}
    meant = {
        "node-(1|2)": {"node-1", "node-2"},
        "node": set(),
        "(?i)NODE-1": {"node-1"},
        "((n|o|d|e)+)+-1": {"node-1"},
        "(x|x)*b|n.*2": {"node-2"},
        r"(\w|\w)*": {exploding},
        "[^x]*": {"node-1", "node-2"},
    }
    rules = {}
    for number, (pattern, names) in enumerate(meant.items()):
        for op, expected in (("=~", names), ("!~", everyone - names)):
            scope = Scope(labels=(LabelMatcher("host", cast("MatchOperator", op), pattern),))
            rules[f"rule-{number}-{op == '=~'}"] = (scope, expected)
    written = [replace(RULE, name=name, scope=scope) for name, (scope, _) in rules.items()]
    watched = watch(database, 20, *written)
    for name in everyone:
        watched.send(watched.enrol(name), KEYS, counting([BUSY] * 10))
    watched.evaluate(12)
    backtests = Backtests(database, clock=lambda: utc_now() + timedelta(days=3))
    for rule in written:
        expected = rules[rule.name][1]
        live = {change.host for change in watched.changes(rule.name) if change.after == "firing"}
        view = backtests.run(BacktestRequest(rule, watched.start.isoformat(), watched.at(10).isoformat()))
        assert live == expected, rule
        assert {subject.name for subject in view.subjects if subject.fired} == expected, rule


def test_a_stored_rule_whose_expression_cannot_be_read_is_named_and_the_others_are_judged(database: Database) -> None:
    broken = replace(RULE, name="broken", scope=Scope(labels=(LabelMatcher("host", "=~", "node-1"),)))
    watched = watch(database, 20, broken, RULE)
    with database.write() as transaction:
        statement = "UPDATE alert_rules SET body = CAST(replace(CAST(body AS text), 'node-1', '(?=n)node-1') AS jsonb)"
        transaction.execute(text(statement))
    watched.send(watched.enrol(), KEYS, counting([BUSY] * 10))
    done = EvaluateRules(database, lambda: watched.at(12)).run()
    assert {cause.partition(":")[0] for cause in done.failed} == {"broken"}
    assert "RE2 says" in done.failed[0]
    assert [change.after for change in watched.changes()] == ["pending", "firing"]
