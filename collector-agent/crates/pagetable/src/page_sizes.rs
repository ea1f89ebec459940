//! The pages of a host: the base page of its kernel, and the huge page that one entry of the next level of a page table maps.

use tierscope_rootfs::{Reader, Root};
use tierscope_sample::page_group::PageSize;

const HUGE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
/// Bytes of an entry of a page table.
const ENTRY_BYTES: u64 = 8;

/// The sizes that page tables of a host tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSizes {
    /// Of its kernel's base pages.
    pub base: PageSize,
    /// Of its huge pages.
    pub huge: PageSize,
}

impl PageSizes {
    /// Those of a host. Where it prints no size of huge pages, a table of entries fills one base page, so that they are of 2,
    /// 32 or 512 MiB.
    pub fn of(root: &Root) -> Self {
        let base_bytes = root.page_bytes();
        let printed = Reader::new(root.clone())
            .value(HUGE)
            .ok()
            .and_then(|text| text.parse().ok());
        let huge_bytes: u64 = printed.unwrap_or(base_bytes / ENTRY_BYTES * base_bytes);
        Self {
            base: PageSize::of_bytes(base_bytes),
            huge: PageSize::of_bytes(huge_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_those_that_the_kernel_prints_or_that_a_table_fills() {
        let directory = tempfile::tempdir().expect("a directory");
        let sizes = |kib: u64| PageSizes::of(&Root::new(directory.path()).with_page_bytes(kib << 10));
        let of = |kib| (sizes(kib).base, sizes(kib).huge);
        assert_eq!(of(4), (PageSize::Small4K, PageSize::Huge2M));
        assert_eq!(of(16), (PageSize::Small16K, PageSize::Huge32M));
        assert_eq!(of(64), (PageSize::Small64K, PageSize::Huge512M));
        let path = directory.path().join(HUGE.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, "2097152\n").expect("the file");
        assert_eq!(
            of(64),
            (PageSize::Small64K, PageSize::Huge2M),
            "radix tables of POWER"
        );
    }
}
