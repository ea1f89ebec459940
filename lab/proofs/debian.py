"""The .deb packages on a bare Debian: installed, their settings checked, run, removed without a trace."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from proofs.artefacts import NotProvenError, Proven, find_one
from proofs.roots import Root, bare_root

QUEUES = {"bookworm": "redis-server", "trixie": "valkey-server"}
_RELEASES = {"bookworm": "deb12", "trixie": "deb13"}
# The shell itself is the first process of its namespace.
_OTHER_PROCESSES = 'for process in /proc/[0-9]*; do [ "$process" = /proc/1 ] || readlink "$process/exe" || true; done'
_CHECK = "tierscope-agent run --config /etc/tierscope/agent.toml --check-config"


def prove_on(suite: str) -> Callable[[], Iterator[Proven]]:
    def prove() -> Iterator[Proven]:
        agent = find_one("packages/tierscope-agent_*.deb")
        service = find_one(f"packages/tierscope_*{_RELEASES[suite]}*.deb")
        with bare_root(suite) as root:
            for package in (agent, service):
                root.put(package, f"/put/{package.name}")
            yield from _installed(root, suite, agent, service)
            yield from _removed(root)

    return prove


def _installed(root: Root, suite: str, agent: Path, service: Path) -> Iterator[Proven]:
    install = "apt-get update -qq && apt-get install -qq --no-install-recommends"
    packages = f"/put/{agent.name} /put/{service.name} postgresql {QUEUES[suite]}"
    if started := root.sh(f"{{ {install} {packages}; }} >&2\n{_OTHER_PROCESSES}").split():
        raise NotProvenError(f"the installation started {started}")
    yield Proven(f"apt installs both on a bare {suite}", root.sh("dpkg-query -W 'tierscope*'").replace("\n", " "))
    yield Proven("the installation starts nothing", "no process is left in the root")
    # Its settings name no service yet, and it says so.
    root.sh(_CHECK, fails=True)
    settings = json.loads(root.sh("tierscope config --json"))
    yield Proven("settings are checked", f"agent without a service is refused; {len(settings)} of the service are read")
    root.put(Path(__file__).with_name("serve_in_root.sh"), "/put/serve_in_root.sh")
    answer = json.loads(root.sh("/put/serve_in_root.sh", network=False).partition("\n")[0])
    [host] = answer["items"]
    yield Proven("service and agent run", f"host {host['name']} last sent at {host['last_seen']}")


def _removed(root: Root) -> Iterator[Proven]:
    root.sh("apt-get purge -qq tierscope tierscope-agent")
    left = [path for path in root.named("tierscope") if not path.startswith(("/var/lib/postgresql", "/var/log"))]
    accounts = root.sh("getent passwd tierscope || true")
    if left or accounts:
        raise NotProvenError(f"left after the purge: {left[:20]} {accounts}")
    yield Proven("purge leaves nothing", "no file and no account of that name")
