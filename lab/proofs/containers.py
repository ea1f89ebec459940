"""Containers by podman, in a store, a network and mounts of their own: whatever runs ends with its namespace."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proofs.artefacts import ROOT, NotHereError, NotProvenError, run

STORES = ROOT / ".build" / "containers"
_NEEDED = {"podman": "podman", "crun": "crun", "iptables": "iptables", "/usr/lib/podman/aardvark-dns": "aardvark-dns"}
# Limits of processes and files are those of the caller: a machine may not let even root raise them.
_RUNTIME = """#!/usr/bin/python3
import json, os, sys
words = sys.argv[1:]
for option, name in (("--bundle", "config.json"), ("--process", "")):
    if option in words:
        path = os.path.join(words[words.index(option) + 1], name).rstrip("/")
        with open(path) as file:
            document = json.load(file)
        document.get("process", document).pop("rlimits", None)
        with open(path, "w") as file:
            json.dump(document, file)
os.execvp("crun", ["crun", *words])
"""


def in_namespace(module: str, *words: str | Path) -> Iterator[str]:
    """Run a module of the proofs in namespaces of its own, and yield the lines that it prints.

    Raises:
        NotHereError: this machine has not what containers need.
        NotProvenError: the module failed; it has said why.
    """
    missing = [package for program, package in _NEEDED.items() if shutil.which(program) is None]
    if missing:
        raise NotHereError(f"programs are missing: apt-get install {' '.join(missing)}")
    if os.geteuid() != 0:
        raise NotHereError("networks of containers are made by root here")
    spaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    inside = [*spaces, sys.executable, "-m", module, *map(str, words)]
    with subprocess.Popen(inside, stdout=subprocess.PIPE, text=True, cwd=ROOT / "lab") as process:
        assert process.stdout is not None
        yield from process.stdout
    if process.returncode != 0:
        raise NotProvenError(f"{module}: {process.returncode}, see above")


class Podman:
    """podman on a store below a directory."""

    def __init__(self, folder: Path, run_folder: Path) -> None:
        self.folder = folder
        runtime = self._write_program("runtime", _RUNTIME)
        store = f"--root {folder}/storage --runroot {run_folder} --runtime {runtime} --cgroup-manager cgroupfs"
        text = f'#!/bin/sh\nexec /usr/bin/podman --log-level error {store} "$@"\n'
        self.program = self._write_program("podman", text)

    def _write_program(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="ascii")
        path.chmod(0o755)
        return path

    def run(self, *words: str | Path) -> str:
        """Stdout of a command of podman.

        Raises:
            NotProvenError: it failed.
        """
        return run([self.program, *words])

    def succeeds(self, *words: str | Path) -> bool:
        """Whether a command of podman ends with 0."""
        command: list[str | Path] = [self.program, *words]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def output(self, *words: str | Path) -> str:
        """Stdout of a command of podman, whether it fails or not."""
        command: list[str | Path] = [self.program, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    def logs(self) -> str:
        ends = []
        for name in self.run("ps", "--all", "--format", "{{.Names}}").split():
            command: list[str | Path] = [self.program, "logs", "--tail", "30", name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            ends.append(f"==> {name}\n{done.stdout}{done.stderr}")
        return "\n".join(ends)


@contextmanager
def podman() -> Iterator[Podman]:
    """Yield podman on a store that goes with the block. The namespace has to be the caller's own."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # crun refuses version 1 of control groups with version 2 mounted beside it.
    if Path("/sys/fs/cgroup/unified").is_mount():
        subprocess.run(["umount", "/sys/fs/cgroup/unified"], check=True)
    STORES.mkdir(parents=True, exist_ok=True)
    # podman takes no path of more than 50 characters for what is there while containers run.
    folder, run_folder = (
        tempfile.TemporaryDirectory(prefix="proof-", dir=STORES),
        tempfile.TemporaryDirectory(dir="/run"),
    )
    with folder as name, run_folder as run_name:
        found = Podman(Path(name), Path(run_name))
        try:
            yield found
        finally:
            found.run("rm", "--all", "--force", "--time", "5")
            found.run("unmount", "--all", "--force")
