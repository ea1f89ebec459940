"""What people reported of virtual machines and partitions, and of kernels that were built or booted without a part."""

from machines.plain import one_tier, sockets
from machines.reported import free_pages
from machines.right import Kind, Right, dram_on, ids
from machines.trees import (
    CXL,
    KIB_PER_GIB,
    NODES,
    NVDIMM,
    Dax,
    Machine,
    Node,
    Settings,
    cxl_device,
    cxl_region,
)
from machines.views import meminfo

_ON = Settings("true", "2")
_OFF = Settings("false", "1")
_ARM64 = {"proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd evtstrm\nCPU implementer\t: 0x41\n"}
_KVM = {"sys/class/dmi/id/sys_vendor": "QEMU\n", "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu hypervisor lm\n"}
_BESIDE = {0: Node(256, "0-63"), 1: Node(128)}
_NVDIMM_N = 0x0101
_PI_CONTROLLERS = "cpuset cpu io pids\n"


def dmi(vendor: str, product: str) -> dict[str, str]:
    return {"sys/class/dmi/id/sys_vendor": f"{vendor}\n", "sys/class/dmi/id/product_name": f"{product}\n"}


def blocks(online: int, offline: int, first: int = 0) -> dict[str, str]:
    """Blocks of 128 MiB, those that are offline behind the others."""
    states = ["online"] * online + ["offline"] * offline
    files = {
        f"sys/devices/system/memory/memory{number}/state": f"{state}\n" for number, state in enumerate(states, first)
    }
    return {"sys/devices/system/memory/block_size_bytes": "8000000\n"} | files


def pool(node: int, pages: int, free: int) -> dict[str, str]:
    """Reserved huge pages of 2 MiB of a node."""
    at = f"{NODES}/node{node}/hugepages/hugepages-2048kB"
    return {f"{at}/nr_hugepages": f"{pages}\n", f"{at}/free_hugepages": f"{free}\n"}


_PROMISED = meminfo(
    MemTotal=126 * KIB_PER_GIB,
    MemFree=10 * KIB_PER_GIB,
    Active_anon=10 * KIB_PER_GIB,
    Inactive_anon=10 * KIB_PER_GIB,
    Active_file=10 * KIB_PER_GIB,
    Inactive_file=10 * KIB_PER_GIB,
    Hugepagesize=2048,
)

