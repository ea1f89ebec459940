"""Fair shares of a host's top tier: what each of its tenants would hold, by four definitions of fair.

A tenant is a service or a control group of the host. The first three definitions divide what the tenants hold of the
top tier together (the pot): each gets its claim first, and what is left goes to the rest of their resident memory, in
proportion. Claims that exceed the pot together are cut in proportion. The fourth is a ceiling of each tenant alone.

protection, limit: `memory.low` and `memory.max` know no tiers (kernel, Documentation/admin-guide/cgroup-v2.rst); scaled
by the top tier's share of the host's memory they say how much of the top tier they stand for.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bounded:
    """Values with hard bounds; arrays of one shape."""

    value: Floats
    lo: Floats
    hi: Floats


def fair_bytes(claims: Floats, resident: Floats, pot: Floats) -> Floats:
    """What each of n tenants would hold [..., n] of `pot` bytes [...] by their claims.

    A claim counts up to the tenant's resident memory. NaN where anything of any tenant is not known: a share among
    some of them would be another one.
    """
    claimed = np.clip(claims, 0.0, resident)
    rest = resident - claimed
    with np.errstate(invalid="ignore", divide="ignore"):
        cut = np.minimum(pot / claimed.sum(axis=-1), 1.0)
        filled = np.clip((pot - claimed.sum(axis=-1)) / rest.sum(axis=-1), 0.0, 1.0)
    cut = np.where(claimed.sum(axis=-1) == 0.0, 1.0, cut)
    filled = np.where(rest.sum(axis=-1) == 0.0, 0.0, filled)
    found: Floats = claimed * cut[..., None] + rest * filled[..., None]
    return found


def fair_of_seen(claims: Floats, top: Floats, resident: Floats) -> Floats:
    """Fair shares [..., n] of what n tenants hold of the top tier together; one that is not seen holds nothing then.

    NaN for what is not seen, whose resident memory is NaN.
    """
    seen = np.isfinite(resident)
    pot = np.where(seen, top, 0.0).sum(axis=-1)
    fair = fair_bytes(np.where(seen, claims, 0.0), np.where(seen, resident, 0.0), pot)
    return np.where(seen, fair, np.nan)


def fair_bounds(claims: Bounded, resident: Floats, pot: float) -> Bounded:
    """Fair shares [n] with the bounds that those of the claims [n] leave.

    A share grows with the own claim and falls with those of others, so its bounds lie at the ends of the claims.
    """
    whole = np.asarray(pot)
    lo, hi = np.empty(len(resident)), np.empty(len(resident))
    for place in range(len(resident)):
        own = np.arange(len(resident)) == place
        lo[place] = fair_bytes(np.where(own, claims.lo, claims.hi), resident, whole)[place]
        hi[place] = fair_bytes(np.where(own, claims.hi, claims.lo), resident, whole)[place]
    return Bounded(fair_bytes(claims.value, resident, whole), lo, hi)


def scaled(amount_bytes: float, top_bytes: float, slow_bytes: float | None) -> float:
    """How much of the top tier a protection or limit of a whole cgroup stands for."""
    return amount_bytes * top_bytes / (top_bytes + (slow_bytes or 0.0))
