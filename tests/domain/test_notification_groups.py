"""The clock of a group, to the second: wait, interval, repeat, mutes, acknowledgements, a notifier that was away."""

from datetime import UTC, datetime, timedelta

import pytest

from tierscope.domain.notifications.groups import (
    Change,
    Flush,
    Group,
    MemberState,
    MutedAlerts,
    changes_due_at,
    flush,
    flush_before,
    repeat_due_at,
    retire,
    take_changes,
)
from tierscope.domain.notifications.routes import Timing

T0 = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TIMING = Timing(30, 300, 14_400)
NOBODY = MutedAlerts()


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def seconds(moment: datetime | None) -> float | None:
    return None if moment is None else (moment - T0).total_seconds()


class Clocked:
    """A group that is looked at when a test says so."""

    def __init__(self, timing: Timing = TIMING, *, keeps_alive: bool = False) -> None:
        self.group = Group("k", timing, keeps_alive=keeps_alive)
        self.muted: set[str] = set()
        self.acknowledged: set[str] = set()

    @property
    def muted_alerts(self) -> MutedAlerts:
        return MutedAlerts(lambda member, _at: member.alert_id in self.muted, frozenset(self.acknowledged))

    def take(self, name: str, state: MemberState, when: float, *, alert: str | None = None) -> Flush | None:
        """A change comes in; what was said before it."""
        self.group, flushed = flush_before(self.group, at(when), self.muted_alerts)
        self.group = take_changes(self.group, [Change(name, alert or name, state, at(when))])
        return flushed

    def look(self, when: float) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
        """What is said now: why, which fire, which are over."""
        self.group, flushed = flush(self.group, at(when), self.muted_alerts)
        return None if flushed is None else (flushed.reason, flushed.firing, flushed.resolved)

    def told(self, name: str = "a") -> "Clocked":
        """With an alert that the receiver heard of at 30 s."""
        self.take(name, "firing", 0)
        assert self.look(30) == ("firing", (name,), ())
        return self


def test_a_group_waits_for_what_belongs_to_it() -> None:
    group = Clocked()
    group.take("a", "firing", 0)
    assert seconds(changes_due_at(group.group, NOBODY, at(0))) == 30
    assert group.look(29.999) is None
    group.take("b", "firing", 20)
    assert group.look(29.999) is None
    assert group.look(30) == ("firing", ("a", "b"), ())
    assert group.look(30) is None


def test_later_changes_wait_for_the_interval_since_the_last_notification() -> None:
    group = Clocked().told()
    group.take("b", "firing", 60)
    assert seconds(changes_due_at(group.group, NOBODY, at(60))) == 330
    assert group.look(329.999) is None
    assert group.look(330) == ("firing", ("a", "b"), ())


def test_a_change_long_after_the_last_notification_waits_like_the_first() -> None:
    group = Clocked().told()
    group.take("b", "firing", 4000)
    assert group.look(4029.999) is None
    assert group.look(4030) == ("firing", ("a", "b"), ())


def test_a_resolution_is_told_once_and_ends_the_group() -> None:
    group = Clocked().told()
    group.take("a", "resolved", 100)
    assert group.look(329.999) is None
    assert group.look(330) == ("resolved", (), ("a",))
    assert group.group.members == {}
    assert group.look(100_000) is None


def test_what_is_resolved_before_anybody_heard_of_it_is_not_told() -> None:
    group = Clocked()
    group.take("a", "firing", 0)
    group.take("a", "resolved", 20)
    assert group.group.members == {}
    assert group.look(1000) is None


def test_what_still_fires_is_repeated_at_the_interval_and_not_before() -> None:
    group = Clocked().told()
    assert seconds(repeat_due_at(group.group, NOBODY, at(31))) == 14_430
    assert group.look(14_429.999) is None
    assert group.look(14_430) == ("repeat", ("a",), ())
    assert group.look(28_829.999) is None
    assert group.look(28_830) == ("repeat", ("a",), ())


def test_news_puts_off_the_repeat() -> None:
    group = Clocked().told()
    group.take("b", "firing", 14_000)
    assert group.look(14_030) == ("firing", ("a", "b"), ())
    assert group.look(14_430) is None
    assert group.look(28_430) == ("repeat", ("a", "b"), ())


def test_an_acknowledged_alert_is_not_repeated_and_its_end_is_told() -> None:
    group = Clocked().told()
    group.acknowledged = {"a"}
    assert group.look(50_000) is None
    group.take("a", "resolved", 50_000)
    assert group.look(50_030) == ("resolved", (), ("a",))


