"""Share of accesses on slow memory under best static placement, from sampled pages of hosts, with its interval.

The served-accesses curve ranked and scored on the same samples finds too much by about d, the cross-fitted one, ranked
on half of them, too little by about 2 d: the estimate is the mean that cancels both. The interval holds the error of
pages within hosts (they are independent draws) and of hosts within the service.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tierscope.domain.curve.bands import HostPages
from tierscope.domain.curve.hit_ratio import Pages, cross_fitted_curve, density_curve
from tierscope.domain.slowdown import ShareOnSlow, pool_shares

Floats = npt.NDArray[np.float64]


def share_on_slow(hosts: Sequence[HostPages], dram_shares: Floats) -> tuple[ShareOnSlow, ...] | None:
    """At each DRAM share, over hosts by their traffic; None where no host has accesses in both halves of its time."""
    hosts = [host for host in hosts if host.halves.sum(axis=0).all()]
    if not hosts:
        return None
    traffic = np.array([host.weight for host in hosts])
    values = np.stack([1.0 - _served(host, dram_shares) for host in hosts])
    of_pages = np.stack([_page_variance(host, dram_shares) for host in hosts])
    unseen = np.array([host.unseen_ratio for host in hosts])
    n_pages = sum(len(host.sizes_bytes) for host in hosts)
    return tuple(
        pool_shares(
            values[:, place],
            of_pages[:, place],
            traffic,
            page_freedom=math.inf,
            unseen_ratios=unseen,
            n_pages=n_pages,
        )
        for place in range(len(dram_shares))
    )


def _served(host: HostPages, shares: Floats) -> Floats:
    """Served share with the errors of ranking by samples taken out; neither less than none nor more than all."""
    pages = Pages(host.halves, host.sizes_bytes)
    above = density_curve(pages, shares, resident_bytes=host.resident_bytes)
    below = cross_fitted_curve(pages, shares, resident_bytes=host.resident_bytes)
    return np.clip((2.0 * above + below) / 3.0, 0.0, 1.0)


def _page_variance(host: HostPages, shares: Floats) -> Floats:
    """Variance of a host's share by the draw of its pages: the sum of squared influences of single pages."""
    scores, sizes = host.halves.sum(axis=1), host.sizes_bytes
    order = np.argsort(-(scores / sizes), kind="stable")
    s, b = scores[order], sizes[order]
    filled, total = np.cumsum(b), float(s.sum())
    room = shares * max(host.resident_bytes or 0.0, float(filled[-1]))
    last = np.minimum(np.searchsorted(filled, room), len(s) - 1)
    density = s[last] / b[last]
    held = np.minimum(room / filled[-1], 1.0)
    served = np.interp(room, np.concatenate([[0.0], filled]), np.concatenate([[0.0], np.cumsum(s)])) / total

    def squares(of_scores: Floats, of_sizes: Floats, top: bool) -> Floats:  # noqa: FBT001 - one of two sides
        sums = []
        for product in (s * s, s * b, b * b):
            upto = np.concatenate([[0.0], np.cumsum(product)])
            sums.append(upto[last] if top else upto[-1] - upto[last])
        return np.asarray(
            of_scores**2 * sums[0] - 2.0 * of_scores * of_sizes * sums[1] + of_sizes**2 * sums[2], np.float64
        )

    inside = squares(1.0 - served, density * (1.0 - held), top=True)
    outside = squares(served, density * held, top=False)
    return np.maximum(inside + outside, 0.0) / total**2
