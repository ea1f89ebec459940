"""Whose files a part of an answer stands on."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from tierscope.domain.base.doubts import Doubts, HostDoubt
from tierscope.domain.base.figures import Figure, Window

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)
HOSTS = tuple(f"h{number:016x}" for number in range(3))
CART, STORE = "s" + "0" * 16, "s" + "1" * 16
CUT = "1 file was cut off: /proc/vmstat"
GOOD = Figure("psi.memory_some_ratio/1", "ok", 0.25, "ratio", grade="good")


@dataclass(frozen=True)
class Line:
    """What an answer says of one host or service."""

    id: str
    figure: Figure = GOOD
    of_services: tuple["Line", ...] = ()


def doubts(*hosts: int, until: datetime | None = None) -> Doubts:
    """The first service runs on all hosts, the second on the last."""
    services = [{CART}, {CART}, {CART, STORE}]
    return Doubts([HostDoubt(HOSTS[host], frozenset(services[host]), CUT, NOON, until) for host in hosts])


def grades(line: Line) -> list[str | None]:
    return [line.figure.grade, *(one.figure.grade for one in line.of_services)]


def test_nothing_is_touched_where_no_file_has_a_problem() -> None:
    answer = (GOOD, Line(HOSTS[0]))
    assert doubts().lower(answer) is answer
    line = Line(HOSTS[1])
    assert doubts(0).lower(line) is line


def test_a_line_stands_on_the_files_of_its_own_host_or_service() -> None:
    lines = doubts(2).lower([Line(one) for one in (*HOSTS, CART, STORE, "s" + "2" * 16)])
    assert [line.figure.grade for line in lines] == ["good", "good", "partial", "partial", "partial", "good"]
    assert lines[2].figure.warnings == (CUT,)


def test_a_service_of_a_host_stands_on_that_host_alone() -> None:
    line = Line(HOSTS[0], of_services=(Line(CART), Line(STORE)))
    assert grades(doubts(2).lower(line)) == ["good"] * 3
    assert grades(doubts(0).lower(line)) == ["partial"] * 3


def test_what_names_nobody_stands_on_what_was_asked_about() -> None:
    known = doubts(2)
    asked = {
        (): "partial",
        ("24h", HOSTS[2]): "partial",
        (HOSTS[0],): "good",
        (STORE,): "partial",
        ("s" + "2" * 16,): "good",
        (HOSTS[0], STORE): "good",
    }
    assert {ids: known.lower(GOOD, ids).grade for ids in asked} == asked


@pytest.mark.parametrize(
    ("start", "end", "until", "grade"),
    [
        (NOON - 9 * DAY, NOON - 2 * DAY, None, "good"),
        (NOON - 2 * DAY, NOON, None, "partial"),
        (NOON, NOON + DAY, NOON + DAY, "partial"),
        (NOON + DAY, NOON + 2 * DAY, NOON + DAY, "good"),
    ],
)
def test_a_window_is_doubted_that_the_problem_reaches(
    start: datetime, end: datetime, until: datetime | None, grade: str
) -> None:
    figure = Figure("heat.hot_ratio/1", "ok", 0.5, "ratio", grade="good", window=Window(start, end))
    assert doubts(0, until=until).lower(figure).grade == grade


def test_a_problem_that_ended_is_not_one_of_now() -> None:
    assert doubts(0, until=NOON + DAY).lower(GOOD).grade == "good"


def test_several_hosts_are_counted_and_one_cause_stands_once() -> None:
    told = doubts(0, 1).lower({"cart": GOOD})["cart"]
    assert told.warnings == (f"Files of 2 hosts had a problem, of the first one: {CUT}",)
    assert doubts(0, 1).lower(told) is told


@pytest.mark.parametrize("definition", ["agent.cpu_ratio/1", "data_quality.received/1"])
def test_what_the_product_counts_of_itself_stays(definition: str) -> None:
    own = Figure(definition, "ok", 1.0, "ratio", grade="good")
    assert doubts(0).lower(own) is own


def test_what_has_no_value_stays() -> None:
    absent = Figure("heat.hot_ratio/1", "not_collected", None, "ratio", reason="nobody measured it")
    assert doubts(0).lower(absent) is absent
