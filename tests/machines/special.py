"""Machines with HBM or GPU memory, views of containers, and copies that lack what tells."""

from machines.plain import no_tiers, sockets
from machines.right import Kind, Right, dram_on, ids
from machines.trees import CXL, HMEM, NODES, TIERS, Dax, Machine, Node, Settings, cxl_region, memory_module

_ON = Settings("true", "2")
_OFF = Settings("false", "1")
_HBM3, _DDR4, _PERSISTENT = 0x24, 0x1A, 0x1F
_MAX = {"proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU Max 9480\n"}
_FLAT = "Intel Xeon CPU Max, configuration and tuning guide, flat mode"
_FLAT_CLASSES = {0: "dram", 1: "dram", 2: "hbm", 3: "hbm"}
_GRACE = "NVIDIA Grace performance tuning guide, numactl of GH200"
_MOVES = {"pgdemote_kswapd": 283_433, "pgpromote_success": 258_633}
_UNKNOWN = {0: "dram", 1: "unknown"}


def flat(*, rated: bool) -> dict[int, Node]:
    """Two sockets with DDR5, and their HBM as nodes without processors."""
    ddr_ns, ddr_mib_per_s = (110, 210_000) if rated else (None, None)
    hbm_ns, hbm_mib_per_s = (130, 480_000) if rated else (None, None)
    return {
        0: Node(512, "0-51", ddr_ns, ddr_mib_per_s, "10 21 13 23"),
        1: Node(512, "52-103", ddr_ns, ddr_mib_per_s, "21 10 23 13"),
        2: Node(64, "", hbm_ns, hbm_mib_per_s, "13 23 10 23"),
        3: Node(64, "", hbm_ns, hbm_mib_per_s, "23 13 23 10"),
    }


