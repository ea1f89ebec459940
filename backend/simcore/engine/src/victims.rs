//! Which page of a tier goes next: inactive before active, the longest untouched first, then in order of birth.
//!
//! The trace itself is the list. A page was last touched in interval L exactly when it stands in the rows of L and says
//! so, so that walking the rows of old intervals with a cursor finds the victims in order. What moved on is passed over
//! once and for all, which makes the search cost no more than the rows there are.

use crate::inactive::Inactive;
use crate::page::{ACTIVE, INACTIVE_AFTER, Kind, PROMOTED, Page, Tier};
use crate::trace::{Trace, row_page};

/// A page that may go, and where its row stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Victim {
    pub page: u32,
    pub interval: u32,
    pub place: u32,
}

/// Places in the rows of an interval before which a pass found all that it takes, one for each pass.
#[derive(Debug, Clone, Copy, Default)]
struct Cursors {
    /// Where the interval is so old that all its pages are inactive.
    old: u32,
    /// Before that: its inactive pages, and its active ones.
    inactive: u32,
    active: u32,
    /// The same for inactive files alone.
    old_files: u32,
    inactive_files: u32,
}

impl Cursors {
    /// Any pass may take the row at this place.
    fn put_back(&mut self, place: u32) {
        for cursor in [
            &mut self.old,
            &mut self.inactive,
            &mut self.active,
            &mut self.old_files,
            &mut self.inactive_files,
        ] {
            *cursor = place.min(*cursor);
        }
    }
}

/// How far each pass over the intervals and their rows has come.
#[derive(Debug, Clone)]
pub(crate) struct Victims {
    cursors: Vec<Cursors>,
    /// No victim stands before this interval; no inactive one, and no active one that is not old.
    first: u32,
    first_inactive: u32,
    first_active: u32,
    /// Cursors over the current interval, whose pages still change: they hold for one step alone.
    current: u32,
    /// The same of inactive files alone.
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
    /// Rows that may have an inactive page.
    pub inactive: &'a Inactive,
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
    /// Pages of a tier that were not touched in this interval, whatever they hold and whoever owns them.
    pub(crate) fn of_tier(
        trace: &'a Trace,
        pages: &'a [Page],
        inactive: &'a Inactive,
        tier: Tier,
        now: u32,
    ) -> Self {
        Self {
            trace,
            pages,
            inactive,
            tier,
            now,
            with_current: false,
            with_anon: true,
            file_first: false,
            tenant: None,
        }
    }

    /// What the marks of a suitable page are, of those that matter.
    fn suitable(&self, interval: u32, active: Option<bool>) -> Marks {
        let mut page = Page::on(self.tier);
        page.set_last(interval);
        let mut flags = PROMOTED;
        if let Some(active) = active {
            flags |= ACTIVE;
            page.set(if active { ACTIVE } else { 0 });
        }
        Marks {
            of: page.marks(),
            among: Page::which_marks(flags),
        }
    }

    /// Whether a page suits that bears the right marks.
    fn allows(&self, page: u32) -> bool {
        self.tenant
            .is_none_or(|tenant| self.trace.tenant(page) == tenant)
            && (self.with_anon || self.trace.kind(page) == Kind::File as usize)
    }
}

/// Marks of a page that are asked for: `of` among those that matter.
#[derive(Debug, Clone, Copy)]
struct Marks {
    of: u64,
    among: u64,
}

impl Marks {
    fn are_on(self, pages: &[Page], row: u32) -> bool {
        pages[row_page(row) as usize].marks() & self.among == self.of
    }
}

