"""All machines, in the order of the page."""

from collections.abc import Mapping, Sequence

from machines import counts, firmware, guests, plain, reported, special, tiered, views
from machines.right import Kind

SECTIONS: Mapping[str, Sequence[Kind]] = {
    "Memory of one kind": plain.KINDS,
    "CXL and persistent memory": tiered.KINDS,
    "HBM, GPUs, views and copies": special.KINDS,
    "Reported by people who run them": (*reported.KINDS, *views.KINDS),
    "Guests, partitions, and kernels without a part": guests.KINDS,
    "Counts that are wrong, and files that are not a host's": counts.KINDS,
    "Memory that firmware, a hypervisor or a fabric gives": firmware.KINDS,
}
