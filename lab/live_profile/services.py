"""Programs that run here, measured as a user would: `python -m live_profile.services --agent BINARY --size small`.

Starts redis-server, PostgreSQL under pgbench and a JVM, then `tierscope up --heat` for all three, and notes what was
promised, what measures, when heat and a ratio are there, and what that costs. Needs root, redis-server, PostgreSQL's
programs and a JDK; everything ends with it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.commands import Tierscope, fresh_tierscope
from factories.waiting import until
from live_profile.report import answer_of, cost_of, resident_bytes

LOSS_TARGET = "0.02"
LOOK_EVERY_SECONDS = 5.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Size:
    """How large each program is made. What is reserved is address space, of which little is touched."""

    redis_keys: int
    shared_buffers: str
    pgbench_scale: int
    java_heap: str
    java_mib: int


SIZES = {
    "small": Size(600_000, "256MB", 15, "1g", 400),
    "large": Size(5_000_000, "17GB", 60, "18g", 1500),
}


@dataclass(slots=True)
class Program:
    """A program under load, by the name that `--heat` takes, and what was seen of it."""

    name: str
    pids: Callable[[], list[int]]
    heat_after_s: float | None = None
    answer_after_s: float | None = None


def main() -> int:
    """Measure all programs at one size, and print what was found as JSON."""
    parser = argparse.ArgumentParser(prog="python -m live_profile.services", description=__doc__)
    parser.add_argument("--agent", type=Path, required=True, help="the agent's release binary")
    parser.add_argument("--size", choices=sorted(SIZES), required=True)
    parser.add_argument("--minutes", type=int, default=16, help="to wait for a ratio of each at most")
    arguments = parser.parse_args()
    os.environ["TIERSCOPE_AGENT_BINARY"] = str(arguments.agent)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tsc-live-")))
        scratch.chmod(0o755)
        tierscope = stack.enter_context(fresh_tierscope())
        size = SIZES[arguments.size]
        programs = [stack.enter_context(start(size, scratch)) for start in (_redis, _postgres, _java)]
        found = _measure(tierscope, programs, arguments.minutes * 60)
    print(json.dumps({"size": arguments.size, **found}, indent=2))
    return 0


def _measure(tierscope: Tierscope, programs: Sequence[Program], seconds: float) -> dict[str, Any]:
    heat = [word for program in programs for word in ("--heat", program.name)]
    started = time.monotonic()
    promised = tierscope.run("up", "--detach", "--port", "0", *heat)
    status = tierscope.status()
    agent = status["components"]["agent"]["pid"]
    before = cost_of(agent)
    ended = started + seconds
    answers: dict[str, Any] = {}
    while time.monotonic() < ended and any(program.answer_after_s is None for program in programs):
        after = time.monotonic() - started
        listed = {item["name"]: item for item in answer_of(f"{status['url']}/v1/services?limit=1000")["items"]}
        for program in programs:
            item = next((listed[name] for name in listed if name.endswith(program.name)), None)
            if item is None:
                continue
            if program.heat_after_s is None and _has_heat(status["url"], item["id"]):
                program.heat_after_s = after
            if program.heat_after_s is not None and program.answer_after_s is None:
                answer = _ratio(tierscope, item["id"])
                if answer is not None:
                    program.answer_after_s, answers[program.name] = after, answer
        time.sleep(LOOK_EVERY_SECONDS)
    took = time.monotonic() - started
    seen = {
        program.name: {
            "pids": len(program.pids()),
            "resident_bytes": sum(_pss(pid) for pid in program.pids()),
            "mapped_bytes": max(map(_mapped_bytes, program.pids()), default=0),
            "heat_after_s": program.heat_after_s,
            "answer_after_s": program.answer_after_s,
            "advised": answers.get(program.name),
        }
        for program in programs
    }
    said = [line for line in tierscope.run("status", expect=None).splitlines() if "heat" in line or "warning" in line]
    cost = cost_of(agent)
    tierscope.run("down")
    return {
        "promised": [line for line in promised.splitlines() if "heat" in line or "samples" in line],
        "status": said,
        "load_average": os.getloadavg()[1],
        "agent_cpu_ratio": (cost["cpu_seconds"] - before["cpu_seconds"]) / took,
        "agent_peak_bytes": cost["peak_rss_bytes"],
        "programs": seen,
    }


def _has_heat(url: str, service: str) -> bool:
    classes = answer_of(f"{url}/v1/services/{service}/heat")["classes"]
    return any(heat["bytes"]["value"] is not None for heat in classes)


def _ratio(tierscope: Tierscope, service: str) -> dict[str, Any] | None:
    """What is advised; None where it is refused."""
    words = ("--service", service, "--replay", "--loss-target", LOSS_TARGET, "--json")
    written = tierscope.run("recommend", *words, expect=None)
    answer = json.loads(written) if written.startswith("{") else {"answer": "refused"}
    return None if answer["answer"] == "refused" else {name: answer[name] for name in ("answer", "sentence", "range")}


def _pss(pid: int) -> int:
    """Resident memory of a process, with its part of what it shares with others."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _mapped_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * PAGE_BYTES
    except OSError:
        return 0


@contextmanager
def _running(*words: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:  # noqa: ANN401 - of Popen
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextmanager
def _redis(size: Size, scratch: Path) -> Iterator[Program]:
    port = "7391"
    load = [sys.executable, "-m", "live_profile.zipf_load", "--port", port, "--seconds", "7200"]
    with (
        _running("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(scratch)) as server,
        _running(*load, "--keys", str(size.redis_keys), "--operations", "1500"),
    ):
        until(lambda: resident_bytes(server.pid) > size.redis_keys * 500, "redis is filled")
        yield Program("redis-server", lambda: [server.pid])


@contextmanager
def _postgres(size: Size, scratch: Path) -> Iterator[Program]:
    data, tools = scratch / "postgres", Path("/usr/lib/postgresql/15/bin")
    data.mkdir()
    subprocess.run(["chown", "nobody", data], check=True)
    alone: dict[str, Any] = {"user": "nobody", "cwd": "/", "env": {"PATH": os.environ["PATH"], "PGUSER": "nobody"}}

    def run(tool: str, *words: str) -> None:
        subprocess.run([str(tools / tool), *words], check=True, stdout=subprocess.DEVNULL, **alone)

    run("initdb", "-D", str(data), "-A", "trust")
    here = ["-h", str(data), "-p", "7392"]
    server_words = [str(tools / "postgres"), "-D", str(data), "-k", str(data), "-h", "", "-p", "7392"]
    with _running(*server_words, "-c", f"shared_buffers={size.shared_buffers}", **alone) as server:
        until((data / ".s.PGSQL.7392").exists, "PostgreSQL listens")
        run("createdb", *here, "bench")
        run("pgbench", *here, "-i", "-q", "-s", str(size.pgbench_scale), "bench")
        load = [str(tools / "pgbench"), *here, "-c", "2", "-R", "100", "-T", "7200", "bench"]
        with _running(*load, **alone):
            yield Program("postgres", lambda: [server.pid, *_children(server.pid)])


@contextmanager
def _java(size: Size, scratch: Path) -> Iterator[Program]:
    del scratch
    source = str(Path(__file__).with_name("Store.java"))
    heap = [f"-Xms{size.java_heap}", f"-Xmx{size.java_heap}", "-XX:+UseSerialGC"]
    with _running("java", *heap, source, str(size.java_mib), "20000") as server:
        until(lambda: resident_bytes(server.pid) > size.java_mib << 20, "the JVM's store is filled")
        yield Program("java", lambda: [server.pid])


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


if __name__ == "__main__":
    raise SystemExit(main())
