//! How much memory a process has in memory: from `/proc/<pid>/status`, which costs microseconds whatever its size.

use tierscope_rootfs::{Reader, text};
use tierscope_sample::heat::PageKind;

const KINDS: [(&str, PageKind); 3] = [
    ("RssAnon", PageKind::Anon),
    ("RssFile", PageKind::File),
    ("RssShmem", PageKind::Tmpfs),
];
/// Pages of hugetlbfs, which count in none of the kinds.
const HUGETLB: &str = "HugetlbPages";

/// Resident bytes by kind, without hugetlb pages; empty on a kernel that does not tell (before 4.5).
pub(crate) fn by_kind(reader: &mut Reader, pid: u32) -> Vec<(PageKind, i64)> {
    let mut resident = Vec::with_capacity(KINDS.len());
    each(reader, pid, |name, bytes| {
        if let Some((_, kind)) = KINDS.iter().find(|(field, _)| *field == name) {
            resident.push((*kind, bytes));
        }
    });
    resident
}

/// All resident bytes, hugetlb pages too; 0 where the process has ended.
pub(crate) fn total_bytes(reader: &mut Reader, pid: u32) -> u64 {
    let mut total = 0;
    each(reader, pid, |name, bytes| {
        if name == "VmRSS" || name == HUGETLB {
            total += bytes.max(0).unsigned_abs();
        }
    });
    total
}

/// Whether a process has hugetlb pages.
pub(crate) fn has_hugetlb(reader: &mut Reader, pid: u32) -> bool {
    let mut has = false;
    each(reader, pid, |name, bytes| has |= name == HUGETLB && bytes > 0);
    has
}

fn each(reader: &mut Reader, pid: u32, line: impl FnMut(&str, i64)) {
    let Ok(status) = reader.read(&format!("/proc/{pid}/status")) else {
        return;
    };
    // Lines of other shapes are not for us.
    let _problem = text::colon_values(status, line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    #[test]
    fn resident_bytes_are_read_by_kind_and_in_all() {
        let root = FakeRoot::new();
        let status = "Name:\tredis server\nUmask:\t0022\nVmRSS:\t    408 kB\nRssAnon:\t    400 kB\n\
                      RssFile:\t      8 kB\nRssShmem:\t 0 kB\nHugetlbPages:\t 2048 kB\n";
        root.write("proc/9/status", status);
        let mut reader = Reader::new(root.root());
        let kinds = [
            (PageKind::Anon, 400 << 10),
            (PageKind::File, 8 << 10),
            (PageKind::Tmpfs, 0),
        ];
        assert_eq!(by_kind(&mut reader, 9), kinds);
        assert_eq!(total_bytes(&mut reader, 9), 2456 << 10);
        assert!(has_hugetlb(&mut reader, 9) && !has_hugetlb(&mut reader, 10));
        assert!(by_kind(&mut reader, 10).is_empty() && total_bytes(&mut reader, 10) == 0);
    }
}
