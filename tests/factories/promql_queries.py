"""Queries of PromQL that are drawn from its grammar, with a liking for what makes much of little."""

from random import Random

_RANGES = ("5m", "1d", "10d", "115d", "300d")
_STEPS = ("1s", "1m", "1h", "")
_OVER_TIME = (
    "changes", "rate", "delta", "resets", "count_over_time", "max_over_time", "avg_over_time", "last_over_time",
    "stddev_over_time", "deriv", "present_over_time", "absent_over_time",
)  # fmt: skip
_EACH = ("abs", "ceil", "sort", "sort_desc", "timestamp", "round", "absent")
_FOLDS = ("sum", "max", "count", "stddev", "group")
_LABELS = ("a", "b", "le")


class Drawn:
    """Draws queries; `selectors` are what series there are asked by."""

    def __init__(self, seed: int, selectors: tuple[str, ...]) -> None:
        self._random = Random(seed)  # noqa: S311 - which queries are tried
        self._leaves: tuple[str, ...] = ("vector(1)", "vector(time())", *selectors)

    def query(self, depth: int = 6) -> str:
        """A vector, at most so deep."""
        draw = self._random
        if depth <= 0:
            return draw.choice(self._leaves)
        ways = (
            self._subquery, self._subquery, self._joined, self._joined, self._replaced, self._binary, self._fold,
            self._each, self._histogram, self._ranked,
        )  # fmt: skip
        return draw.choice(ways)(depth - 1)

    def around(self, query: str) -> str:
        """A vector that has another one within it, and makes more of it."""
        draw = self._random
        self._leaves, kept = (query,), self._leaves
        try:
            return draw.choice((self._subquery, self._replaced, self._binary, self._fold, self._histogram))(0)
        finally:
            self._leaves = kept

    def _subquery(self, depth: int) -> str:
        draw = self._random
        ranges = f"({self.query(depth)})[{draw.choice(_RANGES)}:{draw.choice(_STEPS)}]"
        if draw.random() < 0.2:
            return f"quantile_over_time(0.5, {ranges})"
        return f"{draw.choice(_OVER_TIME)}({ranges})"

    def _joined(self, depth: int) -> str:
        draw = self._random
        sources = ", ".join(f'"{draw.choice(_LABELS)}"' for _ in range(draw.choice((2, 2, 8, 60))))
        inner = self.query(min(depth, 1))
        for _ in range(draw.choice((1, 4, 25))):
            inner = f'label_join({inner}, "{draw.choice(_LABELS)}", "x", {sources})'
            if len(inner) > 8000:
                break
        return inner

    def _replaced(self, depth: int) -> str:
        draw = self._random
        template = "$1" * draw.choice((1, 3, 500))
        target, source = draw.choice(_LABELS), draw.choice(_LABELS)
        return f'label_replace({self.query(depth)}, "{target}", "{template}y", "{source}", "(.*)")'

    def _binary(self, depth: int) -> str:
        draw = self._random
        operator = draw.choice(("+", "or", "and", "unless", "> bool", "* on () group_left ()", "+ ignoring (a, b)"))
        return f"({self.query(depth)}) {operator} ({self.query(depth - 1)})"

    def _fold(self, depth: int) -> str:
        draw = self._random
        return f"{draw.choice(_FOLDS)} {draw.choice(('by (a)', 'without (le)', ''))} ({self.query(depth)})"

    def _each(self, depth: int) -> str:
        return f"{self._random.choice(_EACH)}({self.query(depth)})"

    def _histogram(self, depth: int) -> str:
        return f'histogram_quantile(0.9, label_replace({self.query(depth)}, "le", "+Inf", "", ""))'

    def _ranked(self, depth: int) -> str:
        return f"{self._random.choice(('topk', 'bottomk', 'quantile'))}(0.5, {self.query(depth)})"
