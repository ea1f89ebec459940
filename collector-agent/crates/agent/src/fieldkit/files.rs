//! Which files of the kernel a field kit copies as they are: counters, settings and units of the host as a whole. None of
//! them names a process, a user, a file of a user or a network.

use std::fs;
use std::io::Read as _;
use std::path::Path;

/// Copied into each snapshot; `*` stands for any name.
const EVERY_TIME: &[&str] = &[
    "proc/buddyinfo",
    "proc/meminfo",
    "proc/pressure/*",
    "proc/spl/kstat/zfs/arcstats",
    "proc/stat",
    "proc/uptime",
    "proc/vmstat",
    "proc/zoneinfo",
    "proc/sys/kernel/numa_balancing*",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/random/boot_id",
    "proc/sys/vm/*",
    "sys/devices/system/cpu/online",
    "sys/devices/system/node/online",
    "sys/devices/system/node/possible",
    "sys/devices/system/node/node*/access*/initiators/*",
    "sys/devices/system/node/node*/cpulist",
    "sys/devices/system/node/node*/distance",
    "sys/devices/system/node/node*/hugepages/*/*",
    "sys/devices/system/node/node*/meminfo",
    "sys/devices/system/node/node*/memory_side_cache/*/*",
    "sys/devices/system/node/node*/numastat",
    "sys/devices/system/node/node*/vmstat",
    "sys/devices/virtual/memory_tiering/*/nodelist",
    "sys/bus/dax/devices/*/memmap_on_memory",
    "sys/kernel/debug/sched/numa_balancing/*",
    "sys/kernel/mm/damon/admin/kdamonds/*/refresh_ms",
    "sys/kernel/mm/damon/admin/kdamonds/*/state",
    "sys/kernel/mm/damon/admin/kdamonds/*/contexts/*/operations",
    "sys/kernel/mm/damon/admin/kdamonds/*/contexts/*/schemes/*/action",
    "sys/kernel/mm/damon/admin/kdamonds/*/contexts/*/schemes/*/target_nid",
    "sys/kernel/mm/damon/admin/kdamonds/*/contexts/*/schemes/*/dests/nr_dests",
    "sys/kernel/mm/damon/admin/kdamonds/*/contexts/*/schemes/*/stats/*",
    "sys/kernel/mm/ksm/run",
    "sys/kernel/mm/lru_gen/*",
    "sys/kernel/mm/mempolicy/weighted_interleave/*",
    "sys/kernel/mm/numa/*",
    "sys/kernel/mm/swap/*",
    "sys/kernel/mm/transparent_hugepage/*",
    "sys/kernel/mm/transparent_hugepage/khugepaged/*",
    "sys/kernel/mm/transparent_hugepage/hugepages-*/stats/*",
    "sys/module/damon_*/parameters/*",
    "sys/module/memory_hotplug/parameters/*",
    "sys/module/zswap/parameters/*",
];
/// Copied into the first snapshot alone: what the hardware is.
const ONCE: &[&str] = &[
    "proc/cpuinfo",
    "sys/bus/event_source/devices/arm_spe_*/caps/*",
    "sys/bus/event_source/devices/arm_spe_*/format/*",
    "sys/bus/event_source/devices/arm_spe_*/type",
    "sys/bus/event_source/devices/cpu*/caps/*",
    "sys/bus/event_source/devices/cpu*/events/mem-*",
    "sys/bus/event_source/devices/cpu*/format/*",
    "sys/bus/event_source/devices/cpu*/type",
    "sys/bus/event_source/devices/cxl_hmu_*/cpumask",
    "sys/bus/event_source/devices/cxl_hmu_*/format/*",
    "sys/bus/event_source/devices/ibs_*/caps/*",
    "sys/bus/event_source/devices/ibs_*/format/*",
    "sys/bus/event_source/devices/ibs_*/type",
    "sys/bus/event_source/devices/*/type",
    "sys/devices/system/cpu/cpu0/cache/index*/size",
    "sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
];
/// Most bytes of one file, of one snapshot, and most files of one snapshot. `/proc/zoneinfo` of a host with 1,000 CPUs has
/// about 3 MB.
const MAX_FILE_BYTES: u64 = 8 << 20;
const MAX_SNAPSHOT_BYTES: u64 = 16 << 20;
const MAX_FILES: usize = 4000;

