"""Machines that people described in public, by what they printed."""

from machines.plain import no_tiers, one_tier, sockets
from machines.right import Kind, Right, dram_on, ids
from machines.special import grace
from machines.trees import CXL, HMEM, NODES, NVDIMM, Dax, Machine, Node, Settings, cxl_device, cxl_region, memory_module

_ON = Settings("true", "2")
_OFF = Settings("false", "1")
_DDR5 = 0x22
_FREE_KIB_PER_GIB = 1 << 18
"""A machine of these trees has a quarter of its memory free."""


def model(name: str) -> dict[str, str]:
    """The beginning of /proc/cpuinfo of x86."""
    return {"proc/cpuinfo": f"processor\t: 0\nmodel name\t: {name}\n"}


def free_pages(gib: int, page_kib: int) -> dict[str, int]:
    """What tells the size of pages, beside MemFree."""
    return {"nr_free_pages": gib * _FREE_KIB_PER_GIB // page_kib}


def pages_of(kib: int, right: Right) -> Right:
    """The same on a kernel with pages of this size."""
    return Right(right.classes, right.dram, right.tiering, right.state, right.findings, page_kib=kib)


_SNC4_FLAT = tuple(
    " ".join(
        "10" if one == other else "21" if one < 4 and other < 4 else "31" if one % 4 == other % 4 else "41"
        for other in range(8)
    )
    for one in range(8)
)
"""MCDRAM at 31 from its own cluster and at 41 from the others."""
_SMALL_NODES = {0: "0-7,16-23", 1: "8-15,24-31", 2: "32-39,48-55", 3: "40-47,56-63"}

KINDS = (
    Kind(
        "HBM in flat mode of sockets in four clusters, all brought online by firmware, RHEL 9.4 (5.14 with tiers)",
        "oneapi-src/unified-memory-framework issue 1289: numactl -H of 16 nodes",
        Machine(
            "5.14.0-427.13.1.el9_4.x86_64",
            sockets(8, 64, cpus_each=12) | {number: Node(16) for number in range(8, 16)},
            {4: "0-15"},
            settings=_OFF,
            files=model("Intel(R) Xeon(R) CPU Max 9468"),
        ),
        Right(
            dram_on(*range(8)) | dict.fromkeys(range(8, 16), "hbm"),
            512,
            "not possible",
            "one_tier",
            ids("one-tier"),
            faster=128,
        ),
    ),
    Kind(
        "four quadrants, two of which have memory, Linux 6.1",
        "numactl/numactl issue 165: numactl -H of a Threadripper 3960X",
        Machine(
            "6.1.12-arch1-1",
            {0: Node(0, "0-5"), 1: Node(63, "6-11"), 2: Node(63, "12-17"), 3: Node(0, "18-23")},
            {4: "1-2"},
            settings=_OFF,
        ),
        one_tier(1, 2, dram=126),
    ),
    Kind(
        "all memory in one of four nodes with processors, Debian 11 (5.10)",
        "Dasharo/dasharo-issues issue 215: numactl --hardware of a KGPE-D16",
        Machine(
            "5.10.0-18-amd64",
            {0: Node(128, "0-7"), 1: Node(0, "8-15"), 2: Node(0, "16-23"), 3: Node(0, "24-31")},
            settings=Settings(None, "1"),
        ),
        no_tiers(0, dram=128),
    ),
    Kind(
        "persistent memory behind a cache of DRAM, told by firmware's cache alone, sockets in two clusters, Linux 5.4",
        "hwloc, tests/hwloc/linux/memorysidecaches: Xeon Gold 6230, cache of 96 GiB before each node",
        Machine(
            "5.4.0",
            sockets(4, 372, cpus_each=10),
            settings=Settings(None, "1"),
            files=model("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz")
            | {f"{NODES}/node{node}/memory_side_cache/index1/size": f"{96 << 30}\n" for node in range(4)},
        ),
        Right(
            dram_on(*range(4)),
            1488,
            "not possible",
            "kernel",
            ids("one-tier"),
            likely_nodes=ids("0", "1", "2", "3"),
        ),
    ),
    Kind(
        "CXL that firmware put into the nodes of processors (Flat Memory Mode), Linux 6.12",
        "Intel support article 000102525; community.intel.com topic 1700588",
        Machine(
            "6.12.9",
            sockets(2, 4096, cpus_each=86),
            {4: "0-1"},
            settings=_OFF,
            files=model("Intel(R) Xeon(R) 6787P") | cxl_device("mem0", 2048) | cxl_device("mem1", 2048),
            bytes_files={f"sys/firmware/dmi/entries/17-{slot}/raw": memory_module(_DDR5, 128) for slot in range(32)},
        ),
        Right(
            dram_on(0, 1),
            8192,
            "not possible",
            "one_tier",
            ids("one-tier"),
            likely_nodes=ids("0", "1"),
        ),
    ),
    Kind(
        "a virtual machine of processors with nothing but HBM, 16 nodes, Ubuntu 24.04 (6.8)",
        "learn.microsoft.com, HBv5-series virtual machine overview",
        Machine(
            "6.8.0-1025-azure",
            sockets(16, 27, cpus_each=23),
            {4: "0-15"},
            settings=_OFF,
            files=model("AMD EPYC 9V64H 88-Core Processor"),
        ),
        Right(dict.fromkeys(range(16), "hbm"), 432, "not possible", "one_tier", ids("one-tier")),
    ),
    Kind(
        "two CXL expanders of unequal size, told by nodes alone, kernel that tiers and prints no tiers, Linux 5.19",
        "stevescargall.com 2022/12: numactl -H of two expanders",
        Machine(
            "5.19.13",
            {
                0: Node(64, "0-51", distances="10 21 14 24"),
                1: Node(64, "52-103", distances="21 10 24 14"),
                2: Node(64, distances="14 24 10 26"),
                3: Node(128, distances="24 14 26 10"),
            },
            settings=_ON,
        ),
        Right(dram_on(0, 1) | {2: "unknown", 3: "unknown"}, 128, "on", "ready", slower=192),
    ),
    Kind(
        "two CXL devices beside sockets in two clusters, whose own numbers of nodes are those of sockets, Linux 6.14",
        "stevescargall.com 2025/07: CXL memory and NUMA nodes with SNC",
        Machine(
            "6.14.0",
            sockets(4, 64, cpus_each=24) | {4: Node(128), 5: Node(128)},
            {4: "0-3", 22: "4-5"},
            settings=_ON,
            dax=(
                Dax(CXL, 4, 128, start_gib=512),
                Dax(CXL.replace("region0", "region1"), 5, 128, start_gib=640),
            ),
            files=cxl_device("mem0", 128)
            | cxl_device("mem1", 128)
            | cxl_region("region0", 512, 128, 1)
            | cxl_region("region1", 640, 128, 1)
            | {"sys/bus/cxl/devices/mem0/numa_node": "0\n", "sys/bus/cxl/devices/mem1/numa_node": "1\n"},
        ),
        Right(dram_on(*range(4)) | {4: "cxl", 5: "cxl"}, 256, "on", "ready", slower=256),
    ),
    Kind(
        "memory that firmware set apart (special purpose) and no driver brought online, Linux 6.8",
        "daxctl reconfigure-device; hwloc, tests/hwloc/linux/fakeheteromemtiers: dax0.0 with device_dax",
        Machine(
            "6.8.0-45-generic",
            sockets(1, 256),
            {4: "0"},
            settings=_OFF,
            dax=(Dax(HMEM, 1, 128, "device_dax"),),
        ),
        Right(dram_on(0), 256, "not possible", "one_tier", ids("device-memory-idle", "one-tier")),
    ),
    Kind(
        "a processor and a GPU that share all memory, one node, Linux 6.11",
        "hwloc, tests/hwloc/linux/nvidia-dgx-gb10; NVIDIA DGX Spark, 128 GB of unified memory",
        Machine(
            "6.11.0-1016-nvidia",
            sockets(1, 120, cpus_each=20),
            {4: "0"},
            settings=_OFF,
            files={
                "sys/bus/pci/drivers/nvidia/000f:01:00.0/numa_node": "0\n",
                "sys/bus/pci/devices/000f:01:00.0/numa_node": "0\n",
            },
        ),
        one_tier(0, dram=120),
    ),
    Kind(
        "eight nodes that the kernel makes of one (numa=fake=8), pages of 16 KiB, Linux 6.6",
        "raspberrypi/linux PR 6273 and issue 6821; hwloc PR 568: nodes of the same processors",
        Machine(
            "6.6.51+rpt-rpi-2712",
            {number: Node(1, "0-3") for number in range(8)},
            {4: "0-7"},
            settings=_OFF,
            files={"proc/cmdline": "console=tty1 root=PARTUUID=0 numa=fake=8 system_heap.max_order=0\n"},
            vmstat=free_pages(8, 16),
        ),
        pages_of(16, one_tier(*range(8), dram=8)),
    ),
    Kind(
        "RISC-V with the processors of each of four nodes in two runs, Linux 6.6",
        "RVCK-Project/rvck PR 383: dmesg of a Milk-V Pioneer (SG2042)",
        Machine(
            "6.6.155-rvck",
            {number: Node(32, cpus) for number, cpus in _SMALL_NODES.items()},
            {4: "0-3"},
            settings=_OFF,
            vmstat=free_pages(128, 4),
        ),
        pages_of(4, one_tier(*range(4), dram=128)),
    ),
    Kind(
        "arm64 laptop with pages of 16 KiB by its release, Linux 6.8",
        "Fedora Asahi Remix, kernel-16k",
        Machine("6.8.8-400.asahi.fc40.aarch64+16k", sockets(1, 16, cpus_each=8), {4: "0"}, settings=_OFF),
        pages_of(16, one_tier(0, dram=16)),
    ),
    Kind(
        "disks without statistics at the end of io.stat, Ubuntu 22.04 (5.15)",
        "canonical/lxd issue 10052; linux-block, 2022-01-10: always terminate io.stat lines",
        Machine(
            "5.15.0-57-generic",
            sockets(1, 62),
            settings=Settings("false", "1"),
            files={"sys/fs/cgroup/io.stat": "8:0 rbytes=28672 wbytes=0 rios=22 wios=0 dbytes=0 dios=0\n7:7 7:6 "},
        ),
        no_tiers(0, dram=62),
    ),
    Kind(
        "all control groups of version 1, none of memory, version 2 beside them with an empty list, Linux 5.4",
        "hwloc, tests/hwloc/x86+linux/5intel64-hybrid-lakefield; kernel/cgroup/cgroup.c, cgroup_print_ss_mask",
        Machine(
            "5.4.0-42-generic",
            sockets(1, 4, cpus_each=5),
            settings=Settings(None, "0"),
            files={"sys/fs/cgroup/unified/cgroup.controllers": ""},
            without=("sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/memory.stat"),
        ),
        Right(dram_on(0), 4, "not possible", "kernel", ids("no-cgroup-v2", "one-tier")),
    ),
    Kind(
        "a sandbox of gVisor",
        "gVisor, pkg/sentry: version of its kernel, files of /proc; google/gvisor issue 65",
        Machine(
            "4.4.0",
            {},
            files={"proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"},
            without=("proc/vmstat", "proc/swaps", "sys/"),
            meminfo_gib=2,
        ),
        Right({}, None, "unknown", "not_known", ids("container-view", "not-in-tree")),
    ),
    Kind(
        "a socket without DRAM of its own, whose persistent memory was brought online, RHEL 8 (4.18)",
        "hwloc issue 529: a node with processors and no memory but that of a dax device",
        Machine(
            "4.18.0-553.el8.x86_64",
            {0: Node(192, "0-31"), 1: Node(126, "32-63")},
            settings=Settings(None, "1"),
            dax=(Dax(NVDIMM, 1, 128),),
        ),
        Right({0: "dram", 1: "pmem"}, 192, "not possible", "kernel", ids("one-tier"), slower=126),
    ),
    Kind(
        "four Grace Hopper in one host, 36 nodes, told by distances alone, Linux 6.5",
        "NVIDIA/mlperf-common PR 16: lscpu of a host with four GH200",
        Machine(
            "6.5.0-1024-nvidia-64k",
            grace(4, (95, 95, 95, 95)),
            {4: "0-4,12,20,28"},
            settings=_OFF,
        ),
        Right(
            dram_on(*range(4)) | dict.fromkeys((4, 12, 20, 28), "gpu"),
            1920,
            "not possible",
            "one_tier",
            ids("gpu-memory-node", "one-tier"),
            gpu=380,
        ),
    ),
    Kind(
        "two Grace with four GPUs whose driver keeps their memory to itself (CDMM), 34 nodes, Linux 6.8",
        "vllm-project/vllm PR 39361: nodes 2 to 33 without memory",
        Machine("6.8.0-1015-nvidia-64k", grace(2, (0, 0, 0, 0)), {4: "0-1"}, settings=_OFF),
        one_tier(0, 1, dram=960),
    ),
    Kind(
        "CXL whose memory was left offline (memhp_default_state=offline), Linux 6.3",
        "pmem/ndctl issue 246: daxctl reconfigure-device --no-online, numactl -H",
        Machine(
            "6.3.0",
            {0: Node(64, "0-31", distances="10 14"), 1: Node(0, distances="14 10")},
            {4: "0"},
            settings=_OFF,
            dax=(Dax(HMEM, 1, 16, start_gib=64),),
            files={"sys/devices/system/memory/block_size_bytes": f"{2 << 30:x}\n"}
            | {f"{NODES}/node1/memory{block}/state": "offline\n" for block in range(32, 40)},
        ),
        Right(dram_on(0), 64, "not possible", "one_tier", ids("memory-offline", "one-tier")),
    ),
    Kind(
        "a guest whose second node has neither processors nor memory yet (virtio-mem), Linux 6.1",
        "cloud-hypervisor/cloud-hypervisor issue 1736",
        Machine("6.1.0-18-cloud-amd64", {0: Node(2, "0-3"), 1: Node(0)}, {4: "0"}, settings=_OFF),
        one_tier(0, dram=2),
    ),
    Kind(
        "a guest of POWER with pages of 64 KiB, which its release does not tell, SLES 12 SP3 (4.4)",
        "rear/rear issue 2019: console of a partition",
        Machine("4.4.162-94.72-default", sockets(1, 16), settings=Settings(None, "1"), vmstat=free_pages(16, 64)),
        pages_of(64, no_tiers(0, dram=16)),
    ),
    Kind(
        "Xeon Phi in four clusters with MCDRAM as a cache, CentOS 7 (3.10)",
        "open-mpi/hwloc issue 209: a 7210 in SNC-4 and cache mode",
        Machine(
            "3.10.0-327.13.1.el7.x86_64",
            sockets(4, 48, cpus_each=64),
            settings=Settings(None, "1"),
            files=model("Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz"),
        ),
        no_tiers(*range(4), dram=192),
    ),
    Kind(
        "Xeon Phi in four clusters, each with MCDRAM as a node of its own, CentOS 7 (3.10)",
        "open-mpi/hwloc issue 209: distances of MCDRAM are upside down",
        Machine(
            "3.10.0-327.13.1.el7.x86_64",
            {
                number: Node(
                    24 if number < 4 else 4, f"{64 * number}-{64 * number + 63}" if number < 4 else "", distances=row
                )
                for number, row in enumerate(_SNC4_FLAT)
            },
            settings=Settings(None, "1"),
            files=model("Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz"),
        ),
        Right(
            dram_on(*range(4)) | dict.fromkeys(range(4, 8), "hbm"),
            96,
            "not possible",
            "kernel",
            ids("one-tier"),
            faster=16,
        ),
    ),
    Kind(
        "persistent memory of a CXL device, brought online by kmem, tiering on, Linux 6.6",
        "open-mpi/hwloc PR 569: dax devices of CXL with persistent capacity",
        Machine(
            "6.6.9",
            sockets(1, 256) | {1: Node(128)},
            {4: "0", 22: "1"},
            settings=_ON,
            dax=(Dax("devices/platform/ACPI0017:00/root0/nvdimm-bridge0/ndbus0/region0/dax0.0", 1, 128),),
            files={
                "sys/bus/cxl/devices/region0/mode": "pmem\n",
                "sys/bus/cxl/devices/mem0/ram/size": "0x0\n",
                "sys/bus/cxl/devices/mem0/pmem/size": f"{128 << 30:#x}\n",
            },
        ),
        Right(dram_on(0) | {1: "pmem"}, 256, "on", "ready", slower=128),
    ),
    Kind(
        "persistent memory that is nearer than the other socket, demotion off, Linux 6.1",
        "intel/cri-resource-manager PR 503: two persistent nodes at distance 17 from theirs",
        Machine(
            "6.1.55",
            {
                0: Node(4, "0-3", distances="10 21 17 28"),
                1: Node(4, "4-7", distances="21 10 28 17"),
                2: Node(16, distances="17 28 10 28"),
                3: Node(16, distances="28 17 28 10"),
            },
            {4: "0-1", 22: "2-3"},
            settings=_OFF,
            dax=(Dax(NVDIMM, 2, 16), Dax(NVDIMM.replace("region0", "region1"), 3, 16)),
        ),
        Right(
            dram_on(0, 1) | {2: "pmem", 3: "pmem"},
            8,
            "off",
            "settings",
            ids("demotion-off", "promotion-off"),
            slower=32,
        ),
    ),
)
