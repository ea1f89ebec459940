//! The sample of pages that an agent follows on a host of the twin, as it sees them at the end of each minute.

use std::sync::Arc;

use tierscope_sample::counters::Key;
use tierscope_sample::page_moves::{FollowedPage, PageMoves, Seen};
use tierscope_twin::host::Host;
use tierscope_twin::kind::{Kind, Place};
use tierscope_twin::population::Population;
use tierscope_twin::service::HostService;

use crate::seeds::mix;

/// Pages that are followed on a host, about.
const PAGES: u64 = 2000;

/// Followed pages by population and index, and what was seen of them.
#[derive(Debug, Default)]
pub(super) struct FollowedPages {
    seed: u64,
    /// By population; `None` for pages that are not there, or not followed.
    pages: Vec<Vec<Option<FollowedPage>>>,
    moves: PageMoves,
}

impl FollowedPages {
    /// Follows nobody yet. `seed` decides which pages it will be.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// Looks at the pages as they are at a moment. On a host without a lower tier there are no moves to see.
    pub(super) fn look(&mut self, host: &Host, now_ns: i64) {
        if !host.has_lower_tier() {
            return;
        }
        let units: usize = host.populations.iter().map(Population::len).sum();
        // Pages that come later are followed with the same chance.
        let every = (units as u64 / PAGES).max(1);
        self.pages.resize(host.populations.len(), Vec::new());
        self.moves.expect(host.services.iter().map(name_of));
        for (index, population) in host.populations.iter().enumerate() {
            let service = name_of(&host.services[population.service]);
            let pages = &mut self.pages[index];
            pages.resize(population.len(), None);
            for (unit, page) in pages.iter_mut().enumerate() {
                let place = population.place(unit);
                if !matches!(place, Place::Dram | Place::Slow) {
                    *page = None;
                    continue;
                }
                let seen = Seen {
                    is_top: place == Place::Dram,
                    frame: population.frame(unit),
                    is_anon: population.kind == Kind::Anon,
                };
                match page {
                    Some(page) => self.moves.look(&service, page, seen, now_ns),
                    None if mix(self.seed ^ index as u64, unit as u64).is_multiple_of(every) => {
                        *page = Some(FollowedPage::new(seen, now_ns));
                    }
                    None => {}
                }
            }
        }
        self.moves.end_look();
    }

    /// Its counters; none where no page is followed.
    pub(super) fn values(&self) -> Vec<(Key, Option<i64>)> {
        if self.pages.is_empty() {
            return Vec::new();
        }
        self.moves.values()
    }
}

fn name_of(service: &HostService) -> Arc<str> {
    Arc::from(format!("{}/{}", service.law.namespace, service.law.name))
}
