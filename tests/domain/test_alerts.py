"""Rules: units and conditions, states minute by minute, packed columns, texts, files, and the Prometheus export."""

import math
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import yaml

from tierscope.domain.alerts.catalogue import pick_keys
from tierscope.domain.alerts.checking import check_expression
from tierscope.domain.alerts.evaluating import FALSE, TRUE, UNKNOWN, evaluate, measure
from tierscope.domain.alerts.files import read_rules, write_rules
from tierscope.domain.alerts.frame import Frame, PairIds, Rows, gather, lay_out
from tierscope.domain.alerts.inputs import uncovered
from tierscope.domain.alerts.machine import Level, Timing, follow, start_states, step
from tierscope.domain.alerts.problems import RuleError
from tierscope.domain.alerts.prometheus import export_rules
from tierscope.domain.alerts.rule_tests import read_tests, run_test
from tierscope.domain.alerts.rules import LabelMatcher, Rule, Scope, check_rule, require_rule
from tierscope.domain.alerts.templates import check_template, fill
from tierscope.domain.alerts.units import parse_literal, parse_seconds, write_seconds, write_value
from tierscope.domain.alerts.vocabulary import DERIVED
from tierscope.domain.ledger.words import Word
from tierscope.usecases.alerts.judging import find_steps
from tierscope.usecases.alerts.rules import shipped_rules

HOLE = math.nan


def frame(seconds: float = 60.0, **series: list[float]) -> Frame:
    """One host; a minute in which no series has a value has no interval."""
    values = {name: np.array([found]) for name, found in series.items()}
    known = ~np.isnan(np.stack(list(values.values()))).all(axis=0)
    n = known.shape[1]
    return Frame(np.array([1]), np.arange(n), values, np.where(known, seconds, np.nan), np.array([0]))


def truth(expression: str, given: Frame) -> list[int]:
    found: list[int] = evaluate(check_expression(expression, "host"), given)[0].tolist()
    return found


def value(expression: str, given: Frame) -> list[float]:
    found: list[float] = measure(check_expression(expression, "host"), given)[0].tolist()
    return found


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("16MB/s", 16e6, "bytes/s"),
        ("5%", 0.05, ""),
        ("10m", 600.0, "seconds"),
        ("1.5GiB", 1.5 * 2**30, "bytes"),
        ("30pages/min", 0.5, "pages/s"),
        ("2e3", 2000.0, ""),
    ],
)
def test_literals_are_in_base_units(text: str, amount: float, unit: str) -> None:
    found = parse_literal(text)
    assert (found.value, str(found.unit)) == (amount, unit)


def test_lengths_of_time_and_values_are_written_as_they_are_read() -> None:
    assert [write_seconds(parse_seconds(text)) for text in ("10m", "2h", "3d", "45s", "0s")] == [
        "10m",
        "2h",
        "3d",
        "45s",
        "0s",
    ]
    assert write_value(17.2e6, "bytes/s") == "17.2 MB/s"
    assert write_value(21_030.0, "allocations/s") == "21,030 allocations/s", "never a power of ten"
    assert (write_value(3.1e-5, "bytes"), write_value(2.5e15, "bytes")) == ("0.000031 B", "2,500 TB")
    assert (write_value(0.125, "ratio"), write_value(5400.0, "seconds")) == ("12.5%", "1.5 h")
    with pytest.raises(ValueError, match="length of time"):
        parse_seconds("5%")


