"""What hosts' inventories say of their networks, and of which hosts are peers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tierscope.domain.fleet.peer_hosts import LikeKey, like_key
from tierscope.usecases.fleet.known_inventories import KnownInventories

MOST_KNOWN = 1_000_000
"""Inventories; about 200 bytes each."""
_PARTS = ("rdma_devices", "kernel_release", "cpu_model", "nodes")


@dataclass(frozen=True, slots=True)
class KnownMachine:
    """What an inventory says."""

    devices: frozenset[str] | None
    """RDMA devices, and `smc`; None where nobody looked."""
    like: LikeKey
    """What it says of which hosts are peers; labels and the agent may say more."""


class KnownMachines(KnownInventories[KnownMachine]):
    """Networks and machines of hosts."""

    def __init__(self) -> None:
        super().__init__(_PARTS, _read_machine, most=MOST_KNOWN)


def _read_machine(body: Mapping[str, Any]) -> KnownMachine:
    devices = body.get("rdma_devices")
    # An inventory without a kernel is of a recording or of an exporter: nobody looked at its devices.
    looked = devices is not None and body.get("kernel_release")
    return KnownMachine(frozenset(devices or ()) if looked else None, like_key({}, body, None))
