"""Fleet statistics: the worked examples of the method, and what holds at scale."""

import numpy as np
import pytest

from tierscope.domain.statistics import (
    Quantiles,
    cluster_services,
    find_changes,
    find_odd,
    find_outliers,
    flag_hosts,
    level_changes,
    match_events,
    robust_scores,
    score_hosts,
    shrink,
    watch,
)
from tierscope.domain.statistics.levels import Scale, difference_means


def test_robust_scores_of_the_worked_example() -> None:
    scores = robust_scores(np.array([10.0, 11, 12, 13, 50]))
    assert (round(float(scores[4]), 3), round(float(scores[0]), 3)) == (25.631, -1.349)


def test_equal_values_are_scored_by_quartiles_or_not_at_all() -> None:
    assert robust_scores(np.array([5.0, 5, 5, 5, 5, 9, 9, 9, 90]))[8] > 3.5
    assert not robust_scores(np.array([5.0] * 8 + [90])).any()


def test_an_outlier_stays_out_for_three_windows_in_a_group_of_eight() -> None:
    def window(odd: float, hosts: int = 9) -> dict[str, float]:
        return {**{f"h{host}": 10.0 + host * 0.1 for host in range(hosts - 1)}, "odd": odd}

    assert [found.host for found in find_outliers([window(30), window(31), window(32)])] == ["odd"]
    assert find_outliers([window(30), window(10), window(32)]) == ()
    assert find_outliers([window(30), window(-30), window(32)]) == ()
    assert find_outliers([window(30, 5)] * 3) == ()
    assert find_outliers([window(30)] * 2) == ()


