//! `/proc/<pid>/numa_maps`: resident bytes of a process by page kind and node.
//!
//! Reading it walks the page tables of the process (about 0.5 s of CPU for 180,000 pages on a slow guest), so it is
//! done rarely, for few processes, and up to a limit.

use std::collections::BTreeMap;

use tierscope_rootfs::text::FirstProblem;
use tierscope_rootfs::{Missing, ParseError, Reader, text};

use crate::counters;
use tierscope_sample::heat::PageKind;
use tierscope_sample::mapping::mapping_kind;
pub use tierscope_sample::placement::PlacedKind as Kind;

/// Resident bytes by kind and node. Pages shared between processes are in each of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumaMaps {
    /// Bytes of (kind, node).
    pub resident_bytes: BTreeMap<(Kind, u32), i64>,
    /// Bytes of the file that were read.
    pub file_bytes: u64,
    /// Whether the limit cut the reading: the sums are then lower bounds.
    pub cut: bool,
}

/// Reads at most `limit_bytes` of the file. A line that cannot be understood is left out, and a problem.
///
/// Kernels before 3.14 print no size of pages. Mappings marked `huge` have pages of the size that `/proc/meminfo` calls
/// `Hugepagesize` there; with pools of several sizes theirs cannot be told, and they are left out, a problem as well.
pub fn read(reader: &mut Reader, pid: u32, limit_bytes: u64) -> Result<NumaMaps, Missing> {
    let mut maps = NumaMaps::default();
    let mut problem = FirstProblem::default();
    let mut unsized_huge: Vec<Line> = Vec::new();
    let mut index = 0;
    let kernel_path = format!("/proc/{pid}/numa_maps");
    let path = reader.root().join(&kernel_path);
    let counted = reader.each_line(&path, limit_bytes, |text| {
        match parse_line(text) {
            Some(line) if line.huge && line.page_bytes.is_none() => unsized_huge.push(line),
            Some(line) => maps.add(&line, line.page_bytes.unwrap_or(BASE_PAGE_BYTES)),
            None => problem.note(
                index,
                text,
                "not `address policy [name=value ...]` with whole numbers",
            ),
        }
        index += 1;
    })?;
    if let Err(problem) = problem.finish() {
        reader.note(&kernel_path, problem);
    }
    if !unsized_huge.is_empty() {
        match huge_page_bytes(reader) {
            Some(bytes) => unsized_huge.iter().for_each(|line| maps.add(line, bytes)),
            None => reader.note(
                &kernel_path,
                ParseError::of_file("has huge mappings whose size of pages cannot be told: left out"),
            ),
        }
    }
    maps.cut = counted.cut;
    maps.file_bytes = counted.bytes;
    Ok(maps)
}

/// Enough for the address of a mapping and its policy, whose list of nodes may be long.
const FIRST_WORDS_BYTES: usize = 256;

/// The memory policy of a process (`set_mempolicy`, `numactl`) as its first mapping shows it, which has seldom one of its
/// own: `default`, `bind:0`, `prefer:1`. The kernel walks the first mappings alone, which are small.
pub fn task_policy(reader: &mut Reader, pid: u32) -> Option<String> {
    let beginning = reader
        .beginning(&format!("/proc/{pid}/numa_maps"), FIRST_WORDS_BYTES)
        .ok()?;
    let mut words = beginning.split(' ');
    u64::from_str_radix(words.next()?, 16).ok()?;
    let policy = words.next()?;
    // What is cut off within the list of nodes is not known.
    (words.next().is_some() || beginning.ends_with('\n')).then(|| policy.trim_end().to_owned())
}

/// Whether NUMA balancing passes over pages of a policy, as it does of every one that somebody set, unless it was set with
/// `MPOL_F_NUMA_BALANCING` (`mm/mempolicy.c` `vma_policy_mof`).
pub fn is_passed_over(policy: &str) -> bool {
    let mode = policy.split(':').next().unwrap_or(policy);
    policy != "default" && !mode.contains("balancing")
}

/// The nodes that a policy binds to: `bind:0-1`, `bind=static:0`; `None` of any other.
pub fn bound_nodes(policy: &str) -> Option<Vec<u32>> {
    let (mode, nodes) = policy.split_once(':')?;
    let mode = mode.split('=').next()?;
    (mode == "bind").then(|| text::list(nodes).ok())?
}

const BASE_PAGE_BYTES: i64 = 4096;
const HUGE_POOLS: &str = "/sys/kernel/mm/hugepages";

