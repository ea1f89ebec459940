"""Which quantity a figure's definition names: the register of contract/quantities.toml."""

import re
from functools import cache

from tierscope.domain._generated.quantities import QUANTITIES, Quantity

_NAME = re.compile(r"\\\{[a-z]+\\\}")


@cache
def _families() -> tuple[tuple[re.Pattern[str], Quantity], ...]:
    """Entries whose ids have a name that is one of many, such as a column of the ledger; the narrowest first."""
    entries = [one for one in QUANTITIES.values() if "{" in one.definition]
    entries.sort(key=lambda one: len(one.definition), reverse=True)
    return tuple((re.compile(_NAME.sub("[A-Za-z0-9_]+", re.escape(one.definition))), one) for one in entries)


def find_quantity(definition: str) -> Quantity | None:
    """The quantity of a definition such as `heat.hot_ratio/1`; None where no figure has it."""
    known = QUANTITIES.get(definition)
    if known is not None:
        return known
    return next((one for pattern, one in _families() if pattern.fullmatch(definition)), None)