KINDS = (
    Kind(
        "pressure stall information that was off at boot (CONFIG_PSI_DEFAULT_DISABLED), RHEL 8 (4.18)",
        "netdata/netdata issue 7531; hakavlad/nohang issue 74: the file is there, and empty",
        Machine(
            "4.18.0-553.el8.x86_64",
            sockets(1, 64),
            settings=Settings(None, "1"),
            files={f"proc/pressure/{name}": "" for name in ("cpu", "io", "memory")},
        ),
        Right(dram_on(0), 64, "not possible", "kernel", ids("no-pressure", "one-tier"), likely=ids("no-pressure")),
    ),
    Kind(
        "a guest of VMware of which the hypervisor took half by its balloon, RHEL 8 (4.18)",
        "ryran/xsos issue 286: 16.7 GB ballooned of 31.5 GiB; openSUSE/supportutils PR 71",
        Machine(
            "4.18.0-553.el8.x86_64",
            sockets(1, 32),
            settings=Settings(None, "1"),
            files=dmi("VMware, Inc.", "VMware7,1")
            | {"proc/cpuinfo": _KVM["proc/cpuinfo"]}
            | meminfo(
                MemTotal=32 * KIB_PER_GIB,
                MemFree=KIB_PER_GIB,
                Active_anon=3 * KIB_PER_GIB,
                Inactive_anon=3 * KIB_PER_GIB,
                Active_file=3 * KIB_PER_GIB,
                Inactive_file=3 * KIB_PER_GIB,
            ),
            vmstat={"balloon_inflate": 6_000_000, "balloon_deflate": 1_805_696, "nr_free_pages": 262_144},
        ),
        Right(
            dram_on(0),
            32,
            "not possible",
            "kernel",
            ids("memory-ballooned", "one-tier"),
            likely=ids("memory-ballooned"),
            needed_at_least=3,
        ),
    ),
    Kind(
        "a partition of POWER that lends memory (cmm), pages of 64 KiB, Linux 6.17",
        "linuxppc-dev, 2025-11-28: nr_balloon_pages and balloon_inflate of a guest; docs of NR_BALLOON_PAGES (6.16)",
        Machine(
            "6.17.1-300.fc43.ppc64le",
            sockets(1, 64),
            {4: "0"},
            settings=_OFF,
            files={"proc/device-tree/ibm,partition-name": "lpar1\0"},
            vmstat={"nr_balloon_pages": 131_072, "balloon_inflate": 163_840, "balloon_deflate": 32_768}
            | free_pages(64, 64),
        ),
        Right(
            dram_on(0),
            64,
            "not possible",
            "one_tier",
            ids("memory-ballooned", "one-tier"),
            page_kib=64,
            needed_at_least=8,
        ),
    ),
    Kind(
        "NVDIMM-N brought online by kmem, which is DRAM with a battery, Linux 6.1",
        "intel/ipmctl issue 164: NVDIMM-N; drivers/acpi/nfit/nfit.h, interface 0x0101",
        Machine(
            "6.1.0-28-amd64",
            {0: Node(192, "0-31"), 1: Node(32)},
            {4: "0", 22: "1"},
            settings=_OFF,
            dax=(Dax(NVDIMM, 1, 32),),
            files={f"sys/bus/nd/devices/nmem{number}/nfit/format": f"{_NVDIMM_N:#06x}\n" for number in (0, 1)},
        ),
        Right(
            dram_on(0, 1),
            224,
            "off",
            "unproven",
            ids("lower-tier-not-known"),
            likely=ids("lower-tier-not-known"),
            likely_nodes=ids("1"),
        ),
    ),
    Kind(
        "an NVDIMM of a guest, behind which its host has any memory, Linux 6.6",
        "autotest/tp-libvirt PR 6364: nvdimm over a file, memfd and anonymous memory; pmem/ndctl issue 166",
        Machine(
            "6.6.30",
            {0: Node(16, "0-7"), 1: Node(16)},
            {4: "0", 22: "1"},
            settings=_OFF,
            dax=(Dax(NVDIMM, 1, 16),),
            files=_KVM,
        ),
        Right(
            {0: "dram", 1: "pmem"},
            16,
            "off",
            "settings",
            ids("demotion-off", "promotion-off"),
            slower=16,
            likely=ids("demotion-off", "promotion-off"),
            likely_nodes=ids("1"),
        ),
    ),
    Kind(
        "a whole machine of a cloud (metal) of arm64 with CXL, which is no guest, Amazon Linux 2023 (6.1)",
        "systemd/systemd PR 20628 and 27267: product_name of metal instances",
        Machine(
            "6.1.129-138.220.amzn2023.aarch64",
            _BESIDE,
            {4: "0", 22: "1"},
            settings=_ON,
            dax=(Dax(CXL, 1, 128),),
            files=cxl_region("region0", 512, 128, 1) | dmi("Amazon EC2", "c8g.metal-48xl") | _ARM64,
        ),
        Right({0: "dram", 1: "cxl"}, 256, "on", "ready", slower=128, hypervisor="none"),
    ),
    Kind(
        "a guest of arm64, whose processor has no flag that tells, Alibaba Cloud Linux 3 (5.10)",
        "systemd/systemd PR 43347: DMI of Alibaba Cloud ECS; issue 18929",
        Machine(
            "5.10.134-18.al8.aarch64",
            sockets(1, 64),
            settings=Settings("false", "1"),
            files=dmi("Alibaba Cloud", "Alibaba Cloud ECS") | _ARM64,
        ),
        Right(dram_on(0), 64, "not possible", "kernel", ids("one-tier"), hypervisor="kvm-guest"),
    ),
    Kind(
        "a partition of IBM Z with standby memory, RHEL 9 (5.14)",
        "IBM, Linux on IBM Z, removing memory: lsmem of 2 GiB online and 1 GiB offline",
        Machine("5.14.0-503.el9.s390x", sockets(1, 2), files=blocks(16, 8)),
        Right(dram_on(0), 2, "not possible", "kernel", ids("memory-standby", "one-tier")),
    ),
    Kind(
        "a guest of KVM with memory that was plugged and not set online (virtio-mem), RHEL 9 (5.14 with tiers)",
        "kubevirt/kubevirt issue 14622: memory hotplug, and what is to be done in the guest",
        Machine("5.14.0-503.el9.x86_64", sockets(1, 2), {4: "0"}, settings=_OFF, files=_KVM | blocks(16, 8)),
        Right(dram_on(0), 2, "not possible", "one_tier", ids("memory-offline", "one-tier")),
    ),
    Kind(
        "CXL on a real-time kernel (PREEMPT_RT), which has no NUMA balancing, Linux 6.12",
        "firedancer-io/firedancer issue 2573: no numa_balancing; init/Kconfig, NUMA_BALANCING",
        Machine(
            "6.12.9-rt",
            _BESIDE,
            {4: "0", 22: "1"},
            settings=Settings("true", None),
            dax=(Dax(CXL, 1, 128),),
            files=cxl_region("region0", 512, 128, 1),
            vmstat={"pgdemote_kswapd": 0, "pgdemote_direct": 0},
        ),
        Right({0: "dram", 1: "cxl"}, 256, "partly", "settings", ids("promotion-off"), slower=128),
    ),
    Kind(
        "the same with demotion off, where demotion alone would strand what turns hot again",
        "Documentation/ABI/testing/sysfs-kernel-mm-numa; init/Kconfig, NUMA_BALANCING",
        Machine(
            "6.12.9-rt",
            _BESIDE,
            {4: "0", 22: "1"},
            settings=Settings("false", None),
            dax=(Dax(CXL, 1, 128),),
            files=cxl_region("region0", 512, 128, 1),
            vmstat={"pgdemote_kswapd": 0, "pgdemote_direct": 0},
        ),
        Right({0: "dram", 1: "cxl"}, 256, "off", "settings", ids("promotion-off"), slower=128),
    ),
    Kind(
        "eight nodes of one memory on a kernel that switches the memory controller off, Linux 6.12",
        "raspberrypi/linux issue 6980 and PR 6439: cgroup_disable=memory",
        Machine(
            "6.12.34+rpt-rpi-2712",
            {number: Node(1, "0-3") for number in range(8)},
            {4: "0-7"},
            settings=_OFF,
            files={"sys/fs/cgroup/cgroup.controllers": _PI_CONTROLLERS}
            | {"proc/cmdline": "reboot=w cgroup_disable=memory numa=fake=8 cgroup_memory=1 cgroup_enable=memory\n"},
            without=("sys/fs/cgroup/memory.stat",),
        ),
        Right(dram_on(*range(8)), 8, "not possible", "one_tier", ids("no-memory-controller", "one-tier")),
    ),
    Kind(
        "a quarter of the memory reserved as huge pages, most of which nobody uses, Ubuntu 22.04 (5.15)",
        "htop-dev/htop issue 447; netdata/netdata issue 3461: huge pages that are free read as used",
        Machine(
            "5.15.0-130-generic",
            sockets(2, 256),
            settings=Settings("false", "1"),
            files=pool(0, 32_768, 32_768) | pool(1, 32_768, 16_384),
        ),
        Right(dram_on(0, 1), 512, "not possible", "kernel", ids("one-tier"), needed_at_least=32),
    ),
    Kind(
        "half of the memory reserved as huge pages, of those that are free most promised to a program, RHEL 8 (4.18)",
        "ryran/xsos issue 288: 32161 huge pages, 9000 free, 7191 promised (HugePages_Rsvd)",
        Machine(
            "4.18.0-553.el8.x86_64",
            sockets(1, 126),
            settings=Settings(None, "1"),
            files=pool(0, 32_161, 9_000) | {"proc/meminfo": _PROMISED["proc/meminfo"] + "HugePages_Rsvd: 7191\n"},
        ),
        Right(dram_on(0), 126, "not possible", "kernel", ids("one-tier"), needed_at_least=76 - (9_000 - 7_191) / 512),
    ),
    Kind(
        "memory blocks that begin at 8192, pages of 16 KiB, Linux 6.17",
        "util-linux/util-linux issue 4055: lsmem of Fedora Asahi Remix",
        Machine(
            "6.17.12-400.asahi.fc42.aarch64+16k",
            sockets(1, 16, cpus_each=8),
            {4: "0"},
            settings=_OFF,
            files=blocks(128, 0, first=8192),
        ),
        one_tier(0, dram=16),
    ),
    Kind(
        "a CXL region of persistent capacity from which nothing was made, Linux 6.2",
        "pmem/ndctl issue 236: cxl list shows the region, ndctl list nothing",
        Machine(
            "6.2.0",
            sockets(1, 64),
            {4: "0"},
            settings=_OFF,
            files=cxl_region("region0", 512, 64, 1)
            | {
                "sys/bus/cxl/devices/region0/mode": "pmem\n",
                "sys/bus/cxl/devices/mem0/ram/size": "0x0\n",
                "sys/bus/cxl/devices/mem0/pmem/size": f"{64 << 30:#x}\n",
            },
        ),
        Right(dram_on(0), 64, "not possible", "one_tier", ids("cxl-persistent-only", "one-tier")),
    ),
    Kind(
        "a CXL region of volatile memory that no dax device has, kernel without CONFIG_DEV_DAX_CXL, Linux 6.8",
        "drivers/dax/Kconfig, DEV_DAX_CXL; pmem/ndctl issue 236, volatile",
        Machine(
            "6.8.0",
            sockets(1, 64),
            {4: "0"},
            settings=_OFF,
            files=cxl_device("mem0", 64) | cxl_region("region0", 512, 64, 1),
        ),
        Right(dram_on(0), 64, "not possible", "one_tier", ids("device-memory-idle", "one-tier")),
    ),
)
