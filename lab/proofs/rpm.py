"""The .rpm packages in a root of their own: unpacked, compared with what they list, removed; and with their scripts.

No Enterprise Linux is reached from here: the scripts run in a bare Debian, without the dependencies.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from proofs.artefacts import NotHereError, NotProvenError, Proven, find_one, run
from proofs.roots import bare_root


def prove() -> Iterator[Proven]:
    """Install agent and service without their scripts, compare, and remove them."""
    if shutil.which("rpm") is None:
        raise NotHereError("rpm is not installed: apt-get install rpm")
    packages = [find_one("packages/tierscope-agent-*.rpm"), find_one("packages/tierscope-*+el*.rpm")]
    with tempfile.TemporaryDirectory(prefix="tierscope-rpm-") as name:
        rpm: list[str | Path] = ["rpm", "--root", name]
        run([*rpm, "--initdb"])
        run([*rpm, "--install", "--nodeps", "--noscripts", *packages])
        names = run([*rpm, "--query", "--all", "--queryformat", "%{NAME} "]).split()
        # Accounts of the root are not there: owners cannot be compared.
        run([*rpm, "--verify", "--nodeps", "--noscripts", "--nouser", "--nogroup", *names])
        version = run([Path(name) / "usr" / "bin" / "tierscope-agent", "--version"]).strip()
        yield Proven("rpm installs and verifies both in a root of their own", f"{' '.join(sorted(names))}; {version}")
        run([*rpm, "--erase", "--nodeps", "--noscripts", *names])
        left = [str(path) for path in Path(name).rglob("*tierscope*")]
        if left:
            raise NotProvenError(f"left after rpm --erase: {left[:20]}")
        yield Proven("rpm --erase leaves nothing", "no file of that name")
    yield from _with_scripts(packages)
    yield Proven("dependencies", "not resolved here, because no Enterprise Linux is reached")


def _with_scripts(packages: list[Path]) -> Iterator[Proven]:
    """Install, upgrade to itself and erase by rpm with the shell, the accounts and the tools of a bare root."""
    with bare_root("trixie") as root:
        root.sh("{ apt-get update -qq && apt-get install -qq --no-install-recommends rpm passwd; } >&2")
        for package in packages:
            root.put(package, f"/put/{package.name}")
        names = " ".join(f"/put/{package.name}" for package in packages)
        # One of Debian's plugins changes how / is mounted, which a root that is no mount of its own refuses.
        rpm = "rpm --noplugins"
        root.sh(f"{rpm} --install --nodeps {names}")
        account = root.sh("getent passwd tierscope").strip()
        owner = root.sh("stat --format %U:%G:%a /etc/tierscope/tierscope.toml").strip()
        if owner != "root:tierscope:640":
            raise NotProvenError(f"/etc/tierscope/tierscope.toml is {owner}")
        yield Proven("scripts of the .rpm make the account and guard the settings", f"{account}; {owner}")
        root.sh(f"{rpm} --upgrade --force --nodeps {names}")
        root.sh(f"{rpm} --erase --nodeps tierscope tierscope-agent")
        left = [path for path in root.named("tierscope") if not path.startswith("/var/lib/rpm")]
        if left:
            raise NotProvenError(f"left after rpm --erase: {left[:20]}")
        yield Proven("scripts pass at an upgrade and at rpm --erase", "no file of that name")
