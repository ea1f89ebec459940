"""Expressions that people write: they end on any text, mean what Python's mean, and say what they may not hold."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.alerts.rules import LabelMatcher, Rule, Scope, check_rule
from tierscope.domain.base.patterns import MAX_PATTERN_BYTES, MAX_PATTERN_LENGTH, BadPattern, read_pattern
from tierscope.domain.notifications.matchers import Matcher
from tierscope.domain.notifications.routing import read_routing
from tierscope.domain.notifications.stored_routing import read_stored

# An engine that tries one way after the other needs longer than the universe is old for each of these.
EXPLODING = {
    "alternatives": ("(x|x)*b", "x" * 28),
    "long": ("(x|x)*b", "x" * 5000),
    "nested": ("((((x+)+)+)+)+b", "x" * 1000),
    "optional": ("(x?){400}x{400}b", "x" * 400),
    "overlapping": ("(x|xx|xxx|x?)*(x*x*)*b", "x" * 5000),
    "stars": (".*.*.*.*.*.*.*.*.*.*=b", "x" * 5000),
    "lazy": ("(.*?,){20}P", "1," * 2500),
}
everywhere = pytest.mark.parametrize(("expression", "value"), EXPLODING.values(), ids=EXPLODING.keys())
REFUSED = [
    r"(?=x)x",
    r"(?!x)y",
    r"(?<=x)y",
    r"(?<!x)y",
    r"(x)\1",
    r"(?P<a>x)(?P=a)",
    r"x\Z",
    "(?>x)",
    "x++",
    "x{1001}",
    "(",
]


@pytest.mark.timeout(120)
@everywhere
def test_scopes_of_rules_end_on_any_name(expression: str, value: str) -> None:
    assert check_rule(Rule("a", "psi_some_ratio > 5%", scope=Scope(labels=(LabelMatcher("x", "=~", expression),))))[0]
    assert not LabelMatcher("host", "=~", expression).matches({"host": value})
    assert LabelMatcher("host", "!~", expression).matches({"host": value})
    assert LabelMatcher("host", "=~", f"(?:{expression})|x*|[1,]*").matches({"host": value})


@pytest.mark.timeout(120)
@everywhere
def test_matchers_of_silences_and_routes_end_on_any_value(expression: str, value: str) -> None:
    assert not Matcher("host", "=~", expression).matches({"host": value})
    assert Matcher("host", "!~", expression).matches({"host": value})


@pytest.mark.parametrize("expression", REFUSED)
def test_what_the_syntax_lacks_is_refused_with_what_to_write(expression: str) -> None:
    with pytest.raises(BadPattern, match="RE2 says") as raised:
        read_pattern(expression)
    assert "RE2" in raised.value.next_step
    with pytest.raises(BadPattern, match="'host' cannot be read: RE2 says") as raised:
        Matcher("host", "=~", expression)
    assert "look-around" in raised.value.next_step
    checked, (problem,) = check_rule(
        Rule("a", "psi_some_ratio > 5%", scope=Scope(labels=(LabelMatcher("x", "!~", expression),)))
    )
    assert checked is None
    assert (problem.at, "look-around" in problem.next_step) == ("scope", True)


def test_expressions_are_bounded() -> None:
    assert read_pattern("x" * MAX_PATTERN_LENGTH).fits("x" * MAX_PATTERN_LENGTH)
    with pytest.raises(BadPattern, match="2001 characters"):
        read_pattern("x" * (MAX_PATTERN_LENGTH + 1))
    with pytest.raises(BadPattern, match=f"more than {MAX_PATTERN_BYTES} bytes") as raised:
        read_pattern(r"\pL{1,500}")
    assert "Repeat less" in raised.value.next_step
    with pytest.raises(BadPattern, match="none of Unicode"):
        read_pattern("\ud800")
    long = Rule("a", "psi_some_ratio > 5%", scope=Scope(labels=(LabelMatcher("x", "=~", "x" * 501),)))
    assert "500 characters" in check_rule(long)[1][0].message
    with pytest.raises(ValueError, match="500 characters"):
        Matcher("x", "=~", "x" * 501)


@pytest.mark.parametrize(
    ("expression", "value", "fits"),
    [
        ("db", "db1", False),
        ("db", "adb", False),
        ("db|web", "web", True),
        ("db|web", "db1", False),
        ("Db", "db", False),
        ("(?i)Db", "dB", True),
        ("x$", "x\n", False),
        (".", "\n", False),
        ("(?s).", "\n", True),
        ("größe", "größe", True),
        (".", "ö", True),
        (r"\w", "ö", False),
        (r"\pL", "ö", True),
        ("", "", True),
        (".", "\ud800", True),
        ("a\0b", "a\0b", True),
    ],
)
def test_expressions_hold_for_the_whole_value(expression: str, value: str, *, fits: bool) -> None:
    assert read_pattern(expression).fits(value) is fits


def test_a_dot_stands_for_a_line_break_where_it_is_asked_to() -> None:
    assert read_pattern("a.b", dot_fits_newline=True).fits("a\nb")
    assert not read_pattern("a.b").fits("a\nb")


def test_an_expression_is_compiled_once() -> None:
    assert read_pattern("once.*") is read_pattern("once.*")


def test_stored_matchers_that_cannot_be_read_match_nothing_and_the_others_stand() -> None:
    route = {"receiver": "hook", "matchers": [{"name": "a", "op": "!~", "value": "(?=x)"}], "routes": []}
    other = {"receiver": "hook", "matchers": [{"name": "a", "op": "=~", "value": "x.*"}], "routes": []}
    hook = {"name": "hook", "kind": "webhook", "settings": {"url": "https://hook.example"}}
    document = {"receivers": [hook], "routes": [route, other], "inhibitions": []}
    with pytest.raises(BadPattern):
        read_routing(document)
    routing, problems = read_stored(document)
    assert any("can match nothing" in problem for problem in problems)
    assert len(routing.destinations({"a": "xy"})) == 1
    assert routing.destinations({"a": "z"}) == []
    assert not Matcher("a", "=~", "(?=x)", stored=True).matches({})
    with pytest.raises(ValueError, match="label name"):
        Matcher("a b", "=", "x", stored=True)


def repeated(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """An expression, some times."""
    return st.builds("(?:{}){}".format, atoms, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}"]))


atoms = st.sampled_from(["a", "b", "c", r"\.", ".", "[ab]", "[^a]", "[a-c-]", r"\d", r"\s", "^", "$", ""])
expressions = st.recursive(
    atoms,
    lambda inner: (
        repeated(inner)
        | st.lists(inner, min_size=2, max_size=3).map("".join)
        | st.lists(inner, min_size=2, max_size=3).map("|".join).map("({})".format)
    ),
    max_leaves=6,
)


@given(expressions, st.lists(st.text("abc.-1 ", max_size=6), min_size=1, max_size=5))
def test_plain_expressions_mean_what_they_mean_in_python(expression: str, values: list[str]) -> None:
    for value in values:
        assert read_pattern(expression).fits(value) is (re.fullmatch(expression, value) is not None)
