"""A clone on a bare Debian: `make up` without root, with Python, git and make alone, brings the rest itself."""

import json
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from proofs.artefacts import ROOT, NotProvenError, Proven, child_cpu_seconds, run
from proofs.roots import Root, bare_root

PACKAGES = ("python3", "python3-venv", "git", "make", "ca-certificates")
_USER = "newcomer"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_CONFIGURED = ("PIP_INDEX_URL", "PIP_CERT", "UV_DEFAULT_INDEX", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
_SETTINGS_OF = ("npm_config_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_", "http_proxy", "https_proxy", "no_proxy")
"""How this machine reaches the registries is told to the clients in the root, by their own variables."""
_BROUGHT = "cc cargo rustc node npm uv postgres redis-server valkey-server"
_UP_SECONDS = 3600.0


def prove_on(suite: str) -> Callable[[], Iterator[Proven]]:
    """Return the proof for one release of Debian."""

    def prove() -> Iterator[Proven]:
        with bare_root(suite) as root:
            installed = f"apt-get update -qq && apt-get install -qq --no-install-recommends {' '.join(PACKAGES)}"
            root.sh(f"{{ {installed}; useradd --create-home {_USER}; rm -rf /var/lib/apt/lists/*; }} >&2")
            _put_clone(root)
            if there := root.sh(f"for tool in {_BROUGHT}; do command -v $tool || true; done").split():
                raise NotProvenError(f"the root is not bare: {there}")
            yield Proven(f"a bare {suite}", f"{', '.join(PACKAGES)}; no compiler, no Node.js, no database")
            yield from _up(root)

    return prove


def _put_clone(root: Root) -> None:
    bundle = root.path / "put" / "tierscope.bundle"
    bundle.parent.mkdir(mode=0o755)
    run(["git", "-C", ROOT, "bundle", "create", "--quiet", bundle, "HEAD"])
    if CERTIFICATES.exists():
        root.put(CERTIFICATES, str(CERTIFICATES))


def _up(root: Root) -> Iterator[Proven]:
    before = child_cpu_seconds()
    # All of it in one namespace, whose processes end with it.
    lines = [
        "cd",
        "git clone --quiet /put/tierscope.bundle tierscope",
        "cd tierscope",
        "from=$(date +%s)",
        "make up ARGS=--detach >&2",
        'echo "$(($(date +%s) - from))"',
        ".venv/bin/tierscope status --json --wait 300 | tr -d '\\n'; echo",
        "PATH=$PWD/.build/rust/bin:$PWD/.build/node/bin:$PATH",
        'echo "$(id -un): $(rustc --version), $(cc --version | head -n 1), Node.js $(node --version)"',
        "make down >&2",
    ]
    settings = " ".join(
        shlex.quote(f"{name}={value}") for name, value in os.environ.items() if _is_client_setting(name)
    )
    script = shlex.quote(" && ".join(lines))
    said = root.sh(f"su {_USER} --command {shlex.quote(f'env {settings} bash -euc {script}')}", seconds=_UP_SECONDS)
    seconds, status, tools = said.splitlines()[-3:]
    state = json.loads(status)
    parts = ", ".join(f"{name} {part['status']}" for name, part in state["components"].items())
    if not state["healthy"]:
        raise NotProvenError(f"not healthy: {parts}")
    yield Proven("brought without root", tools)
    yield Proven("`make up` from nothing", f"{seconds} s, {child_cpu_seconds() - before:.0f} s of CPU; {parts}")


def _is_client_setting(name: str) -> bool:
    return name in _CONFIGURED or name.lower().startswith(tuple(prefix.lower() for prefix in _SETTINGS_OF))
