"""What a sample of a memory access costs the agent: 50,000 page faults a second, each one a sample."""

from pathlib import Path

from bench import examples, target
from bench.figures import Row, Section

SAMPLES_PER_S = 50_000
SECONDS = 20
MOST_US_PER_SAMPLE = 1.0
MOST_RSS_MIB = 32
BYTES_PER_PAGE = 40
"""Of the table of sampled pages, by design."""


def unusable() -> str | None:
    """Why this cannot run here; None where it can."""
    paranoid = Path("/proc/sys/kernel/perf_event_paranoid")
    return None if paranoid.exists() else "the kernel has no perf events"


def measure(*, seconds: int = SECONDS) -> Section:
    with target.faulting(per_second=SAMPLES_PER_S) as pid:
        found = examples.run("tierscope-perf", "cost_per_sample", str(pid), str(seconds))
    us = found["process_cpu_ns"] / found["samples"] / 1e3
    rate = found["samples"] / found["elapsed_s"]
    rss_mib = found["peak_rss_bytes"] / 2**20
    allowed_mib = MOST_RSS_MIB + found["pages"] * BYTES_PER_PAGE / 2**20
    return Section(
        title="Samples of perf",
        rows=[
            Row(
                f"CPU per sample, at {rate:,.0f} samples/s",
                f"{us:.3f} us",
                target=f"at most {MOST_US_PER_SAMPLE:g} us",
                met=us <= MOST_US_PER_SAMPLE,
            ),
            Row("CPU at this rate", f"{found['process_cpu_ns'] / found['elapsed_s'] / 1e9:.2%} of a core"),
            Row("samples lost", f"{found['lost'] / (found['samples'] + found['lost']):.3%}"),
            Row(
                "peak RSS",
                f"{rss_mib:.2f} MiB",
                target=f"at most {allowed_mib:.0f} MiB",
                met=rss_mib <= allowed_mib,
            ),
        ],
        notes=[
            "Page faults of a process, each with its address, on the path of hardware samples, swapped every 5 s.",
            f"One process makes {SAMPLES_PER_S:,} a second; those of other programs are read and dropped.",
            f"The limit of memory is {MOST_RSS_MIB} MiB plus {BYTES_PER_PAGE} bytes for each page of the table.",
        ],
    )
