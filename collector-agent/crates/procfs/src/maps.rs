//! `/proc/<pid>/maps`: how many bytes of address space a process has of each page kind.

use std::path::PathBuf;

use tierscope_rootfs::{Missing, Reader};
use tierscope_sample::heat::PageKind;

/// Address space by page kind, in bytes. Sizes of mappings, not resident memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MappedBytes {
    /// Heap, stack, other anonymous mappings.
    pub anon_bytes: u64,
    /// Mapped files.
    pub file_bytes: u64,
    /// shmem, memfd, tmpfs.
    pub tmpfs_bytes: u64,
    /// Whether the limit cut the reading.
    pub cut: bool,
}

/// The page kind of a mapping, by the name that the kernel prints for it.
///
/// Files of a tmpfs that is mounted elsewhere than `/dev/shm` or `/run` cannot be told from other files here; the same
/// is true of the anonymous pages that a private file mapping gets by copy-on-write.
pub fn page_kind(mapping_name: &str) -> PageKind {
    const TMPFS_PREFIXES: [&str; 7] = [
        "/dev/shm/",
        "/run/shm/",
        "/memfd:",
        "/SYSV",
        "/dev/zero",
        "/i915",
        "/anon_hugepage",
    ];
    if mapping_name.is_empty() || mapping_name.starts_with('[') {
        PageKind::Anon
    } else if TMPFS_PREFIXES
        .iter()
        .any(|prefix| mapping_name.starts_with(prefix))
    {
        PageKind::Tmpfs
    } else {
        PageKind::File
    }
}

/// Sums the mappings of a process, reading at most `limit_bytes` of the file.
pub fn mapped_bytes(reader: &mut Reader, pid: u32, limit_bytes: u64) -> Result<MappedBytes, Missing> {
    let mut sum = MappedBytes::default();
    let path: PathBuf = reader.root().join(&format!("/proc/{pid}/maps"));
    let counted = reader.each_line(&path, limit_bytes, |line| {
        let Some((size_bytes, name)) = parse_line(line) else {
            return;
        };
        let place = match page_kind(name) {
            PageKind::Anon => &mut sum.anon_bytes,
            PageKind::File => &mut sum.file_bytes,
            PageKind::Tmpfs => &mut sum.tmpfs_bytes,
        };
        *place = place.saturating_add(size_bytes);
    })?;
    sum.cut = counted.cut;
    Ok(sum)
}

/// Length and name of a mapping: `start-end perms offset dev inode   name`.
fn parse_line(line: &str) -> Option<(u64, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let (start, end) = (
        u64::from_str_radix(start, 16).ok()?,
        u64::from_str_radix(end, 16).ok()?,
    );
    let name = rest.splitn(5, ' ').nth(4).map_or("", str::trim);
    Some((end.checked_sub(start)?, name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_rootfs::Root;

    #[test]
    fn kinds_follow_the_names() {
        assert_eq!(page_kind(""), PageKind::Anon);
        assert_eq!(page_kind("[heap]"), PageKind::Anon);
        assert_eq!(page_kind("/memfd:x (deleted)"), PageKind::Tmpfs);
        assert_eq!(page_kind("/dev/shm/pool"), PageKind::Tmpfs);
        assert_eq!(page_kind("/usr/lib/libc.so.6"), PageKind::File);
    }

    #[test]
    fn address_space_is_summed_by_kind() {
        let text = "\
00400000-00402000 r-xp 00000000 fe:00 12                     /usr/bin/a b
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 
7f0000001000-7f0000004000 rw-s 00000000 00:01 9              /dev/zero (deleted)
7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0              [stack]
";
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/9")).unwrap();
        std::fs::write(directory.path().join("proc/9/maps"), text).unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        let sum = mapped_bytes(&mut reader, 9, u64::MAX).unwrap();
        assert_eq!(
            (sum.anon_bytes, sum.file_bytes, sum.tmpfs_bytes, sum.cut),
            (8192, 8192, 12288, false)
        );
    }
}