/// A file of the kernel: its path beneath the root, and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelFile {
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
}

/// Copies the files beneath `root`, those of [`ONCE`] too where it is the first snapshot. Files that cannot be read are
/// left out, as the kernel that lacks them does.
pub(crate) fn copy(root: &Path, is_first: bool) -> Vec<KernelFile> {
    let once: &[&str] = if is_first { ONCE } else { &[] };
    let mut files: Vec<KernelFile> = Vec::new();
    let mut bytes = 0;
    for pattern in EVERY_TIME.iter().chain(once) {
        for path in matching(root, pattern) {
            let is_known = files.iter().any(|file| file.path == path);
            if is_known || files.len() >= MAX_FILES || bytes > MAX_SNAPSHOT_BYTES {
                continue;
            }
            let mut content = Vec::new();
            let read = tierscope_rootfs::open_plain(&root.join(&path))
                .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut content));
            if read.is_ok() {
                bytes += content.len() as u64;
                files.push(KernelFile { path, content });
            }
        }
    }
    files
}

/// Paths of files beneath `root` that fit a pattern, sorted.
fn matching(root: &Path, pattern: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in pattern.split('/') {
        let mut next = Vec::new();
        for parent in &found {
            let join = |name: &str| {
                if parent.is_empty() {
                    name.to_owned()
                } else {
                    format!("{parent}/{name}")
                }
            };
            if !part.contains('*') {
                next.push(join(part));
                continue;
            }
            let (begin, end) = part.split_once('*').unwrap_or((part, ""));
            let Ok(entries) = fs::read_dir(root.join(parent)) else {
                continue;
            };
            let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            let fits = |name: &String| {
                name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
            };
            next.extend(names.filter(fits).map(|name| join(&name)));
        }
        found = next;
    }
    found.retain(|path| root.join(path).is_file());
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    #[test]
    fn files_of_the_host_are_copied_and_those_of_processes_are_not() {
        let root = FakeRoot::new();
        for (path, text) in [
            ("proc/vmstat", "pgfault 7\n"),
            ("proc/cpuinfo", "processor : 0\n"),
            ("proc/swaps", "/home/somebody/swap file 1 0 -2\n"),
            ("proc/cmdline", "secret=1\n"),
            ("proc/77/cmdline", "server --password x"),
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/kernel/hostname", "somebody\n"),
            ("proc/sys/kernel/numa_balancing", "0\n"),
            ("sys/devices/system/node/node1/vmstat", "nr_free_pages 1\n"),
            (
                "sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages",
                "0\n",
            ),
            ("sys/fs/cgroup/customer.slice/memory.stat", "anon 1\n"),
        ] {
            root.write(path, text);
        }
        let names = |is_first| -> Vec<String> {
            let files = copy(root.root().as_path(), is_first);
            files.into_iter().map(|file| file.path).collect()
        };
        let later = [
            "proc/vmstat",
            "proc/sys/kernel/numa_balancing",
            "proc/sys/vm/swappiness",
            "sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages",
            "sys/devices/system/node/node1/vmstat",
        ];
        assert_eq!(names(false), later);
        assert_eq!(names(true), [&later[..], &["proc/cpuinfo"]].concat());
    }

    #[test]
    fn a_live_host_has_its_counters() {
        let files = copy(Path::new("/"), true);
        let of = |path: &str| files.iter().find(|file| file.path == path);
        assert!(of("proc/vmstat").is_some_and(|file| file.content.starts_with(b"nr_free_pages")));
        assert!(of("proc/cpuinfo").is_some() && of("proc/cmdline").is_none());
        let mut paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), files.len(), "each once");
    }
}