def grace(cpu_nodes: int, gpus: tuple[int, ...], per_gpu: int = 8) -> dict[int, Node]:
    """Processors' nodes, and eight nodes for each GPU of which the first has its memory."""
    count = cpu_nodes + per_gpu * len(gpus)
    nodes = {}
    for number in range(count):
        row = ["10" if other == number else "80" for other in range(count)]
        if number < cpu_nodes:
            nodes[number] = Node(480, f"{number * 72}-{number * 72 + 71}", distances=" ".join(row))
        else:
            gib = gpus[(number - cpu_nodes) // per_gpu] if (number - cpu_nodes) % per_gpu == 0 else 0
            nodes[number] = Node(gib, distances=" ".join(row))
    return nodes


_HBM_MACHINES = (
    Kind(
        "HBM in flat mode, nothing but nodes tells, Linux 6.4",
        _FLAT,
        Machine("6.4.0-150600.23-default", flat(rated=False), {4: "0-1", 22: "2-3"}, settings=_OFF),
        Right(
            {0: "dram", 1: "dram", 2: "unknown", 3: "unknown"},
            1024,
            "off",
            "unproven",
            ids("lower-tier-not-known"),
            unknown=128,
        ),
    ),
    Kind(
        "HBM in flat mode below DRAM, told by ratings, Linux 6.4",
        _FLAT,
        Machine("6.4.0-150600.23-default", flat(rated=True), {4: "0-1", 22: "2-3"}, settings=_OFF),
        Right(_FLAT_CLASSES, 1024, "off", "faster_below", ids("faster-memory-below-dram"), faster=128),
    ),
    Kind(
        "HBM in flat mode below DRAM, told by the processor, tiering on, Linux 6.2",
        _FLAT,
        Machine(
            "6.2.0-39-generic",
            flat(rated=False),
            {4: "0-1", 22: "2-3"},
            settings=_ON,
            files=_MAX,
            dax=(Dax(HMEM, 2, 64), Dax(HMEM, 3, 64)),
        ),
        Right(_FLAT_CLASSES, 1024, "on", "faster_below", ids("faster-memory-below-dram"), faster=128),
    ),
    Kind(
        "HBM in flat mode, kernel that tiers and prints no tiers, Linux 5.18",
        _FLAT,
        Machine("5.18.0", flat(rated=True), settings=_OFF),
        Right(_FLAT_CLASSES, 1024, "off", "faster_below", ids("faster-memory-below-dram"), faster=128),
    ),
    Kind(
        "HBM in flat mode above DRAM, Linux 6.12",
        "mm/memory-tiers.c, abstract distance by HMAT (6.7)",
        Machine("6.12.9", flat(rated=True), {2: "2-3", 4: "0-1"}, settings=_OFF),
        Right(_FLAT_CLASSES, 1024, "not possible", "one_tier", ids("faster-memory-above-dram"), faster=128),
    ),
    Kind(
        "HBM alone, told by SMBIOS, Linux 6.8",
        "Intel Xeon CPU Max, HBM-only mode; DMTF DSP0134",
        Machine(
            "6.8.0-45-generic",
            sockets(2, 64),
            {4: "0-1"},
            settings=_OFF,
            bytes_files={f"sys/firmware/dmi/entries/17-{slot}/raw": memory_module(_HBM3) for slot in range(8)},
        ),
        Right({0: "hbm", 1: "hbm"}, 128, "not possible", "one_tier", ids("one-tier")),
    ),
    Kind(
        "HBM as a cache before DRAM, Linux 6.8",
        "Documentation/admin-guide/mm/numaperf.rst, memory-side caches",
        Machine(
            "6.8.0-45-generic",
            sockets(2, 512),
            {4: "0-1"},
            settings=_OFF,
            files=_MAX | {f"{NODES}/node{node}/memory_side_cache/index1/size": "68719476736\n" for node in (0, 1)},
        ),
        Right(dram_on(0, 1), 1024, "not possible", "one_tier", ids("one-tier")),
    ),
    Kind(
        "MCDRAM in flat mode, RHEL 8 (4.18)",
        "Intel Xeon Phi, flat memory mode: distance 31",
        Machine(
            "4.18.0-553.el8.x86_64",
            {0: Node(96, "0-271", distances="10 31"), 1: Node(16, distances="31 10")},
            settings=Settings(None, "1"),
            files={"proc/cpuinfo": "model name\t: Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz\n"},
        ),
        Right({0: "dram", 1: "hbm"}, 96, "not possible", "kernel", ids("one-tier"), faster=16),
    ),
    Kind(
        "a processor of arm64 with nothing but HBM, which prints no model, RHEL 8 (4.18)",
        "Fujitsu A64FX datasheet: HBM2 of 8 GiB for each of four groups; arch/arm64/include/asm/cputype.h",
        Machine(
            "4.18.0-553.el8.aarch64",
            sockets(4, 8, cpus_each=12),
            settings=Settings(None, "1"),
            files={"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x46\nCPU part\t: 0x001\n"},
        ),
        Right(dict.fromkeys(range(4), "hbm"), 32, "not possible", "kernel", ids("one-tier")),
    ),
    Kind(
        "persistent memory with DRAM as its cache (Memory Mode), Linux 5.15",
        "Intel Optane persistent memory, Memory Mode; DMTF DSP0134: type 1Fh beside DDR4",
        Machine(
            "5.15.0-130-generic",
            sockets(2, 768),
            settings=Settings("false", "1"),
            bytes_files={
                f"sys/firmware/dmi/entries/17-{slot}/raw": memory_module(_DDR4 if slot < 12 else _PERSISTENT, gib)
                for slot, gib in enumerate([16] * 12 + [128] * 12)
            },
        ),
        Right(dram_on(0, 1), 1536, "not possible", "kernel", ids("one-tier"), likely_nodes=ids("0", "1")),
    ),
    Kind(
        "an APU with nothing but HBM, four nodes, Linux 6.4",
        "AMD Instinct MI300A, architecture",
        Machine(
            "6.4.0-150600.23-default",
            sockets(4, 128),
            {4: "0-3"},
            settings=_OFF,
            files={"proc/cpuinfo": "model name\t: AMD Instinct MI300A Accelerator\n"},
        ),
        Right(dict.fromkeys(range(4), "hbm"), 512, "not possible", "one_tier", ids("one-tier")),
    ),
)

_GPU_MACHINES = (
    Kind(
        "Grace Hopper: memory of the GPU as a node beside seven empty ones, Linux 6.5",
        _GRACE,
        Machine("6.5.0-1015-nvidia-64k", grace(1, (95,)), {4: "0-1"}, settings=_OFF),
        Right({0: "dram", 1: "gpu"}, 480, "not possible", "one_tier", ids("gpu-memory-node", "one-tier"), gpu=95),
    ),
    Kind(
        "two Grace with four GPUs, whose driver tells, Linux 6.8",
        "NVIDIA GB200, numactl; /proc/driver/nvidia/gpus/*/numa_status",
        Machine(
            "6.8.0-1015-nvidia-64k",
            grace(2, (184, 184, 184, 184)),
            {4: "0-2,10,18,26"},
            settings=_OFF,
            files={
                f"proc/driver/nvidia/gpus/000{gpu}:01:00.0/numa_status": f"Node:  {node}\nStatus:  online\n"
                for gpu, node in enumerate((2, 10, 18, 26))
            },
        ),
        Right(
            dram_on(0, 1) | dict.fromkeys((2, 10, 18, 26), "gpu"),
            960,
            "not possible",
            "one_tier",
            ids("gpu-memory-node", "one-tier"),
            gpu=736,
            certain=ids("gpu-memory-node"),
        ),
    ),
    Kind(
        "Grace Hopper whose kernel demotes into the GPU, Linux 6.12",
        _GRACE,
        Machine("6.12.9-64k", grace(1, (95,)), {4: "0", 22: "1"}, settings=_ON),
        Right({0: "dram", 1: "gpu"}, 480, "on", "one_tier", ids("gpu-memory-node"), gpu=95),
    ),
    Kind(
        "POWER9 with four GPUs as nodes 252 to 255, RHEL 8 (4.18)",
        "hwloc PR 357; ibm,associativity of AC922",
        Machine(
            "4.18.0-553.el8.ppc64le",
            {0: Node(128, "0-63"), 8: Node(128, "64-127")} | {number: Node(15.75) for number in range(252, 256)},
            settings=Settings(None, "0"),
        ),
        Right(
            {0: "dram", 8: "dram"} | dict.fromkeys(range(252, 256), "gpu"),
            256,
            "not possible",
            "kernel",
            ids("gpu-memory-node", "one-tier"),
            gpu=63,
        ),
    ),
)

_VIEWS = (
    Kind(
        "a container of lxcfs on a host of one node",
        "lxcfs issue 120",
        Machine("4.4.0-22-generic", sockets(1, 128), meminfo_gib=4),
        Right(dram_on(0), None, "not possible", "not_known", ids("container-view", "one-tier")),
    ),
    Kind(
        "a container of lxcfs on a tiered host, Linux 6.12",
        "lxcfs issue 119",
        Machine(
            "6.12.9",
            {0: Node(128, "0-31"), 1: Node(512)},
            {4: "0", 22: "1"},
            settings=_ON,
            meminfo_gib=8,
            dax=(Dax(CXL, 1, 512),),
            files=cxl_region("region0", 1024, 512, 1),
        ),
        Right({0: "dram", 1: "cxl"}, None, "on", "not_known", ids("container-view")),
    ),
    Kind(
        "a report of sos, of a tiered host with Linux 6.12",
        "sos 4.12, plugins kernel, memory, numa: neither tiers nor settings nor uptime",
        Machine(
            "6.12.95+deb12-amd64",
            {0: Node(8, "0-1"), 1: Node(32)},
            vmstat=_MOVES,
            files={"version.txt": "sos report: 4.12.1\nkernel: 1.0"},
            without=("proc/uptime", "sys/fs", TIERS),
        ),
        Right(_UNKNOWN, 8, "unknown", "not_known", ids("not-in-tree", "lower-tier-not-known"), unknown=32),
    ),
    Kind(
        "a report of sos, of a host that may or may not tier, RHEL 9 (5.14)",
        "sos 4.12; RHEL 9 backports tiers",
        Machine(
            "5.14.0-503.el9.x86_64",
            {0: Node(64, "0-31"), 1: Node(64)},
            files={"version.txt": "sos report: 4.10.0\nkernel: 1.0"},
            without=("proc/uptime", "sys/fs", TIERS),
        ),
        Right(_UNKNOWN, 64, "unknown", "not_known", ids("not-in-tree"), unknown=64),
    ),
    Kind(
        "a report of sos, of two sockets, RHEL 8 (4.18)",
        "sos 4.12",
        Machine(
            "4.18.0-553.el8.x86_64",
            sockets(2, 64),
            files={"version.txt": "sos report: 4.10.0\nkernel: 1.0"},
            without=("proc/uptime", "sys/fs", TIERS),
        ),
        Right(dram_on(0, 1), 128, "not possible", "one_tier", ids("not-in-tree")),
    ),
    Kind(
        "a copy of /proc alone, Linux 6.12",
        "what tar of /proc holds",
        Machine("6.12.9", sockets(1, 64), {4: "0"}, without=("sys/",)),
        Right({}, 64, "unknown", "not_known", ids("not-in-tree")),
    ),
    Kind(
        "a copy with masks of processors instead of lists, Linux 6.6",
        "Documentation/ABI/stable/sysfs-devices-node: cpumap, cpulist",
        Machine(
            "6.6.30",
            sockets(2, 64),
            {4: "0-1"},
            settings=_OFF,
            files={f"{NODES}/node0/cpumap": "00000000,ffffffff\n", f"{NODES}/node1/cpumap": "ffffffff,00000000\n"},
            without=(f"{NODES}/node0/cpulist", f"{NODES}/node1/cpulist"),
        ),
        Right(dram_on(0, 1), 128, "not possible", "one_tier", ids("one-tier")),
    ),
    Kind(
        "most of the memory is cache of ZFS, Linux 5.15",
        "OpenZFS issue 10255; module parameters, zfs_arc_min",
        Machine(
            "5.15.0-130-generic",
            sockets(1, 128),
            settings=Settings("false", "0"),
            files={
                "proc/spl/kstat/zfs/arcstats": (
                    "9 1 0x01 98 26656 5 9\nname type data\nsize 4 77309411328\nc_min 4 4294967296\n"
                )
            },
        ),
        no_tiers(0, dram=128),
    ),
)

KINDS = (*_HBM_MACHINES, *_GPU_MACHINES, *_VIEWS)