@pytest.mark.parametrize(
    ("text", "column", "message", "step"),
    [
        ("free_dram_ration < 5%", 1, "no metric", "`free_dram_ratio`"),
        ("tier_move_bytes > 100", 17, "plain numbers", "16MB/s"),
        ("promoted_pages > 16MB/s", 16, "pages/s", "same unit"),
        ("ping_pong_state >= wrn", 20, "word", "ok, warn, crit"),
        ("avg_over(psi_some_ratio, 90s) > 5%", 26, "whole minutes", "per minute"),
        ("rate(top_free_bytes, 5m) > 3", 6, "needs a flow", "avg_over"),
        ("rate(promoted_pages) > 3", 1, "takes 2 arguments", "rate(flow, window)"),
        ("promoted_pages", 1, "needs a condition", "Compare it"),
        ("promoted_pages > 1 and 5%", 24, "joins conditions", "Compare it"),
        ("promoted_pages > > 1", 18, "does not belong", "Write"),
        ("promoted_pages > 5zorks", 18, "`5zorks` is not understood", "Write"),
        ("pgpromote_success > 1", 1, "no metric", "`vmstat.pgpromote_success`"),
        ('promoted_pages{node="1"} > 1', 1, "nothing can be picked", "braces"),
        ('vmstat.nr_free_pages{zone="1"} > 1', 1, "can be picked", "docs/metrics.md"),
        ("verdict + 1 > 2", 1, "Words", "Compare"),
        ("days_to_exhaustion < 3d", 1, "not there for a rule per host", "service"),
        ("", 0, "empty", "Write one"),
        ("(" * 50 + "1", 41, "parentheses", "Split"),
        ("-" * 1900 + "1 > 0", 0, "1901 operators", "Split"),
        ("promoted_pages > 1/s" + "/s" * 800, 0, "operators", "Split"),
        ("promoted_pages > 1" + " and 1 > 0" * 150, 0, "operators", "Split"),
    ],
)
def test_errors_name_column_cause_and_next_step(text: str, column: int, message: str, step: str) -> None:
    with pytest.raises(RuleError) as raised:
        check_expression(text, "host")
    problem = raised.value.problem
    assert problem.at == (f"expression:{column}" if column else "expression")
    assert message in problem.message
    assert step in problem.next_step


def test_a_condition_has_one_normal_form_that_means_the_same() -> None:
    text = "(promoted_pages+demoted_pages)*2>100 or(psi_some_ratio>5% and not_a_word>1)".replace(
        "not_a_word", "`meminfo.Active(anon)`"
    ).replace(">1)", ">1GiB)")
    found = check_expression(text, "host")
    assert found.normal_form == (
        "(promoted_pages + demoted_pages) * 2 > 100 or psi_some_ratio > 5% and `meminfo.Active(anon)` > 1GiB"
    )
    assert check_expression(found.normal_form, "host").root == found.root


@pytest.mark.parametrize("series", DERIVED, ids=lambda series: series.key)
def test_derived_series_have_the_unit_that_they_claim(series: object) -> None:
    key, unit, scopes = series.key, series.unit, series.scopes  # type: ignore[attr-defined]
    for scope in scopes:
        found = check_expression(f"{key} >= 0", scope)
        assert found.unit.like(unit)


def test_flows_are_rates_and_missing_minutes_are_unknown() -> None:
    given = frame(promoted_pages=[600, 6000, HOLE, 6000])
    assert value("promoted_pages > 1", given)[:2] == [10.0, 100.0]
    assert truth("promoted_pages > 50/s", given) == [FALSE, TRUE, UNKNOWN, TRUE]
    assert value("promoted_pages > 1", frame(seconds=120.0, promoted_pages=[600])) == [5.0]


def test_windows_need_half_of_their_minutes() -> None:
    given = frame(promoted_pages=[600, HOLE, HOLE, 1200, 1800])
    assert value("increase(promoted_pages, 2m) > 0", given) == pytest.approx([600, 600, HOLE, 1200, 3000], nan_ok=True)
    assert value("rate(promoted_pages, 4m) > 0", given) == pytest.approx([HOLE, HOLE, HOLE, 15.0, 25.0], nan_ok=True)
    assert value("max_over(promoted_pages, 2m) > 0", given)[-1] == 30.0
    assert value("quantile_over(50%, promoted_pages, 5m) > 0", given)[-1] == 20.0


def test_unknown_sides() -> None:
    given = frame(promoted_pages=[6000.0, 6000.0, 0.0], demoted_pages=[HOLE, 0.0, HOLE])
    assert truth("promoted_pages > 1 or demoted_pages > 1", given) == [TRUE, TRUE, FALSE]
    assert truth("promoted_pages > 1 and demoted_pages > 1", given) == [UNKNOWN, FALSE, FALSE]
    assert truth("promoted_pages > 1 unless demoted_pages > 1", given) == [TRUE, TRUE, FALSE]
    assert truth("absent(demoted_pages)", given) == [TRUE, FALSE, TRUE]
    assert truth("absent(demoted_pages, 2m)", given) == [TRUE, FALSE, FALSE]
    assert truth("promoted_pages / demoted_pages > 1", given) == [UNKNOWN, UNKNOWN, UNKNOWN]


