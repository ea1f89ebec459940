//! Which page of a tier goes next: inactive before active, the longest untouched first, then in order of birth.
//!
//! The trace itself is the list. A page was last touched in interval L exactly when it stands in the rows of L and says
//! so, so that walking the rows of old intervals with a cursor finds the victims in order. What moved on is passed over
//! once and for all, which makes the search cost no more than the rows there are.

use crate::page::{ACTIVE, INACTIVE_AFTER, Kind, PROMOTED, Page, Tier};
use crate::trace::Trace;

/// A page that may go, and where its row stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Victim {
    pub page: u32,
    pub interval: u32,
    pub place: u32,
}

/// Cursors over the rows of each interval, one for each pass over it.
#[derive(Debug, Clone)]
pub(crate) struct Victims {
    /// Over intervals so old that all their pages are inactive.
    old: Vec<u32>,
    /// Over the inactive pages of the others, and over the active ones.
    inactive: Vec<u32>,
    active: Vec<u32>,
    /// No victim stands before this interval.
    first: u32,
    /// Cursors over the current interval, whose pages still change: they hold for one step alone.
    current: u32,
    /// The same over inactive files alone: over old intervals, over the others, and over the current one.
    old_files: Vec<u32>,
    inactive_files: Vec<u32>,
    first_file: u32,
    current_files: u32,
    /// Where the hand of the clock stands, a page: of active pages of the current interval it takes the next ones.
    hand: u32,
    round: Option<Round>,
}

/// One turn of the hand over the rows of the current interval.
#[derive(Debug, Clone, Copy)]
struct Round {
    start: u32,
    place: u32,
    is_second_half: bool,
}

/// Which pages are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VictimFilter<'a> {
    pub trace: &'a Trace,
    pub pages: &'a [Page],
    pub tier: Tier,
    pub now: u32,
    /// Pages touched in this interval may go as well.
    pub with_current: bool,
    /// Anonymous pages may go as well.
    pub with_anon: bool,
    /// Inactive files go before all others.
    pub file_first: bool,
    /// Pages of this tenant alone.
    pub tenant: Option<usize>,
}

impl<'a> VictimFilter<'a> {
    /// Pages of a tier that were not touched in interval `now`, whatever they hold and whoever owns them.
    pub(crate) fn of_tier(trace: &'a Trace, pages: &'a [Page], tier: Tier, now: u32) -> Self {
        Self {
            trace,
            pages,
            tier,
            now,
            with_current: false,
            with_anon: true,
            file_first: false,
            tenant: None,
        }
    }

    fn allows(&self, page: u32, interval: u32) -> bool {
        let state = &self.pages[page as usize];
        state.tier == self.tier
            && state.last == interval
            && !state.is(PROMOTED)
            && self
                .tenant
                .is_none_or(|tenant| self.trace.tenant(page) == tenant)
            && (self.with_anon || self.trace.kind(page) == Kind::File as usize)
    }
}

impl Victims {
    pub(crate) fn new(intervals: usize) -> Self {
        Self {
            old: vec![0; intervals],
            inactive: vec![0; intervals],
            active: vec![0; intervals],
            first: 0,
            current: 0,
            old_files: vec![0; intervals],
            inactive_files: vec![0; intervals],
            first_file: 0,
            current_files: 0,
            hand: 0,
            round: None,
        }
    }

    /// Begins a step: pages of the current interval are looked through anew.
    pub(crate) fn begin(&mut self) {
        self.current = 0;
        self.current_files = 0;
        self.round = None;
    }

    /// An active page of the current interval has gone: the hand stands behind it.
    pub(crate) fn move_hand(&mut self, page: u32) {
        self.hand = page + 1;
    }

