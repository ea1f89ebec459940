"""The definitions of a fair share, by name."""

from collections.abc import Mapping
from typing import Literal, get_args

Basis = Literal["hot", "resident", "protection", "limit"]
BASES: tuple[Basis, ...] = get_args(Basis)
MEANINGS: Mapping[Basis, str] = {
    "hot": "hot memory first, the rest of the top tier by the rest of resident memory",
    "resident": "by resident memory",
    "protection": "memory.low or memory.min, scaled to the top tier, first; the rest by the rest of resident memory",
    "limit": "memory.high or memory.max, scaled to the top tier: a ceiling, whatever others hold",
}
