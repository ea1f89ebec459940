//! The end of an interval: one sweep over all pages.

use super::classes::Class;
use std::ops::Range;

use super::PageGroup;
use super::keyed_hash::keyed_hash;
use super::keyed_space::SpaceKey;
use super::listed::{Census, UNIT_SHIFT};
use super::process::Process;
use super::space::{Page, count_subpages};
use crate::gaps::{GapEnd, censored_by_next, closed_gap, end_by_unmap, open_gap};
use crate::heat::{GAP_BINS, GapRow, PageKind};
use crate::history::HistoryShape;
use crate::vma::ProcessKey;

/// What becomes of a page that was not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unlisted {
    /// It is gone; `observed` says whether a re-access before that would have been seen.
    Freed { observed: bool },
    /// It is still there: idle, or missing where the interval was not observed.
    Stays { observed: bool },
    /// It is no longer looked at.
    Left,
}

/// What the sweep at the end of an interval does with each page.
#[derive(Debug, Clone, Copy)]
struct Sweep {
    shape: HistoryShape,
    /// Of the group.
    validity: u64,
    /// Pages that were idle for the whole history are forgotten.
    forgets: bool,
    /// A block of gaps ends with the interval.
    block_ends: bool,
}

impl Sweep {
    /// Ends the interval of one page and counts it; false when it is gone.
    #[inline]
    fn step(self, page: &mut Page, unlisted: Unlisted, class: &mut Class) -> bool {
        let before = self.shape.flatten(page.history);
        let listed = page.is_listed();
        let observed = match unlisted {
            _ if listed => page.is_observed(),
            Unlisted::Stays { observed } => observed,
            Unlisted::Freed { observed } => {
                class.gaps.end_if(end_by_unmap(before, observed));
                return false;
            }
            Unlisted::Left => {
                class.gaps.end_if(end_by_unmap(before, false));
                return false;
            }
        };
        let cut = censored_by_next(before, observed, self.shape.intervals() - 1);
        class.gaps.end_if(cut.map(GapEnd::Censored));
        self.shape.shift(&mut page.history, observed);
        if page.is_active() {
            let level = u64::from(page.level().max(1)).min(self.shape.highest_level());
            self.shape.set_level(&mut page.history, level);
        }
        let after = self.shape.flatten(page.history);
        if page.is_active() {
            class.gaps.end_if(closed_gap(after).map(GapEnd::Closed));
        }
        if !listed {
            page.marks.shift();
        }
        page.settle();
        if self.forgets && after.activity == 0 && page.marks.is_silent() {
            return false;
        }
        class.tally.add(after, page.marks, self.validity);
        if self.block_ends
            && let Some(gap) = open_gap(after)
        {
            class.open[gap as usize - 1] += 1;
        }
        true
    }
}

impl PageGroup {
    /// Ends the running interval for every page, and counts the pages.
    pub(super) fn fold_interval(&mut self, observed: bool, block_ends: bool) {
        let all_are_listed = self.options.census == Census::Full;
        self.processes
            .values_mut()
            .for_each(|process| process.end_visit(all_are_listed));
        let fates: Vec<_> = self
            .spaces
            .iter()
            .map(|keyed| (self.fate(&keyed.key, observed), self.replaced(&keyed.key)))
            .collect();
        let Self {
            spaces,
            classes,
            options,
            shape,
            validity,
            sampler,
            ..
        } = self;
        let tiers = options.tiers.as_slice();
        let sweep = Sweep {
            shape: *shape,
            validity: *validity,
            forgets: options.census == Census::Seen,
            block_ends,
        };
        let reselects = sampler
            .as_mut()
            .is_some_and(|sampler| std::mem::take(&mut sampler.reselects));
        for (keyed, (unlisted, replaced)) in spaces.iter_mut().zip(fates) {
            let is_replaced = |number: u64| {
                let address = number << UNIT_SHIFT;
                replaced.iter().any(|range| range.contains(&address))
            };
            let mut subpages = keyed.space.take_subpages();
            keyed.space.retain(|number, page| {
                let class = classes.at(page.marks.class(), tiers);
                let fate = if is_replaced(number) {
                    Unlisted::Freed { observed }
                } else {
                    unlisted
                };
                if !sweep.step(page, fate, class) {
                    subpages.remove(&number);
                    return false;
                }
                if !subpages.is_empty() {
                    class.subpages += subpages.get(&number).map_or(0, count_subpages);
                }
                if let Some(sampler) = sampler
                    && (reselects || page.is_sampled())
                {
                    let id = keyed_hash(sampler.key(), &[keyed.hash, number]);
                    page.set_sampled(sampler.follow(id, &class.page));
                }
                true
            });
            keyed.space.put_subpages(subpages);
        }
    }

