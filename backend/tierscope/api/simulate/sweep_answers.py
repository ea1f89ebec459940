"""The shapes of answers about sweeps."""

from typing import Literal

Status = Literal["queued", "running", "done", "failed", "cancelled"]
Simulated = Literal["simulated"]
