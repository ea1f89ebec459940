"""The agent by itself: what a host pays for it when nothing is asked of it, and when it only counts."""

import time
from pathlib import Path

from bench import agent_process
from bench.figures import Row, Section
from bench.processes import cpu_seconds, peak_rss_bytes

IDLE_SECONDS = 120
COUNTING_SECONDS = 40
MOST_RSS_MIB = 32


def measure(agent: Path) -> Section:
    """Run the agent at its usual interval, then at the shortest one, heat off in both."""
    usual = _rows(agent, interval_seconds=60, seconds=IDLE_SECONDS, name="idle, every 60 s")
    often = _rows(agent, interval_seconds=1, seconds=COUNTING_SECONDS, name="counters only, every second")
    return Section(
        title="The agent by itself, heat off",
        rows=[*usual, *often],
        notes=[
            f"The whole process from its start, {IDLE_SECONDS} and {COUNTING_SECONDS} s, sending over loopback.",
            "Idle is what a host pays day by day: one collection a minute, the inventory, the plan once a minute.",
        ],
    )


def _rows(binary: Path, *, interval_seconds: int, seconds: int, name: str) -> list[Row]:
    with agent_process.running(binary, interval_seconds=interval_seconds) as agent:
        time.sleep(seconds)
        share, rss_mib = cpu_seconds(agent.pid) / seconds, peak_rss_bytes(agent.pid) / 2**20
    return [
        Row(f"{name}: CPU", f"{share:.3%} of a core"),
        Row(
            f"{name}: peak RSS",
            f"{rss_mib:.2f} MiB",
            target=f"at most {MOST_RSS_MIB} MiB",
            met=rss_mib <= MOST_RSS_MIB,
        ),
    ]
