"""From changes of alerts to receivers, on a real database with real receivers on loopback."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from factories.notifying import Notifying, receiver, route
from factories.receivers import WebReceiver, web_receiver
from fixtures.servers import Template
from tierscope.core.database import Database
from tierscope.domain.notifications.content import MAX_ALERTS
from tierscope.usecases.notifications.deliver import DeliverNotifications
from tierscope.usecases.notifications.reads import NotificationLog
from tierscope.usecases.notifications.silences import LabelMatcher, SilenceRequest, Silences

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture(scope="module")
def database(template: Template, storage_mode: str) -> Iterator[Database]:
    """One for all tests of this file: making one takes longer than most of them."""
    name = template.make_database(schema=True, mode=storage_mode)
    with closing(Database(template.cluster.url(name))) as opened:
        yield opened
    template.drop_database(name)


@pytest.fixture
def notifying(database: Database) -> Notifying:
    emptied = "alert_rules, alerts, silences, alert_routing, notifier, notification_groups, notifications"
    with database.write() as transaction:
        transaction.execute(text(f"TRUNCATE {emptied} CASCADE"))
    return Notifying(database)


def hook(web: WebReceiver, name: str = "hook") -> dict[str, Any]:
    return receiver(name, "webhook", url=web.url)


def told(web: WebReceiver) -> list[tuple[str, list[tuple[str, str]]]]:
    """What came in: status of the whole, and of each alert."""
    return [
        (got.json()["status"], [(alert["fingerprint"], alert["status"]) for alert in got.json()["alerts"]])
        for got in web.requests
    ]


def test_each_change_is_told_once(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    notifying.change("a1", "pending")
    notifying.run()
    assert told(web) == []
    notifying.clock.move(60)
    notifying.change("a1", "firing")
    for _ in range(3):
        notifying.run(5)
    assert told(web) == [("firing", [("a1", "firing")])]
    notifying.clock.move(60)
    notifying.change("a1", "resolved")
    for _ in range(3):
        notifying.run(5)
    assert told(web)[1:] == [("resolved", [("a1", "resolved")])]
    assert [entry.status for entry in notifying.log()] == ["delivered", "delivered"]
    assert notifying.count("notification_groups") == 0
    keys = [got.headers["Idempotency-Key"] for got in web.requests]
    assert keys == [entry.id for entry in notifying.log()]


def test_the_webhook_carries_the_alert_as_alertmanager_would(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook", group_by=["service"])])
    notifying.change("a1", "firing", labels={"team": "data"}, severity="critical")
    notifying.run()
    body = web.requests[0].json()
    alert = body.pop("alerts")[0]
    labels = {
        "alertname": "Ping-pong",
        "severity": "critical",
        "service": "cache",
        "service_id": "id-cache",
        "origin": "live",
        "team": "data",
    }
    annotations = {
        "summary": "Pages of cache go back and forth",
        "description": "Too many.",
        "value": "12.5 pages_per_s",
        "threshold": "10 pages_per_s",
    }
    assert alert == {
        "status": "firing",
        "labels": labels,
        "annotations": annotations,
        "startsAt": "2026-11-21T12:00:00.000Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "",
        "fingerprint": "a1",
    }
    assert body == {
        "version": "4",
        "groupKey": '/{}:hook:{"service": "cache"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "hook",
        "groupLabels": {"service": "cache"},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "",
    }


def test_routes_lead_alerts_to_their_receivers(notifying: Notifying, web: WebReceiver) -> None:
    with web_receiver() as other, web_receiver() as pager:
        notifying.put_routes(
            [hook(web), hook(other, "other"), hook(pager, "pager")],
            [
                route("pager", ("severity", "=", "critical"), **{"continue": True}),
                route("hook", ("service", "=~", "ca.*"), routes=[route("other", ("team", "!=", ""))]),
            ],
        )
        notifying.change("a1", "firing", severity="critical")
        notifying.change("b1", "firing", labels={"team": "data"})
        notifying.change("c1", "firing", service="web")
        notifying.run()
        assert told(pager) == [("firing", [("a1", "firing")])]
        assert told(web) == [("firing", [("a1", "firing")])]
        assert told(other) == [("firing", [("b1", "firing")])]


def test_a_failing_receiver_is_told_once_it_works_and_in_order(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    web.statuses = [500, 503]
    notifying.change("a1", "firing")
    assert notifying.run().failed == 1
    notifying.clock.move(2)
    notifying.change("a1", "resolved")
    notifying.run(1)
    assert len(web.requests) == 1, "the next attempt comes after 5 s, and the end does not overtake the beginning"
    waiting = notifying.log(status="waiting")
    assert [(entry.attempts, entry.status_code, entry.said) for entry in waiting] == [
        (1, 500, "the receiver answered 500: ok"),
        (0, None, None),
    ]
    assert notifying.run(2).failed == 1
    assert notifying.run(9.9).sent == 0
    assert notifying.run(0.1).sent == 2
    assert [status for status, _ in told(web)] == ["firing", "firing", "firing", "resolved"]
    assert len({got.headers["Idempotency-Key"] for got in web.requests}) == 2
    assert [(entry.status, entry.attempts) for entry in notifying.log()] == [("delivered", 3), ("delivered", 1)]


def test_a_server_that_asks_to_wait_is_left_alone_so_long(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook", group_by=["service"])])
    web.statuses, web.headers = [429], {"Retry-After": "120"}
    notifying.change("a1", "firing")
    notifying.change("b1", "firing", service="web")
    assert notifying.run().failed == 1
    assert notifying.run(119).sent == 0
    assert notifying.run(1).sent == 2


def test_a_receiver_that_is_not_there_holds_up_nobody_else(notifying: Notifying, web: WebReceiver) -> None:
    away = receiver("away", "webhook", url="http://127.0.0.1:1/secret-path")
    notifying.put_routes([away, hook(web)], [route("away", **{"continue": True}), route("hook")])
    notifying.change("a1", "firing")
    done = notifying.run()
    assert (done.sent, done.failed) == (1, 1)
    assert told(web) == [("firing", [("a1", "firing")])]
    (waiting,) = notifying.log(status="waiting")
    assert waiting.said is not None
    assert waiting.said.startswith("127.0.0.1:1: no connection.")
    assert "secret-path" not in waiting.said


def test_what_is_refused_again_and_again_is_given_up_and_can_be_tried_again(
    notifying: Notifying, web: WebReceiver
) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    web.statuses = [400] * 5
    notifying.change("a1", "firing")
    for _ in range(10):
        notifying.run(300)
    assert len(web.requests) == 5
    (dead,) = notifying.log()
    assert (dead.status, dead.attempts, dead.status_code) == ("dead", 5, 400)
    assert dead.given_up_at is not None
    NotificationLog(notifying.database, clock=notifying.clock).retry(dead.id, actor="test")
    assert notifying.run().sent == 1
    assert notifying.log()[0].status == "delivered"


def test_a_receiver_that_stays_away_is_given_up_after_a_day(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook", repeat_interval_seconds=1_000_000)])
    web.statuses = [500] * 1000
    notifying.change("a1", "firing")
    for _ in range(26):
        notifying.run(3600)
    (dead,) = notifying.log()
    assert dead.status == "dead"
    assert dead.given_up_at is not None
    assert timedelta(hours=24) <= dead.given_up_at - dead.created_at < timedelta(hours=26)


def test_an_internal_address_is_refused_unless_listed(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    notifying.settings = notifying.settings.model_copy(
        update={"outgoing": notifying.settings.outgoing.model_copy(update={"allow": ()})}
    )
    notifying.change("a1", "firing")
    notifying.run()
    (waiting,) = notifying.log(status="waiting")
    assert "leads to the internal address 127.0.0.1" in (waiting.said or "")
    assert web.requests == []


def test_several_notifiers_at_once_send_each_notification_once(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook", group_by=["..."])])
    for number in range(20):
        notifying.change(f"a{number}", "firing")
    with ThreadPoolExecutor(4) as pool:
        runs = [
            pool.submit(DeliverNotifications(notifying.database, notifying.clock, notifying.settings).run)
            for _ in range(8)
        ]
        assert any(run.result() is not None for run in runs)
    notifying.run()
    fingerprints = sorted(alert["fingerprint"] for got in web.requests for alert in got.json()["alerts"])
    assert fingerprints == sorted(f"a{number}" for number in range(20))


def test_a_silence_holds_back_until_it_ends(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    silences = Silences(notifying.database, clock=notifying.clock)
    matcher = LabelMatcher(name="service", op="=", value="cache")
    made = silences.create(
        SilenceRequest(
            matchers=(matcher,), starts_at=None, ends_at=notifying.clock.now + timedelta(seconds=600), comment="upgrade"
        ),
        actor="test",
    )
    notifying.change("a1", "firing")
    notifying.change("b1", "firing", service="web")
    notifying.run(60)
    assert told(web) == [("firing", [("b1", "firing")])]
    assert silences.read(made.id).matches == ("a1",)
    notifying.run(539)
    assert len(web.requests) == 1
    notifying.run(1)
    assert told(web)[1:] == [("firing", [("a1", "firing"), ("b1", "firing")])]


def test_a_silence_that_is_ended_lets_alerts_through(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    silences = Silences(notifying.database, clock=notifying.clock)
    until = notifying.clock.now + timedelta(hours=2)
    made = silences.create(
        SilenceRequest(
            matchers=(LabelMatcher(name="alertname", op="=~", value="Ping.*"),),
            starts_at=None,
            ends_at=until,
            comment="",
        ),
        actor="test",
    )
    notifying.change("a1", "firing")
    notifying.run(60)
    assert told(web) == []
    assert silences.expire(made.id, actor="test").status == "expired"
    notifying.run(1)
    assert told(web) == [("firing", [("a1", "firing")])]


def test_stored_expressions_that_cannot_be_read_match_nothing(notifying: Notifying, web: WebReceiver) -> None:
    with web_receiver() as other:
        notifying.put_routes(
            [hook(web), hook(other, "other")],
            [route("other", ("service", "=~", "ca.*")), route("hook", ("service", "=~", ".*ache"))],
        )
        silences = Silences(notifying.database, clock=notifying.clock)
        until = notifying.clock.now + timedelta(hours=1)
        made = silences.create(
            SilenceRequest(
                matchers=(LabelMatcher(name="service", op="=~", value="ca.*"),),
                starts_at=None,
                ends_at=until,
                comment="",
            ),
            actor="test",
        )
        with notifying.database.write() as transaction:
            for table, column in (("silences", "matchers"), ("alert_routing", "body")):
                body = f"CAST(replace(CAST({column} AS text), 'ca.*', '(?=c)ca.*') AS jsonb)"
                transaction.execute(text(f"UPDATE {table} SET {column} = {body}"))
        notifying.change("a1", "firing")
        notifying.run(60)
        assert told(web) == [("firing", [("a1", "firing")])]
        assert told(other) == []
        assert (silences.read(made.id).matches, silences.read(made.id).matchers[0].value) == ((), "(?=c)ca.*")
        assert silences.expire(made.id, actor="test").status == "expired"


def test_an_inhibition_holds_back_while_its_source_fires(notifying: Notifying, web: WebReceiver) -> None:
    inhibition = {
        "source_matchers": [{"name": "alertname", "op": "=", "value": "Host silent"}],
        "target_matchers": [{"name": "alertname", "op": "=", "value": "Ping-pong"}],
        "equal": ["service"],
    }
    notifying.put_routes([hook(web)], [route("hook", ("alertname", "=", "Ping-pong"))], [inhibition])
    notifying.change("s1", "firing", rule="Host silent")
    notifying.change("a1", "firing")
    notifying.change("b1", "firing", service="web")
    notifying.run(60)
    assert told(web) == [("firing", [("b1", "firing")])]
    notifying.change("s1", "resolved", rule="Host silent")
    notifying.run(60)
    assert told(web)[1:] == [("firing", [("a1", "firing"), ("b1", "firing")])]


def test_an_acknowledged_alert_is_not_repeated_and_its_end_is_told(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    notifying.change("a1", "firing")
    notifying.run()
    silences = Silences(notifying.database, clock=notifying.clock)
    silences.acknowledge("a1", note="on it", actor="test")
    notifying.run(3600)
    assert len(web.requests) == 1
    silences.take_back("a1", actor="test")
    notifying.run()
    assert told(web)[1:] == [("firing", [("a1", "firing")])]
    assert notifying.log()[-1].reason == "repeat"
    silences.acknowledge("a1", note="", actor="test")
    notifying.change("a1", "resolved")
    notifying.run(5)
    assert told(web)[2:] == [("resolved", [("a1", "resolved")])]


def test_an_alert_about_missing_data_is_told_like_one_that_fires(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    notifying.change("n1", "no_data")
    notifying.run()
    assert told(web) == [("firing", [("n1", "firing")])]
    assert web.requests[0].json()["alerts"][0]["annotations"]["note"] == "There is no data to judge by."
    notifying.clock.move(60)
    notifying.change("n1", "firing")
    notifying.run()
    notifying.change("n1", "resolved")
    notifying.run(60)
    assert told(web)[1:] == [("resolved", [("n1", "resolved")])]


def test_routes_that_are_put_in_place_later_get_the_alerts_that_fire(notifying: Notifying, web: WebReceiver) -> None:
    notifying.change("a1", "firing")
    notifying.change("b1", "firing", service="web")
    notifying.run()
    notifying.change("b1", "resolved", service="web")
    notifying.put_routes([hook(web)], [route("hook")])
    notifying.run()
    assert told(web) == [("firing", [("a1", "firing")])]
    notifying.put_routes([hook(web)], [route("hook"), route("hook", ("team", "=", "x"))])
    notifying.run(60)
    assert len(web.requests) == 1, "the same route to the same group says nothing twice"


def test_the_end_is_told_on_a_route_that_is_gone(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook", ("service", "=", "cache"))])
    notifying.change("a1", "firing")
    notifying.run()
    notifying.put_routes([hook(web)], [route("hook", ("service", "=", "web"))])
    notifying.run(100_000)
    notifying.change("a1", "resolved")
    notifying.run()
    assert told(web) == [("firing", [("a1", "firing")]), ("resolved", [("a1", "resolved")])]


def test_a_receiver_that_is_gone_takes_its_notifications_along(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    web.statuses = [500]
    notifying.change("a1", "firing")
    notifying.run()
    notifying.put_routes([], [])
    notifying.run(5)
    assert [(entry.status, entry.said) for entry in notifying.log()] == [
        ("dead", "the receiver is no longer configured")
    ]
    assert notifying.count("notification_groups") == 0


def test_an_alert_that_vanishes_without_a_change_is_told_to_be_over(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook")])
    notifying.change("a1", "firing")
    notifying.run()
    with notifying.database.write() as transaction:
        transaction.execute(text("DELETE FROM alerts WHERE public_id = 'a1'"))
    notifying.run(60)
    notifying.run(60)
    assert told(web)[1:] == [("resolved", [("a1", "resolved")])]


def test_many_alerts_of_a_group_are_one_notification(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook", group_wait_seconds=30, group_interval_seconds=300)])
    for number in range(50):
        notifying.change(f"a{number}", "firing")
        notifying.run(0.5)
    assert web.requests == []
    notifying.run(5)
    assert len(web.requests) == 1
    assert len(web.requests[0].json()["alerts"]) == 50
    for number in range(50):
        notifying.change(f"a{number}", "resolved")
    assert notifying.run(299).sent == 0
    notifying.run(1)
    assert [status for status, _ in told(web)] == ["firing", "resolved"]


def test_very_many_alerts_leave_out_what_was_said_before(
    notifying: Notifying, web: WebReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MAX_ALERTS, "webhook", 3)
    monkeypatch.setattr("tierscope.usecases.notifications.plan.BATCH", 2)
    notifying.put_routes([hook(web)], [route("hook")])
    for name in ("a1", "b1", "c1"):
        notifying.change(name, "firing")
    assert notifying.run().changes == 3
    notifying.clock.move(60)
    notifying.change("a1", "resolved")
    notifying.change("d1", "firing")
    notifying.run(60)
    assert told(web) == [
        ("firing", [("a1", "firing"), ("b1", "firing"), ("c1", "firing")]),
        ("firing", [("d1", "firing"), ("a1", "resolved"), ("b1", "firing")]),
    ]
    assert [got.json()["truncatedAlerts"] for got in web.requests] == [0, 1]


def test_a_receiver_that_does_not_want_ends_gets_none(notifying: Notifying, web: WebReceiver) -> None:
    quiet = receiver("quiet", "webhook", url=web.url, send_resolved=False)
    notifying.put_routes([quiet], [route("quiet")])
    notifying.change("a1", "firing")
    notifying.run()
    notifying.change("a1", "resolved")
    notifying.run(60)
    assert told(web) == [("firing", [("a1", "firing")])]
    assert notifying.count("notification_groups") == 0


def test_the_log_forgets_after_ninety_days(notifying: Notifying, web: WebReceiver) -> None:
    notifying.put_routes([hook(web)], [route("hook", repeat_interval_seconds=2_592_000)])
    notifying.change("a1", "firing")
    notifying.run()
    notifying.change("a1", "resolved")
    notifying.run(60)
    notifying.run(90 * 86_400 - 120)
    assert len(notifying.log()) == 2
    notifying.run(121)
    assert notifying.log() == []