def test_the_age_of_the_newest_interval_counts_from_when_a_host_is_known() -> None:
    given = replace(frame(promoted_pages=[HOLE, HOLE, 1.0, HOLE, HOLE]), known_from=np.array([1]))
    assert value("agent_report_age > 1m", given) == pytest.approx([HOLE, 0, 0, 60, 120], nan_ok=True)


EXPRESSIONS = (
    "avg_over(psi_some_ratio, 7m) > 5%",
    "quantile_over(90%, free_dram_ratio, 5m) > 1%",
    "rate(promoted_pages, 9m) / rate(demoted_pages, 4m) > 1.1",
    "min_over(max(promoted_pages, demoted_pages), 6m) > 3 or absent(top_free_bytes, 3m)",
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_minute_has_the_same_bits_wherever_the_frame_begins(expression: str) -> None:
    rng = np.random.default_rng(5)
    names = ("psi_some_us", "top_free_bytes", "top_capacity_bytes", "promoted_pages", "demoted_pages")
    series = {name: np.where(rng.random(80) < 0.2, np.nan, rng.integers(1, 10**9, 80)).tolist() for name in names}
    whole = frame(**series)
    condition = check_expression(expression, "host")
    long, values = evaluate(condition, whole), measure(condition, whole)
    for minute in range(condition.lookback, 80):
        first = minute - condition.lookback
        part = frame(**{name: found[first : minute + 1] for name, found in series.items()})
        part = replace(part, seconds=whole.seconds[:, first : minute + 1])
        assert evaluate(condition, part)[0, -1] == long[0, minute]
        assert measure(condition, part)[0, -1].tobytes() == values[0, minute].tobytes()


def levels(answers: str, timing: Timing, recovers: str | None = None) -> str:
    """States as letters: o ok, p pending, f firing, n no data; answers are 0, 1 and ?."""
    codes = {"0": FALSE, "1": TRUE, "?": UNKNOWN}
    states, found = start_states(1), ""
    for place, answer in enumerate(answers):
        ends = None if recovers is None else np.array([codes[recovers[place]]], np.int8)
        states = step(states, np.array([codes[answer]], np.int8), ends, timing)
        found += "opfn"[int(states.level[0])]
    return found


@pytest.mark.parametrize(
    ("answers", "timing", "expected"),
    [
        ("0110", Timing(), "offo"),
        ("011110", Timing(for_minutes=3), "oppffo"),
        ("0110111", Timing(for_minutes=3), "oppoppf"),
        ("01?11", Timing(for_minutes=3), "opppf"),
        ("1010001", Timing(keep_minutes=3), "fffffof"),
        ("101011", Timing(n=3, m=5), "ppppff"),
        ("0100000", Timing(n=3, m=5), "opppppo"),
        ("1?????1", Timing(for_minutes=2, no_data_minutes=5), "pppppnp"),
        ("1?????0", Timing(no_data="keep", no_data_minutes=3), "ffffffo"),
        ("1?????0", Timing(no_data="alert", no_data_minutes=3), "fffnnno"),
        ("1?????1", Timing(no_data="ok", no_data_minutes=3), "fffooof"),
        ("0?????0", Timing(no_data="keep", no_data_minutes=3), "ooonnno"),
    ],
)
def test_states(answers: str, timing: Timing, expected: str) -> None:
    assert levels(answers, timing) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("verdict == stalled", Timing(n=20, m=30)),
        ("ping_pong_state >= warn and swap_used_ratio > 5%", Timing(n=20, m=30)),
        ("psi_some_ratio > 5%", Timing(for_minutes=30)),
    ],
)
def test_rules_on_states_fire_once_a_state_held_two_thirds_of_the_time(expression: str, expected: Timing) -> None:
    assert require_rule(Rule("a", expression, for_seconds=1800)).timing == expected
    # Longer ones, and those that say what counts, mean what they say.
    assert require_rule(Rule("a", expression, for_seconds=7200)).timing == Timing(for_minutes=120)
    assert require_rule(Rule("a", expression, for_seconds=600, n=3, m=5)).timing == Timing(10, n=3, m=5)


def test_a_state_that_comes_and_goes_fires() -> None:
    timing = require_rule(Rule("a", "verdict == stalled", for_seconds=360)).timing
    assert levels("101101", timing) == "pppppf"
    assert levels("1010101010", timing) == "p" * 10


