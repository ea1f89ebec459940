"""The load of a whole fleet on one machine: the largest one that holds, CPU per host and minute, bytes per host-day.

PostgreSQL, API, worker, queue and generator share the machine. Each count of hosts gets an instance and a database of
its own; counts are tried in ascending order, and the first that does not hold is the last.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figures import Row, Section, machine
from cli.commands import Tierscope, fresh_tierscope
from fixtures.servers import running_cluster
from tierscope.usecases.operate.load_figures import KEPT_DAYS, size_fleets

GOAL_HOSTS = {1: 10_000, 5: 20_000}
"""Hosts that two cores are to hold, by the minutes that a batch holds."""
STORED_HOSTS = 6
STORED_HOURS = 50
"""A day at rest, with hours and days that have been packed; what is made of it is as large for each host."""
_STAGES = ("api", "worker", "database")
_SERVER = {"shared_buffers": "1GB", "max_wal_size": "4GB", "checkpoint_timeout": "15min", "wal_compression": "on"}
"""As in docker-compose.yml: the embedded server is sized for hundreds of hosts."""
_SCHEMA = "tierscope.scale/1"
_SPARE_SECONDS = 1_800
_BUCKET_SECONDS = 600
_BEGIN_SECONDS = range(120, 330)
"""After a bucket closed. Enrolment takes a minute or two; the next one then closes well within a load of ten minutes:
working it off is part of what is measured."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, and where the whole result goes as JSON."""

    hosts: Sequence[int] = (500,)
    minutes: int = 3
    send_minutes: int = 1
    """Minutes that each batch holds."""
    document: Path | None = None


def measure(mode: str, plan: Plan) -> Section:
    begun = datetime.now(UTC)
    loads: list[dict[str, Any]] = []
    for hosts in sorted(plan.hosts):
        loads.append(_load(mode, hosts, plan))
        if not loads[-1]["verdict"]["held"]:
            break
    _say(f"{mode}: bytes at rest, {STORED_HOSTS} hosts x {STORED_HOURS} h")
    rest = _run(mode, "--hosts", str(STORED_HOSTS), "--minutes", "1", "--history-hours", str(STORED_HOURS))
    result = _result(mode, begun, plan, loads, rest)
    if plan.document is not None:
        plan.document.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        _say(f"written: {plan.document}")
    return section_of(result)


def _load(mode: str, hosts: int, plan: Plan) -> dict[str, Any]:
    if plan.minutes * 60 >= _BUCKET_SECONDS:  # in a shorter one, none need close
        _wait_for_turn()
    _say(f"{mode}: {hosts} hosts for {plan.minutes} min, batches of {plan.send_minutes} min")
    report = _run(
        mode,
        *("--hosts", str(hosts)),
        *("--minutes", str(plan.minutes)),
        *("--connections", "64"),
        *("--send-minutes", str(plan.send_minutes)),
    )
    verdict = report["verdict"]
    _say(f"{mode}: {hosts} hosts {'held' if verdict['held'] else 'not held: ' + '; '.join(verdict['reasons'])}")
    return report


def _wait_for_turn() -> None:
    since_closed = int(time.time()) % _BUCKET_SECONDS
    if since_closed not in _BEGIN_SECONDS:
        waits = (_BEGIN_SECONDS.start - since_closed) % _BUCKET_SECONDS
        _say(f"waits {waits} s, so that a bucket closes within the load")
        time.sleep(waits)


def _run(mode: str, *arguments: str) -> dict[str, Any]:
    """The report of one load on an instance of its own."""
    with _instance(mode) as tierscope, tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        load_before = os.getloadavg()[0]
        # Progress goes to the terminal, as a run takes minutes.
        done = subprocess.run(
            tierscope.command("loadgen", "--live", "--json", *arguments),
            env=tierscope.env,
            cwd="/",
            stdout=printed,
            stderr=sys.stderr,
            timeout=_timeout(arguments),
            check=False,
        )
        printed.seek(0)
        text = printed.read()
        # Batches that were given up end the command with an error, too; its report says so.
        if not text.startswith("{"):
            raise RuntimeError(f"`tierscope loadgen` ended with status {done.returncode} and no report")
        report: dict[str, Any] = json.loads(text)
        return report | {"load_average_before": load_before, "load_average_after": os.getloadavg()[0]}


def _timeout(arguments: Sequence[str]) -> float:
    numbers = dict(zip(arguments[::2], arguments[1::2], strict=True))
    return 60.0 * int(numbers["--minutes"]) + 0.5 * int(numbers["--hosts"]) + _SPARE_SECONDS


