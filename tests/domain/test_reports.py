"""When reports are due, numbers in words, and the coordinates of charts."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tierscope.domain.base.words import bytes_text, days_text, growth_text, ratio_text
from tierscope.domain.reports.charts import ChartDay, draw_forecast
from tierscope.domain.reports.schedule import Cron, Daily, parse_cron, parse_time

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)  # a Saturday


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("* * * * *", datetime(2026, 11, 21, 12, 1, tzinfo=UTC)),
        ("0 7 * * mon-fri", datetime(2026, 11, 23, 7, 0, tzinfo=UTC)),
        ("*/20 12 * * *", datetime(2026, 11, 21, 12, 20, tzinfo=UTC)),
        ("30 6 1 */3 *", datetime(2027, 1, 1, 6, 30, tzinfo=UTC)),
        ("0 0 29 feb *", datetime(2028, 2, 29, 0, 0, tzinfo=UTC)),
        ("0 0 * * 7", datetime(2026, 11, 22, 0, 0, tzinfo=UTC)),
        ("0 0 13 * 5", datetime(2026, 11, 27, 0, 0, tzinfo=UTC)),
        ("15,45 11 21 11 *", datetime(2027, 11, 21, 11, 15, tzinfo=UTC)),
        ("0 9 L * *", datetime(2026, 11, 30, 9, 0, tzinfo=UTC)),
        ("0 9 * * 5#2", datetime(2026, 12, 11, 9, 0, tzinfo=UTC)),
        ("0 0 1 4-4/4 *", datetime(2027, 4, 1, 0, 0, tzinfo=UTC)),
        ("30 02 29 02 *", datetime(2028, 2, 29, 2, 30, tzinfo=UTC)),
    ],
)
def test_cron_finds_the_next_time(text: str, due: datetime) -> None:
    cron = parse_cron(text)
    assert isinstance(cron, Cron)
    assert cron.after(NOON, None) == due


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "0 0 30 2 *",
        f"{1:05000} * * * *",
        "x * * * *",
        "61 * * * *",
        "* 5-2 * * *",
        "* * 0 * *",
        "* * * x *",
        "*/0 * * * *",
    ],
)
def test_what_is_no_cron_expression_is_told(text: str) -> None:
    assert isinstance(parse_cron(text), str)


def test_what_is_wrong_names_the_field_and_what_is_possible() -> None:
    assert parse_cron("0 7 * * fry") == "day-of-week: 'fry' does not fit; it takes 0 to 7 or sun to sat"


def test_times_are_utc_when_clocks_change() -> None:
    cron = parse_cron("30 1 * * *")
    assert isinstance(cron, Cron)
    berlin = ZoneInfo("Europe/Berlin")
    for year, month, day in ((2027, 3, 28), (2027, 10, 31)):  # at 01:00 UTC, clocks go on and back an hour
        before = datetime(year, month, day, 2, 15, tzinfo=berlin)
        due = cron.after(before, None)
        assert due == datetime(year, month, day, 1, 30, tzinfo=UTC)
        assert cron.after(due, None) == due + timedelta(days=1)


def test_every_so_many_days_counts_from_the_time_before() -> None:
    weekly = Daily(7, 6, 30)
    assert weekly.after(NOON, None) == datetime(2026, 11, 22, 6, 30, tzinfo=UTC)
    before = datetime(2026, 11, 19, 6, 30, tzinfo=UTC)
    assert weekly.after(NOON, before) == datetime(2026, 11, 26, 6, 30, tzinfo=UTC)
    assert weekly.after(NOON + timedelta(days=30), before) == datetime(2026, 12, 24, 6, 30, tzinfo=UTC)
    assert [parse_time(text) for text in ("07:05", "24:00", "7:5", "7", "x:00")] == [(7, 5), None, None, None, None]


def test_numbers_in_words() -> None:
    assert [bytes_text(value) for value in (None, 0.0, 1023.0, 1024.0, 1.5 * 2**40, 987.6 * 2**30, -(2.0**30))] == [
        "\N{EN DASH}",
        "0 B",
        "1023 B",
        "1.00 KiB",
        "1.50 TiB",
        "988 GiB",
        "-1.00 GiB",
    ]
    assert growth_text(2.0**30) == "+1.00 GiB a day"
    assert growth_text(-(2.0**30)) == "-1.00 GiB a day"
    assert [days_text(value) for value in (None, 3.25, 40.4)] == ["\N{EN DASH}", "3.2 days", "40 days"]
    assert [ratio_text(1.0, 2.0), ratio_text(None, 2.0), ratio_text(1.0, None)] == ["50%", "\N{EN DASH}", "\N{EN DASH}"]


def test_a_chart_keeps_gaps_bands_and_its_threshold() -> None:
    first = date(2026, 11, 1)
    days = [ChartDay(first + timedelta(days=i), None if i == 4 else 10.0 + i, i < 2) for i in range(10)]
    days += [
        ChartDay(first + timedelta(days=10 + i), median=20.0, band80=(18.0, 22.0), band95=(16.0, 24.0))
        for i in range(5)
    ]
    chart = draw_forecast(days, 23.0, width=140.0, height=100.0)
    assert chart is not None
    assert [len(run) for run in chart.history] == [4, 5]
    assert len(chart.excluded) == 2
    assert (len(chart.median), len(chart.band80), len(chart.band95)) == (5, 10, 10)
    assert chart.history[0][0][0] == 0.0
    assert chart.median[-1][0] == 140.0
    assert chart.threshold is not None
    assert chart.threshold < chart.median[0][1] < chart.history[0][0][1]
    assert chart.y_ticks[0].at == 100.0
    assert all(0 <= tick.at <= 100.0 for tick in chart.y_ticks)
    far = draw_forecast(days, 1000.0, width=140.0, height=100.0)
    assert far is not None
    assert far.threshold is None
    assert draw_forecast([ChartDay(first)], None, width=140.0, height=100.0) is None
