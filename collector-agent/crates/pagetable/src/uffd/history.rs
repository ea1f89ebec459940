//! Which pages of a process were written in each of the last intervals.

use std::ops::Range;

use tierscope_sample::heat::{PageKind, WINDOWS};
use tierscope_sample::page_group::{PageMapping, PageSize};

/// Intervals remembered: those of the longest window.
const REMEMBERED: u16 = (1 << WINDOWS[WINDOWS.len() - 1]) - 1;

/// A page that was written in one of the last intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Written {
    address: u64,
    page_size: PageSize,
    kind: PageKind,
    /// Bit i: written i intervals ago.
    intervals: u16,
}

/// Pages written, by address. 16 bytes for each page written in the last ten intervals.
#[derive(Debug, Default)]
pub struct WriteHistory {
    pages: Vec<Written>,
    /// Those of the running interval.
    newest: Vec<Written>,
}

impl WriteHistory {
    /// Takes pages written in the running interval; ranges come by address. `kind` is that of the pages written, which
    /// for copies of file pages is anonymous.
    pub fn note(&mut self, range: Range<u64>, page_size: PageSize, kind: PageKind) {
        let bytes = u64::from(page_size.bytes());
        let first = range.start / bytes * bytes;
        let addresses = (first..range.end).step_by(bytes as usize);
        // Several parts of one huge page may come apart.
        let after = self.newest.last().map_or(0, |last| last.address + 1);
        self.newest.extend(
            addresses
                .filter(|address| *address >= after)
                .map(|address| Written {
                    address,
                    page_size,
                    kind,
                    intervals: 1,
                }),
        );
    }

    /// Ends the running interval. Pages outside the mappings, which come by address, are gone. What was noted counts only
    /// if the whole interval was observed.
    pub fn end_interval(&mut self, observed: bool, mappings: &[PageMapping]) {
        let mut newest = std::mem::take(&mut self.newest);
        if !observed {
            newest.clear();
        }
        for page in &mut self.pages {
            page.intervals = page.intervals << 1 & REMEMBERED;
        }
        newest.append(&mut self.pages);
        // Stable: of one address, what was noted now comes first.
        newest.sort_by_key(|page| page.address);
        newest.dedup_by(|old, new| {
            let same = old.address == new.address;
            if same && (old.page_size, old.kind) == (new.page_size, new.kind) {
                new.intervals |= old.intervals;
            }
            same
        });
        let mut mappings = mappings.iter().peekable();
        newest.retain(|page| {
            while mappings.next_if(|mapping| mapping.end <= page.address).is_some() {}
            let is_mapped = mappings
                .peek()
                .is_some_and(|mapping| mapping.start <= page.address);
            page.intervals != 0 && is_mapped
        });
        newest.shrink_to_fit();
        self.pages = newest;
    }

    /// Bytes written in each of the [`WINDOWS`], of one kind and of one page size or (`None`) of all.
    pub fn bytes(&self, kind: PageKind, size: Option<PageSize>) -> [i64; WINDOWS.len()] {
        let mut bytes = [0; WINDOWS.len()];
        let counted = |page: &&Written| page.kind == kind && size.is_none_or(|size| size == page.page_size);
        for page in self.pages.iter().filter(counted) {
            for (bytes, window) in bytes.iter_mut().zip(WINDOWS) {
                if page.intervals & ((1 << window) - 1) != 0 {
                    *bytes += i64::from(page.page_size.bytes());
                }
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const SMALL: PageSize = PageSize::Small4K;
    const HUGE: PageSize = PageSize::Huge2M;

    fn mapping(range: Range<u64>) -> PageMapping {
        PageMapping {
            start: range.start,
            end: range.end,
            kind: PageKind::Anon,
            name: Arc::from(""),
            device: 0,
            inode: 0,
            offset_bytes: 0,
        }
    }

    #[test]
    fn windows_count_each_page_once() {
        let all = [mapping(0x1000..0x1000_0000)];
        let mut history = WriteHistory::default();
        history.note(0x1000..0x3000, SMALL, PageKind::Anon);
        history.end_interval(true, &all);
        assert_eq!(history.bytes(PageKind::Anon, None), [0x2000; 4]);
        history.note(0x2000..0x4000, SMALL, PageKind::Anon);
        history.end_interval(true, &all);
        assert_eq!(
            history.bytes(PageKind::Anon, None),
            [0x2000, 0x3000, 0x3000, 0x3000]
        );
        assert_eq!(history.bytes(PageKind::Tmpfs, None), [0; 4]);
        for _ in 0..9 {
            history.end_interval(true, &all);
        }
        assert_eq!(
            history.bytes(PageKind::Anon, None),
            [0, 0, 0, 0x2000],
            "the first page is forgotten"
        );
        history.end_interval(true, &all);
        assert!(history.pages.is_empty());
    }

    #[test]
    fn huge_pages_are_one_unit_and_kept_apart() {
        let all = [mapping(0..0x1000_0000)];
        let mut history = WriteHistory::default();
        history.note(0x20_1000..0x20_2000, HUGE, PageKind::Anon);
        history.note(0x20_5000..0x20_6000, HUGE, PageKind::Anon);
        history.note(0x40_0000..0x40_1000, SMALL, PageKind::Anon);
        history.end_interval(true, &all);
        assert_eq!(history.bytes(PageKind::Anon, Some(HUGE)), [2 << 20; 4]);
        assert_eq!(history.bytes(PageKind::Anon, Some(SMALL)), [4096; 4]);
        assert_eq!(history.bytes(PageKind::Anon, None), [(2 << 20) + 4096; 4]);
    }

    #[test]
    fn unmapped_pages_and_unobserved_intervals_do_not_count() {
        let mut history = WriteHistory::default();
        history.note(0x1000..0x3000, SMALL, PageKind::Anon);
        history.end_interval(true, &[mapping(0x2000..0x3000)]);
        assert_eq!(history.bytes(PageKind::Anon, None), [4096; 4]);
        history.note(0x2000..0x9000, SMALL, PageKind::Anon);
        history.end_interval(false, &[mapping(0x2000..0x9000)]);
        assert_eq!(history.bytes(PageKind::Anon, None), [0, 4096, 4096, 4096]);
    }
}
