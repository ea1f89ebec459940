//! Pages kept compressed in DRAM: zram, a swap device of its own, and zswap, a pool before one.

use std::collections::VecDeque;

use crate::params::{Compression, PAGE_BYTES};
use crate::random::Random;

/// Pages that wait for compression before who reclaims memory waits for it.
const QUEUE_PAGES: u64 = 64;

pub(crate) struct Pool {
    /// Stored bytes by page; None where the page is not in the pool.
    stored: Vec<Option<u32>>,
    /// Pages in the order in which they came, and when each came.
    order: VecDeque<(u32, u32)>,
    came: Vec<u32>,
    entries: u32,
    pages: u64,
    bytes: u64,
    busy_until_ns: u64,
    random: Random,
    how: Compression,
}

impl Pool {
    pub(crate) fn new(how: Compression, pages: usize, seed: u64) -> Self {
        Self {
            stored: vec![None; pages],
            order: VecDeque::new(),
            came: vec![0; pages],
            entries: 0,
            bytes: 0,
            pages: 0,
            busy_until_ns: 0,
            random: Random::new(seed ^ 0x7a72_616d),
            how,
        }
    }

    pub(crate) fn holds(&self, page: u32) -> bool {
        self.stored[page as usize].is_some()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Compresses a page. False where it does not get smaller and the pool refuses such pages (zswap).
    pub(crate) fn store(&mut self, page: u32, now_ns: u64) -> bool {
        let size = self.draw_bytes();
        let takes_ns = if size == 0 {
            self.how.same_filled_ns
        } else {
            self.how.compress_ns
        };
        self.busy_until_ns = self.busy_until_ns.max(now_ns) + takes_ns;
        if size >= PAGE_BYTES && self.how.refuses_incompressible {
            return false;
        }
        self.stored[page as usize] = Some(size);
        self.bytes += u64::from(size);
        self.entries += 1;
        self.came[page as usize] = self.entries;
        if self.how.pool_bytes < u64::MAX {
            self.order.push_back((page, self.entries));
        }
        self.pages += 1;
        true
    }

    /// Bytes of one page: none where it repeats one word, a whole page where it does not compress.
    fn draw_bytes(&mut self) -> u32 {
        if self.random.chance(self.how.same_filled_ratio) {
            return 0;
        }
        let spread = self.how.ratio_log_sd * self.random.normal();
        let ratio = self.how.median_ratio * spread.exp();
        let bytes = f64::from(PAGE_BYTES) / ratio;
        // zsmalloc keeps a page whole that would need more than 7/8 of one (huge_class_size).
        if bytes > f64::from(PAGE_BYTES) * 0.875 {
            PAGE_BYTES
        } else {
            (bytes as u32).max(32)
        }
    }

    /// Takes a page out; returns the time until it is whole again.
    pub(crate) fn load(&mut self, page: u32) -> u64 {
        let size = self.stored[page as usize];
        self.remove(page);
        match size {
            Some(0) => self.how.same_filled_ns,
            Some(PAGE_BYTES..) => self.how.copy_ns,
            _ => self.how.decompress_ns,
        }
    }

    pub(crate) fn remove(&mut self, page: u32) {
        if let Some(size) = self.stored[page as usize].take() {
            self.bytes -= u64::from(size);
            self.pages -= 1;
        }
    }

    /// The page that has been in a full pool for the longest time; None where the pool has room.
    pub(crate) fn next_written_back(&mut self) -> Option<u32> {
        while self.bytes > self.how.pool_bytes {
            let (page, came) = self.order.pop_front()?;
            if self.holds(page) && self.came[page as usize] == came {
                return Some(page);
            }
        }
        // Entries of pages that were loaded stay at the front only until the queue is looked at.
        while let Some(&(page, came)) = self.order.front() {
            if self.holds(page) && self.came[page as usize] == came {
                break;
            }
            self.order.pop_front();
        }
        None
    }

    /// How long who reclaims memory waits for the compressing thread: until half of a full queue is done.
    pub(crate) fn wait_for_room(&self, now_ns: u64) -> u64 {
        let (queued_ns, full_ns) = (
            self.busy_until_ns.saturating_sub(now_ns),
            QUEUE_PAGES * self.how.compress_ns,
        );
        if queued_ns > full_ns {
            queued_ns - full_ns / 2
        } else {
            0
        }
    }
}
