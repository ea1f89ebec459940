//! The page size of a host: the running kernel's own, or what a recording tells of the kernel that it is of.

use std::collections::HashMap;

use tierscope_procfs::{counters, host, process, zoneinfo};
use tierscope_rootfs::{Reader, text};
use tierscope_sample::page_size::{Amount, LARGEST_BYTES, PageSize, find};
use tierscope_sysfs::nodes;

/// Type of the entry of an auxiliary vector that holds the page size (`AT_PAGESZ`, include/uapi/linux/auxvec.h).
const AT_PAGESZ: u64 = 6;
/// Bytes of the largest base page.
pub(crate) const LARGEST: i64 = LARGEST_BYTES as i64;
/// Processes of a recording that are asked; threads of the kernel have no memory.
const PROCESSES: usize = 32;
/// One amount in kB in meminfo and in pages in vmstat (fs/proc/meminfo.c, drivers/base/node.c, mm/vmstat.c).
const PAIRS: [(&str, &str); 8] = [
    ("MemFree", "nr_free_pages"),
    ("AnonPages", "nr_anon_pages"),
    ("Mapped", "nr_mapped"),
    ("Shmem", "nr_shmem"),
    ("Active(anon)", "nr_active_anon"),
    ("Inactive(anon)", "nr_inactive_anon"),
    ("Active(file)", "nr_active_file"),
    ("Inactive(file)", "nr_inactive_file"),
];
type Values = HashMap<String, i64>;

/// The size of a host whose kernel is not known yet.
pub(crate) fn of_host(reader: &mut Reader) -> Option<PageSize> {
    let release = host::kernel_release(reader).unwrap_or_default();
    let architecture = architecture(reader, &release);
    read(reader, &release, architecture)
}

/// The size of transparent huge pages, else that of reserved ones, which is the same unless somebody chose another.
pub(crate) fn huge_page_bytes(reader: &mut Reader) -> Option<i64> {
    let transparent = reader.number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    transparent.or_else(|| {
        let mut reserved = None;
        let _told = counters::meminfo(reader, |name, value| {
            if name == "Hugepagesize" {
                reserved = Some(value);
            }
        });
        reserved
    })
}

/// The size and what says so; `None` where a recording does not tell.
pub(crate) fn read(reader: &mut Reader, release: &str, architecture: &str) -> Option<PageSize> {
    if reader.root().is_live() {
        return u32::try_from(rustix::param::page_size())
            .ok()
            .map(|bytes| PageSize {
                bytes,
                evidence: "the running kernel says so".to_owned(),
            });
    }
    auxiliary(reader).or_else(|| find(&amounts(reader), release, architecture))
}

/// The running program's own on a live host; in a recording the suffix of the kernel's release, where it has one.
pub(crate) fn architecture(reader: &Reader, release: &str) -> &'static str {
    /// Last words of releases, as distributions name architectures.
    const NAMES: [(&str, &str); 12] = [
        ("amd64", "x86_64"),
        ("x86_64", "x86_64"),
        ("arm64", "aarch64"),
        ("aarch64", "aarch64"),
        ("ppc64el", "powerpc64"),
        ("powerpc64le", "powerpc64"),
        ("ppc64le", "powerpc64"),
        ("riscv64", "riscv64"),
        ("s390x", "s390x"),
        ("loong64", "loongarch64"),
        ("loongarch64", "loongarch64"),
        ("i686", "x86"),
    ];
    if reader.root().is_live() {
        return std::env::consts::ARCH;
    }
    let name_of = |release: &str| {
        let last = release.rsplit(['-', '.']).next()?;
        let (_, architecture) = NAMES.iter().find(|(name, _)| *name == last)?;
        Some(*architecture)
    };
    // A variant may follow: `5.14.0-427.el9.aarch64+64k`, `5.14.0-427.el9.x86_64+rt`, `...+64k-debug`.
    name_of(release)
        .or_else(|| name_of(release.rsplit_once('+')?.0))
        .unwrap_or_default()
}

/// What the kernel tells each program when it starts it, in words of eight bytes. Recordings seldom have it.
fn auxiliary(reader: &Reader) -> Option<PageSize> {
    let root = reader.root();
    processes(reader).iter().find_map(|pid| {
        let bytes = tierscope_rootfs::read_plain(&root.join(&format!("/proc/{pid}/auxv"))).ok()?;
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| word.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
            .collect();
        let size = words.chunks_exact(2).find(|entry| entry[0] == AT_PAGESZ)?[1];
        let is_size = size.is_power_of_two() && size >= 1024;
        Some(PageSize {
            bytes: u32::try_from(size).ok().filter(|_| is_size)?,
            evidence: format!("AT_PAGESZ of process {pid}"),
        })
    })
}

