//! Which of the pages that are offered are followed: those that come next in a random order of addresses.

use std::collections::{BTreeMap, BTreeSet};

use tierscope_pagetable::page_draw::mix;
use tierscope_sample::page_moves::{FollowedPage, Seen};

/// Keeps so many of the pages that are offered. The order is the same each time, so that a page that was chosen is chosen
/// again as long as the cursor has not passed it.
pub(super) struct Choice {
    secret: u64,
    cursor: u64,
    wanted: usize,
    /// Pages that are followed already.
    known: BTreeMap<u64, FollowedPage>,
    /// Place in the order, and address.
    chosen: BTreeSet<(u64, u64)>,
    seen: BTreeMap<u64, Seen>,
}

impl Choice {
    pub(super) fn new(
        (secret, cursor): (u64, u64),
        wanted: usize,
        known: BTreeMap<u64, FollowedPage>,
    ) -> Self {
        let mut choice = Self {
            secret,
            cursor,
            wanted,
            known,
            chosen: BTreeSet::new(),
            seen: BTreeMap::new(),
        };
        choice.chosen = choice
            .known
            .keys()
            .map(|address| choice.place(*address))
            .collect();
        while choice.chosen.len() > wanted {
            choice.chosen.pop_last();
        }
        choice
    }

    fn place(&self, address: u64) -> (u64, u64) {
        (mix(self.secret ^ address).wrapping_sub(self.cursor), address)
    }

    pub(super) fn offer(&mut self, address: u64, seen: Seen) {
        let place = self.place(address);
        if self.chosen.len() >= self.wanted && self.chosen.last().is_some_and(|last| *last <= place) {
            return;
        }
        self.chosen.insert(place);
        self.seen.insert(address, seen);
        if self.chosen.len() > self.wanted
            && let Some((_, left_out)) = self.chosen.pop_last()
        {
            self.seen.remove(&left_out);
        }
    }

    /// How far the chosen pages reach in the order, and the pages by address.
    pub(super) fn finish(mut self, now_ns: i64) -> (u64, BTreeMap<u64, FollowedPage>) {
        let width = self.chosen.last().map_or(0, |(width, _)| *width);
        let page = |(_, address): &(u64, u64)| {
            let new = || {
                self.seen
                    .get(address)
                    .map(|seen| FollowedPage::new(*seen, now_ns))
            };
            Some((*address, self.known.remove(address).or_else(new)?))
        };
        let pages = self.chosen.iter().filter_map(page).collect();
        (width, pages)
    }
}
