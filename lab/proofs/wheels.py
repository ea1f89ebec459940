"""An empty virtual environment, without compiler and Node, becomes a running service from the wheels alone."""

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from factories.prometheus import exporter, prometheus
from factories.waiting import DEADLINE_SECONDS, until
from proofs.artefacts import DIST, NotHereError, NotProvenError, Proven, child_cpu_seconds, find_one, run

_BUILDERS = re.compile(
    r"(?:.*-)?(?:cc|c\+\+|c8?9|gcc|g\+\+|clang|clang\+\+|ld|as|zig|rustc|cargo|rustup|go|node|nodejs|npm|npx|make|uv|pg_config|postgres)(?:-?[\d.]+)?"
)
_DEBIANS_POSTGRES = Path("/usr/lib/postgresql")
_SCRAPE = """
global: {{scrape_interval: 2s}}
scrape_configs: [{{job_name: node, static_configs: [{{targets: ["{exporter}"]}}]}}]
remote_write: [{{url: "{url}/api/v1/write", authorization: {{credentials: "{token}"}}}}]
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """`tierscope` in an environment of its own, with nothing of this checkout."""

    program: Path
    env: dict[str, str]

    def run(self, *words: str) -> str:
        """Stdout of a command. As root, it and what it starts see no PostgreSQL of the machine."""
        hiding = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {_DEBIANS_POSTGRES} && exec "$@"', "sh"]
        hidden = hiding if _DEBIANS_POSTGRES.is_dir() and os.geteuid() == 0 else []
        return run([*hidden, self.program, *words], env=self.env)

    def document(self, *words: str) -> Any:  # noqa: ANN401 - answers differ
        """The JSON that a command prints."""
        return json.loads(self.run(*words, "--json"))


def prove() -> Iterator[Proven]:
    """Yield what held, in order. The stopwatch runs from the first word of `pip install`."""
    for program in ("prometheus", "prometheus-node-exporter"):
        if shutil.which(program) is None:
            raise NotHereError(f"{program} is not installed: apt-get install {program}")
    wheel = find_one("wheels/tierscope-*.whl")
    with tempfile.TemporaryDirectory(prefix="tierscope-dist-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        env = _environment(folder)
        python = folder / "venv" / "bin" / "python"
        run([_base_python(), "-m", "venv", folder / "venv"], env=env)
        started = time.monotonic()
        run([python, "-m", "pip", "install", "--quiet", "--find-links", DIST / "wheels", f"{wheel}[local]"], env=env)
        seen = f"{time.monotonic() - started:.0f} s with downloads, {child_cpu_seconds():.0f} s of CPU"
        yield Proven("wheels install without compiler and Node", seen)
        with _running(Installed(python.with_name("tierscope"), env)) as (tierscope, url):
            yield Proven("`tierscope up --detach` runs", f"{url}, {time.monotonic() - started:.0f} s after the start")
            yield Proven("its database", _checked(tierscope, "programs"))
            yield from _ask(tierscope, url, folder, started)
        if left := _processes_of(folder):
            raise NotProvenError(f"`tierscope down` left processes: {'; '.join(left)}")
        yield Proven("`tierscope down` ends it", "no process is left")


@contextmanager
def _running(tierscope: Installed) -> Iterator[tuple[Installed, str]]:
    tierscope.run("up", "--detach", "--port", "0")
    try:
        state = tierscope.document("status", "--wait", "300")
        yield tierscope, state["url"]
    finally:
        tierscope.run("down")


def _checked(tierscope: Installed, name: str) -> str:
    checks = tierscope.document("doctor")["checks"]
    found: str = next(check["detail"] for check in checks if check["name"] == name)
    return found


def _ask(tierscope: Installed, url: str, folder: Path, started: float) -> Iterator[Proven]:
    page = httpx.get(url, timeout=DEADLINE_SECONDS)
    if page.status_code != httpx.codes.OK or "<script" not in page.text:
        raise NotProvenError(f"{url} does not serve the dashboard: {page.status_code}")
    token = tierscope.document("token", "api", "--role", "operator")["token"]
    client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=DEADLINE_SECONDS)
    heat: list[str] = []

    def measured() -> bool:
        heat.extend(_heat(client))
        return bool(heat)

    with client:
        until(measured, "heat of this host", seconds=2 * DEADLINE_SECONDS)
        yield Proven("heat of this host", f"{heat[0]}, {time.monotonic() - started:.0f} s after the start")
        with exporter(folder, Path("/")) as node:
            scraped = _SCRAPE.format(exporter=node.address, url=url, token=token)
            with prometheus(folder, scraped):
                until(lambda: _has_series(client), "samples of Prometheus are stored")
        yield Proven("a Prometheus writes samples", "node_load1 and node_vmstat_pgfault are answered")
    simulated = tierscope.document("simulate", "workload:zipf", "--policy", "tpp", "--dram-share", "0.5")
    yield Proven("a simulation is answered", f"{simulated['workload']} under {len(simulated['runs'])} policies")


def _heat(client: httpx.Client) -> Iterator[str]:
    services = client.get("/v1/services").raise_for_status().json()["items"]
    for service in services:
        answer = client.get(f"/v1/services/{service['id']}/heat", params={"from": "-1h"})
        if answer.is_success:
            found = answer.json()
            if any(entry["bytes"]["value"] is not None for entry in found["classes"]):
                yield f"{service['name']} by {found['backend']}"


def _has_series(client: httpx.Client) -> bool:
    wanted = "node_vmstat_pgfault"
    answer = client.get("/v1/series/samples", params={"match": wanted, "from": "-1h"})
    return answer.is_success and bool(answer.json()["series"])


def _processes_of(folder: Path) -> list[str]:
    """Command lines of processes that were started from this folder, or work in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            where = str((process / "cwd").readlink())
        except OSError:
            continue
        if str(folder) in f"{where} {' '.join(words)}":
            found.append(" ".join(words)[:200])
    return found


def _environment(folder: Path) -> dict[str, str]:
    """PATH has no compilers, linkers, Node, Python tools and PostgreSQL of the machine; settings of pip stay."""
    programs = folder / "path"
    programs.mkdir()
    for directory in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for path in Path(directory).iterdir():
            link = programs / path.name
            if not _BUILDERS.fullmatch(path.name) and not link.is_symlink():
                link.symlink_to(path)
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP"))}
    return kept | {
        "PATH": str(programs),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TIERSCOPE_DATA_DIR": str(folder / "data"),
        "TIERSCOPE_CONFIG": "/nonexistent",
    }


def _base_python() -> str:
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
