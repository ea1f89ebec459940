"""The value by which Prometheus says that a series ended: a NaN of its own, told from others by its bits."""

import numpy as np

STALE_BITS = np.uint64(0x7FF0000000000002)
STALE = float(np.array([STALE_BITS]).view(np.float64)[0])
