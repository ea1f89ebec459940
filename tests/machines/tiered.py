"""Machines with CXL or persistent memory, and their kernels from 4.18 to 7.2."""

from machines.plain import sockets
from machines.right import Kind, Right, ids
from machines.trees import (
    CXL,
    E820,
    NVDIMM,
    Dax,
    Machine,
    Node,
    Settings,
    cedt,
    cxl_device,
    cxl_region,
    memory_blocks,
    pci_function,
    program,
)

_ON = Settings("true", "2")
_OFF = Settings("false", "1")
_CXL_MEMORY, _BRIDGE = 0x050210, 0x060100
"""Classes of PCI functions, with their programming interface."""
_CXL_DOC = "Documentation/driver-api/cxl"
_PMEM_DOC = "Documentation/driver-api/nvdimm; drivers/dax/kmem.c"
_MOVES = {"pgdemote_kswapd": 9_000_000, "pgdemote_direct": 0, "pgpromote_success": 4_000_000}
_DEMOTED = {"pgdemote_kswapd": 9_000_000, "pgdemote_direct": 0}
_SLOW_CXL = {0: "dram", 1: "cxl"}
_SLOW_PMEM = {0: "dram", 1: "pmem"}


def beside(gib: float, slow_gib: float) -> dict[int, Node]:
    """One socket, and a node without processors."""
    return {0: Node(gib, "0-63"), 1: Node(slow_gib)}


