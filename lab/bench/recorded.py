"""Real counter values for the benchmarks: a kernel recording, read by the agent's own `once`."""

import json
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

RECORDING = Path(__file__).parents[2] / "tests" / "data" / "kernel-lab" / "04-pingpong.tar.zst"
_SCOPES = {"nodes": "node:", "zones": "zone:", "cgroups": "cgroup:", "services": "service:"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Samples of one layout: sorted keys and an array [sample, key], with what is present."""

    keys: list[str]
    values: NDArray[np.int64]
    present: NDArray[np.bool_]


def unpack(directory: Path) -> Path:
    """Unpack the recording under `directory` and return its root."""
    with (
        RECORDING.open("rb") as source,
        zstandard.ZstdDecompressor().stream_reader(source) as plain,
        tarfile.open(fileobj=plain, mode="r|") as archive,
    ):
        archive.extractall(directory, filter="data")
    return directory / "04-pingpong"


def read(agent: Path, directory: Path) -> Recorded:
    """Read all snapshots of the recording with `agent once`."""
    out = subprocess.run(
        [agent, "once", "--root", unpack(directory), "--json"], check=True, capture_output=True, text=True
    )
    samples = [_flatten(json.loads(line)) for line in out.stdout.splitlines() if line.strip()]
    keys = sorted(set().union(*samples))
    values = np.zeros((len(samples), len(keys)), dtype=np.int64)
    present = np.zeros((len(samples), len(keys)), dtype=np.bool_)
    for row, sample in enumerate(samples):
        for column, key in enumerate(keys):
            value = sample.get(key)
            if value is not None:
                values[row, column] = value
                present[row, column] = True
    return Recorded(keys=keys, values=values, present=present)


def _flatten(document: dict[str, Any]) -> dict[str, int | None]:
    flat: dict[str, int | None] = {}
    for source, counters in document["host"].items():
        flat |= {f"host|{source}|{name}": value for name, value in counters.items()}
    for part, prefix in _SCOPES.items():
        for scope, sources in document.get(part, {}).items():
            # Beside its sources a service states how many processes it has, which is no counter.
            for source, counters in ((name, part) for name, part in sources.items() if isinstance(part, dict)):
                flat |= {f"{prefix}{scope}|{source}|{name}": value for name, value in counters.items()}
    return flat