/// The size of huge pages of a host that has one size of them in use.
fn huge_page_bytes(reader: &mut Reader) -> Option<i64> {
    let pools = reader.list(HUGE_POOLS).unwrap_or_default();
    let mut used = |pool: &String| {
        let pages = reader.number(&format!("{HUGE_POOLS}/{pool}/nr_hugepages"));
        pages.is_some_and(|pages| pages > 0)
    };
    if pools.iter().filter(|pool| used(pool)).count() > 1 {
        return None;
    }
    let mut bytes = None;
    let _absent = counters::meminfo(reader, |name, value| {
        if name == "Hugepagesize" && value > 0 {
            bytes = Some(value);
        }
    });
    bytes
}

struct Line {
    kind: Kind,
    huge: bool,
    page_bytes: Option<i64>,
    /// Pages by node.
    nodes: Vec<(u32, i64)>,
}

impl NumaMaps {
    fn add(&mut self, line: &Line, page_bytes: i64) {
        for (node, pages) in &line.nodes {
            let sum = self.resident_bytes.entry((line.kind, *node)).or_default();
            *sum = sum.saturating_add(pages.saturating_mul(page_bytes));
        }
    }
}

/// One mapping: `address policy [words] [name=value ...]`; `None` where a number is none.
fn parse_line(line: &str) -> Option<Line> {
    let mut words = line.split(' ');
    u64::from_str_radix(words.next()?, 16).ok()?;
    let _policy = words.next()?;
    let mut file = None;
    let (mut anon_pages, mut total_pages) = (0_i64, 0_i64);
    let (mut huge, mut page_bytes, mut nodes) = (false, None, Vec::new());
    for word in words {
        match word.split_once('=') {
            Some(("file", name)) => file = Some(name),
            Some(("anon", pages)) => anon_pages = text::number(pages)?,
            Some(("kernelpagesize_kB", kib)) => {
                let kib = text::number(kib).filter(|kib| *kib > 0)?;
                page_bytes = Some(kib.checked_mul(1024)?);
            }
            // The only names with a capital are those of nodes.
            Some((name, pages)) if name.starts_with('N') => {
                let node = name.strip_prefix('N')?.parse().ok()?;
                let pages = text::number(pages).filter(|pages| *pages >= 0)?;
                total_pages = total_pages.saturating_add(pages);
                nodes.push((node, pages));
            }
            Some(_) => {}
            None => huge |= word == "huge",
        }
    }
    Some(Line {
        kind: kind_of(file, huge, anon_pages == total_pages),
        huge,
        page_bytes,
        nodes,
    })
}

