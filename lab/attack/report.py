"""The table of a run, on the terminal and in docs/operating/security.md."""

from collections.abc import Sequence

from attack.matrix import ATTACKS
from attack.play import Played

_HEAD = (
    "| Attack | Requests | Held | `/healthz` p50, p99, max, ms | Peak memory of the API over idle, MiB |\n"
    "|---|--:|---|--:|--:|\n"
)


def line(results: Sequence[Played]) -> str:
    """What became of one attack in all rounds."""
    title, requests = results[0].attack.title, sum(played.requests for played in results)
    failed = sum(bool(played.findings) for played in results)
    held = "yes" if not failed else f"**no**, in {failed} of {len(results)} rounds"
    worst = [max(played.watched.percentile_ms(share) for played in results) for share in (0.5, 0.99, 1.0)]
    latencies = ", ".join(f"{latency:.0f}" for latency in worst)
    highest = max(results, key=lambda played: played.peak_mib)
    memory = f"{highest.peak_mib - highest.idle_mib:.0f} (idle {highest.idle_mib:.0f})"
    return f"| {title} | {requests:,} | {held} | {latencies} | {memory} |"


def table(results: Sequence[Played]) -> str:
    """A line per attack."""
    by_attack = [[played for played in results if played.attack == attack] for attack in ATTACKS]
    return _HEAD + "\n".join(line(found) for found in by_attack if found)
