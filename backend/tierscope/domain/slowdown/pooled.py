"""One share on slow memory from those of several hosts, with its interval.

The interval holds the larger of two errors: of a host's share by the draw of its pages, and of hosts within the
service. It is multiplicative while the error is small; beyond a relative error of 1 its upper end grows with the error
itself, because the exponential of a poorly known error would say "anything".
"""

import math

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.slowdown.posterior import ShareOnSlow

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
SPREAD_HOSTS = 3
"""Hosts from which on Student's t over hosts is taken: with two it says nothing."""
_UNSEEN = 3.0
"""What none of n pages shows can still be 3 in n: shares below that are not told from none."""


def pool_shares(
    values: Floats,
    page_variances: Floats,
    traffic: Floats,
    *,
    page_freedom: float,
    unseen_ratios: Floats,
    n_pages: int,
) -> ShareOnSlow:
    """The share over hosts by their traffic, all arrays [hosts]. `page_freedom`: degrees of freedom of the variances.

    `unseen_ratios`: share of the traffic on pages without a sample, which may all be on slow memory. `n_pages`: pages
    that were drawn; 0 where every page is known.
    """
    n, weights = len(values), traffic / traffic.sum()
    middle = float(weights @ values)
    within = float(weights**2 @ page_variances)
    between = float(weights**2 @ (values - middle) ** 2) * n / (n - 1) if n > 1 else 0.0
    freedom = page_freedom
    if between > within:
        freedom = n - 1 if n >= SPREAD_HOSTS else math.inf
    error = float(scipy.special.stdtrit(freedom, (1.0 + LEVEL) / 2.0)) * math.sqrt(max(between, within))
    factor = _factor(error / middle) if middle > 0.0 else 1.0
    least = _UNSEEN / max(n_pages, _UNSEEN) if n_pages else 0.0
    unseen = float(weights @ unseen_ratios)
    hi = max(middle * factor, least) + unseen * (1.0 - middle)
    return ShareOnSlow(middle, middle / factor if middle > least else 0.0, min(hi, 1.0), LEVEL)


def _factor(relative_error: float) -> float:
    """What a share is multiplied and divided by: exp of a relative error up to 1, its tangent beyond."""
    return math.exp(relative_error) if relative_error <= 1.0 else math.e * relative_error
