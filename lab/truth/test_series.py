"""Judging over many series: the generator makes what it says, and wrong answers are noticed."""

import re
import tomllib
from typing import Any

import numpy as np
import pytest

from tierscope.domain.capacity.forecast import Forecast
from truth import fleet_laws, rows_series, series
from truth.memory import monthly_laws
from truth.scoring import Goal, Observed, judge
from truth.table import judge_series, render


def test_noise_follows_itself_as_it_is_asked_to_and_is_skewed_where_it_is_asked_to() -> None:
    random = np.random.default_rng(1)
    for phi in (0.0, 0.7, 0.95):
        noise = series.follow(random, 20_000, phi)
        assert np.corrcoef(noise[1:], noise[:-1])[0, 1] == pytest.approx(phi, abs=0.03)
        assert noise.std() == pytest.approx(1.0, abs=0.15)
    skewed = series.follow(random, 20_000, 0.3, skewed=True)
    assert ((skewed - skewed.mean()) ** 3).mean() > 1.0


@pytest.mark.parametrize("kind", series.KINDS)
def test_same_seed_same_series(kind: str) -> None:
    first = series.daily_memory(1, 0, kind, 60)
    assert first.tolist() == series.daily_memory(1, 0, kind, 60).tolist()
    assert first.tolist() != series.daily_memory(2, 0, kind, 60).tolist()
    assert (first > 0).all()


def test_a_shift_is_told_and_a_series_without_one_has_none() -> None:
    assert [rows_series.is_found(1, number) for number in range(3)] == [True] * 3


def test_false_changes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_series, "WATCHED_DAYS", 2)
    assert rows_series.count_false(1, 0) == 0

    def tell(times_s: np.ndarray[Any, Any], _values: object) -> list[Any]:
        (found,) = {float(times_s[-1]) - 1.0}
        return [type("Change", (), {"at_s": found, "direction": "rise"})()]

    monkeypatch.setattr(rows_series, "level_changes", tell)
    assert rows_series.count_false(1, 0) == 7, "one each hour for two days, of which those within six hours are one"


def test_intervals_that_are_too_narrow_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(values: Any) -> Any:  # noqa: ANN401 - as what it stands for
        found, history = rows_series_forecast(values)
        if isinstance(found, Forecast):
            middle = found.median
            found = Forecast(
                **{name: getattr(found, name) for name in Forecast.__slots__ if name not in ("lo80", "hi80")},
                lo80=middle - 0.1 * (middle - found.lo80),
                hi80=middle + 0.1 * (found.hi80 - middle),
            )
        return found, history

    rows_series_forecast = rows_series.forecast_of
    monkeypatch.setattr(rows_series, "forecast_of", narrow)
    seen: Observed = {goal.row: [] for goal in rows_series.GOALS}
    for number in range(8):
        for kind in ("flat", "growth"):
            rows_series.observe_forecast(seen, 3, number, kind)
    row = next(row for row in judge_series(seen) if row.row == rows_series.AT_80)
    assert row.met is False, render([row])


@pytest.mark.parametrize(
    ("goal", "values", "met"),
    [
        (Goal("few", "share", 0.80, within=0.03), [1.0] * 80 + [0.0] * 20, None),
        (Goal("too wide", "share", 0.80, within=0.03), [1.0] * 98 + [0.0] * 2, False),
        (Goal("too narrow", "share", 0.80, within=0.03), [1.0] * 60 + [0.0] * 40, False),
        (Goal("a", "mean", 0.0, within=0.03), [0.05, -0.05] * 20, True),
        (Goal("wide", "mean", 0.0, within=0.03), [0.5, -0.5] * 20, None),
        (Goal("a", "mean", 0.0, within=0.03), [0.5, 0.4] * 20, False),
        (Goal("a", "count", 1.0, at_most=True, exposure=0.5), [0.0, 1.0, 0.0, 1.0], None),
        (Goal("a", "count", 1.0, at_most=True, exposure=0.5), [4.0] * 10, False),
        (Goal("a", "told_mean"), [0.1, 0.2], None),
        (Goal("a", "told_share"), [1.0, 0.0], None),
    ],
)
def test_rates_means_and_counts_are_met_by_their_estimates(
    goal: Goal,
    values: list[float],
    met: bool | None,  # noqa: FBT001 - the expected value
) -> None:
    assert judge(goal, values).met is met


def test_counts_are_told_by_the_service_year_with_their_interval() -> None:
    row = judge(Goal("false ones", "count", 1.0, at_most=True, exposure=0.5), [0.0, 1.0, 0.0, 1.0])
    assert render([row]).splitlines()[-1] == "| false ones | 1.0 | 0.1 to 3.6 | 4 | at most 1 | too few to tell |"


def test_months_of_the_twin_have_one_host_a_service_and_what_the_seed_draws() -> None:
    text = monthly_laws(3, 100)
    laws = tomllib.loads(text)
    services = fleet_laws.services_of(text)
    assert len(laws["host"]) <= len(services)
    assert laws["clock"]["interval_s"] == 3600.0
    assert {incident["change"]["kind"] for incident in laws["incident"]} <= {"level_shift", "growth", "leak"}
    assert laws["incident"]
    assert monthly_laws(3, 100) == text != monthly_laws(4, 100)
    assert len(re.findall(r"^interval_s", text, re.MULTILINE)) == 1
