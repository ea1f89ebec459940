"""Matchers, routes, silences, inhibitions, receivers' settings and retries: pure, and exact."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tierscope.domain.notifications.backoff import Failure, retry_at
from tierscope.domain.notifications.matchers import Matcher, Operator, all_match, matchers_text
from tierscope.domain.notifications.receivers import Kind, Receiver, check_receiver, secret_references
from tierscope.domain.notifications.routes import Route, Timing, find_destinations
from tierscope.domain.notifications.routing import Routing, check_routing, read_routing, routing_document
from tierscope.domain.notifications.silences import FiringAlert, Inhibition, Muting, Silence

T0 = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LABELS = {"alertname": "Ping-pong", "service": "cache", "severity": "critical"}


def equal(name: str, value: str) -> Matcher:
    return Matcher(name, "=", value)


@pytest.mark.parametrize(
    ("name", "op", "value", "expected"),
    [
        ("service", "=", "cache", True),
        ("service", "=", "cach", False),
        ("service", "!=", "cache", False),
        ("service", "!=", "web", True),
        ("service", "=~", "ca.*|web", True),
        ("service", "=~", "ach", False),  # the whole value
        ("service", "!~", "ach", True),
        ("service", "!~", "ca.*", False),
        ("team", "=", "", True),  # a label that is not there is empty
        ("team", "!=", "", False),
        ("team", "=~", ".*", True),
        ("team", "=~", ".+", False),
        ("team", "!~", ".+", True),
    ],
)
def test_matchers(name: str, op: Operator, value: str, *, expected: bool) -> None:
    assert Matcher(name, op, value).matches(LABELS) is expected


@pytest.mark.parametrize(
    ("name", "op", "value", "words"),
    [
        ("", "=", "x", "label name"),
        ("a b", "=", "x", "label name"),
        ("a", "==", "x", "none of"),
        ("a", "=~", "(", "cannot be read"),
        ("a", "!~", "(?=x)x", "cannot be read"),
        ("a", "=", "x" * 501, "500 characters"),
        ("a", "=", "\0", "NUL"),
    ],
)
def test_matchers_that_cannot_be_read_are_refused(name: str, op: Any, value: str, words: str) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=words):
        Matcher(name, op, value)


def test_matchers_as_text_are_in_a_fixed_order() -> None:
    assert matchers_text([equal("b", 'x"y\\'), equal("a", "1")]) == '{a="1",b="x\\"y\\\\"}'
    assert all_match([], {})


def names(routes: list[Route], labels: dict[str, str]) -> list[str]:
    return [destination.receiver for destination in find_destinations(routes, labels)]


TREE = [
    Route((equal("severity", "critical"),), "pager", continue_=True),
    Route(
        (equal("service", "cache"),),
        "cache-team",
        group_wait_seconds=10,
        routes=(
            Route((equal("alertname", "Ping-pong"),), "memory-team", group_by=("host",)),
            Route((equal("team", "data"),), repeat_interval_seconds=60),
        ),
    ),
    Route((), "everybody", group_by=("...",)),
]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"severity": "critical", "service": "cache", "alertname": "Ping-pong"}, ["pager", "memory-team"]),
        ({"severity": "critical", "service": "web"}, ["pager", "everybody"]),
        ({"service": "cache"}, ["cache-team"]),
        ({"service": "cache", "team": "data"}, ["cache-team"]),
        ({}, ["everybody"]),
    ],
)
def test_the_deepest_route_takes_an_alert_and_continue_goes_on(labels: dict[str, str], expected: list[str]) -> None:
    assert names(TREE, labels) == expected


def test_an_alert_that_no_route_takes_goes_nowhere() -> None:
    assert names(TREE[:2], {"service": "web"}) == []


def test_what_a_route_does_not_say_it_has_from_the_one_around_it() -> None:
    (found,) = find_destinations(TREE, {"service": "cache", "team": "data"})
    assert found.timing == Timing(10, 300, 60)
    assert found.group_by == ("alertname",)
    assert found.path == '/{service="cache"}/{team="data"}'
    assert found.group_key({"alertname": "A", "service": "cache"}) == (
        '/{service="cache"}/{team="data"}:cache-team:{"alertname": "A"}'
    )


def test_a_label_that_an_alert_does_not_have_is_left_out_of_its_group() -> None:
    (found,) = find_destinations(TREE[1:], {"service": "cache", "alertname": "Ping-pong"})
    assert found.group_labels({"alertname": "A"}) == {}
    assert found.group_labels({"host": "n1", "x": "y"}) == {"host": "n1"}


def test_three_dots_group_every_alert_by_itself() -> None:
    (found,) = find_destinations(TREE[2:], LABELS)
    assert found.group_labels(LABELS) == LABELS


def test_a_receiver_that_groups_by_itself_is_told_at_once() -> None:
    made = Receiver("am", "alertmanager", {"url": "http://am", "resend_seconds": 15})
    routing = Routing((made,), (Route((), "am", group_wait_seconds=30),))
    assert [found.timing for found in routing.destinations(LABELS)] == [Timing(0, 0, 15)]


def test_a_configuration_survives_its_document() -> None:
    inhibition = Inhibition((equal("a", "1"),), (Matcher("b", "!~", "x"),), ("service",))
    receivers = (
        Receiver("pager", "pagerduty", {"routing_key_file": "key"}),
        Receiver("cache-team", "mail", {"to": ("a@example.org",)}),
        Receiver("memory-team", "webhook", {"url": "https://x.example.org", "send_resolved": False}),
        Receiver("everybody", "slack", {"url": "${TIERSCOPE_SECRET_CHAT}"}),
    )
    routing = Routing(receivers, tuple(TREE), (inhibition,))
    check_routing(routing)
    assert read_routing(routing_document(routing)) == routing


@pytest.mark.parametrize(
    ("routing", "words"),
    [
        (Routing((), (Route((), "x"),)), r"routes\[0\]: there is no receiver 'x'"),
        (Routing((), (Route(()),)), r"routes\[0\]: neither it nor a route around it"),
        (Routing((), (Route((), routes=(Route(()),)),)), r"routes\[0\].routes\[0\]: neither"),
        (Routing((Receiver("a", "mail", {"to": ("a@b.c",)}),) * 2), r"receivers\[1\]: there are two"),
        (Routing((Receiver("a", "mail", {}),)), r"receivers\[0\]: .* needs `to`"),
        (Routing(inhibitions=(Inhibition((), (equal("a", "b"),)),)), r"inhibitions\[0\]"),
    ],
)
def test_a_configuration_that_cannot_be_meant_is_refused_with_its_place(routing: Routing, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_routing(routing)


SECRET = "https://hooks.example.org/T000/very-secret"


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        ("slack", {"url": SECRET}, "`url` is a secret"),
        ("apprise", {"url": "tgram://secret/1"}, "`url` is a secret"),
        ("pagerduty", {"routing_key": "0123"}, "`routing_key` is a secret"),
        ("webhook", {"url": "https://u:p@example.org/"}, "without a user name"),
        ("webhook", {"url": "ftp://example.org"}, "http or https"),
        ("webhook", {"url": "${HOME}"}, "http or https"),
        ("webhook", {"url": "${TIERSCOPE_DATABASE_URL}"}, "http or https"),
        ("webhook", {"url": "https://x", "token": "${TIERSCOPE_DATABASE_URL}"}, "`token` is a secret"),
        ("webhook", {"url_file": "/etc/shadow"}, "without a path"),
        ("webhook", {"url_file": "../password"}, "without a path"),
        ("webhook", {"url_file": ".."}, "without a path"),
        ("webhook", {"url": "https://x", "send_resolved": "no"}, "true or false"),
        ("webhook", {"url": "https://x", "to": ("a@b.c",)}, "no setting `to`"),
        ("webhook", {"send_resolved_file": "x"}, "no setting"),
        ("webhook", {}, "needs `url` or `url_file`"),
        ("mail", {"to": ()}, "one to 50"),
        ("mail", {"to": ("a@b.c\r\nBcc: x@y.z",)}, "invalid email address"),
        ("mail", {"to": ("nobody",)}, "invalid email address"),
        ("alertmanager", {"url": "http://am", "resend_seconds": 0}, "from 1 to 3600"),
        ("slack", {"url_file": "x", "channel": "a\nb"}, "without line breaks"),
    ],
)
def test_settings_that_cannot_work_or_hold_a_secret_are_refused(
    kind: Kind, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        check_receiver(Receiver("r", kind, settings))
    assert "secret/1" not in str(refused.value)
    assert "very-secret" not in str(refused.value)


def test_references_say_where_secrets_are() -> None:
    made = Receiver("r", "webhook", {"url": "${TIERSCOPE_SECRET_A}", "token_file": "b"})
    check_receiver(made)
    assert [(found.field, found.source, found.name) for found in secret_references(made)] == [
        ("url", "environment", "TIERSCOPE_SECRET_A"),
        ("token", "file", "b"),
    ]
    assert secret_references(Receiver("r", "webhook", {"url": "https://x.example.org"})) == []


def test_a_silence_holds_from_its_start_until_before_its_end() -> None:
    silence = Silence("s", (equal("service", "cache"),), T0, T0 + timedelta(hours=1))
    moments = (T0 - timedelta(seconds=1), T0, T0 + timedelta(seconds=3599), T0 + timedelta(hours=1))
    assert [silence.status(at) for at in moments] == ["pending", "active", "active", "expired"]
    assert [bool(Muting(at, [silence], [], []).judge("a", LABELS)) for at in moments] == [False, True, True, False]
    assert Muting(T0, [silence], [], []).judge("a", LABELS).silenced_by == ("s",)
    assert not Muting(T0, [silence], [], []).judge("a", {"service": "web"})


def muting(inhibition: Inhibition, *firing: FiringAlert) -> Muting:
    return Muting(T0, [], [inhibition], firing)


def test_an_inhibition_mutes_its_target_where_the_labels_are_equal() -> None:
    inhibition = Inhibition((equal("severity", "critical"),), (equal("severity", "warning"),), ("host", "rack"))
    judge = muting(inhibition, FiringAlert("src", {"severity": "critical", "host": "n1"})).judge
    assert judge("a", {"severity": "warning", "host": "n1"}).inhibited_by == ("src",)
    assert not judge("a", {"severity": "warning", "host": "n2"})
    assert not judge("a", {"severity": "warning", "host": "n1", "rack": "r"}), "missing and set are not equal"
    assert not judge("a", {"severity": "info", "host": "n1"})


def test_alerts_that_match_both_sides_do_not_mute_each_other() -> None:
    inhibition = Inhibition((equal("service", "cache"),), (Matcher("severity", "=~", ".+"),), ("service",))
    both = [FiringAlert(name, {"service": "cache", "severity": "warning"}) for name in ("a", "b")]
    assert not muting(inhibition, *both).judge("a", both[0].labels)
    assert not muting(inhibition, both[0]).judge("a", both[0].labels), "nor does one mute itself"
    source = FiringAlert("src", {"service": "cache"})
    assert muting(inhibition, source, *both).judge("a", both[0].labels).inhibited_by == ("src",)


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 5), (2, 10), (3, 20), (7, 320), (8, 640), (9, 900), (60, 900)])
def test_waits_double_up_to_a_quarter_of_an_hour(attempts: int, seconds: int) -> None:
    again = retry_at(Failure("x", 500), attempts=attempts, created_at=T0, now=T0)
    assert again == T0 + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("failure", "attempts", "age_hours", "seconds"),
    [
        (Failure("x"), 100, 23.9, 900),
        (Failure("x"), 100, 24, None),
        (Failure("x", 404), 4, 0, 40),
        (Failure("x", 404), 5, 0, None),
        (Failure("x", 429), 5, 0, 80),
        (Failure("x", 408), 50, 0, 900),
        (Failure("x", 503, 120), 1, 0, 120),
        (Failure("x", 503, 1), 1, 0, 5),
        (Failure("x", 503, 10**9), 1, 0, 3600),
    ],
)
def test_when_it_is_tried_again_and_when_it_is_given_up(
    failure: Failure, attempts: int, age_hours: float, seconds: int | None
) -> None:
    again = retry_at(failure, attempts=attempts, created_at=T0 - timedelta(hours=age_hours), now=T0)
    assert again == (None if seconds is None else T0 + timedelta(seconds=seconds))


def test_the_example_of_the_manual_can_be_put_in_place() -> None:
    page = (Path(__file__).parents[2] / "docs/howto/alert-routes.md").read_text(encoding="utf-8")
    routing = read_routing(json.loads(page.partition("```json\n")[2].partition("```")[0]))
    check_routing(routing)
    critical = {"origin": "live", "severity": "critical", "alertname": "ping-pong-critical", "host": "n1"}
    assert names(list(routing.routes), critical) == ["alertmanager", "on-call"]
    assert names(list(routing.routes), {**critical, "severity": "info"}) == ["alertmanager", "memory-team"]
    assert names(list(routing.routes), {**critical, "origin": "simulated"}) == ["alertmanager"]
