"""The real `prometheus` and `prometheus-node-exporter` on loopback, the exporter reading a recorded tree."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from factories.loopback import NO_AUTHORITIES, free_port
from factories.waiting import DEADLINE_SECONDS, until
from fixtures.shifted_clock import need_machine_clock

EXPORTER_FLAGS = (
    "--collector.disable-defaults",
    "--collector.vmstat",
    "--collector.vmstat.fields=.*",
    "--collector.meminfo",
    "--collector.meminfo_numa",
    "--collector.zoneinfo",
    "--collector.pressure",
    "--collector.stat",
    "--collector.cpu",
    "--collector.uname",
    "--collector.sysctl",
    "--collector.sysctl.include=kernel.numa_balancing",
)


def require(*programs: str) -> None:
    """Skips where one of the programs is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: apt install {program}")


@contextmanager
def process(arguments: Sequence[str], log: Path) -> Iterator[None]:
    """Runs a program while the block lasts."""
    with log.open("wb") as out:
        running = subprocess.Popen(arguments, stdout=out, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            running.terminate()
            try:
                running.wait(DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait(DEADLINE_SECONDS)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES).is_success
    except httpx.TransportError:
        return False


@dataclass(slots=True)
class Exporter:
    """A node_exporter whose machine is a snapshot of a recording."""

    address: str
    _link: Path

    def show(self, snapshot: Path) -> None:
        """From now on the machine is this snapshot, from one instant to the next."""
        new = self._link.with_name("next")
        new.symlink_to(snapshot)
        new.replace(self._link)


@contextmanager
def exporter(folder: Path, snapshot: Path) -> Iterator[Exporter]:
    require("prometheus-node-exporter")
    link = folder / "machine"
    link.symlink_to(snapshot)
    address = f"127.0.0.1:{free_port()}"
    paths = [f"--path.procfs={link}/proc", f"--path.sysfs={link}/sys", f"--web.listen-address={address}"]
    with process(["prometheus-node-exporter", *EXPORTER_FLAGS, *paths], folder / "exporter.log"):
        until(lambda: answers(f"http://{address}/metrics"), "node_exporter answering")
        yield Exporter(address, link)


@contextmanager
def prometheus(folder: Path, configuration: str, *flags: str) -> Iterator[str]:
    """A Prometheus with this configuration; yields its address. Its data is in `folder`/tsdb."""
    require("prometheus")
    need_machine_clock("Prometheus")
    config = folder / "prometheus.yml"
    config.write_text(configuration)
    address = f"127.0.0.1:{free_port()}"
    arguments = [
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
        *flags,
    ]
    with process(arguments, folder / "prometheus.log"):
        until(lambda: answers(f"http://{address}/-/ready"), "Prometheus answering")
        yield f"http://{address}"
