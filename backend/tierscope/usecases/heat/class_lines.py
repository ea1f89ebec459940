"""Classes of services over time, from what the workers keep of whole hours."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.heat.rows import Method
from tierscope.storage.heat.services import ClassHour
from tierscope.usecases.heat.reads import choose_weighed

Floats = npt.NDArray[np.float64]


def class_lines(hours: Sequence[ClassHour], grid: Grid) -> dict[int, Floats]:
    """Mean bytes of the classes by service and bucket [b, 4], NaN where nothing was measured; one method of each."""
    by_service: dict[int, dict[Method, list[ClassHour]]] = {}
    for hour in hours:
        by_service.setdefault(hour.service_id, {}).setdefault(hour.method, []).append(hour)
    found = {}
    for service_id, methods in by_service.items():
        method = choose_weighed({key: sum(hour.n_hosts for hour in some) for key, some in methods.items()})
        if method is not None:
            found[service_id] = _means(methods[method], grid)
    return found


def _means(hours: Sequence[ClassHour], grid: Grid) -> Floats:
    place = grid.place(np.array([hour.end_s for hour in hours]))
    values = np.stack([hour.class_bytes for hour in hours])
    n = np.bincount(place, minlength=len(grid))
    sums = np.zeros((len(grid), values.shape[1]))
    np.add.at(sums, place, values)
    return np.divide(sums, n[:, None], out=np.full_like(sums, np.nan), where=n[:, None] > 0)
