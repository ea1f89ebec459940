"""Profile a redis-server live: `python -m live_profile --agent BINARY --seconds 600 --picture FILE.png`.

Starts redis-server, an installation of the service on a data directory of its own, and an agent that walks accessed
bits; loads redis for the time given, moves its hot keys at half time, reads heat and tiles back over the API, and takes
a picture of the heatmap page. Everything ends with it. Needs root, for the agent.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redis import Redis

from cli.commands import Tierscope, fresh_tierscope
from factories.waiting import until
from live_profile import report, zipf_load
from live_profile.picture import take_picture

SERVICE = "moving-cache"


def main() -> int:
    """Run the whole profile and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m live_profile", description=__doc__)
    parser.add_argument("--agent", type=Path, required=True, help="the agent's release binary")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--interval", type=int, default=10, help="seconds of an interval")
    parser.add_argument("--backend", default="abit_walk")
    parser.add_argument("--budget", type=float, default=0.2, help="cores that the agent may take")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--operations", type=int, default=4_000, help="per second")
    parser.add_argument("--picture", type=Path, help="PNG of the heatmap page")
    parser.add_argument("--json", type=Path, help="where the numbers go")
    arguments = parser.parse_args()
    load = zipf_load.Load(keys=arguments.keys, operations_per_s=arguments.operations)
    os.environ["TIERSCOPE_AGENT_BINARY"] = str(arguments.agent)
    with tempfile.TemporaryDirectory(prefix="tsc-live-", dir="/tmp") as scratch, fresh_tierscope() as tierscope:
        found = _profile(arguments, load, tierscope, Path(scratch))
    text = json.dumps(found, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    return 0


def _profile(
    arguments: argparse.Namespace, load: zipf_load.Load, tierscope: Tierscope, scratch: Path
) -> dict[str, Any]:
    tierscope.run("up", "--no-agent", "--detach", "--port", "0")
    url = str(tierscope.status(expect=None)["url"])
    with _redis(scratch) as (server, pid):
        zipf_load.fill(server, load)
        with _agent(arguments, tierscope, scratch, url) as agent:
            started = time.time()
            seconds = list(zipf_load.run(server, load, seconds=arguments.seconds))
            time.sleep(2 * arguments.interval)
            cost = report.cost_of(agent.pid)
            resident = report.resident_bytes(pid)
        service = _service(url)
        window = {"from": _instant(started), "to": _instant(time.time())}
        query = urllib.parse.urlencode({**window, "max_rows": 1024, "max_columns": 2000, "kind": "anon"})
        grid = report.answer_of(f"{url}/v1/services/{service}/tiles?{query}")
        heat = report.answer_of(f"{url}/v1/services/{service}/heat?{urllib.parse.urlencode(window)}")
        if arguments.picture:
            shown = urllib.parse.urlencode({"tab": "heatmap", **window})
            take_picture(f"{url}/services/{service}?{shown}", arguments.picture)
    return report.numbers(load, seconds, grid, heat, cost, resident, interval_seconds=arguments.interval)


@contextmanager
def _redis(scratch: Path) -> Iterator[tuple[Redis, int]]:
    socket = scratch / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(scratch)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        server = Redis(unix_socket_path=str(socket))
        until(socket.exists, "redis-server makes a socket")
        yield server, process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


@contextmanager
def _agent(
    arguments: argparse.Namespace, tierscope: Tierscope, scratch: Path, url: str
) -> Iterator[subprocess.Popen[bytes]]:
    token = json.loads(tierscope.run("token", "join", "--json"))["token"]
    (scratch / "token").write_text(token)
    (scratch / "token").chmod(0o600)
    config = scratch / "agent.toml"
    config.write_text(
        f'server = "{url}"\nstate_dir = "{scratch}/agent"\njoin_token_file = "{scratch}/token"\n'
        f'interval_seconds = {arguments.interval}\n[heat]\nbackends = ["{arguments.backend}"]\n'
        f'executables = ["*/redis-*"]\n[[services]]\nname = "{SERVICE}"\nexe = "*/redis-*"\n'
        # The load itself keeps this small host busy.
        f"[guard]\ncpu_max_ratio = 1.0\n[budget]\ncpu_max_ratio = {arguments.budget}\n"
    )
    process = subprocess.Popen([str(arguments.agent), "run", "--config", str(config)], stderr=sys.stderr)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


def _service(url: str) -> str:
    items = {item["name"]: item["id"] for item in report.answer_of(f"{url}/v1/services?limit=1000")["items"]}
    if SERVICE not in items:
        raise RuntimeError(f"the service knows {sorted(items)}, not {SERVICE}")
    return str(items[SERVICE])


def _instant(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


if __name__ == "__main__":
    raise SystemExit(main())
