//! `/proc/<pid>/numa_maps`: resident bytes of a process by page kind and node.
//!
//! Reading it walks the page tables of the process (about 0.5 s of CPU for 180,000 pages on a slow guest), so it is
//! done rarely, for few processes, and up to a limit.

use std::collections::BTreeMap;

use tierscope_rootfs::{Missing, Reader, text};
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

/// Reads at most `limit_bytes` of the file.
pub fn read(reader: &mut Reader, pid: u32, limit_bytes: u64) -> Result<NumaMaps, Missing> {
    let mut maps = NumaMaps::default();
    let path = reader.root().join(&format!("/proc/{pid}/numa_maps"));
    let counted = reader.each_line(&path, limit_bytes, |line| add_line(&mut maps, line))?;
    maps.cut = counted.cut;
    maps.file_bytes = counted.bytes;
    Ok(maps)
}

/// One mapping: `address policy [words] [name=value ...]`.
fn add_line(maps: &mut NumaMaps, line: &str) {
    let mut file = None;
    let (mut anon_pages, mut total_pages) = (0_i64, 0_i64);
    let mut huge = false;
    let mut page_bytes = 4096;
    for word in line.split(' ').skip(2) {
        match word.split_once('=') {
            Some(("file", name)) => file = Some(name),
            Some(("anon", pages)) => anon_pages = text::number(pages).unwrap_or(0),
            Some(("kernelpagesize_kB", kib)) => {
                page_bytes = text::number(kib).unwrap_or(4).saturating_mul(1024);
            }
            Some((name, pages)) if node_of(name).is_some() => {
                total_pages = total_pages.saturating_add(text::number(pages).unwrap_or(0));
            }
            None if word == "huge" => huge = true,
            _ => {}
        }
    }
    let kind = kind_of(file, huge, anon_pages == total_pages);
    for word in line.split(' ').skip(2) {
        let Some((node, Some(pages))) = word
            .split_once('=')
            .map(|(name, pages)| (node_of(name), text::number(pages)))
        else {
            continue;
        };
        if let Some(node) = node {
            let sum = maps.resident_bytes.entry((kind, node)).or_default();
            *sum = sum.saturating_add(pages.saturating_mul(page_bytes));
        }
    }
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

fn node_of(name: &str) -> Option<u32> {
    name.strip_prefix('N')?.parse().ok()
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
}