    /// The next victim. It is found again until it has left its tier.
    pub(crate) fn next(&mut self, wanted: VictimFilter<'_>) -> Option<Victim> {
        let recent = (wanted.now + 1).saturating_sub(INACTIVE_AFTER);
        if wanted.file_first
            && let Some(found) = self.next_file(recent, wanted)
        {
            return Some(found);
        }
        if let Some(found) = self.next_before(recent, wanted) {
            return Some(found);
        }
        let begin = self.first;
        for active in [false, true] {
            let cursors = if active {
                &mut self.active
            } else {
                &mut self.inactive
            };
            for interval in begin..wanted.now {
                if let Some(found) = walk(cursors, interval, wanted, Some(active)) {
                    return Some(found);
                }
            }
            if wanted.with_current {
                let found = if active {
                    self.next_of_round(wanted)
                } else {
                    step(&mut self.current, wanted.now, wanted, Some(false))
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// The inactive file that was longest untouched.
    fn next_file(&mut self, recent: u32, wanted: VictimFilter<'_>) -> Option<Victim> {
        let files = VictimFilter {
            with_anon: false,
            ..wanted
        };
        while self.first_file < recent {
            if let Some(found) = walk(&mut self.old_files, self.first_file, files, None) {
                return Some(found);
            }
            self.first_file += 1;
        }
        for interval in self.first_file..wanted.now {
            if let Some(found) = walk(&mut self.inactive_files, interval, files, Some(false)) {
                return Some(found);
            }
        }
        if !wanted.with_current {
            return None;
        }
        step(&mut self.current_files, wanted.now, files, Some(false))
    }

    /// The next active page of the current interval. All were used, so that each is passed over once (second chance).
    fn next_of_round(&mut self, wanted: VictimFilter<'_>) -> Option<Victim> {
        let hand = self.hand;
        let round = self.round.get_or_insert_with(|| {
            let start = wanted.trace.place_from(wanted.now as usize, hand);
            Round {
                start,
                place: start,
                is_second_half: false,
            }
        });
        if !round.is_second_half {
            if let Some(found) = step(&mut round.place, wanted.now, wanted, Some(true)) {
                return Some(found);
            }
            (round.is_second_half, round.place) = (true, 0);
        }
        step(&mut round.place, wanted.now, wanted, Some(true))
            .filter(|found| found.place < round.start)
    }

    /// The page longest untouched of those that no interval from `recent` on touched, whatever list it is on.
    pub(crate) fn next_before(&mut self, recent: u32, wanted: VictimFilter<'_>) -> Option<Victim> {
        while self.first < recent {
            if let Some(found) = walk(&mut self.old, self.first, wanted, None) {
                return Some(found);
            }
            self.first += 1;
        }
        None
    }

    /// A page came to the tier that was last touched long ago: it may be the next.
    pub(crate) fn put_back(&mut self, victim: Victim, now: u32) {
        if victim.interval == now {
            self.begin();
            return;
        }
        let at = victim.interval as usize;
        self.first = self.first.min(victim.interval);
        self.first_file = self.first_file.min(victim.interval);
        let all = [
            &mut self.old,
            &mut self.inactive,
            &mut self.active,
            &mut self.old_files,
            &mut self.inactive_files,
        ];
        for cursors in all {
            cursors[at] = cursors[at].min(victim.place);
        }
    }
}

fn walk(
    cursors: &mut [u32],
    interval: u32,
    wanted: VictimFilter<'_>,
    active: Option<bool>,
) -> Option<Victim> {
    step(&mut cursors[interval as usize], interval, wanted, active)
}

fn step(
    place: &mut u32,
    interval: u32,
    wanted: VictimFilter<'_>,
    active: Option<bool>,
) -> Option<Victim> {
    while let Some(page) = wanted.trace.row_page(interval as usize, *place as usize) {
        let suits = active.is_none_or(|active| wanted.pages[page as usize].is(ACTIVE) == active);
        if suits && wanted.allows(page, interval) {
            return Some(Victim {
                page,
                interval,
                place: *place,
            });
        }
        *place += 1;
    }
    None
}
