"""What people reported of kernels whose own counts are wrong, and of files that look like a host's and are not."""

from machines.guests import pool
from machines.plain import sockets
from machines.right import Kind, Right, dram_on, ids
from machines.trees import KIB_PER_GIB, NODES, NVDIMM, Dax, Machine, Node, Settings
from machines.views import meminfo

_ON = Settings("true", "2")
_OFF = Settings("false", "1")
_BELOW_ZERO = 1 << 64
"""The kernel prints its counts as numbers of 64 bits without a sign."""
_UEK_KIB = 1_551_032
_LEAKED = {
    "MemTotal": _UEK_KIB,
    "MemFree": 204_800,
    "Active_anon": 311_296,
    "Inactive_anon": 163_840,
    "Active_file": 0,
    "Inactive_file": 23_297_292,
}
_LXCFS = "lxcfs {path} fuse.lxcfs rw,nosuid,nodev,relatime,user_id=0,group_id=0,allow_other 0 0\n"
_MOUNTS = "proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n" + "".join(
    _LXCFS.format(path=f"/proc/{name}") for name in ("cpuinfo", "meminfo", "stat", "swaps", "uptime")
)


def node_meminfo(node: int, **kib: int) -> dict[str, str]:
    lines = meminfo(**kib)["proc/meminfo"].splitlines()
    return {f"{NODES}/node{node}/meminfo": "".join(f"Node {node} {line}\n" for line in lines)}


KINDS = (
    Kind(
        "a host whose kernel counts fifteen times its memory as inactive file pages, Oracle UEK8 (6.12)",
        "oracle/oracle-linux issue 218: Inactive(file) of 23297292 kB, MemTotal of 1551032 kB",
        Machine(
            "6.12.0-101.33.4.3.el9uek.x86_64",
            {0: Node(_UEK_KIB / KIB_PER_GIB, "0-1")},
            {4: "0"},
            settings=_OFF,
            files=meminfo(**_LEAKED) | node_meminfo(0, **_LEAKED),
        ),
        Right(
            dram_on(0),
            _UEK_KIB / KIB_PER_GIB,
            "not possible",
            "one_tier",
            ids("count-above-memory", "one-tier"),
            needed_at_least=0,
            in_use=(_UEK_KIB - _LEAKED["MemFree"]) / KIB_PER_GIB,
        ),
    ),
    Kind(
        "a kernel that has promised fewer huge pages than none, Ubuntu 20.04 (5.4)",
        "commit d84cf06e3dd8: resv_huge_pages underflows, and HugePages_Rsvd is 18446744073709551615",
        Machine(
            "5.4.0-74-generic",
            sockets(1, 128),
            settings=Settings(None, "1"),
            files=pool(0, 8_192, 4_096)
            | meminfo(
                MemTotal=128 * KIB_PER_GIB,
                MemFree=32 * KIB_PER_GIB,
                Active_anon=16 * KIB_PER_GIB,
                Inactive_anon=16 * KIB_PER_GIB,
                Active_file=16 * KIB_PER_GIB,
                Inactive_file=16 * KIB_PER_GIB,
                Hugepagesize=2048,
                HugePages_Rsvd=_BELOW_ZERO - 1,
            ),
        ),
        Right(
            dram_on(0),
            128,
            "not possible",
            "kernel",
            ids("count-below-zero", "one-tier"),
            certain=ids("count-below-zero", "one-tier"),
            needed_at_least=24,
        ),
    ),
    Kind(
        "a node with more free memory than it has, so that its MemUsed is below zero, Linux 6.1",
        "intel/cri-resource-manager PR 795: MemUsed of a node underflows",
        Machine(
            "6.1.55",
            {0: Node(192, "0-31"), 1: Node(126)},
            {4: "0", 22: "1"},
            settings=_ON,
            dax=(Dax(NVDIMM, 1, 128),),
            files=node_meminfo(
                1,
                MemTotal=126 * KIB_PER_GIB,
                MemFree=126 * KIB_PER_GIB + 512,
                MemUsed=_BELOW_ZERO - 512,
                Active_anon=0,
                Inactive_anon=0,
                Active_file=0,
                Inactive_file=0,
            ),
        ),
        Right({0: "dram", 1: "pmem"}, 192, "on", "ready", ids("count-below-zero"), slower=126),
    ),
    Kind(
        "a container of lxcfs without a limit, whose MemTotal is its host's and whose MemFree is not, Proxmox (6.8)",
        "lxc/incus issue 620, coder/clistat issue 13: lxcfs over /proc; lxc/lxcfs issue 232: an uptime of its own",
        Machine(
            "6.8.12-4-pve",
            sockets(1, 64),
            {4: "0"},
            settings=_OFF,
            files=meminfo(
                MemTotal=64 * KIB_PER_GIB,
                MemFree=63 * KIB_PER_GIB,
                Active_anon=102_400,
                Inactive_anon=204_800,
                Active_file=204_800,
                Inactive_file=307_200,
            )
            | {"proc/mounts": _MOUNTS, "proc/uptime": "12378.00 12186.00\n"},
        ),
        Right(dram_on(0), None, "not possible", "not_known", ids("container-view", "one-tier")),
    ),
    Kind(
        "a host that runs lxcfs for its containers, whose files are its own, Proxmox (6.8)",
        "lxc/lxcfs, README: it is mounted at /var/lib/lxcfs of the host",
        Machine(
            "6.8.12-4-pve",
            sockets(1, 64),
            {4: "0"},
            settings=_OFF,
            files={"proc/mounts": _LXCFS.format(path="/var/lib/lxcfs")},
        ),
        Right(dram_on(0), 64, "not possible", "one_tier", ids("one-tier")),
    ),
    Kind(
        "a container of lxcfs whose MemTotal is 0 and whose MemFree is below it, Fedora 31 (5.5)",
        "lxc/lxcfs issue 389: total 0, free -766260 kB",
        Machine(
            "5.5.15-200.fc31.x86_64",
            sockets(1, 16),
            settings=Settings(None, "0"),
            files=meminfo(
                MemTotal=0,
                MemFree=_BELOW_ZERO - 766_260,
                Active_anon=40_000,
                Inactive_anon=28_244,
                Active_file=300_000,
                Inactive_file=398_016,
            ),
        ),
        Right(dram_on(0), None, "not possible", "not_known", ids("container-view", "one-tier")),
    ),
    Kind(
        "a program of Linux on FreeBSD, whose kernel makes up the files",
        "oven-sh/bun PR 28679: des@freebsd.org in /proc/version; Cacti/cacti issue 207: its meminfo",
        Machine(
            "5.15.0",
            {},
            files={
                "proc/version": "Linux version 5.15.0 (des@freebsd.org) (gcc version 4.2.1 Compatible FreeBSD Clang) "
                "#4 Sun Dec 18 04:30:00 CET 1977\n",
                "proc/meminfo": "MemTotal: 4166184 kB\nMemFree: 3485528 kB\nBuffers: 0 kB\nCached: 964 kB\n",
            },
            without=("proc/vmstat", "proc/pressure", "sys/"),
        ),
        Right({}, None, "unknown", "not_known", ids("container-view", "not-in-tree")),
    ),
)