@pytest.mark.parametrize("seed", range(5))
def test_steps_between_words_that_are_far_apart_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = [0, *np.cumsum(rng.integers(12, 80, 6)).tolist()]
    words: list[Word] = []
    for place, (first, end) in enumerate(pairwise(edges)):
        words += ["stalled" if place % 2 else "healthy"] * (end - first)
    asked: list[int] = []

    def word_at(place: int) -> Word:
        asked.append(place)
        return words[place]

    assert find_steps(len(words), 10, word_at) == words
    assert len(asked) <= len(words) / 10 + 2 + 4 * len(edges)
    assert find_steps(1, 1, word_at) == words[:1]


def test_a_dead_band_keeps_what_fires_between_its_thresholds() -> None:
    assert levels("100001", Timing(), recovers="000110") == "fffoof"


def test_leaving_out_idle_subjects_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    timing = Timing(for_minutes=2, keep_minutes=2, n=2, m=3, no_data_minutes=2, no_data="alert")
    answers = rng.choice(np.array([0, 1, 2], np.int8), (30, 200), p=[0.65, 0.25, 0.1])
    answers[::3] = 0
    final, changes = follow(start_states(30), answers, None, timing)
    states = start_states(30)
    seen = []
    for minute in range(200):
        after = step(states, answers[:, minute], None, timing)
        seen += [(int(s), minute, int(after.level[s])) for s in np.flatnonzero(after.level != states.level)]
        states = after
    assert list(zip(changes.subjects.tolist(), changes.minutes.tolist(), changes.after.tolist(), strict=True)) == seen
    for name in ("level", "bits", "held", "clear", "silent"):
        assert (getattr(final, name) == getattr(states, name)).all()


def test_measured_ping_pong_follows_its_definition() -> None:
    """Above a tenth of the candidates for three minutes, below a twentieth for three: by the shipped rule."""
    rule = next(rule for rule in shipped_rules() if rule.name == "ping-pong-ratio-high")
    checked = require_rule(rule)
    shares = np.array([4, 11, 12, 13, 9, 6, 4, 4, 4]) * 1000.0
    given = frame(
        candidates_demoted=shares.tolist(),
        promotion_candidates_pages=[1e5] * 9,
        promoted_bytes=[1.6e9] * 9,
        demoted_bytes=[1.6e9] * 9,
    )
    assert checked.recovery is not None
    _, changes = follow(
        start_states(1), evaluate(checked.condition, given), evaluate(checked.recovery, given), checked.timing
    )
    assert changes.minutes.tolist() == [1, 3, 8]


@pytest.mark.parametrize(
    ("condition", "total", "free", "promoted", "recovers"),
    [
        ("swap_used_ratio > 50% and swap_total_bytes > 0", 0.0, 0.0, math.nan, TRUE),
        ("swap_used_ratio > 50% and swap_total_bytes > 0", 100.0, 54.0, math.nan, FALSE),
        ("swap_used_ratio > 50% or promoted_pages > 0", 100.0, 100.0, 60.0, FALSE),
        ("swap_used_ratio > 50% unless promoted_pages > 0", math.nan, math.nan, 60.0, TRUE),
        ("swap_used_ratio > 50% and absent(promoted_pages)", math.nan, math.nan, 60.0, UNKNOWN),
    ],
)
def test_an_alert_ends_where_its_condition_surely_does(
    condition: str, total: float, free: float, promoted: float, recovers: int
) -> None:
    checked = require_rule(Rule("a", condition, recovery_threshold="45%"))
    given = frame(swap_total_bytes=[total], swap_free_bytes=[free], promoted_pages=[promoted])
    assert checked.recovery is not None
    assert evaluate(checked.recovery, given).tolist() == [[recovers]]


@pytest.mark.parametrize(("promotions", "share", "fires"), [(4, 0.5, True), (4, 0.02, False), (1, 0.5, False)])
def test_followed_pages_fire_the_same_rule_where_the_kernel_marks_none(
    promotions: int, share: float, *, fires: bool
) -> None:
    """From 40 promotions in half an hour on: fewer tell nothing."""
    checked = require_rule(next(rule for rule in shipped_rules() if rule.name == "ping-pong-ratio-high"))
    minutes = 39
    given = frame(
        followed_promotions=[promotions] * minutes,
        followed_round_trips=[promotions * share] * minutes,
        promoted_bytes=[1.6e9] * minutes,
        demoted_bytes=[1.6e9] * minutes,
    )
    _, changes = follow(start_states(1), evaluate(checked.condition, given), None, checked.timing)
    assert (Level.FIRING in changes.after.tolist()) is fires


