//! Which sampled pages are huge, where a sample does not say it: asked of the page tables once per interval.
//!
//! `PAGEMAP_SCAN` with `PAGE_IS_HUGE` (`fs/proc/task_mmu.c`, Linux 6.7) tells pages that the page table maps by one entry of
//! its second level, and pages of hugetlb.

use std::ops::Range;

use tierscope_pagetable::page_sizes::PageSizes;
use tierscope_pagetable::pagemap::Pagemap;
use tierscope_pagetable::uffd::scan::{Query, Scanner, category};
use tierscope_rootfs::Root;
use tierscope_sample::page_group::PageState;

#[derive(Debug)]
pub(crate) struct HugePages {
    scanner: Scanner,
    sizes: PageSizes,
}

impl HugePages {
    /// Those of a host.
    pub(crate) fn new(root: &Root) -> Self {
        Self {
            scanner: Scanner::default(),
            sizes: PageSizes::of(root),
        }
    }

    /// Marks those of the pages (by address) that are huge. `ranges` hold all of them. Without `PAGEMAP_SCAN` pages stay
    /// as they are: each counts for the base page that was sampled.
    pub(crate) fn mark(&mut self, pagemap: &Pagemap, ranges: &[Range<u64>], pages: &mut [PageState]) {
        let query = Query {
            required: category::PRESENT | category::HUGE,
            returned: category::HUGE,
            ..Query::default()
        };
        let sizes = self.sizes;
        for range in ranges {
            let scanned = self.scanner.scan(pagemap, range.clone(), query, |region| {
                mark_within(pages, region.start..region.end, sizes);
            });
            // What one range is refused for, the others are refused for too.
            if scanned.is_err() {
                return;
            }
        }
    }
}

fn mark_within(pages: &mut [PageState], range: Range<u64>, sizes: PageSizes) {
    let begin = pages.partition_point(|page| page.address < range.start);
    let end = pages.partition_point(|page| page.address < range.end);
    // A size that the sample told, such as that of a giant page, is kept.
    for page in &mut pages[begin..end] {
        if page.size == sizes.base {
            page.size = sizes.huge;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    use std::io::Write as _;

    use tierscope_pagetable::pagemap::PagemapReader;
    use tierscope_pagetable::process::process_key;
    use tierscope_sample::page_group::PageSize;

    const HUGE_BYTES: usize = 2 << 20;

    fn page(address: u64, size: PageSize) -> PageState {
        PageState {
            address,
            size,
            anon: true,
            tier: None,
            active: true,
            loads: 1,
            stores: 0,
        }
    }

    #[test]
    fn pages_of_a_range_become_huge_and_giant_ones_stay() {
        let mut pages = [
            page(0x1000, PageSize::Small4K),
            page(0x20_0000, PageSize::Small4K),
            page(0x20_5000, PageSize::Giant1G),
            page(0x3f_f000, PageSize::Small4K),
            page(0x40_0000, PageSize::Small4K),
        ];
        mark_within(&mut pages, 0x20_0000..0x40_0000, PageSizes::of(&Root::live()));
        let sizes = pages.map(|page| page.size);
        let (small, huge) = (PageSize::Small4K, PageSize::Huge2M);
        assert_eq!(sizes, [small, huge, PageSize::Giant1G, huge, small]);
    }

    /// Bytes of this process in huge pages, as the kernel sums them for one mapping.
    fn huge_bytes_at(address: usize) -> usize {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_inside = false;
        for line in smaps.lines() {
            let range = line.split(' ').next().unwrap_or_default().split_once('-');
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            if let Some((Some(start), Some(end))) = range.map(|(start, end)| (number(start), number(end))) {
                is_inside = (start..end).contains(&address);
            } else if let Some(kib) = line.strip_prefix("AnonHugePages:").filter(|_| is_inside) {
                return kib.trim_end_matches(" kB").trim().parse::<usize>().unwrap() << 10;
            }
        }
        0
    }

    #[test]
    fn huge_pages_of_a_real_process_are_found() {
        let root = Root::live();
        let this = process_key(&root, std::process::id()).unwrap();
        let mut small = vec![0_u8; 4 * HUGE_BYTES];
        small.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        let mut memory = vec![0_u8; 8 * HUGE_BYTES];
        let (address, bytes) = (memory.as_mut_ptr() as usize, memory.len());
        let begin = address.next_multiple_of(HUGE_BYTES);
        // Only whole huge pages, so that the mapping is cut at their bounds.
        let wanted = (bytes - (begin - address)) / HUGE_BYTES * HUGE_BYTES;
        // SAFETY: inside memory of this test; the advice changes no content.
        let advised = unsafe { libc::madvise(begin as *mut libc::c_void, wanted, libc::MADV_HUGEPAGE) } == 0;
        memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        if !advised || huge_bytes_at(begin) < wanted {
            let _ = writeln!(std::io::stderr(), "skipped: the kernel gives no huge pages now");
            return;
        }
        let pagemap = PagemapReader::new(root).open(this).unwrap();
        let begin = begin as u64;
        let small_at = small.as_ptr() as u64 / 4096 * 4096 + 4096;
        let mut pages = [
            page(small_at, PageSize::Small4K),
            page(begin + 0x3000, PageSize::Small4K),
            page(begin + wanted as u64 - 4096, PageSize::Small4K),
        ];
        pages.sort_by_key(|page| page.address);
        let ranges: Vec<Range<u64>> = pages
            .iter()
            .map(|page| page.address..page.address + 4096)
            .collect();
        HugePages::new(&Root::live()).mark(&pagemap, &ranges, &mut pages);
        for page in pages {
            let is_huge = page.address != small_at;
            assert_eq!(page.size == PageSize::Huge2M, is_huge, "{:#x}", page.address);
        }
    }
}