impl Victims {
    pub(crate) fn new(intervals: usize) -> Self {
        Self {
            cursors: vec![Cursors::default(); intervals],
            first: 0,
            first_inactive: 0,
            first_active: 0,
            current: 0,
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
        let Self { cursors, .. } = self;
        for interval in self.first.max(self.first_inactive)..wanted.now {
            let cursor = &mut cursors[interval as usize].inactive;
            if let Some(found) = step_inactive(cursor, interval, wanted) {
                self.first_inactive = interval;
                return Some(found);
            }
        }
        self.first_inactive = wanted.now;
        if wanted.with_current
            && let Some(found) = step_inactive(&mut self.current, wanted.now, wanted)
        {
            return Some(found);
        }
        for interval in self.first.max(self.first_active)..wanted.now {
            let cursor = &mut cursors[interval as usize].active;
            if let Some(found) = step(cursor, interval, wanted, Some(true)) {
                self.first_active = interval;
                return Some(found);
            }
        }
        self.first_active = wanted.now;
        if wanted.with_current {
            return self.next_of_round(wanted);
        }
        None
    }

    /// Many victims at once, those that `next` would find one after the other: at most `most`, and so many units or all
    /// that stand before active pages of the current interval. They are taken for gone.
    ///
    /// For filters that ask for no kind or tenant.
    pub(crate) fn collect(
        &mut self,
        wanted: VictimFilter<'_>,
        units: u64,
        most: usize,
        found: &mut Vec<Victim>,
    ) {
        let mut batch = Batch {
            found,
            most,
            units_left: units,
        };
        let recent = (wanted.now + 1).saturating_sub(INACTIVE_AFTER);
        while self.first < recent {
            let cursors = &mut self.cursors[self.first as usize];
            cursors.old = cursors.old.max(cursors.inactive.min(cursors.active));
            batch.take(&mut cursors.old, self.first, wanted, None);
            if batch.is_full() {
                return;
            }
            self.first += 1;
        }
        for interval in self.first.max(self.first_inactive)..wanted.now {
            self.first_inactive = interval;
            let cursor = &mut self.cursors[interval as usize].inactive;
            batch.take_inactive(cursor, interval, wanted);
            if batch.is_full() {
                return;
            }
        }
        self.first_inactive = wanted.now;
        batch.take_inactive(&mut self.current, wanted.now, wanted);
        if batch.is_full() {
            return;
        }
        for interval in self.first.max(self.first_active)..wanted.now {
            self.first_active = interval;
            let cursor = &mut self.cursors[interval as usize].active;
            batch.take(cursor, interval, wanted, Some(true));
            if batch.is_full() {
                return;
            }
        }
        self.first_active = wanted.now;
    }

    /// The inactive file that was longest untouched.
    fn next_file(&mut self, recent: u32, wanted: VictimFilter<'_>) -> Option<Victim> {
        let files = VictimFilter {
            with_anon: false,
            ..wanted
        };
        while self.first_file < recent {
            let cursor = &mut self.cursors[self.first_file as usize].old_files;
            if let Some(found) = step(cursor, self.first_file, files, None) {
                return Some(found);
            }
            self.first_file += 1;
        }
        for interval in self.first_file..wanted.now {
            let cursor = &mut self.cursors[interval as usize].inactive_files;
            if let Some(found) = step_inactive(cursor, interval, files) {
                return Some(found);
            }
        }
        if !wanted.with_current {
            return None;
        }
        step_inactive(&mut self.current_files, wanted.now, files)
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
            let cursors = &mut self.cursors[self.first as usize];
            cursors.old = cursors.old.max(cursors.inactive.min(cursors.active));
            if let Some(found) = step(&mut cursors.old, self.first, wanted, None) {
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
        for first in [
            &mut self.first,
            &mut self.first_inactive,
            &mut self.first_active,
            &mut self.first_file,
        ] {
            *first = victim.interval.min(*first);
        }
        self.cursors[victim.interval as usize].put_back(victim.place);
    }
}

/// Victims that are collected, until there are enough.
struct Batch<'a> {
    found: &'a mut Vec<Victim>,
    most: usize,
    units_left: u64,
}

impl Batch<'_> {
    fn is_full(&self) -> bool {
        self.units_left == 0 || self.found.len() >= self.most
    }

    fn add(&mut self, victim: Victim, trace: &Trace) {
        self.units_left = self.units_left.saturating_sub(trace.size(victim.page));
        self.found.push(victim);
    }

    /// Takes suitable rows of an interval from a place on, and moves the place behind what was looked at.
    fn take(
        &mut self,
        place: &mut u32,
        interval: u32,
        wanted: VictimFilter<'_>,
        active: Option<bool>,
    ) {
        let rows = wanted.trace.row_words(interval as usize);
        let marks = wanted.suitable(interval, active);
        let mut at = *place as usize;
        while at < rows.len() {
            let together = &rows[at..rows.len().min(at + TOGETHER)];
            let mut suit = 0_u32;
            for (bit, &row) in together.iter().enumerate() {
                suit |= u32::from(marks.are_on(wanted.pages, row)) << bit;
            }
            while suit != 0 {
                let bit = suit.trailing_zeros() as usize;
                suit &= suit - 1;
                let victim = Victim {
                    page: row_page(together[bit]),
                    interval,
                    place: (at + bit) as u32,
                };
                self.add(victim, wanted.trace);
                if self.is_full() {
                    *place = victim.place + 1;
                    return;
                }
            }
            at += together.len();
        }
        *place = rows.len().max(*place as usize) as u32;
    }

    /// The same of inactive pages.
    fn take_inactive(&mut self, place: &mut u32, interval: u32, wanted: VictimFilter<'_>) {
        while !self.is_full()
            && let Some(victim) = step_inactive(place, interval, wanted)
        {
            self.add(victim, wanted.trace);
            *place = victim.place + 1;
        }
    }
}

/// The first suitable inactive page of an interval from a place on.
fn step_inactive(place: &mut u32, interval: u32, wanted: VictimFilter<'_>) -> Option<Victim> {
    let marks = wanted.suitable(interval, Some(false));
    while let Some(at) = wanted.inactive.next(interval, *place) {
        *place = at;
        let row = wanted.trace.row_words(interval as usize)[at as usize];
        if marks.are_on(wanted.pages, row) && wanted.allows(row_page(row)) {
            return Some(Victim {
                page: row_page(row),
                interval,
                place: at,
            });
        }
        *place += 1;
    }
    *place = (*place).max(wanted.trace.row_count(interval as usize) as u32);
    None
}

/// Rows that are looked at together while none suits: without a branch for each.
const TOGETHER: usize = 8;

/// The first suitable row of an interval from a place on, to which the place moves.
fn step(
    place: &mut u32,
    interval: u32,
    wanted: VictimFilter<'_>,
    active: Option<bool>,
) -> Option<Victim> {
    let rows = wanted.trace.row_words(interval as usize);
    let marks = wanted.suitable(interval, active);
    let mut at = *place as usize;
    while let Some(&row) = rows.get(at) {
        if marks.are_on(wanted.pages, row) && wanted.allows(row_page(row)) {
            *place = at as u32;
            return Some(Victim {
                page: row_page(row),
                interval,
                place: *place,
            });
        }
        at += 1;
        while let Some(next) = rows[at..].first_chunk::<TOGETHER>() {
            let mut suit = 0_u32;
            for (bit, &row) in next.iter().enumerate() {
                suit |= u32::from(marks.are_on(wanted.pages, row)) << bit;
            }
            if suit != 0 {
                at += suit.trailing_zeros() as usize;
                break;
            }
            at += TOGETHER;
        }
    }
    *place = rows.len().max(*place as usize) as u32;
    None
}
