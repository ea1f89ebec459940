//! Samples of an interval by process and 4 KiB page.

use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::served::{Served, ServedLoads};

/// Addresses are kept to 4 KiB, whatever the size of the page.
const PAGE_SHIFT: u32 = 12;
/// Room that an emptied table keeps, in pages for each process.
const KEPT_PAGES: usize = 4096;

/// What was seen of a page in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageCount {
    /// Sampled loads.
    pub loads: u32,
    /// Sampled stores.
    pub stores: u32,
    /// Binary logarithm of the page's size as the kernel told it; 0 where it did not.
    size_log2: u8,
}

impl PageCount {
    /// Size of the page that the kernel has mapped there; `None` where it did not tell.
    pub fn page_size_bytes(self) -> Option<u64> {
        (self.size_log2 > 0).then(|| 1 << self.size_log2)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) pid: u32,
    pub(crate) address: u64,
    pub(crate) loads: u32,
    pub(crate) stores: u32,
    pub(crate) page_size_bytes: u64,
}

type Pages = HashMap<u64, PageCount, BuildHasherDefault<MixHasher>>;

/// Counts by process and page, with room for a fixed number of pages. About 30 bytes for each.
#[derive(Debug)]
pub struct SampleTable {
    processes: HashMap<u32, Pages, BuildHasherDefault<MixHasher>>,
    served: HashMap<u32, ServedLoads, BuildHasherDefault<MixHasher>>,
    pages: usize,
    max_pages: usize,
}

impl SampleTable {
    /// An empty table for at most `max_pages`.
    pub fn new(max_pages: usize) -> Self {
        Self {
            processes: HashMap::default(),
            served: HashMap::default(),
            pages: 0,
            max_pages,
        }
    }

    /// Pages in the table.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Processes with samples.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        let with_pages = self.processes.iter().filter(|(_, pages)| !pages.is_empty());
        with_pages.map(|(pid, _)| *pid)
    }

    /// The pages of a process by address (of their 4 KiB), ascending.
    pub fn pages_of(&self, pid: u32) -> Vec<(u64, PageCount)> {
        let pages = self.processes.get(&pid).into_iter().flatten();
        let mut pages: Vec<(u64, PageCount)> =
            pages.map(|(page, count)| (page << PAGE_SHIFT, *count)).collect();
        pages.sort_unstable_by_key(|(address, _)| *address);
        pages
    }

    /// Sampled loads of a process by what served them; zeros where none was sampled.
    pub fn served_of(&self, pid: u32) -> ServedLoads {
        self.served.get(&pid).copied().unwrap_or_default()
    }

    /// Counts what served a load of a process.
    pub(crate) fn add_served(&mut self, pid: u32, served: Served) {
        self.served.entry(pid).or_default().add(served);
    }

    /// Adds an access; `false` when its page is new and the table is full.
    pub(crate) fn add(&mut self, access: &Access) -> bool {
        let pages = self.processes.entry(access.pid).or_default();
        let count = match pages.entry(access.address >> PAGE_SHIFT) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if self.pages >= self.max_pages => return false,
            Entry::Vacant(entry) => {
                self.pages += 1;
                entry.insert(PageCount::default())
            }
        };
        count.loads = count.loads.saturating_add(access.loads);
        count.stores = count.stores.saturating_add(access.stores);
        if access.page_size_bytes.is_power_of_two() {
            count.size_log2 = access.page_size_bytes.trailing_zeros() as u8;
        }
        true
    }

    /// Forgets what was seen of a process: it ended, or runs another program.
    pub(crate) fn forget_process(&mut self, pid: u32) {
        self.served.remove(&pid);
        if let Some(pages) = self.processes.remove(&pid) {
            self.pages -= pages.len();
        }
    }

    /// Empties the table. It keeps the room of processes that had pages, up to a bound.
    pub(crate) fn clear(&mut self) {
        self.processes.retain(|_, pages| {
            let was_used = !pages.is_empty();
            pages.clear();
            pages.shrink_to(KEPT_PAGES);
            was_used
        });
        self.served.clear();
        self.pages = 0;
    }
}

/// Hashes one number by multiplication; page numbers come in rows and strides, which it spreads.
#[derive(Debug, Default)]
pub(crate) struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let product = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table takes its place from the low bits, which a product fills from the low bits of the number alone.
        self.0 = product ^ product >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(pid: u32, address: u64, stores: u32) -> Access {
        Access {
            pid,
            address,
            loads: 1 - stores,
            stores,
            page_size_bytes: 0,
        }
    }

    fn addresses(table: &SampleTable, pid: u32) -> Vec<u64> {
        table
            .pages_of(pid)
            .into_iter()
            .map(|(address, _)| address)
            .collect()
    }

    #[test]
    fn loads_and_stores_are_counted_apart_by_process_and_page() {
        let mut table = SampleTable::new(10);
        for (pid, address, stores) in [(1, 0x5fff, 0), (1, 0x5000, 1), (1, 0x2000, 0), (2, 0x5000, 0)] {
            assert!(table.add(&access(pid, address, stores)));
        }
        let pages = table.pages_of(1);
        assert_eq!(addresses(&table, 1), [0x2000, 0x5000]);
        assert_eq!((pages[1].1.loads, pages[1].1.stores), (1, 1));
        assert_eq!((table.pages(), table.processes().count()), (3, 2));
        assert_eq!(pages[0].1.page_size_bytes(), None);
    }

    #[test]
    fn a_full_table_goes_on_counting_known_pages() {
        let mut table = SampleTable::new(2);
        assert!(table.add(&access(1, 0x1000, 0)));
        assert!(table.add(&access(1, 0x2000, 0)));
        assert!(!table.add(&access(1, 0x3000, 0)));
        assert!(table.add(&access(1, 0x2000, 1)));
        table.clear();
        assert_eq!((table.pages(), table.processes().count()), (0, 0));
        assert!(table.add(&access(1, 0x3000, 0)));
    }

    #[test]
    fn an_ended_process_is_forgotten() {
        let mut table = SampleTable::new(10);
        table.add(&access(1, 0x1000, 0));
        table.add(&access(2, 0x1000, 0));
        table.add_served(1, Served::Cxl);
        table.add_served(2, Served::Cxl);
        table.forget_process(1);
        table.forget_process(7);
        assert_eq!((table.pages(), addresses(&table, 1).len()), (1, 0));
        assert_eq!(
            (table.served_of(1).total(), table.served_of(2).of(Served::Cxl)),
            (0, 1)
        );
        table.clear();
        assert_eq!(table.served_of(2).total(), 0);
    }

    #[test]
    fn the_size_of_a_page_is_kept() {
        let mut table = SampleTable::new(10);
        let huge = Access {
            page_size_bytes: 2 << 20,
            ..access(1, 0x40_3000, 0)
        };
        table.add(&huge);
        table.add(&access(1, 0x40_3000, 0));
        assert_eq!(table.pages_of(1)[0].1.page_size_bytes(), Some(2 << 20));
    }
}
