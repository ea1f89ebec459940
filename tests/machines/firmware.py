"""What people reported of memory that firmware, a hypervisor or a fabric gives, takes or tells in ways of its own."""

from machines.guests import dmi
from machines.plain import no_tiers, one_tier, sockets
from machines.reported import model
from machines.right import Kind, Right, dram_on, ids
from machines.trees import HMEM, Dax, Machine, Node, Settings, cxl_region, memory_module

_OFF = Settings("false", "1")
_DRAM, _DDR4 = 0x03, 0x1A
_FLAGS = "flags\t\t: fpu lm\n"
_VIRTUAL = "processor\t: 0\nflags\t\t: fpu hypervisor lm\n"


def modules(memory_type: int, *gib: int) -> dict[str, bytes]:
    return {
        f"sys/firmware/dmi/entries/17-{slot}/raw": memory_module(memory_type, size) for slot, size in enumerate(gib)
    }


KINDS = (
    Kind(
        "DRAM that the command line sets apart as special purpose (efi_fake_mem), brought online by kmem, Linux 6.5",
        "pmem/run_qemu issue 114; Documentation/admin-guide/kernel-parameters.txt of 6.10, efi_fake_mem: 0x40000",
        Machine(
            "6.5.0",
            {0: Node(128, "0-63"), 1: Node(128)},
            {4: "0", 22: "1"},
            settings=_OFF,
            dax=(Dax(HMEM, 1, 128, start_gib=128),),
            files={"proc/cmdline": "root=/dev/vda2 ro efi_fake_mem=128G@128G:0x40000\n"},
        ),
        Right(
            dram_on(0, 1),
            256,
            "off",
            "unproven",
            ids("lower-tier-not-known"),
            likely=ids("lower-tier-not-known"),
            likely_nodes=ids("1"),
        ),
    ),
    Kind(
        "HBM in flat mode that an old kernel lists as two devices, of which one is in use, Ubuntu 22.04 (5.15)",
        "open-mpi/hwloc issue 616: duplicate overlapping hmem and dax devices; commit 472faf72b33d",
        Machine(
            "5.15.0-130-generic",
            {0: Node(512, "0-51"), 1: Node(64)},
            settings=_OFF,
            dax=(
                Dax(HMEM, 1, 64, start_gib=512),
                Dax(HMEM.replace("hmem.0", "hmem.1"), 1, 64, "device_dax", start_gib=512),
            ),
            files=model("Intel(R) Xeon(R) CPU Max 9480"),
        ),
        Right({0: "dram", 1: "hbm"}, 512, "off", "faster_below", ids("faster-memory-below-dram"), faster=64),
    ),
    Kind(
        "a CXL region of dynamic capacity of which the fabric has given nothing yet, Linux 6.9 with its patches",
        "moking/tools-and-scripts, create_dc_region_test.sh: a committed region of mode dc, before extents are added",
        Machine(
            "6.9.0-dcd",
            sockets(1, 64),
            {4: "0"},
            settings=_OFF,
            files=cxl_region("region0", 512, 1, 1)
            | {
                "sys/bus/cxl/devices/region0/mode": "dc\n",
                "sys/bus/cxl/devices/mem0/ram/size": "0x0\n",
                "sys/bus/cxl/devices/mem0/pmem/size": "0x0\n",
            },
        ),
        one_tier(0, dram=64),
    ),
    Kind(
        "a guest of VMware to which memory was added while it runs, of which SMBIOS does not tell, RHEL 9 (5.14)",
        "smxi/inxi issue 185: SMBIOS of a guest of VMware; DMTF DSP0134: tables are those of the boot",
        Machine(
            "5.14.0-503.el9.x86_64",
            sockets(1, 16),
            {4: "0"},
            settings=_OFF,
            files=dmi("VMware, Inc.", "VMware Virtual Platform") | {"proc/cpuinfo": _VIRTUAL},
            bytes_files=modules(_DRAM, 4),
        ),
        Right(
            dram_on(0),
            16,
            "not possible",
            "one_tier",
            ids("one-tier"),
            certain_nodes=ids("0"),
            hypervisor="vmware-guest",
        ),
    ),
    Kind(
        "a guest of z/VM of which the hypervisor took an eighth by cooperative memory management, RHEL 9 (5.14)",
        "IBM, Linux on IBM Z: cooperative memory management, cmm_pages and cmm_timed_pages; arch/s390/mm/cmm.c",
        Machine(
            "5.14.0-503.el9.s390x",
            sockets(1, 8),
            files={
                "proc/sysinfo": "Manufacturer: IBM\nLPAR Number: 29\nVM00 Control Program: z/VM    7.3.0\n",
                "proc/sys/vm/cmm_pages": "196608\n",
                "proc/sys/vm/cmm_timed_pages": "65536\n",
            },
        ),
        Right(
            dram_on(0),
            8,
            "not possible",
            "kernel",
            ids("memory-ballooned", "one-tier"),
            likely=ids("memory-ballooned"),
            needed_at_least=1,
            hypervisor="zvm-guest",
        ),
    ),
    Kind(
        "a partition of POWER that has memory of a chip and no processors of it, SLES 15 SP6 (6.4)",
        "IBM Storage Scale, LPAR hardware allocations for NUMA-based Power servers: numactl -H shows what was assigned",
        Machine(
            "6.4.0-150600.23.25.ppc64le",
            {0: Node(64, "0-31"), 3: Node(32)},
            {4: "0,3"},
            settings=_OFF,
            files={"proc/device-tree/ibm,partition-name": "lpar1\0"},
        ),
        Right(
            dram_on(0, 3),
            96,
            "not possible",
            "one_tier",
            ids("one-tier"),
            likely_nodes=ids("3"),
            hypervisor="powervm-guest",
        ),
    ),
    Kind(
        "a processor of two dies, of which firmware disabled the cores of one and kept its memory, Linux 6.8",
        "AnandTech 11697: Threadripper 1950X, Legacy Compatibility Mode with NUMA",
        Machine(
            "6.8.0-45-generic",
            {0: Node(16, "0-15"), 1: Node(16)},
            {4: "0-1"},
            settings=_OFF,
            files={"proc/cpuinfo": model("AMD Ryzen Threadripper 1950X 16-Core Processor")["proc/cpuinfo"] + _FLAGS},
            bytes_files=modules(_DDR4, 8, 8, 8, 8),
        ),
        Right(
            dram_on(0, 1),
            32,
            "not possible",
            "one_tier",
            ids("one-tier"),
            likely_nodes=ids("1"),
        ),
    ),
    Kind(
        "cells whose memory firmware interleaves into one node without processors, Linux 3.10",
        "commit 13808910713a, Memoryless nodes: HP machines of four nodes with processors and a fifth with all memory",
        Machine(
            "3.10.0-1160.el7.x86_64",
            {number: Node(0, f"{4 * number}-{4 * number + 3}") for number in range(4)} | {4: Node(64)},
            settings=Settings(None, "1"),
        ),
        no_tiers(4, dram=64),
    ),
)
