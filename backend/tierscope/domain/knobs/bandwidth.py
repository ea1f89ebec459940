"""What limits a host's memory, by its counters as they were sent."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tierscope.domain.counters.monotonic import Floats, differences, nominal_step
from tierscope.domain.knobs.levels import Samples
from tierscope.domain.ratio.memory_bound import MemoryBound, bind_memory, read_nodes, read_traffic


def classify_host(inventory: Mapping[str, Any] | None, samples: Samples) -> MemoryBound:
    """What limits the host's memory over the intervals of its samples."""
    place = {key: i for i, key in enumerate(samples.keys)}

    def rates_of(keys: Sequence[str]) -> Floats:
        columns = [place[key] for key in keys]
        found = differences(
            samples.times_s,
            samples.boots,
            samples.values[:, columns],
            samples.present[:, columns],
            nominal_s=nominal_step(samples.times_s),
        )
        ok = found.ok.all(axis=1) & (found.dt_seconds > 0)
        rates: Floats = np.asarray(found.delta[ok], np.float64) / found.dt_seconds[ok][:, None]
        return rates

    nodes = read_nodes(inventory)
    return bind_memory(nodes, read_traffic(samples.keys, rates_of, nodes.top_nodes))