KINDS = (
    Kind(
        "one CXL device as a region, tiering on, Linux 6.12",
        _CXL_DOC,
        Machine(
            "6.12.9",
            beside(256, 128),
            {4: "0", 22: "1"},
            settings=_ON,
            dax=(Dax(CXL, 1, 128),),
            files=cxl_region("region0", 512, 128, 1),
        ),
        Right(_SLOW_CXL, 256, "on", "ready", slower=128),
    ),
    Kind(
        "four CXL devices interleaved, tiering off, Linux 7.2",
        _CXL_DOC,
        Machine(
            "7.2.0",
            beside(512, 512),
            {4: "0", 54: "1"},
            settings=_OFF,
            dax=(Dax(CXL, 1, 512),),
            files=cxl_region("region0", 1024, 512, 4) | program(7, "db", "/usr/bin/db"),
        ),
        Right(
            _SLOW_CXL,
            512,
            "off",
            "settings",
            ids("demotion-off", "promotion-off"),
            slower=512,
            certain=ids("demotion-off", "promotion-off"),
        ),
    ),
    Kind(
        "the same with no process listed, so that nobody knows what cpusets and policies bind, Linux 6.12",
        "Documentation/ABI/testing/sysfs-kernel-mm-numa: strict cpuset location guarantees",
        Machine("6.12.9", beside(512, 512), {4: "0", 22: "1"}, settings=_OFF, dax=(Dax(CXL, 1, 512),)),
        Right(
            _SLOW_CXL,
            512,
            "off",
            "settings",
            ids("demotion-off", "promotion-off"),
            slower=512,
            likely=ids("demotion-off", "promotion-off"),
        ),
    ),
    Kind(
        "CXL on a host on which numad moves pages, kernel's tiering off, Linux 6.12",
        "RHEL 7 performance tuning guide, A.13: numad overrides automatic NUMA balancing",
        Machine(
            "6.12.9",
            beside(512, 512),
            {4: "0", 22: "1"},
            settings=_OFF,
            dax=(Dax(CXL, 1, 512),),
            files=program(7, "numad", "/usr/bin/numad", "-i", "15"),
        ),
        Right(
            _SLOW_CXL,
            512,
            "unknown",
            "settings",
            ids("demotion-off", "promotion-off", "user-space-mover"),
            slower=512,
            likely=ids("demotion-off", "promotion-off", "user-space-mover"),
        ),
    ),
    Kind(
        "CXL known by firmware's ratings alone, demotion without promotion, RHEL 9.4 (5.14 with tiers)",
        "ACPI HMAT; RHEL 9 release notes, memory tiering",
        Machine(
            "5.14.0-427.13.1.el9_4.x86_64",
            {0: Node(256, "0-63", 100, 200_000), 1: Node(256, latency_ns=260, mib_per_s=40_000)},
            {4: "0", 22: "1"},
            settings=Settings("true", "1"),
        ),
        Right(_SLOW_CXL, 256, "partly", "settings", ids("promotion-off"), slower=256),
    ),
    Kind(
        "CXL brought online by firmware as plain memory, in the tier of DRAM, Linux 6.5",
        "CXL specification, CEDT; mm/memory-tiers.c: nodes without a driver are of DRAM's tier",
        Machine(
            "6.5.0-45-generic",
            beside(256, 128),
            {4: "0-1"},
            settings=_OFF,
            files=memory_blocks(1, ((256, 128),)),
            bytes_files={"sys/firmware/acpi/tables/CEDT": cedt(256, 128)},
        ),
        Right(
            _SLOW_CXL,
            256,
            "not possible",
            "misplaced",
            ids("cpuless-node-in-top-tier", "one-tier"),
            slower=128,
            certain=ids("cpuless-node-in-top-tier"),
        ),
    ),
    Kind(
        "two CXL devices that firmware brought online without regions, in the tier of DRAM, Linux 6.6",
        "skhynix/hmsdk issue 2; pmem/ndctl issue 279: CXL Type 3 Legacy",
        Machine(
            "6.6.0-hmsdk2.0+",
            sockets(2, 64) | {2: Node(96), 3: Node(96)},
            {4: "0-3"},
            settings=_ON,
            files=cxl_device("mem0", 96)
            | cxl_device("mem1", 96)
            | memory_blocks(2, ((128, 96),))
            | memory_blocks(3, ((224, 96),)),
            bytes_files={"sys/firmware/acpi/tables/CEDT": cedt(128, 192)},
        ),
        Right(
            {0: "dram", 1: "dram", 2: "cxl", 3: "cxl"},
            128,
            "not possible",
            "misplaced",
            ids("cpuless-node-in-top-tier", "one-tier"),
            slower=192,
            certain=ids("cpuless-node-in-top-tier"),
        ),
    ),
    Kind(
        "one of two CXL devices in no region, Linux 6.12",
        "skhynix/hmsdk issue 5",
        Machine(
            "6.12.0",
            sockets(2, 64) | {2: Node(96)},
            {4: "0-1", 35: "2"},
            settings=_ON,
            dax=(Dax(CXL, 2, 96),),
            files=cxl_region("region0", 128, 96, 1) | cxl_device("mem0", 96) | cxl_device("mem1", 96),
        ),
        Right({0: "dram", 1: "dram", 2: "cxl"}, 128, "on", "ready", ids("device-memory-idle"), slower=96),
    ),
    Kind(
        "one of two CXL cards without a driver, Linux 6.8",
        "intel/PerfSpect issue 422: lspci of two cards",
        Machine(
            "6.8.0-60-generic",
            sockets(2, 256) | {2: Node(128)},
            {4: "0-1", 22: "2"},
            settings=_ON,
            dax=(Dax(CXL, 2, 128),),
            files=cxl_region("region0", 512, 128, 1)
            | cxl_device("mem0", 128)
            | pci_function("0000:5c:00.0", _CXL_MEMORY)
            | pci_function("0000:84:00.0", _CXL_MEMORY)
            | pci_function("0000:00:1f.0", _BRIDGE),
            links={"sys/bus/pci/devices/0000:5c:00.0/driver": "../../drivers/cxl_pci"},
        ),
        Right({0: "dram", 1: "dram", 2: "cxl"}, 512, "on", "ready", ids("device-memory-idle"), slower=128),
    ),
    Kind(
        "half of a CXL device online, Linux 6.12",
        "Documentation/admin-guide/mm/memory-hotplug.rst; ndctl issue 256",
        Machine(
            "6.12.9",
            beside(256, 64),
            {4: "0", 22: "1"},
            settings=_ON,
            dax=(Dax(CXL, 1, 128),),
            files=cxl_region("region0", 512, 128, 1),
        ),
        Right(_SLOW_CXL, 256, "on", "strained", ids("memory-offline"), slower=64),
    ),
    Kind(
        "a CXL node that was hot-removed, Linux 6.12",
        "Documentation/admin-guide/mm/memory-hotplug.rst, offlining",
        Machine(
            "6.12.9",
            sockets(1, 256),
            {4: "0"},
            settings=_OFF,
            dax=(Dax(CXL, 1, 128, driver=""),),
            files=cxl_region("region0", 512, 128, 1),
        ),
        Right({0: "dram"}, 256, "not possible", "one_tier", ids("one-tier", "device-memory-idle")),
    ),
    Kind(
        "a CXL region in the node of a socket, Linux 6.2",
        _CXL_DOC,
        Machine(
            "6.2.0-39-generic",
            sockets(1, 320),
            {4: "0"},
            settings=_OFF,
            files=cxl_region("region0", 512, 64, 1) | memory_blocks(0, ((0, 256), (512, 64))),
        ),
        Right({0: "dram"}, 256, "not possible", "one_tier", ids("mixed-node", "one-tier"), slower=64),
    ),
    Kind(
        "CXL with persistent capacity alone, Linux 6.12",
        "ndctl issue 276; Documentation/ABI/testing/sysfs-bus-cxl",
        Machine(
            "6.12.9",
            sockets(1, 256),
            {4: "0"},
            settings=_OFF,
            files={
                "sys/bus/cxl/devices/mem0/ram/size": "0x0\n",
                "sys/bus/cxl/devices/mem0/pmem/size": "0x1000000000\n",
            },
        ),
        Right({0: "dram"}, 256, "not possible", "one_tier", ids("one-tier", "cxl-persistent-only")),
    ),
    Kind(
        "HBM over DRAM over CXL, each in its tier, Linux 6.12",
        "mm/memory-tiers.c, abstract distance by HMAT",
        Machine(
            "6.12.9",
            {0: Node(512, "0-55", 110, 200_000), 1: Node(64, latency_ns=130, mib_per_s=500_000), 2: Node(256)},
            {3: "1", 4: "0", 22: "2"},
            settings=_ON,
            dax=(Dax(CXL, 2, 256),),
            files=cxl_region("region0", 1024, 256, 2),
        ),
        Right(
            {0: "dram", 1: "hbm", 2: "cxl"},
            512,
            "on",
            "ready",
            ids("faster-memory-above-dram"),
            slower=256,
            faster=64,
        ),
    ),
    Kind(
        "a guest with a node without processors and no ratings, in the tier of DRAM, Linux 6.12",
        "QEMU, -numa node,memdev=",
        Machine("6.12.9", beside(16, 16), {4: "0-1"}, settings=_OFF),
        Right(
            {0: "dram", 1: "unknown"},
            16,
            "not possible",
            "misplaced",
            ids("cpuless-node-in-top-tier", "one-tier"),
            unknown=16,
        ),
    ),
    Kind(
        "persistent memory by kmem, tiering on, Linux 6.1",
        _PMEM_DOC,
        Machine("6.1.0-28-amd64", beside(192, 756), {4: "0", 22: "1"}, settings=_ON, dax=(Dax(NVDIMM, 1, 756),)),
        Right(_SLOW_PMEM, 192, "on", "ready", slower=756),
    ),
    Kind(
        "persistent memory, kernel that tiers and prints no tiers, Linux 5.18",
        "mm/migrate.c of 5.18, node_demotion; kernel.numa_balancing 2 since 5.18",
        Machine("5.18.0-051800-generic", beside(192, 756), settings=_ON, dax=(Dax(NVDIMM, 1, 756),), vmstat=_MOVES),
        Right(_SLOW_PMEM, 192, "on", "ready", slower=756),
    ),
    Kind(
        "persistent memory, kernel that demotes and cannot promote, UEK7 (5.15)",
        "mm/migrate.c of 5.15",
        Machine(
            "5.15.0-210.163.7.el8uek.x86_64",
            beside(192, 756),
            settings=Settings("true", "1"),
            dax=(Dax(NVDIMM, 1, 756),),
            vmstat=_DEMOTED,
        ),
        Right(_SLOW_PMEM, 192, "partly", "settings", ids("promotion-off"), slower=756, certain=ids("promotion-off")),
    ),
    Kind(
        "persistent memory, RHEL 8 (4.18), which moves nothing",
        _PMEM_DOC,
        Machine(
            "4.18.0-553.22.1.el8_10.x86_64", beside(192, 756), settings=Settings(None, "1"), dax=(Dax(NVDIMM, 1, 756),)
        ),
        Right(_SLOW_PMEM, 192, "not possible", "kernel", ids("one-tier"), slower=756),
    ),
    Kind(
        "persistent memory of eight times DRAM, RHEL 8 (4.18)",
        "pmem/ndctl issue 110; Documentation/admin-guide/mm/memory-hotplug.rst, Zone Imbalances",
        Machine(
            "4.18.0-553.22.1.el8_10.x86_64",
            beside(192, 1536),
            settings=Settings(None, "1"),
            dax=(Dax(NVDIMM, 1, 1536),),
        ),
        Right(_SLOW_PMEM, 192, "not possible", "kernel", ids("large-slow-tier", "one-tier"), slower=1536),
    ),
    Kind(
        "persistent memory that memtierd moves pages to, kernel's tiering off, Linux 6.6",
        "intel/memtierd, README; intel/cri-resource-manager issue 962",
        Machine(
            "6.6.30",
            beside(192, 756),
            {4: "0", 22: "1"},
            settings=_OFF,
            dax=(Dax(NVDIMM, 1, 756),),
            files=program(7, "memtierd", "/usr/bin/memtierd", "-config", "/etc/memtierd.yaml"),
            vmstat={"pgmigrate_success": 4_000_000, "pgdemote_kswapd": 0, "pgpromote_success": 0},
        ),
        Right(
            _SLOW_PMEM,
            192,
            "unknown",
            "settings",
            ids("demotion-off", "promotion-off", "user-space-mover"),
            slower=756,
            likely=ids("demotion-off", "promotion-off", "user-space-mover"),
        ),
    ),
    Kind(
        "CXL that something moved pages to, kernel's tiering off, Linux 6.12",
        "mm/migrate.c: PGMIGRATE_SUCCESS for every reason; numactl, migratepages(8)",
        Machine(
            "6.12.9",
            beside(256, 128),
            {4: "0", 22: "1"},
            settings=_OFF,
            dax=(Dax(CXL, 1, 128),),
            files=cxl_region("region0", 512, 128, 1),
            vmstat={"pgmigrate_success": 4_000_000, "compact_isolated": 20_000, "numa_pages_migrated": 300_000},
        ),
        Right(
            _SLOW_CXL,
            256,
            "unknown",
            "settings",
            ids("demotion-off", "promotion-off", "user-space-mover"),
            slower=128,
            likely=ids("demotion-off", "promotion-off"),
        ),
    ),
    Kind(
        "CXL beside a GPU whose driver follows mappings, kernel's tiering off, Ubuntu 22.04 (6.8)",
        "rocm.docs.amd.com, MI300X: disable NUMA auto-balancing, or the GPU might hang until it is done",
        Machine(
            "6.8.0-45-generic",
            beside(256, 128),
            {4: "0", 22: "1"},
            settings=_OFF,
            dax=(Dax(CXL, 1, 128),),
            files=cxl_region("region0", 512, 128, 1)
            | {
                "sys/bus/pci/drivers/amdgpu/0000:c1:00.0/enable": "1\n",
                "sys/bus/pci/devices/0000:c1:00.0/numa_node": "0\n",
            },
        ),
        Right(
            _SLOW_CXL,
            256,
            "off",
            "settings",
            ids("demotion-off", "gpu-driver", "promotion-off"),
            slower=128,
            likely=ids("gpu-driver", "promotion-off"),
        ),
    ),
    Kind(
        "CXL to which DAMON moves hot pages for its bandwidth, tiering on, Linux 6.18",
        "linux-mm, 2026-02-23: migrate_hot from DRAM to CXL by a goal of its quota",
        Machine(
            "6.18.4",
            beside(256, 128),
            {4: "0", 22: "1"},
            settings=_ON,
            dax=(Dax(CXL, 1, 128),),
            files=cxl_region("region0", 512, 128, 1)
            | {
                f"sys/kernel/mm/damon/admin/kdamonds/0/{name}": f"{value}\n"
                for name, value in (
                    ("state", "on"),
                    ("refresh_ms", "1000"),
                    ("contexts/0/operations", "paddr"),
                    ("contexts/0/schemes/0/action", "migrate_hot"),
                    ("contexts/0/schemes/0/target_nid", "1"),
                )
            },
        ),
        Right(_SLOW_CXL, 256, "on", "ready", ids("hot-pages-in-a-circle"), slower=128),
    ),
    Kind(
        "a kernel with the TPP patches, its settings not shown",
        "TPP patches: pgdemote_anon, demote_scale_factor",
        Machine(
            "5.12.0-tpp",
            beside(192, 256),
            settings=Settings(None, "3"),
            dax=(Dax(CXL, 1, 256),),
            files=cxl_region("region0", 512, 256, 1),
            vmstat={"pgdemote_anon": 10, "pgdemote_file": 5, "pgpromote_anon": 3, "pgpromote_candidate_demoted": 1},
        ),
        Right(_SLOW_CXL, 192, "unknown", "not_known", slower=256),
    ),
    Kind(
        "persistent memory in the node of a socket, Linux 6.2",
        "ndctl issue 171: target_node of a socket",
        Machine(
            "6.2.0-39-generic",
            {0: Node(318, "0-31"), 1: Node(192, "32-63")},
            {4: "0-1"},
            settings=_OFF,
            dax=(Dax(NVDIMM, 0, 126),),
        ),
        Right({0: "dram", 1: "dram"}, 384, "not possible", "one_tier", ids("mixed-node", "one-tier"), slower=126),
    ),
    Kind(
        "four sockets' DRAM and two nodes of persistent memory, tiering on, Linux 6.8",
        "hwloc issue 576, second host",
        Machine(
            "6.8.0-45-generic",
            sockets(4, 96) | {4: Node(512), 5: Node(512)},
            {4: "0-3", 22: "4-5"},
            settings=Settings("true", "3"),
            dax=(Dax(NVDIMM, 4, 512), Dax(NVDIMM.replace("region0", "region1"), 5, 512)),
        ),
        Right(dict.fromkeys(range(4), "dram") | {4: "pmem", 5: "pmem"}, 384, "on", "ready", slower=1024),
    ),
    Kind(
        "memory that memmap= set apart, as persistent memory, Linux 6.6",
        "Documentation/admin-guide/kernel-parameters.txt, memmap=nn!ss",
        Machine("6.6.30", beside(48, 16), {4: "0", 22: "1"}, settings=_OFF, dax=(Dax(E820, 1, 16),)),
        Right(_SLOW_PMEM, 48, "off", "settings", ids("demotion-off", "promotion-off"), slower=16),
    ),
)
