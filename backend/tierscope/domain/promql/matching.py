"""Which series the matchers of a selector mean."""

from collections.abc import Sequence

from tierscope.domain.base.patterns import read_pattern
from tierscope.domain.promql.nodes import Matcher
from tierscope.domain.promql.series import NAME, Labels


def fits(value: str, matcher: Matcher) -> bool:
    """Whether a label's value, empty where there is none, meets a condition."""
    if matcher.operator in ("=", "!="):
        return (value == matcher.value) == (matcher.operator == "=")
    return read_pattern(matcher.value, dot_fits_newline=True).fits(value) == (matcher.operator == "=~")


def meets(labels: Labels, matchers: Sequence[Matcher]) -> bool:
    """Whether a series meets all conditions."""
    known = dict(labels)
    return all(fits(known.get(one.label, ""), one) for one in matchers)


def name_fits(name: str, matchers: Sequence[Matcher]) -> bool:
    """Whether a metric's name meets those conditions that are about it."""
    return all(fits(name, one) for one in matchers if one.label == NAME)