/// The kind of a mapping. `File` also holds the copied pages of a private file mapping that has both sorts, because the
/// file does not say on which node each sort is.
fn kind_of(file: Option<&str>, huge: bool, all_anon: bool) -> Kind {
    let Some(name) = file else {
        return if huge { Kind::Hugetlb } else { Kind::Anon };
    };
    // The kernel prints a space in a name as `\040`. A mapping with a name has an inode, whose number is not printed.
    match mapping_kind(&name.replace("\\040", " "), 1) {
        _ if huge => Kind::Hugetlb,
        Some(PageKind::Tmpfs) => Kind::Tmpfs,
        Some(PageKind::File) if !all_anon => Kind::File,
        Some(PageKind::File | PageKind::Anon) | None => Kind::Anon,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_rootfs::Root;

    fn read_text(text: &str, limit_bytes: u64) -> NumaMaps {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/9")).unwrap();
        std::fs::write(directory.path().join("proc/9/numa_maps"), text).unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        read(&mut reader, 9, limit_bytes).unwrap()
    }

    #[test]
    fn the_policy_of_a_task_is_that_of_its_first_mapping() {
        let policy = |text: &str| {
            let directory = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(directory.path().join("proc/9")).unwrap();
            std::fs::write(directory.path().join("proc/9/numa_maps"), text).unwrap();
            task_policy(&mut Reader::new(Root::new(directory.path())), 9)
        };
        let rest = format!(
            "7fb7a4021000 default heap anon=3 N0=3 kernelpagesize_kB=4\n{}",
            "x".repeat(9000)
        );
        assert_eq!(
            policy(&format!("00400000 bind:0-1 file=/tmp/a N0=6\n{rest}")).unwrap(),
            "bind:0-1"
        );
        assert_eq!(policy("00400000 default\n").unwrap(), "default");
        assert_eq!(
            policy(&format!("00400000 bind:{}", "0,2,4,".repeat(60))),
            None,
            "cut off"
        );
        assert_eq!(policy(""), None);
        for (policy, nodes) in [
            ("bind:0-1,4", Some(vec![0, 1, 4])),
            ("bind=static:2", Some(vec![2])),
            ("bind=relative|balancing:0", Some(vec![0])),
            ("prefer:0", None),
            ("default", None),
            ("interleave:0-1", None),
        ] {
            assert_eq!(bound_nodes(policy), nodes, "{policy}");
        }
        for (policy, passed_over) in [
            ("default", false),
            ("bind=balancing:0", false),
            ("bind=static|balancing:0", false),
            ("bind:0", true),
            ("interleave:0-1", true),
            ("weighted", true),
            ("prefer:0", true),
            ("local", true),
        ] {
            assert_eq!(is_passed_over(policy), passed_over, "{policy}");
        }
    }

    #[test]
    fn pages_become_bytes_by_kind_and_node() {
        let maps = read_text(
            "\
00400000 default file=/tmp/a dirty=88 active=0 N0=65 N1=23 kernelpagesize_kB=4
004c0000 default file=/tmp/a anon=4 dirty=4 active=0 N0=2 N1=2 kernelpagesize_kB=4
23cb9000 default heap anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=4
7fb7a4021000 default
7fb7b0000000 bind:0 file=/dev/zero\\040(deleted) dirty=5 N0=5 kernelpagesize_kB=4
7fb7c0000000 default file=/anon_hugepage\\040(deleted) huge anon=2 N1=2 kernelpagesize_kB=2048
",
            u64::MAX,
        );
        let expected = [
            ((Kind::Anon, 0), 3 * 4096),
            ((Kind::Anon, 1), 4 * 4096),
            ((Kind::File, 0), 65 * 4096),
            ((Kind::File, 1), 23 * 4096),
            ((Kind::Tmpfs, 0), 5 * 4096),
            ((Kind::Hugetlb, 1), 2 * 2048 * 1024),
        ];
        assert_eq!(maps.resident_bytes, expected.into_iter().collect());
        assert!(!maps.cut);
    }

    #[test]
    fn a_limit_makes_the_sums_lower_bounds() {
        let line = "7f0000000000 default anon=1 N0=1 kernelpagesize_kB=4\n";
        let maps = read_text(&line.repeat(5000), 1000);
        assert!(maps.cut);
        assert!(maps.resident_bytes[&(Kind::Anon, 0)] < 5000 * 4096);
    }

    #[test]
    fn huge_mappings_of_old_kernels_have_pages_of_the_size_that_meminfo_names() {
        let line = "7f0000000000 interleave:0-1 file=/mnt/huge/db\\040(deleted) huge dirty=24 N0=16 N1=8\n\
                    7f8000000000 default heap anon=3 N0=3\n";
        let meminfo = "MemTotal: 1000 kB\nHugepagesize: 2048 kB\n";
        let read_with = |files: &[(&str, &str)]| {
            let directory = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = directory.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let mut reader = Reader::new(Root::new(directory.path()));
            let maps = read(&mut reader, 9, u64::MAX).unwrap();
            (maps.resident_bytes, reader.take_problems().len())
        };
        let small = ((Kind::Anon, 0), 3 * 4096);
        let (bytes, problems) = read_with(&[("proc/9/numa_maps", line), ("proc/meminfo", meminfo)]);
        let huge = [((Kind::Hugetlb, 0), 32 << 20), ((Kind::Hugetlb, 1), 16 << 20)];
        assert_eq!(bytes, huge.into_iter().chain([small]).collect());
        assert_eq!(problems, 0);
        let pools = [
            ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "16\n"),
            ("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "4\n"),
        ];
        let two_sizes = [
            &[("proc/9/numa_maps", line), ("proc/meminfo", meminfo)],
            &pools[..],
        ]
        .concat();
        for files in [two_sizes, vec![("proc/9/numa_maps", line)]] {
            assert_eq!(read_with(&files), ([small].into_iter().collect(), 1), "{files:?}");
        }
    }

    #[test]
    fn a_line_with_a_broken_number_is_left_out_and_told() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/9")).unwrap();
        let text = "7f00 default anon=1 N0=1 kernelpagesize_kB=x\r\n7f10 default anon=2 N0=2 kernelpagesize_kB=64\r\n";
        std::fs::write(directory.path().join("proc/9/numa_maps"), text).unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        let maps = read(&mut reader, 9, u64::MAX).unwrap();
        assert_eq!(
            maps.resident_bytes,
            [((Kind::Anon, 0), 2 << 16)].into_iter().collect()
        );
        assert_eq!(reader.take_problems()[0].cause.line, 1);
    }
}