def test_rows_of_one_minute_add_up_and_hosts_make_a_fleet() -> None:
    rows = Rows(
        np.array([1, 1, 2]),
        np.array([30.0, 60.0, 60.0]),
        np.array([30.0, 30.0, 60.0]),
        np.zeros(3),
        ("promoted_pages", "psi_some_us", "top_free_bytes"),
        np.array([[100.0, 1e6, 5.0], [200.0, 2e6, 7.0], [60.0, 9e6, 1.0]]),
    )
    hosts = lay_out([rows], np.array([1, 2]), np.array([1]), rows.names, np.zeros(2, np.int64))
    assert hosts.values["promoted_pages"].tolist() == [[300.0], [60.0]]
    assert hosts.values["top_free_bytes"].tolist() == [[7.0], [1.0]]
    fleet = gather(hosts, [np.array([0, 1])], np.array([9]))
    assert (fleet.values["promoted_pages"][0, 0], fleet.values["top_free_bytes"][0, 0]) == (360.0, 8.0)
    assert fleet.values["psi_some_us"][0, 0] == 6e6


def test_late_intervals_never_take_the_place_of_stored_ones() -> None:
    ends, lengths = np.array([60.0, 120.0, 180.0, 240.0]), np.full(4, 60.0)
    assert uncovered(ends, lengths, [(60.0, 180.0)]).tolist() == [True, False, False, True]
    assert uncovered(ends, lengths, []).all()


def test_texts_take_placeholders_and_nothing_else() -> None:
    text = "{{ subject }} of {{labels.team}}: {{ value }}"
    hostile = {"subject": "<b>\u202ehost\n", "value": "{{ rule }}"}
    assert fill(text, hostile, {"team": "db"}) == "<b>host of db: {{ rule }}"
    assert check_template(text, "summary") == []
    assert [problem.at for problem in check_template("{{ secret }} {% for %}", "summary")] == ["summary:1", "summary"]


def test_rules_survive_their_file_and_errors_name_the_place() -> None:
    rule = Rule(
        "mine",
        "psi_some_ratio > 5%",
        scope=Scope("service", ("h1",), ("demo/cache",), (LabelMatcher("team", "=~", "d.*"),)),
        for_seconds=300,
        n=2,
        m=3,
        no_data="alert",
        labels={"team": "db"},
        enabled=False,
    )
    rules = [rule, *shipped_rules()]
    assert read_rules(write_rules(rules)) == rules
    for text, at in (
        ("rules: [{name: a, expression: b, for: 5 minutes}]", "rules[0].for"),
        ("rules: [{name: a}]", "rules[0].expression"),
        ("rules: [{name: a, expression: b, typo: 1}]", "rules[0].typo"),
        ("rules: [{name: a, expression: b}, {name: a, expression: b}]", "rules[1].name"),
        ("rules: {", "file, line 1, column 9"),
        ("a: &x 1\nrules: *x", "file, line 2, column 8"),
        (f"rules: {'9' * 10_000}", "file"),
        ("rules: 2026-13-45", "file"),
    ):
        with pytest.raises(RuleError) as raised:
            read_rules(text)
        assert raised.value.problem.at == at


@pytest.mark.parametrize(
    ("rule", "at"),
    [
        (Rule("a b!", "psi_some_ratio > 5%"), "name"),
        (Rule("a", "psi_some_ratio > 5%", for_seconds=90), "for_seconds"),
        (Rule("a", "psi_some_ratio > 5%", n=4, m=3), "n_of_m"),
        (Rule("a", "psi_some_ratio > 5%", recovery_threshold="7%"), "recovery_threshold"),
        (Rule("a", "absent(psi_some_ratio)", recovery_threshold="7%"), "recovery_threshold"),
        (Rule("a", "psi_some_ratio > 5%", recovery_expression="zorks < 1"), "recovery_expression:1"),
        (Rule("a", "psi_some_ratio > 5%", summary="{{ x }}"), "summary:1"),
        (Rule("a", "psi_some_ratio > 5%", runbook_url="javascript:x"), "runbook_url"),
        (Rule("a", "psi_some_ratio > 5%", labels={"host": "x"}), "labels"),
        (Rule("a", "psi_some_ratio > 5%", scope=Scope(labels=(LabelMatcher("x", "=~", "(?=a)"),))), "scope"),
    ],
)
def test_rules_that_cannot_be_used_say_why(rule: Rule, at: str) -> None:
    checked, problems = check_rule(rule)
    assert checked is None
    assert [problem.at for problem in problems] == [at]


