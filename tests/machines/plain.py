"""Machines with one kind of memory: architectures, node counts, vendors' kernels, nodes that are not whole."""

from machines.right import Kind, Right, dram_on, ids
from machines.trees import Machine, Node, Settings

_TIERS_DOC = "Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers"
_OFF = Settings("false", "1")


def one_tier(*nodes: int, dram: float) -> Right:
    """What is right of a host whose memory is all of one kind, on a kernel that prints its one tier."""
    return Right(dram_on(*nodes), dram, "not possible", "one_tier", ids("one-tier"))


def no_tiers(*nodes: int, dram: float) -> Right:
    """The same on a kernel without memory tiers."""
    return Right(dram_on(*nodes), dram, "not possible", "kernel", ids("one-tier"))


def sockets(count: int, gib: float, cpus_each: int = 32) -> dict[int, Node]:
    return {number: Node(gib, f"{number * cpus_each}-{(number + 1) * cpus_each - 1}") for number in range(count)}


KINDS = (
    Kind(
        "one socket, one node, Linux 6.12",
        _TIERS_DOC,
        Machine("6.12.9", sockets(1, 64), {4: "0"}, settings=_OFF),
        one_tier(0, dram=64),
    ),
    Kind(
        "two sockets of unequal size, Linux 6.8",
        _TIERS_DOC,
        Machine("6.8.0-45-generic", {0: Node(256, "0-31"), 1: Node(192, "32-63")}, {4: "0-1"}, settings=_OFF),
        one_tier(0, 1, dram=448),
    ),
    Kind(
        "two sockets in four clusters each (SNC4), Linux 6.6",
        "Intel Xeon Scalable, Sub-NUMA Clustering",
        Machine("6.6.30", sockets(8, 64), {4: "0-7"}, settings=_OFF),
        one_tier(*range(8), dram=512),
    ),
    Kind(
        "one socket in four quadrants (NPS4), Linux 6.1",
        "AMD EPYC, Nodes per Socket",
        Machine("6.1.0-28-amd64", sockets(4, 96), {4: "0-3"}, settings=_OFF),
        one_tier(*range(4), dram=384),
    ),
    Kind(
        "sixteen sockets, SLES 15 SP6 (6.4)",
        "HPE Superdome Flex, server architecture",
        Machine("6.4.0-150600.23.25-default", sockets(16, 768), {4: "0-15"}, settings=_OFF),
        one_tier(*range(16), dram=12288),
    ),
    Kind(
        "a node with processors and without memory, Linux 6.12",
        "Documentation/mm/numa.rst, memoryless nodes",
        Machine("6.12.9", {0: Node(128, "0-31"), 1: Node(0, "32-63")}, {4: "0"}, settings=_OFF),
        one_tier(0, dram=128),
    ),
    Kind(
        "a node whose processors are offline, Linux 6.12",
        "Documentation/core-api/cpu_hotplug.rst",
        Machine("6.12.9", {0: Node(128, "0-31"), 1: Node(128, offline_cpus=True)}, {4: "0-1"}, settings=_OFF),
        one_tier(0, 1, dram=256),
    ),
    Kind(
        "a crash kernel of two sockets (nr_cpus=1), Linux 6.12",
        "Documentation/admin-guide/kdump/kdump.rst",
        Machine(
            "6.12.9",
            {0: Node(0.5, "0"), 1: Node(0.5)},
            {4: "0-1"},
            settings=_OFF,
            files={"proc/cmdline": "nr_cpus=1 reset_devices elfcorehdr=0x70000000\n"},
        ),
        Right({0: "dram", 1: "unknown"}, 0.5, "not possible", "one_tier", ids("one-tier"), unknown=0.5),
    ),
    Kind(
        "arm64 server in four quadrants, 64 KiB pages, RHEL 9.4 (5.14 with tiers)",
        "Ampere Altra, ANC quadrant mode",
        Machine("5.14.0-427.13.1.el9_4.aarch64+64k", sockets(4, 64), {4: "0-3"}, settings=_OFF),
        one_tier(*range(4), dram=256),
    ),
    Kind(
        "POWER10, two nodes, RHEL 9.0 (5.14)",
        "Documentation/arch/powerpc/associativity.rst",
        Machine("5.14.0-70.13.1.el9_0.ppc64le", sockets(2, 512), settings=Settings(None, "1")),
        no_tiers(0, 1, dram=1024),
    ),
    Kind(
        "POWER8 with a node that has processors and no memory, 4.18",
        "tp-qemu PR 1794; numactl of POWER8",
        Machine("4.18.0-553.el8.ppc64le", {0: Node(0, "0-7"), 1: Node(64, "8-15")}, settings=Settings(None, "1")),
        no_tiers(1, dram=64),
    ),
    Kind(
        "IBM Z, one node, SLES 15 SP5 (5.14)",
        "arch/s390/numa/numa.c: one node",
        Machine("5.14.21-150500.55-default", sockets(1, 256)),
        no_tiers(0, dram=256),
    ),
    Kind(
        "LoongArch, four nodes, Linux 6.12",
        "Documentation/arch/loongarch/introduction.rst",
        Machine("6.12.9", sockets(4, 128), {4: "0-3"}, settings=_OFF),
        one_tier(*range(4), dram=512),
    ),
    Kind(
        "RISC-V, two sockets, Linux 7.2",
        "Documentation/devicetree/bindings/numa.txt",
        Machine("7.2.0", sockets(2, 128), {4: "0-1"}, settings=_OFF),
        one_tier(0, 1, dram=256),
    ),
    Kind(
        "Oracle UEK7 (5.15), two sockets, no slower memory",
        "mm/migrate.c of 5.15: demotion goes to nodes without processors alone",
        Machine("5.15.0-210.163.7.el8uek.x86_64", sockets(2, 256), settings=Settings("false", "1")),
        no_tiers(0, 1, dram=512),
    ),
    Kind(
        "RHEL 8 (4.18), two sockets",
        "no tiers before 5.15",
        Machine("4.18.0-553.22.1.el8_10.x86_64", sockets(2, 192), settings=Settings(None, "1")),
        no_tiers(0, 1, dram=384),
    ),
    Kind(
        "Android 13 phone (5.10, built without NUMA)",
        "source.android.com, GKI kernel: CONFIG_NUMA is not set",
        Machine("5.10.198-android13-4", {}, meminfo_gib=8),
        Right({}, 8, "not possible", "kernel", ids("one-tier")),
    ),
    Kind(
        "Android 14 phone (6.1, built without NUMA), a copy of its files",
        "source.android.com, GKI kernel: a copy does not tell whether nodes were left out",
        Machine("6.1.75-android14-11", {}, meminfo_gib=12),
        Right({}, 12, "unknown", "not_known", ids("not-in-tree")),
    ),
)
