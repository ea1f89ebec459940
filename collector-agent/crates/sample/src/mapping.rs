//! What the kernel's name of a mapping says about it.

use crate::heat::PageKind;

/// Prefixes of names of shared memory. Files of a tmpfs that is mounted elsewhere look like other files.
const TMPFS_PREFIXES: [&str; 6] = [
    "/dev/shm/",
    "/run/shm/",
    "/memfd:",
    "/SYSV",
    "/dev/zero (deleted)",
    "/i915",
];
/// Private memory that the kernel gives a file name: hugetlb, and private mappings of the zero device.
const ANON_NAMES: [&str; 3] = ["/anon_hugepage", "/dev/zero", "anon_inode:"];

/// The page kind of a mapping, by its name and inode in `/proc/<pid>/maps`. `None` for pages that the kernel maps into
/// every process, such as `[vdso]`.
///
/// The anonymous pages that a private file mapping gets by copy-on-write cannot be told by the name.
pub fn mapping_kind(name: &str, inode: u64) -> Option<PageKind> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if name.starts_with("[v") || name == "[uprobes]" {
        None
    } else if starts(&TMPFS_PREFIXES) {
        Some(PageKind::Tmpfs)
    } else if inode == 0 || name.is_empty() || name.starts_with('[') || starts(&ANON_NAMES) {
        Some(PageKind::Anon)
    } else {
        Some(PageKind::File)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_inodes_tell_the_kind() {
        let cases = [
            ("", 0, Some(PageKind::Anon)),
            ("[heap]", 0, Some(PageKind::Anon)),
            ("[anon:arena]", 0, Some(PageKind::Anon)),
            ("[vdso]", 0, None),
            ("[vvar]", 0, None),
            ("/usr/lib/libc.so.6", 77, Some(PageKind::File)),
            ("/dev/shm/pool", 3, Some(PageKind::Tmpfs)),
            ("/memfd:cache (deleted)", 9, Some(PageKind::Tmpfs)),
            ("/SYSV00000000 (deleted)", 5, Some(PageKind::Tmpfs)),
            ("/dev/zero (deleted)", 12, Some(PageKind::Tmpfs)),
            ("/dev/zero", 12, Some(PageKind::Anon)),
            ("/anon_hugepage (deleted)", 12, Some(PageKind::Anon)),
        ];
        for (name, inode, kind) in cases {
            assert_eq!(mapping_kind(name, inode), kind, "{name}");
        }
    }
}
