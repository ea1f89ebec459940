"""Measures an uploaded trace in a process of its own, whose memory and time are bounded by the kernel.

A Parquet file of a few bytes can say of itself that it holds anything, and what is packed in it can be much larger than
the file. What takes more than the process may have ends the process, and the service has lost nothing.

    python -m tierscope.usecases.simulate.measuring FILE MAX_ROWS
"""

import json
import os
import re
import resource
import subprocess
import sys
import threading
from pathlib import Path

from tierscope.core.errors import ConfigurationError, Unprocessable
from tierscope.domain.simulate import of_recording
from tierscope.storage.curve.page_traces import read_page_trace
from tierscope.storage.simulate.trace_uploads import TraceSize

MEMORY_BYTES = 2 << 30
"""Address space of the process, its program included."""
CPU_SECONDS = 120
WAIT_SECONDS = 600.0
"""For the answer, on a busy machine."""
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH", "OPENBLAS_NUM_THREADS")
_NEXT = "Give a page trace in Parquet, as docs/simulate-json.md describes it."
_one_at_a_time = threading.Lock()


def measure_trace(path: Path, *, max_rows: int) -> TraceSize:
    """Reads a trace.

    Raises:
        Unprocessable: it is no page trace, has too many rows, or takes more memory or time than one may.
        ConfigurationError: the compiled core is not built.
    """
    command = [sys.executable, "-m", __spec__.name, str(path), str(max_rows)]
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment |= {"OPENBLAS_NUM_THREADS": "1"}  # each thread of it takes address space
    with _one_at_a_time:
        try:
            done = subprocess.run(  # noqa: S603 - our own module, and a file that we have written
                command, capture_output=True, check=False, timeout=WAIT_SECONDS, env=environment
            )
        except subprocess.TimeoutExpired as error:
            raise Unprocessable("reading the trace takes too long", next_step=_NEXT) from error
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        cause = f"reading the trace takes more than {MEMORY_BYTES >> 30} GiB or {CPU_SECONDS} s of CPU time"
        raise Unprocessable(cause, next_step="Cut it to fewer intervals or pages.") from None
    if "unbuilt" in answer:
        raise ConfigurationError(answer["unbuilt"], next_step="Run `make simcore`.")
    if "wrong" in answer:
        cause = re.sub(re.escape(str(path)) + r":?\s*", "", answer["wrong"]) or "the file cannot be read"
        raise Unprocessable(cause, next_step=_NEXT)
    return TraceSize(**answer)


def _answer(path: Path, max_rows: int) -> dict[str, object]:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        trace = of_recording(read_page_trace(path, max_rows=max_rows))
    except ValueError as error:
        return {"wrong": str(error)}
    except RuntimeError as error:
        return {"unbuilt": str(error)}
    return {
        "pages": trace.pages,
        "intervals": trace.intervals,
        "touched_pages": trace.touched,
        "accesses": trace.accesses,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer(Path(sys.argv[1]), int(sys.argv[2]))))