@contextmanager
def _instance(mode: str) -> Iterator[Tierscope]:
    """A running service on an empty database of its own."""
    with running_cluster(mode, durable=True, settings=_SERVER) as cluster, fresh_tierscope() as tierscope:
        where = {
            "TIERSCOPE_DATABASE_URL": cluster.url(),
            "TIERSCOPE_STORAGE": mode,
        }
        here = Tierscope(tierscope.data_dir, settings=where)
        here.run("up", "--detach", "--no-agent", "--port", "0")
        yield here


def _result(
    mode: str, begun: datetime, plan: Plan, loads: Sequence[dict[str, Any]], rest: dict[str, Any]
) -> dict[str, Any]:
    held = [load for load in loads if load["verdict"]["held"]]
    best = (held or loads)[-1]
    stored = rest["stored_bytes_per_host_day"]
    per_minute = {name: cost for name, cost in best.get("cpu_ms_per_host_minute", {}).items() if name in _STAGES}
    measured_hosts = best["fleet"]["hosts"] if held else 0
    return {
        "schema": _SCHEMA,
        "storage": mode,
        "machine": machine(),
        "begun": begun.isoformat(timespec="seconds"),
        "minutes": plan.minutes,
        "send_minutes": plan.send_minutes,
        "largest_held": measured_hosts or None,
        "goal_hosts": GOAL_HOSTS.get(plan.send_minutes),
        "cpu_ms_per_host_minute": best.get("cpu_ms_per_host_minute", {}),
        "stored_bytes_per_host_day": stored,
        "kept_days": KEPT_DAYS,
        "sizing": [
            {"hosts": size.hosts, "cores": size.cores, "disk_bytes": size.disk_bytes, "extrapolated": size.extrapolated}
            for size in size_fleets(measured_hosts, per_minute, stored)
        ],
        "loads": list(loads),
        "at_rest": rest,
    }


def section_of(result: dict[str, Any]) -> Section:
    rows = [_row(load) for load in result["loads"]]
    best, goal = result["largest_held"] or 0, result["goal_hosts"]
    held = Row(f"largest load held for {result['minutes']} min", f"{best or 'none'} hosts")
    if goal:
        held = replace(held, reference=f"{goal} hosts", ratio=best / goal, target=f"{goal} hosts", met=best >= goal)
    rows.append(held)
    rows += [
        Row(f"CPU per host and minute: {name}", f"{cost:.2f} ms")
        for name, cost in result["cpu_ms_per_host_minute"].items()
    ]
    stored = result["stored_bytes_per_host_day"]
    rows += [Row(f"stored per host-day: `{name}`", f"{size / 1e6:.3f} MB") for name, size in stored.items()]
    sent = "a batch a minute" if result["send_minutes"] == 1 else f"a batch in {result['send_minutes']} minutes"
    return Section(title=f"Load of a fleet ({result['storage']}, {sent})", rows=rows, notes=_notes(result))


def _row(load: dict[str, Any]) -> Row:
    fleet, lag = load["fleet"], load["lag"]
    waits = [f"{lag[name]['max']:.0f} s" if name in lag else "not seen" for name in ("open_due_s", "oldest_due_s")]
    late = f"{fleet['lag_s']['max']:.1f} s" if fleet["lag_s"] else "-"
    slow = f"{fleet['request_ms']['p99']:.0f} ms" if fleet["request_ms"] else "-"
    return Row(
        f"{fleet['hosts']} hosts",
        f"{fleet['batches']} batches, {fleet['errors']} given up, {fleet['retries']} retries;"
        f" lag at most {waits[0]}, of closed buckets {waits[1]}; sent at most {late} late; request p99 {slow}",
        target="lag under 60 s, nothing given up",
        met=load["verdict"]["held"],
    )


def _notes(result: dict[str, Any]) -> list[str]:
    averages = ", ".join(f"{load['load_average_before']:.1f}" for load in result["loads"])
    who = "One API process, one worker, PostgreSQL, queue and generator share the machine."
    sizes = f"sizes are of table, TOAST and index, by {STORED_HOSTS} hosts x {STORED_HOURS} h of history"
    return [
        f"The twin's hosts: counters, heat and reuse gaps of three services each minute. {who}",
        f"CPU is of the largest load that held, from its third minute on; {sizes}.",
        f"Load average before each load: {averages}.",
    ]


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {line}", file=sys.stderr, flush=True)
