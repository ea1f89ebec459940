"""What people reported of files that are not those of a host's own kernel, or of control groups half mounted."""

from machines.plain import no_tiers, sockets
from machines.right import Kind, Right, ids
from machines.trees import Machine, Settings

_VIEW = Right({}, None, "not possible", "not_known", ids("container-view", "one-tier"))
_NO_NODES = ("sys/devices/system/node",)


def meminfo(**kib: int) -> dict[str, str]:
    """A file of these lines; underscores before `anon` and `file` stand for brackets."""
    named = {name.replace("_anon", "(anon)").replace("_file", "(file)"): size for name, size in kib.items()}
    return {"proc/meminfo": "".join(f"{name}: {size} kB\n" for name, size in named.items())}


KINDS = (
    Kind(
        "a container of lxcfs that shows its own lists of reclaim and the anonymous pages of its host",
        "hishamhm/htop issue 599: meminfo of a container of Proxmox",
        Machine(
            "4.13.13-6-pve",
            {},
            files=meminfo(
                MemTotal=524_288,
                MemFree=328_552,
                Active_anon=11_352,
                Inactive_anon=17_236,
                Active_file=13_452,
                Inactive_file=7_608,
                AnonPages=1_591_472,
                Mapped=374_204,
                Shmem=446_140,
            ),
            without=_NO_NODES,
        ),
        _VIEW,
    ),
    Kind(
        "a container of lxcfs that shows the shared memory of its host",
        "lxc/lxcfs issue 222: shared 956 of 512 MiB",
        Machine(
            "4.10.17-2-pve",
            {},
            files=meminfo(
                MemTotal=524_288,
                MemFree=299_008,
                Active_anon=100_000,
                Inactive_anon=80_000,
                Active_file=9_000,
                Inactive_file=6_000,
                Shmem=978_944,
            ),
            without=_NO_NODES,
        ),
        _VIEW,
    ),
    Kind(
        "a container of lxcfs that shows the slabs of its host",
        "canonical/lxd issue 2109: SReclaimable and SUnreclaim of the host beside 256 MiB",
        Machine(
            "4.4.0-22-generic",
            {},
            files=meminfo(
                MemTotal=262_144,
                MemFree=173_640,
                Active_anon=20_000,
                Inactive_anon=20_000,
                Active_file=20_000,
                Inactive_file=20_000,
                AnonPages=89_192,
                SReclaimable=101_908,
                SUnreclaim=701_888,
            ),
            without=_NO_NODES,
        ),
        _VIEW,
    ),
    Kind(
        "Windows Subsystem for Linux 1, whose files Windows makes up",
        "microsoft/WSL issues 8104 (no vmstat) and 4829 (SwapFree without a blank)",
        Machine(
            "4.4.0-19041-Microsoft",
            {},
            files={
                "proc/version": "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com) (gcc version 5.4.0) "
                "#1237-Microsoft Sat Sep 11 14:32:00 PST 2021\n",
                "proc/meminfo": "MemTotal: 16647124 kB\nMemFree: 5969580 kB\nSwapTotal: 4980736 kB\n"
                "SwapFree:18014396678257232 kB\n",
            },
            without=("proc/vmstat", "proc/swaps", "sys/"),
        ),
        Right({}, None, "unknown", "not_known", ids("container-view", "not-in-tree")),
    ),
    Kind(
        "a container of OpenVZ",
        "heim-rs/heim issue 41 (/proc/vz); chef/ohai PR 123 (user_beancounters)",
        Machine(
            "3.10.0-1160.105.1.vz7.214.3",
            {},
            files={"proc/vz/vestat": "Version: 2.2\n", "proc/user_beancounters": "Version: 2.5\n"},
            without=_NO_NODES,
            meminfo_gib=1,
        ),
        _VIEW,
    ),
    Kind(
        "a host of OpenVZ, whose files are its own",
        "openvz.org, /proc/bc of the hardware node",
        Machine(
            "3.10.0-1160.105.1.vz7.214.3",
            sockets(2, 64),
            settings=Settings(None, "1"),
            files={"proc/vz/vestat": "Version: 2.2\n", "proc/bc/resources": "0: kmemsize 0\n"},
        ),
        no_tiers(0, 1, dram=128),
    ),
    Kind(
        "memory in control groups of version 2 beside an empty directory of version 1, Ubuntu 20.04 (5.4)",
        "docker/for-linux issue 1256: cgroup_no_v1=memory",
        Machine(
            "5.4.0-74-generic",
            sockets(1, 32),
            settings=Settings(None, "0"),
            files={
                "sys/fs/cgroup/unified/cgroup.controllers": "memory\n",
                "sys/fs/cgroup/unified/system.slice/memory.current": "4096\n",
                "sys/fs/cgroup/memory/.empty": "",
            },
            without=("sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/memory.stat"),
        ),
        no_tiers(0, dram=32),
    ),
    Kind(
        "the machine of Docker Desktop, whose kernel is built without NUMA, 4.19",
        "opencontainers/runc issue 2469: memory.numa_stat is absent",
        Machine("4.19.76-linuxkit", {}, meminfo_gib=2),
        Right({}, 2, "not possible", "kernel", ids("one-tier")),
    ),
)
