//! Pages of tenants and the frames that they have: which page is accessed next, and which leaves memory for it (clock).

use crate::params::Tenant;
use crate::random::Random;

/// Stride over the pages of a tenant that spreads its hot pages; a prime larger than any number of pages.
const STRIDE: u64 = 2_147_483_647;

pub(crate) struct Memory {
    tenant: Tenant,
    /// Number of the tenant's first page.
    first: u32,
    /// Frame to page.
    frames: Vec<u32>,
    hand: usize,
    accessed: Vec<bool>,
    dirty: Vec<bool>,
    resident: Vec<bool>,
}

impl Memory {
    pub(crate) fn new(tenant: Tenant, first: u32) -> Self {
        let pages = tenant.pages as usize;
        Self {
            tenant,
            first,
            frames: Vec::with_capacity(tenant.frames as usize),
            hand: 0,
            accessed: vec![false; pages],
            dirty: vec![false; pages],
            resident: vec![false; pages],
        }
    }

    /// Draws a page: a hot one for a share of accesses, else any.
    pub(crate) fn draw(&self, random: &mut Random) -> u32 {
        let pages = self.tenant.pages;
        if random.chance(self.tenant.hot_accesses_ratio) && self.tenant.hot_pages_ratio < 1.0 {
            let hot = ((f64::from(pages) * self.tenant.hot_pages_ratio) as u32).max(1);
            let rank = u64::from(random.below(hot));
            return self.first + (rank * STRIDE % u64::from(pages)) as u32;
        }
        self.first + random.below(pages)
    }

    fn at(&self, page: u32) -> usize {
        (page - self.first) as usize
    }

    pub(crate) fn is_resident(&self, page: u32) -> bool {
        self.resident[self.at(page)]
    }

    /// Notes an access; true where it makes a clean page dirty.
    pub(crate) fn access(&mut self, page: u32, store: bool) -> bool {
        let at = self.at(page);
        self.accessed[at] = true;
        store && !std::mem::replace(&mut self.dirty[at], true)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.frames.len() == self.tenant.frames as usize
    }

    /// Moves the hand to the page that leaves memory next: one that was not accessed since the hand came by.
    pub(crate) fn victim(&mut self) -> (u32, bool) {
        loop {
            let page = self.frames[self.hand];
            let at = self.at(page);
            if !std::mem::replace(&mut self.accessed[at], false) {
                return self.at_hand();
            }
            self.hand = (self.hand + 1) % self.frames.len();
        }
    }

    /// The page at the hand, and whether it is dirty.
    pub(crate) fn at_hand(&self) -> (u32, bool) {
        let page = self.frames[self.hand];
        (page, self.dirty[self.at(page)])
    }

    /// Takes the page at the hand out of memory.
    pub(crate) fn evict(&mut self) {
        let at = self.at(self.frames[self.hand]);
        self.resident[at] = false;
        self.dirty[at] = false;
    }

    /// Puts a page into the frame that was freed just now, or into a new one.
    pub(crate) fn place(&mut self, page: u32, dirty: bool) {
        if self.is_full() {
            self.frames[self.hand] = page;
            self.hand = (self.hand + 1) % self.frames.len();
        } else {
            self.frames.push(page);
        }
        let at = self.at(page);
        self.resident[at] = true;
        self.accessed[at] = true;
        self.dirty[at] = dirty;
    }

    pub(crate) fn pages(&self) -> impl Iterator<Item = u32> {
        let (before, after) = self.frames.split_at(self.hand.min(self.frames.len()));
        after.iter().chain(before).copied()
    }
}
