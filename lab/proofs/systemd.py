"""The .deb packages under systemd as process 1: enabled, run, killed, stopped, as their units say."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from factories.waiting import until
from proofs.artefacts import NotProvenError, Proven, find_one
from proofs.containers import in_namespace, podman
from proofs.roots import bare_root

SUITE = "bookworm"
"""Its systemd still runs where the kernel has version 1 of control groups."""
_SCRIPT = "serve_under_systemd.sh"
_STATES = {"running", "degraded"}
_CAPABILITIES = "DAC_READ_SEARCH,IPC_LOCK,PERFMON,SYS_ADMIN,SYS_PTRACE"


def prove() -> Iterator[Proven]:
    """Boot a bare Debian with both packages in a container without a network, and yield what held."""
    packages = [find_one("packages/tierscope-agent_*.deb"), find_one("packages/tierscope_*+deb12_*.deb")]
    with bare_root(SUITE) as root:
        for package in packages:
            root.put(package, f"/put/{package.name}")
        root.put(Path(__file__).with_name(_SCRIPT), f"/put/{_SCRIPT}")
        names = " ".join(f"/put/{package.name}" for package in packages)
        install = "apt-get update -qq && apt-get install -qq --no-install-recommends"
        root.sh(f"{{ {install} {names} systemd dbus postgresql redis-server; }} >&2")
        root.sh("systemd-analyze verify --man=no /usr/lib/systemd/system/tierscope* >&2")
        yield Proven("systemd-analyze verifies the units", root.sh("systemctl --version | head -n 1").strip())
        for line in in_namespace("proofs.systemd", root.path):
            yield Proven(*json.loads(line))


def boot(root: Path) -> Iterator[tuple[str, str]]:
    """Start systemd on a root, run the script in it, and yield the lines that the script prints."""
    with podman() as found:
        container = ["run", "--detach", "--name", "booted", "--systemd", "always", "--network", "none"]
        # systemd mounts for its units, and what the agent's unit keeps has to be there to be kept.
        container += ["--security-opt", "seccomp=unconfined", "--cap-add", _CAPABILITIES]
        found.run(*container, "--rootfs", root, "/lib/systemd/systemd")
        state = ("exec", "booted", "systemctl", "is-system-running")
        until(lambda: found.output(*state) in _STATES, "systemd has started")
        yield "systemd is process 1", found.output(*state)
        for line in found.run("exec", "booted", f"/put/{_SCRIPT}").splitlines():
            statement, _, seen = line.partition(": ")
            yield statement, seen


def main() -> int:
    """Run in the namespace; 1 with the reason on stderr."""
    try:
        for statement in boot(Path(sys.argv[1])):
            print(json.dumps(statement), flush=True)
    except NotProvenError as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
