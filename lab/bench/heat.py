"""Heat of a process by DAMON: the agent against `damo record`, on the same process, one after the other."""

import time
from dataclasses import dataclass
from pathlib import Path

from bench import agent_process, damo, target
from bench.figures import Row, Section
from bench.kernel_thread import Watch
from bench.processes import cpu_seconds, peak_rss_bytes

TARGET_MIB = 4096
HOT_MIB = 256
SECONDS = 150
INTERVAL_SECONDS = 60
BACKEND = "damon_pages"
MOST_RATIO = 0.2
MOST_RSS_MIB = 32


@dataclass(frozen=True, slots=True)
class Cost:
    """What measuring took over the same time: of the process and its children, and of kdamond."""

    cpu_seconds: float
    kernel_seconds: float
    peak_rss_bytes: int


def unusable() -> str | None:
    """Why this cannot run here; None where it can."""
    return damo.unusable()


def measure(agent: Path, *, seconds: int = SECONDS, mib: int = TARGET_MIB) -> Section:
    """Run both on one process with `mib` MiB of memory."""
    program = damo.install()
    with damo.alone(), target.running(mib=mib, hot_mib=HOT_MIB) as pid:
        theirs = _damo(program, pid, seconds)
        ours = _agent(agent, pid, seconds)
    rss_mib = ours.peak_rss_bytes / 2**20
    ratio = ours.cpu_seconds / theirs.cpu_seconds
    return Section(
        title=f"Heat by DAMON of a process with {mib / 1024:g} GiB: the agent against damo record",
        rows=[
            Row(
                "CPU of the program, start to end",
                _share(ours.cpu_seconds, seconds),
                _share(theirs.cpu_seconds, seconds),
                ratio,
                f"at most {MOST_RATIO}",
                ratio <= MOST_RATIO,
            ),
            Row(
                "CPU of kdamond",
                _share(ours.kernel_seconds, seconds),
                _share(theirs.kernel_seconds, seconds),
                ours.kernel_seconds / theirs.kernel_seconds if theirs.kernel_seconds else None,
            ),
            Row(
                "peak RSS",
                f"{rss_mib:.2f} MiB",
                f"{theirs.peak_rss_bytes / 2**20:.2f} MiB",
                ours.peak_rss_bytes / theirs.peak_rss_bytes,
                f"at most {MOST_RSS_MIB} MiB",
                rss_mib <= MOST_RSS_MIB,
            ),
        ],
        notes=[
            f"{seconds} s each; the process touches {HOT_MIB} MiB every 50 ms.",
            f"Ours: `tierscope-agent run` with back end {BACKEND}, intervals of {INTERVAL_SECONDS} s, counters too.",
            f"Theirs: `damo record --do_record access` of damo {damo.VERSION} with all that it starts (perf among it).",
            "They watch different things: ours single pages chosen at random, theirs regions of the address space.",
        ],
    )


def _share(cpu: float, seconds: int) -> str:
    return f"{cpu / seconds:.2%} of a core"


def _damo(program: Path, pid: int, seconds: int) -> Cost:
    with Watch() as kernel:
        recorded = damo.record(program, pid, seconds)
    return Cost(recorded.cpu_seconds, kernel.cpu_seconds, recorded.peak_rss_bytes)


def _agent(binary: Path, pid: int, seconds: int) -> Cost:
    with (
        Watch() as kernel,
        agent_process.running(binary, interval_seconds=INTERVAL_SECONDS, backends=[BACKEND], pids=[pid]) as agent,
    ):
        time.sleep(seconds)
        cost = cpu_seconds(agent.pid), peak_rss_bytes(agent.pid)
        rows = [row for batch in agent.sink.batches() for row in batch.heat]
        if not rows:
            problems = {cost.last_error for batch in agent.sink.batches() for cost in batch.self.collectors}
            raise RuntimeError(f"the agent measured no heat by {BACKEND}: {problems}")
    return Cost(cost[0], kernel.cpu_seconds, cost[1])
