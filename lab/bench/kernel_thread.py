"""CPU time of kdamond, which works in the kernel for whoever started it."""

import threading
import time
from pathlib import Path
from typing import Self

from bench.processes import cpu_seconds


class Watch:
    """Adds up the CPU time of kernel threads of a name that run during the block, to a tenth of a second."""

    def __init__(self, name: str = "kdamond") -> None:
        self._name = name
        self._used: dict[int, tuple[float, float]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_again_and_again)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._look()
        self._ended.set()
        self._thread.join()

    @property
    def cpu_seconds(self) -> float:
        """Their CPU time during the block."""
        return sum(last - first for first, last in self._used.values())

    def _look_again_and_again(self) -> None:
        while not self._ended.is_set():
            self._look()
            time.sleep(0.1)

    def _look(self) -> None:
        for comm in Path("/proc").glob("[0-9]*/comm"):
            try:
                if not comm.read_text().startswith(self._name):
                    continue
                pid = int(comm.parent.name)
                now = cpu_seconds(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            first, _ = self._used.get(pid, (now, now))
            self._used[pid] = (first, now)
