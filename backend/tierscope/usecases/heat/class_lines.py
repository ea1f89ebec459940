"""Classes of services over time, from what the workers keep of whole hours."""

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.heat.rows import Method
from tierscope.storage.heat.services import ClassHours
from tierscope.usecases.heat.reads import choose_weighed

Floats = npt.NDArray[np.float64]


def class_lines(hours: ClassHours, grid: Grid) -> dict[int, Floats]:
    """Mean bytes of the classes by service and bucket [b, 4], NaN where nothing was measured; one method of each."""
    kinds, kind_of = np.unique(hours.methods, axis=0, return_inverse=True)
    methods = [Method(*kind) for kind in kinds.tolist()]
    found = {}
    for service_id in np.unique(hours.service_ids).tolist():
        own = hours.service_ids == service_id
        weights = np.bincount(kind_of[own], hours.n_hosts[own], len(methods))
        some = np.unique(kind_of[own]).tolist()
        method = choose_weighed({methods[kind]: int(weights[kind]) for kind in some})
        if method is not None:
            chosen = own & (kind_of == methods.index(method))
            found[service_id] = _means(hours.ends_s[chosen], hours.class_bytes[chosen], grid)
    return found


def _means(ends_s: Floats, class_bytes: Floats, grid: Grid) -> Floats:
    place = grid.place(ends_s)
    n = np.bincount(place, minlength=len(grid))
    sums = np.zeros((len(grid), class_bytes.shape[1]))
    np.add.at(sums, place, class_bytes)
    return np.divide(sums, n[:, None], out=np.full_like(sums, np.nan), where=n[:, None] > 0)