fn processes(reader: &Reader) -> Vec<u32> {
    let names = reader.list("/proc").unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Amounts that the files have in both units.
fn amounts(reader: &mut Reader) -> Vec<Amount> {
    let (mut sizes, mut pages) = (Values::new(), Values::new());
    // A file that is not there tells nothing, and what of one cannot be read is told by its reader elsewhere.
    let _told = counters::meminfo(reader, |name, value| keep(&mut sizes, name, value));
    let _told = counters::vmstat(reader, |name, value| keep(&mut pages, name, value));
    let mut found = pairs("/proc", &sizes, &pages);
    let mut managed = 0_i64;
    let _told = zoneinfo::read(reader, |_, name, value| {
        if name == "managed" {
            managed = managed.saturating_add(value);
        }
    });
    found.extend(sizes.get("MemTotal").filter(|_| managed > 0).map(|total| Amount {
        what: "MemTotal of /proc/meminfo over the managed pages of /proc/zoneinfo".to_owned(),
        bytes: *total,
        pages: managed,
    }));
    for node in nodes::ids(reader).unwrap_or_default() {
        let (mut sizes, mut pages) = (Values::new(), Values::new());
        let _told = nodes::meminfo(reader, node, |name, value| keep(&mut sizes, name, value));
        let _told = nodes::vmstat(reader, node, |name, value| keep(&mut pages, name, value));
        found.extend(pairs(&format!("node {node}"), &sizes, &pages));
    }
    if found.is_empty() {
        let pids = processes(reader);
        found = pids
            .into_iter()
            .filter_map(|pid| resident(reader, pid))
            .take(PROCESSES)
            .collect();
    }
    found
}

fn keep(values: &mut Values, name: &str, value: i64) {
    values.insert(name.to_owned(), value);
}

fn pairs(place: &str, sizes: &Values, pages: &Values) -> Vec<Amount> {
    let amount = |(size, count): &(&str, &str)| {
        Some(Amount {
            what: format!("{size} of {place}/meminfo over {count} of {place}/vmstat"),
            bytes: *sizes.get(*size)?,
            pages: *pages.get(*count)?,
        })
    };
    PAIRS.iter().filter_map(amount).collect()
}

/// Resident bytes of a process in its `status`, else in its `smaps_rollup`, over the resident pages of its `statm`.
fn resident(reader: &mut Reader, pid: u32) -> Option<Amount> {
    let pages = process::resident_pages(reader, pid)?;
    let mut bytes_of = |file: &str, label: &str| {
        let text = reader.read(&format!("/proc/{pid}/{file}")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(label))?;
        text::number(line.trim().strip_suffix("kB")?.trim()).map(|kib| kib.saturating_mul(1024))
    };
    let bytes = bytes_of("status", "VmRSS:").or_else(|| bytes_of("smaps_rollup", "Rss:"))?;
    Some(Amount {
        what: format!("resident memory of process {pid} over its resident pages"),
        bytes,
        pages,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    fn bytes_of(root: &FakeRoot) -> Option<u32> {
        read(&mut Reader::new(root.root()), "6.8.0", "aarch64").map(|size| size.bytes)
    }

    #[test]
    fn the_release_of_a_recording_names_its_architecture() {
        let root = FakeRoot::new();
        let reader = Reader::new(root.root());
        for (release, expected) in [
            ("5.14.0-503.el9.s390x", "s390x"),
            ("6.1.0-28-s390x", "s390x"),
            ("5.14.0-427.el9.x86_64+rt", "x86_64"),
            ("5.14.0-427.el9.aarch64+64k-debug", "aarch64"),
            ("6.8.8-400.asahi.fc40.aarch64+16k", "aarch64"),
            ("6.12.95+deb12-amd64", "x86_64"),
            ("6.11.0-0.fc42.riscv64", "riscv64"),
            ("6.12.9-loong64", "loongarch64"),
            ("6.8.0-45-generic", ""),
            ("6.6.51+rpt-rpi-2712", ""),
            ("", ""),
        ] {
            assert_eq!(architecture(&reader, release), expected, "{release}");
        }
    }

    #[test]
    fn a_recording_tells_its_page_size_by_each_of_its_files() {
        let root = FakeRoot::new();
        assert_eq!(bytes_of(&root), None);
        root.write("proc/7/statm", "20526 19236 6 9 0 19491 0\n");
        root.write("proc/7/status", "Name:\tload\nVmRSS:\t 1231104 kB\n");
        assert_eq!(bytes_of(&root), Some(65536), "a process");
        root.write("sys/devices/system/node/online", "1\n");
        root.write(
            "sys/devices/system/node/node1/meminfo",
            "Node 1 MemFree: 1048576 kB\n",
        );
        root.write("sys/devices/system/node/node1/vmstat", "nr_free_pages 65536\n");
        assert_eq!(bytes_of(&root), Some(16384), "a node");
        let host = FakeRoot::new();
        host.write("proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1048576 kB\n");
        host.write("proc/vmstat", "nr_free_pages 16384\n");
        assert_eq!(bytes_of(&host), Some(65536), "the host");
        let mut vector = Vec::new();
        for word in [33_u64, 1, AT_PAGESZ, 4096, 0, 0] {
            vector.extend(word.to_le_bytes());
        }
        host.write("proc/9/auxv", "");
        std::fs::write(host.root().join("/proc/9/auxv"), vector).unwrap();
        assert_eq!(
            bytes_of(&host),
            Some(4096),
            "what the kernel says itself goes first"
        );
    }
}
