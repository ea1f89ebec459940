"""The images: loaded from their archives, composed, sent to, broken, upgraded, on a network and mounts of their own."""

import json
from collections.abc import Iterator

from proofs.artefacts import ROOT, NotHereError, NotProvenError, Proven, find_one
from proofs.containers import in_namespace

COMPOSE = ROOT / ".build" / "dist-tools" / "bin" / "podman-compose"
NAMES = ("service", "agent", "database", "queue")
_LARGEST_BYTES = {"service": 900_000_000, "agent": 40_000_000, "database": 600_000_000, "queue": 150_000_000}
"""What an image may weigh, packed: agents go to every host."""


def prove() -> Iterator[Proven]:
    if not COMPOSE.exists():
        raise NotHereError(f"{COMPOSE.name} is missing: make dist ARGS=images")
    archives = {name: find_one(f"images/tierscope-{name}-*.oci.tar") for name in NAMES}
    sizes = {name: path.stat().st_size for name, path in archives.items()}
    if large := [name for name, size in sizes.items() if size > _LARGEST_BYTES[name]]:
        raise NotProvenError(f"larger than {_LARGEST_BYTES}: {large} of {sizes}")
    yield Proven("images are packed", ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in sizes.items()))
    for line in in_namespace("proofs.composed", *archives.values()):
        yield Proven(*json.loads(line))