    /// Ends the running interval as a missing one: every page stays, and what was read of it is dropped.
    pub(super) fn miss_interval(&mut self) {
        for process in self.processes.values_mut() {
            process.validity <<= 1;
            process.end_interval();
        }
        let Self {
            spaces,
            classes,
            options,
            shape,
            ..
        } = self;
        let (shape, tiers) = (*shape, options.tiers.as_slice());
        let longest = shape.intervals() - 1;
        for keyed in spaces {
            let subpages = keyed.space.take_subpages();
            keyed.space.put_subpages(subpages);
            keyed.space.retain(|_, page| {
                let cut = censored_by_next(shape.flatten(page.history), false, longest);
                classes.end_gap(page.marks.class(), tiers, cut.map(GapEnd::Censored));
                shape.shift(&mut page.history, false);
                if page.is_listed() {
                    page.marks.forget_newest();
                } else {
                    page.marks.shift();
                }
                page.settle();
                true
            });
        }
        self.chances.push(1.0);
        for class in classes.iter_mut() {
            class.tally = crate::page_tally::PageTally::default();
            class.stores.push(0);
        }
    }

    /// Addresses of a space of anonymous memory that a file took over in the running interval.
    fn replaced(&self, key: &SpaceKey) -> Vec<Range<u64>> {
        let SpaceKey::Anon(process) = key else {
            return Vec::new();
        };
        let process = self.processes.get(process);
        process.map_or_else(Vec::new, |process| process.replaced.clone())
    }

    /// What becomes of the pages of a space that were not listed in the running interval.
    fn fate(&self, key: &SpaceKey, observed: bool) -> Unlisted {
        let by_census = |observed| match self.options.census {
            Census::Full => Unlisted::Freed { observed },
            Census::Seen | Census::Touched => Unlisted::Stays { observed },
            Census::Sample => Unlisted::Left,
        };
        if let Some(process) = key.process() {
            return match self.processes.get(&process).and_then(|process| process.visit) {
                None => Unlisted::Freed { observed },
                Some(visit) if !visit.observed && !visit.listed => Unlisted::Stays { observed: false },
                Some(visit) => by_census(visit.observed),
            };
        }
        let visits = self.processes.values().filter_map(|process| process.visit);
        if visits.clone().next().is_none() {
            Unlisted::Freed { observed }
        } else if self.processes.values().any(Process::is_out_of_sight) {
            // The process that could not be listed may be the one that maps the page.
            Unlisted::Stays { observed: false }
        } else if matches!(self.options.census, Census::Seen | Census::Touched) {
            by_census(visits.clone().all(|visit| visit.observed))
        } else {
            by_census(observed)
        }
    }

    /// Forgets processes that were not read, and spaces without pages.
    pub(super) fn forget_the_gone(&mut self) {
        self.processes.retain(|_, process| process.visit.is_some());
        self.processes.values_mut().for_each(Process::end_interval);
        if self.spaces.iter().any(|keyed| keyed.space.is_empty()) {
            self.spaces.retain(|keyed| !keyed.space.is_empty());
            let places = self.spaces.iter().enumerate();
            self.space_of = places.map(|(at, keyed)| (keyed.key.clone(), at)).collect();
        }
    }

    /// Counts the gaps that are open where a block ends in a missed interval.
    pub(super) fn count_open_gaps(&mut self) {
        for keyed in &self.spaces {
            for (_, page) in keyed.space.pages() {
                if let Some(gap) = open_gap(self.shape.flatten(page.history)) {
                    let class = self.classes.at(page.marks.class(), &self.options.tiers);
                    class.open[gap as usize - 1] += 1;
                }
            }
        }
    }

    /// The rows of gaps of the block that ends, scaled up where pages are a sample.
    pub(super) fn end_gap_block(&mut self, end_wall_ns: i64) -> Vec<GapRow> {
        let block = (end_wall_ns, std::mem::take(&mut self.intervals_in_block));
        let mut rows = Vec::new();
        for class in self.classes.iter_mut() {
            let (ended, open) = (
                std::mem::take(&mut class.gaps),
                std::mem::replace(&mut class.open, [0; GAP_BINS]),
            );
            ended.add_to(&mut rows, &self.measured, block, &class.page, &open);
        }
        if self.options.census == Census::Sample {
            for row in &mut rows {
                scale_gaps(row, self.scales[row.kind as usize]);
            }
        }
        rows
    }

    /// Resident bytes of a kind that the processes read in the running interval gave, by process.
    pub(super) fn resident_of(&self, kind: PageKind) -> impl Iterator<Item = (ProcessKey, i64, u32)> {
        let read = self
            .processes
            .iter()
            .filter(|(_, process)| process.visit.is_some());
        read.map(move |(key, process)| {
            (
                *key,
                process.resident_bytes[kind as usize],
                process.validity.trailing_ones(),
            )
        })
    }
}

fn scale_gaps(row: &mut GapRow, factor: f64) {
    let columns = [
        &mut row.closed_bytes,
        &mut row.freed_bytes,
        &mut row.open_bytes,
        &mut row.censored_bytes,
    ];
    for bytes in columns.into_iter().flatten() {
        *bytes = (*bytes as f64 * factor).round() as i64;
    }
}