def test_another_alert_of_the_group_is_repeated_though_one_is_acknowledged() -> None:
    group = Clocked()
    group.take("a", "firing", 0)
    group.take("b", "firing", 0)
    group.look(30)
    group.acknowledged = {"a"}
    assert group.look(14_430) == ("repeat", ("a", "b"), ())


def test_a_receiver_that_forgets_is_told_again_though_all_is_acknowledged() -> None:
    group = Clocked(Timing(0, 0, 60), keeps_alive=True)
    group.take("a", "firing", 0)
    assert group.look(0) == ("firing", ("a",), ())
    group.acknowledged = {"a"}
    assert group.look(59.999) is None
    assert group.look(60) == ("repeat", ("a",), ())


def test_an_alert_that_comes_again_after_an_acknowledgement_is_told_again() -> None:
    group = Clocked().told()
    group.acknowledged = {"a"}
    group.take("a", "resolved", 1000)
    group.take("a", "firing", 1010, alert="a2")
    assert group.look(1040) == ("firing", ("a",), ())
    group.take("a", "resolved", 2000, alert="a2")
    assert group.look(2030) == ("resolved", (), ("a",))
    assert group.look(90_000) is None


def test_an_alert_that_came_and_went_between_two_notifications_leaves_the_end_of_the_first() -> None:
    group = Clocked().told()
    group.take("a", "resolved", 60)
    group.take("a", "firing", 70, alert="a2")
    group.take("a", "resolved", 80, alert="a2")
    assert group.look(330) == ("resolved", (), ("a",))


def test_a_muted_alert_is_told_when_the_mute_ends() -> None:
    group = Clocked()
    group.muted = {"a"}
    group.take("a", "firing", 0)
    assert changes_due_at(group.group, group.muted_alerts, at(100)) is None
    assert group.look(1000) is None
    group.muted = set()
    assert group.look(2000) == ("firing", ("a",), ())


def test_a_muted_alert_is_left_out_of_what_its_group_says() -> None:
    group = Clocked()
    group.muted = {"a"}
    group.take("a", "firing", 0)
    group.take("b", "firing", 0)
    assert group.look(30) == ("firing", ("b",), ())


def test_the_end_of_a_muted_alert_is_told_to_those_who_heard_of_it() -> None:
    group = Clocked().told()
    group.muted = {"a"}
    assert group.look(20_000) is None
    group.take("a", "resolved", 20_000)
    assert group.look(20_030) == ("resolved", (), ("a",))


def test_the_end_of_an_alert_that_was_muted_throughout_is_not_told() -> None:
    group = Clocked().told("b")
    group.muted = {"a"}
    group.take("a", "firing", 100)
    group.take("a", "resolved", 200)
    assert group.look(1000) is None


@pytest.mark.parametrize("state", ["firing", "resolved"])
def test_the_same_change_twice_is_one(state: MemberState) -> None:
    group = Clocked().told()
    group.take("a", state, 100)
    before = group.group
    group.take("a", state, 200)
    assert group.group == before


def test_the_end_of_an_earlier_alert_does_not_end_a_later_one() -> None:
    group = Clocked()
    group.take("a", "firing", 0, alert="a2")
    group.take("a", "resolved", 10, alert="a1")
    assert group.look(30) == ("firing", ("a",), ())


def test_a_notifier_that_was_away_says_what_was_due_before_what_came_later() -> None:
    group = Clocked()
    assert group.take("a", "firing", 0) is None
    flushed = group.take("a", "resolved", 600)
    assert flushed == Flush(at(30), "firing", ("a",), ())
    assert group.look(5000) == ("resolved", (), ("a",))


def test_changes_of_the_same_moment_are_said_together_however_short_the_wait() -> None:
    group = Clocked(Timing(0, 0, 3600))
    assert group.take("a", "firing", 0) is None
    assert group.take("b", "firing", 0) is None
    assert group.look(0) == ("firing", ("a", "b"), ())


def test_a_group_whose_route_is_gone_says_the_end_of_what_it_said_and_no_more() -> None:
    group = Clocked().told()
    group.take("b", "firing", 100)
    group.group = retire(group.group)
    assert group.look(100_000) is None
    group.take("a", "resolved", 100_000)
    assert group.look(100_030) == ("resolved", (), ("a",))
    assert group.group.members == {}