def drawn_groups(hosts: int, draw: str, groups: int = 40) -> list[np.ndarray]:
    random = np.random.default_rng(hosts)
    made = {
        "normal": lambda: 100 + 5 * random.standard_normal(hosts),
        "log-normal": lambda: random.lognormal(0, 1, hosts),
        "exponential": lambda: random.exponential(1, hosts),
        "two sizes": lambda: np.where(np.arange(hosts) < hosts // 4, 300, 100) + 5 * random.standard_normal(hosts),
    }
    return [np.asarray(made[draw](), np.float64) for _ in range(groups)]


@pytest.mark.parametrize("draw", ["normal", "log-normal", "exponential", "two sizes"])
@pytest.mark.parametrize("hosts", [8, 30, 120])
def test_groups_without_an_odd_host_show_none_whatever_their_shape_and_size(hosts: int, draw: str) -> None:
    windows = [{str(host): float(value) for host, value in enumerate(values)} for values in drawn_groups(hosts, draw)]
    assert sum(bool(flag_hosts(score_hosts(window))) for window in windows) <= 1


@pytest.mark.parametrize("hosts", [8, 30, 120])
@pytest.mark.parametrize("factor", [0.2, 2.0])
def test_an_odd_host_is_found_in_groups_of_any_size(hosts: int, factor: float) -> None:
    for values in drawn_groups(hosts, "normal", 10):
        values[3] = 100 * factor
        scored = score_hosts({str(host): value for host, value in enumerate(values)})
        assert [found.host for found in flag_hosts(scored)] == ["3"]


def test_odd_hosts_do_not_hide_each_other_and_many_are_a_kind_of_their_own() -> None:
    values = drawn_groups(60, "normal", 1)[0]
    values[:4] = [200, 205, 210, 215]
    assert find_odd(values).tolist() == [host < 4 for host in range(60)]
    values[:20] = 200 + np.arange(20)
    assert not find_odd(values).any()
    assert not find_odd(np.full(9, 5.0)).any()


def test_cusum_of_the_worked_example() -> None:
    sums, alarms = watch([0.2, -0.1, 1.5, 1.2, 1.8, 1.4])
    assert [round(value, 6) for value in sums] == [0, 0, 1.0, 1.7, 3.0, 3.9]
    assert alarms == ()
    assert [(alarm.index, alarm.direction) for alarm in watch([-3, -3, 0, 5])[1]] == [(1, "fall"), (3, "rise")]


def test_a_change_is_found_and_matched_to_the_event_beside_it() -> None:
    random = np.random.default_rng(2)
    series = np.concatenate([random.normal(0, 1, 120), random.normal(4, 1, 120)])
    changes = find_changes(np.asarray(series, np.float64))
    assert len(changes) == 1
    assert abs(changes[0] - 120) <= 3
    assert find_changes(np.asarray(random.normal(0, 1, 240), np.float64)) == ()
    assert find_changes(np.zeros(40)) == ()
    assert match_events(1000, [(200, "deploy"), (1890, "reboot"), (1100, "sysctl"), (1901, "late")]) == (
        "sysctl",
        "deploy",
        "reboot",
    )


def test_a_small_group_borrows_from_its_parent() -> None:
    assert shrink(5, 0.40, 0.30) == pytest.approx(0.35)


def test_merged_quantiles_are_those_of_all_values() -> None:
    random = np.random.default_rng(4)
    hosts = [random.lognormal(0, 1, 400) for _ in range(30)]
    merged = Quantiles()
    for host in hosts:
        merged = merged.merged(Quantiles.of(host.tolist()))
    everything = np.sort(np.concatenate(hosts))
    assert (merged.n, merged.is_exact, merged.at(0.5)) == (12_000, True, np.quantile(everything, 0.5))
    stored = [Quantiles.of(np.concatenate(hosts[start : start + 6])).to_bytes() for start in range(0, 30, 6)]
    first, second = (Quantiles.merge_all([Quantiles.from_bytes(body) for body in stored]) for _ in range(2))
    assert (first.n, first.is_exact) == (12_000, False)
    ranks = (0.1, 0.5, 0.95)
    for rank, value in zip(ranks, first.at_all(ranks) or (), strict=True):
        assert abs(np.searchsorted(everything, value) / 12_000 - rank) < 0.02
    assert first.at_all(ranks) == second.at_all(ranks)
    again = Quantiles.from_bytes(first.to_bytes())
    middle = again.at(0.5)
    assert middle is not None
    assert (again.n, again.is_exact) == (12_000, False)
    assert abs(np.searchsorted(everything, middle) / 12_000 - 0.5) < 0.02


def test_few_values_are_kept_as_they_are() -> None:
    few = Quantiles.of([3.0, 1.0, 2.0]).merged(Quantiles.of([4.0]))
    assert (few.is_exact, few.at(0.5), few.at(1.0), Quantiles().at(0.5)) == (True, 2.5, 4.0, None)


def test_services_that_behave_alike_are_found_and_noise_is_not() -> None:
    random = np.random.default_rng(6)
    centres = np.repeat(np.array([[0.1, 0.9], [0.8, 0.2]]), 8, axis=0)
    names = [f"s{index}" for index in range(16)]
    clusters = cluster_services(names, np.asarray(centres + random.normal(0, 0.03, (16, 2)), np.float64))
    assert (
        sorted(cluster.members for cluster in clusters)
        == [tuple(sorted(names[8:], key=names.index)), tuple(names[:8])][::-1]
    )
    assert cluster_services(names[:6], centres[:6]) == ()
    assert cluster_services(names, np.ones((16, 2))) == ()


def noisy_days(seed: int, days: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Ten-minute buckets with a course over the day and noise that follows itself, by 2 in 100."""
    random = np.random.default_rng(seed)
    times = (np.arange(days * 144) + 1) * 600.0 + 20_000 * 86_400
    noise, state = np.zeros(len(times)), 0.0
    for i in range(len(times)):
        state = 0.7 * state + 0.714 * random.standard_normal()
        noise[i] = state
    return times, 100 * (1 + 0.2 * np.sin(2 * np.pi * times / 86_400)) + 2 * noise


def test_levels_that_move_are_dated_and_noise_that_follows_itself_is_left_alone() -> None:
    found = recent = 0
    for seed in range(12):
        times, values = noisy_days(seed, days=28)
        slot = np.arange(len(values))
        assert level_changes(times, values) == ()
        at = 25 * 144 + 250
        changes = level_changes(times, values + 15 * (slot >= at))
        found += [change.direction for change in changes] == ["rise"] and abs(changes[0].at_s - times[at - 1]) <= 900
        fallen = values - 15 * (slot >= len(values) - 24)
        recent += [change.direction for change in level_changes(times, fallen)] == ["fall"]
    assert found >= 11
    assert recent >= 11


def test_weekends_are_no_changes_once_three_weeks_are_known() -> None:
    for seed in range(6):
        times, values = noisy_days(seed, days=28)
        weekend = (times - 1) // 86_400 % 7 >= 5
        values = np.where(weekend, 0.7 * values, values)
        for end in range(22 * 144, len(values) + 1, 36):
            assert level_changes(times[:end], values[:end]) == (), (seed, end)


def test_noise_that_stays_for_hours_is_no_change() -> None:
    for seed in range(6):
        random = np.random.default_rng(seed)
        times = np.asarray((np.arange(28 * 144) + 1) * 600.0 + 20_000 * 86_400, np.float64)
        state, wander = 0.0, []
        for shock in random.exponential(1.0, len(times)):
            state = 0.97 * state + 0.243 * (shock - 1.0)
            wander.append(state)
        values = np.asarray(100 * np.exp(0.03 * np.array(wander)), np.float64)
        for end in range(22 * 144, len(values) + 1, 72):
            assert level_changes(times[:end], values[:end]) == (), (seed, end)


@pytest.mark.parametrize(
    ("values", "kind"), [([1.0, 2.0, 9.0], "log"), ([0.0, 2.0, 4.0], "asinh"), ([-1.0, 2.0], "line"), ([0.0], "line")]
)
def test_scales_go_there_and_back(values: list[float], kind: str) -> None:
    scale = Scale.of(np.array(values))
    assert scale.kind == kind
    assert [scale.back(value) for value in scale.to(np.array(values)).tolist()] == pytest.approx(values)


def test_means_on_either_side_leave_out_gaps_and_need_most_of_their_hours() -> None:
    hourly = np.array([1.0, 1, 1, 1, 3, 3, np.nan, 3, np.nan, np.nan])
    assert difference_means(hourly, 4)[4] == pytest.approx(2.0)
    assert np.isnan(difference_means(hourly, 4)[6])
    assert np.isnan(difference_means(hourly[:5], 4)).all()


def test_levels_are_those_of_the_series_and_gaps_are_left_out() -> None:
    times, values = noisy_days(1, days=1)
    values = np.where(np.arange(len(values)) >= 80, 50.0, 100.0) + 0.1 * np.sin(np.arange(len(values)))
    values[10:20] = np.nan
    changes = level_changes(times, values)
    assert [(round(change.before), round(change.after), change.found_by) for change in changes] == [(100, 50, "pelt")]
    assert level_changes(times[:5], values[:5]) == ()


def test_clusters_count_hosts_and_leave_lone_services_out() -> None:
    features = np.array([[0.0, 1], [0.02, 1.01], [1, 0], [1.02, 0.01], [5, 9]])
    names = ["a", "b", "c", "d", "e"]
    found = cluster_services(names, features, hosts=[3, 3, 1, 2, 40])
    assert [cluster.members for cluster in found] == [("a", "b")]
    assert cluster_services(names, features) == ()