def test_metrics_of_the_catalogue_pick_their_lines() -> None:
    nodes = ["node:0|vmstat|nr_free_pages", "node:1|vmstat|nr_free_pages"]
    keys = ["host|vmstat|pgfault", *nodes, "service:a/b|memory.stat|pgfault"]
    top = frozenset({0})
    assert pick_keys("vmstat.pgfault", keys, None, top) == ["host|vmstat|pgfault"]
    assert pick_keys("vmstat.nr_free_pages", keys, None, top) == keys[1:3]
    assert pick_keys('vmstat.nr_free_pages{tier="slow"}', keys, None, top) == keys[2:3]
    assert pick_keys('vmstat.nr_free_pages{node="0"}', keys, None, top) == keys[1:2]
    assert pick_keys("memory.stat.pgfault", keys, "service:a/b", top) == keys[3:]


def test_the_prometheus_export_is_yaml_and_names_what_it_leaves_out() -> None:
    rules = [*shipped_rules(), Rule("often", "psi_some_ratio > 5%", n=2, m=3), Rule("lost", "absent(psi_some_ratio)")]
    text = export_rules(rules)
    document = yaml.safe_load(text)
    exported = {entry["alert"]: entry for group in document["groups"] for entry in group["rules"]}
    left_out = re.findall(r"^#   ([\w-]+): ", text, re.MULTILINE)
    assert len(exported) + len(left_out) == len(rules)
    assert {"often", "lost", "ping-pong-critical", "memory-exhausted-soon"} <= set(left_out)
    assert exported["OomKill"]["expr"] == "(increase(node_vmstat_oom_kill[5m]) > 0)"
    assert exported["PingPongRatioHigh"]["for"] == "2m"
    assert 'ALERTS{alertname="SwapHalfUsed",alertstate="firing"}' in exported["SwapHalfUsed"]["expr"]


def test_rule_tests_say_what_they_found() -> None:
    entry = {
        "name": "one",
        "series": {"h": {"promoted_pages": "0x2 600+60x2 _x1"}},
        "expect": [{"rule": "r", "at": "3m", "state": "firing"}, {"rule": "r", "at": "4m", "state": "ok"}],
    }
    (test,) = read_tests([entry])
    assert test.series["h"]["promoted_pages"][:4].tolist() == [0, 0, 600, 660]
    (failure,) = run_test(test, [Rule("r", "promoted_pages >= 10/s")])
    assert (failure.expected.minute, failure.found) == (4, "firing")
    for changed, message in (
        ({"series": {"h": {"tier_move_bytes": "1"}}}, "not a stored series"),
        ({"series": {"h": {"promoted_pages": 96}}}, "not a text"),
        ({"series": {"h": {"promoted_pages": "abc"}}}, "not a number"),
        ({"expect": [{"rule": "r", "at": "30s", "state": "ok"}]}, "whole minute"),
        ({"expect": [{"rule": "r", "at": "1m", "state": "hot"}]}, "no state"),
    ):
        with pytest.raises(RuleError) as raised:
            read_tests([entry | changed])
        assert message in raised.value.problem.message


def test_pairs_of_services_and_hosts_have_numbers_of_their_own_however_large_hosts_are() -> None:
    hosts = [0, 1, 7, (1 << 40) + 1, (1 << 40) + 7, (8191 << 40) + 1]
    pairs = PairIds(hosts)
    services = [1, 2, 256, 257, 300_000]
    numbers = [pairs.one(service, host) for service in services for host in hosts]
    assert len(set(numbers)) == len(numbers)
    assert min(numbers) >= 0
    columns = np.array([(service, host) for service in services for host in hosts], np.int64).T
    assert pairs.of(*columns).tolist() == numbers
    assert pairs.of(np.array([1]), np.array([2])).tolist() == [pairs.one(1, 2)] == [-1]
    assert PairIds([]).of(np.array([1]), np.array([2])).tolist() == [-1]
