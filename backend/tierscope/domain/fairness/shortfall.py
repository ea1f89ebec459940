"""What rules judge of fairness: how far services of a host are below their fair share, and what others gained.

Fair is by resident memory, which is known in every interval; heat comes late, and settings say what was wanted. A
service that is cold holds less than this share and rightly so: rules ask besides whether it wants its pages back.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tierscope.domain.fairness.shares import fair_of_seen
from tierscope.domain.ledger import Ledger

Floats = npt.NDArray[np.float64]


def shortfall_columns(services: Sequence[Ledger]) -> list[dict[str, Floats]]:
    """By service of one host, over its own intervals: what it should hold, what it lacks, and what it lost to others.

    Bytes of the fair share; bytes lacking to it; pages that were demoted while as many of others were promoted: at most
    so many can have made room for them. NaN where not known.
    """
    times_s = np.unique(np.concatenate([ledger.times_s for ledger in services]))
    places = [np.searchsorted(times_s, ledger.times_s) for ledger in services]

    def lines(column: str) -> Floats:
        out = np.full((len(times_s), len(services)), np.nan)
        for at, (ledger, place) in enumerate(zip(services, places, strict=True)):
            out[place, at] = ledger.column(column)
        return out

    top = lines("top_resident_bytes")
    resident = top + lines("slow_resident_bytes")
    fair = fair_of_seen(np.zeros(resident.shape), top, resident)
    promoted = lines("promoted_pages")
    others = np.nansum(promoted, axis=1, keepdims=True) - np.nan_to_num(promoted)
    found = {
        "fair_top_bytes": fair,
        "below_fair_bytes": np.maximum(fair - top, 0.0),
        "demoted_for_others_pages": np.minimum(lines("demoted_pages"), others),
    }
    return [{name: values[place, at] for name, values in found.items()} for at, place in enumerate(places)]
