//! Reclaim's view of DRAM as a kernel has it: accessed bits that are looked at and cleared, and lists of pages by that.
//!
//! A kernel does not know when a page was last used, only whether it was since somebody last looked. Classic lists
//! (`shrink_active_list`, `shrink_inactive_list`) and the generations of the multi-generation LRU (`lru_gen`) differ in
//! when they look, and in what they make of it.

use crate::lists::Lists;
use crate::page::{Kind, PROMOTED, Page};
use crate::params::Lru;
use crate::trace::Trace;

/// Kinds of list: swappable (anonymous memory and tmpfs), and files.
const TYPES: usize = 2;
const ANON: usize = 0;
const FILE: usize = 1;
/// `MAX_NR_GENS` and `MIN_NR_GENS`.
const GENERATIONS: usize = 4;
const YOUNGEST: u32 = 2;
/// The accessed bit is set by the fault that brought the page.
const YOUNG: u8 = 1;
/// `PG_referenced`: it was found used at the last look.
const REFERENCED: u8 = 2;
/// Base pages of a GiB, shifted.
const GIB_SHIFT: u32 = 18;
/// `vm.swappiness` of 60, and what files have beside it.
const WEIGHTS: [f64; TYPES] = [60.0, 140.0];

/// A moment: an interval, and the share of its accesses that have been.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment {
    pub interval: u32,
    pub part: f32,
}

/// What one look at a page gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// There is nothing to look at.
    Empty,
    /// A page stays, on this list or another; or the oldest generation has none.
    Passed,
    /// It was not used since the last look: it may go.
    Victim(u32),
}

/// Lists of the pages in DRAM, and what is remembered of each: 25 bytes a page.
#[derive(Debug, Clone)]
pub(crate) struct KernelLru {
    how: Lru,
    lists: Lists,
    /// When its accessed bit was last cleared.
    looked: Vec<Moment>,
    /// Accesses in the interval of its last touch.
    accesses: Vec<u32>,
    flags: Vec<u8>,
    oldest: u32,
    youngest: u32,
    /// Pages put back, in units, since costs were last halved (`lru_note_cost`).
    cost: [f64; TYPES],
    /// Units looked at, by type, for which the other's turn is due.
    scanned: [f64; TYPES],
}

/// What looking needs to know of pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub trace: &'a Trace,
    pub pages: &'a [Page],
    pub at: Moment,
}

impl KernelLru {
    pub(crate) fn new(how: Lru, pages: usize) -> Self {
        let never = Moment {
            interval: 0,
            part: 0.0,
        };
        Self {
            how,
            lists: Lists::new(pages, TYPES * GENERATIONS),
            looked: vec![never; pages],
            accesses: vec![0; pages],
            flags: vec![0; pages],
            oldest: 0,
            youngest: YOUNGEST,
            cost: [0.0; TYPES],
            scanned: [0.0; TYPES],
        }
    }

    /// Looks without time between them after which one must have given a victim, if there is any.
    pub(crate) fn most_looks(&self) -> usize {
        (GENERATIONS + 1) * (self.flags.len() + 1)
    }

    /// A page came to DRAM. A fault brought it, which counts as a use; files were read, which does not (`lru_gen_in_fault`).
    pub(crate) fn add(&mut self, page: u32, seen: Seen<'_>) {
        let kind = type_of(page, seen.trace);
        let is_first = seen.pages[page as usize].history() == 0;
        let was_read = kind == FILE && is_first;
        let generation = match self.how {
            Lru::MultiGeneration if was_read => self.oldest,
            Lru::MultiGeneration => self.youngest,
            _ => 0,
        };
        (self.flags[page as usize], self.looked[page as usize]) = if was_read {
            (
                0,
                Moment {
                    part: 1.0,
                    ..seen.at
                },
            )
        } else {
            (YOUNG, seen.at)
        };
        self.lists
            .put(page, seen.trace.size(page), list_of(kind, generation));
    }

    /// A page left DRAM.
    pub(crate) fn remove(&mut self, page: u32, units: u64) {
        self.lists.remove(page, units);
    }

    pub(crate) fn note(&mut self, page: u32, accesses: u32) {
        self.accesses[page as usize] = accesses;
    }

    /// Takes note of what it costs to bring a page back (`lru_note_cost`).
    pub(crate) fn note_cost(&mut self, page: u32, trace: &Trace) {
        self.cost[type_of(page, trace)] += trace.size(page) as f64;
        let all: u64 = (0..TYPES * GENERATIONS)
            .map(|at| self.lists.units(at))
            .sum();
        while self.cost[ANON] + self.cost[FILE] > all as f64 / 4.0 {
            self.cost = self.cost.map(|cost| cost / 2.0);
        }
    }

    pub(crate) fn look(&mut self, seen: Seen<'_>) -> Look {
        match self.how {
            Lru::Exact => Look::Empty,
            Lru::Classic => self.look_classic(seen),
            Lru::MultiGeneration => self.look_generations(seen),
        }
    }

    /// Whether the page was used since the last look, which clears the bit.
    fn test_and_clear(&mut self, page: u32, seen: Seen<'_>) -> bool {
        let at = page as usize;
        let was_used = self.flags[at] & YOUNG != 0
            || is_used_between(seen.pages[at], self.accesses[at], self.looked[at], seen.at);
        self.flags[at] &= !YOUNG;
        self.looked[at] = seen.at;
        was_used
    }

    /// One page of the active list where the inactive one is short, else one of that.
    fn look_classic(&mut self, seen: Seen<'_>) -> Look {
        let Some(kind) = self.next_type() else {
            return Look::Empty;
        };
        let (inactive, active) = (list_of(kind, 0), list_of(kind, 1));
        if self.is_inactive_low(kind)
            && let Some(page) = self.lists.tail(active)
        {
            // `shrink_active_list` clears the bit and lets the page go down, used or not.
            self.test_and_clear(page, seen);
            let units = seen.trace.size(page);
            self.lists.put(page, units, inactive);
            return Look::Passed;
        }
        let Some(page) = self.lists.tail(inactive) else {
            return Look::Empty;
        };
        let units = seen.trace.size(page);
        self.scanned[kind] += units as f64;
        let was_used = self.test_and_clear(page, seen);
        if !was_used && !seen.pages[page as usize].is(PROMOTED) {
            return Look::Victim(page);
        }
        // `folio_check_references`: used at two looks in a row makes it active.
        let flags = &mut self.flags[page as usize];
        let goes_up = was_used && *flags & REFERENCED != 0;
        if was_used {
            *flags |= REFERENCED;
        }
        self.lists
            .put(page, units, if goes_up { active } else { inactive });
        Look::Passed
    }

    /// Whose list is scanned next: in proportion of its size and inverse to what putting pages back cost.
    ///
    /// `get_scan_count`, with a swappiness of 60.
    fn next_type(&self) -> Option<usize> {
        let size =
            |kind: usize| self.lists.units(list_of(kind, 0)) + self.lists.units(list_of(kind, 1));
        let total = self.cost[ANON] + self.cost[FILE] + 1.0;
        let due = |kind: usize| {
            let weight = WEIGHTS[kind] * total / (self.cost[kind] + 1.0) * size(kind) as f64;
            self.scanned[kind] / weight
        };
        match (size(ANON) > 0, size(FILE) > 0) {
            (false, false) => None,
            (true, false) => Some(ANON),
            (true, true) if due(ANON) < due(FILE) => Some(ANON),
            (_, true) => Some(FILE),
        }
    }

    /// `inactive_is_low`.
    fn is_inactive_low(&self, kind: usize) -> bool {
        let (inactive, active) = (
            self.lists.units(list_of(kind, 0)),
            self.lists.units(list_of(kind, 1)),
        );
        let gib = (inactive + active) >> GIB_SHIFT;
        let ratio = if gib > 0 { (10 * gib).isqrt() } else { 1 };
        inactive * ratio < active
    }

    /// One page of the oldest generation; where too few generations are left, a new one is made first.
    fn look_generations(&mut self, seen: Seen<'_>) -> Look {
        if (0..TYPES * GENERATIONS).all(|list| self.lists.units(list) == 0) {
            return Look::Empty;
        }
        if self.should_age() {
            self.age(seen);
        }
        let [anon, file] = [ANON, FILE].map(|kind| list_of(kind, self.oldest));
        // `get_type_to_scan`: files, unless those that came back say that they are worth more.
        let files_first =
            self.cost[FILE] * WEIGHTS[ANON] <= (self.cost[ANON] + 1.0) * WEIGHTS[FILE];
        let order = if files_first {
            [file, anon]
        } else {
            [anon, file]
        };
        let Some(page) = order.into_iter().find_map(|list| self.lists.tail(list)) else {
            self.oldest += 1;
            return Look::Passed;
        };
        let was_used = self.test_and_clear(page, seen);
        if !was_used && !seen.pages[page as usize].is(PROMOTED) {
            return Look::Victim(page);
        }
        let units = seen.trace.size(page);
        self.lists.put(
            page,
            units,
            list_of(type_of(page, seen.trace), self.youngest),
        );
        Look::Passed
    }

    /// `should_run_aging`: fewer than three generations, or three of which the oldest is small or the youngest large.
    fn should_age(&self) -> bool {
        let held =
            |at: u32| self.lists.units(list_of(ANON, at)) + self.lists.units(list_of(FILE, at));
        let generations = self.youngest - self.oldest;
        if generations != YOUNGEST {
            return generations < YOUNGEST;
        }
        let total: u64 = (self.oldest..=self.youngest).map(held).sum();
        held(self.youngest) * 2 > total || held(self.oldest) * 4 < total
    }

    /// Makes a new generation of all pages that were used since they were last looked at (`inc_max_seq`).
    fn age(&mut self, seen: Seen<'_>) {
        let before: Vec<u32> = (self.oldest..=self.youngest)
            .flat_map(|at| [list_of(ANON, at), list_of(FILE, at)])
            .flat_map(|list| self.lists.pages(list))
            .collect();
        self.youngest += 1;
        for page in before {
            if self.test_and_clear(page, seen) {
                let list = list_of(type_of(page, seen.trace), self.youngest);
                self.lists.put(page, seen.trace.size(page), list);
            }
        }
    }
}

fn type_of(page: u32, trace: &Trace) -> usize {
    usize::from(trace.kind(page) == Kind::File as usize)
}

fn list_of(kind: usize, generation: u32) -> usize {
    kind * GENERATIONS + generation as usize % GENERATIONS
}

/// Whether a page was used between two moments, its accesses spread evenly over each interval.
///
/// Of the intervals before its last touch only the eight that its history holds are known.
fn is_used_between(page: Page, accesses: u32, from: Moment, until: Moment) -> bool {
    let so_far = |part: f32| (part * (accesses as f32 + 1.0)).min(accesses as f32) as u32;
    if page.last() < from.interval {
        return false;
    }
    let done = if page.last() == until.interval {
        so_far(until.part)
    } else {
        accesses
    };
    if page.last() == from.interval {
        return done > so_far(from.part);
    }
    let between = page.last() - from.interval - 1;
    let seen = 2_u32.pow(between.min(7)) - 1;
    done > 0 || (u32::from(page.history()) >> 1) & seen != 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::page::Tier;
    use crate::trace::{Pages, Rows};

    /// Three anonymous pages and a file, each used once in each of eight intervals.
    fn trace() -> Trace {
        let kinds = [0, 0, 0, 1];
        let page: Vec<u32> = (0..32).map(|row| row % 4).collect();
        let interval: Vec<u32> = (0..32).map(|row| row / 4).collect();
        let pages = Pages {
            kinds: &kinds,
            units: &[1; 4],
            first: &[0; 4],
            last: &[7; 4],
            tenants: &[],
        };
        let rows = Rows {
            interval: &interval,
            page: &page,
            accesses: &[1; 32],
            written: &[false; 32],
        };
        Trace::new(8, pages, rows).unwrap()
    }

    struct Case {
        trace: Trace,
        pages: Vec<Page>,
        lru: KernelLru,
    }

    impl Case {
        fn new(how: Lru, placed: &[u32]) -> Self {
            let pages = vec![Page::on(Tier::Dram); 4];
            let mut case = Self {
                trace: trace(),
                pages,
                lru: KernelLru::new(how, 4),
            };
            for &page in placed {
                case.act(0, |lru, seen| lru.add(page, seen));
            }
            case
        }

        fn act<R>(&mut self, interval: u32, act: impl FnOnce(&mut KernelLru, Seen<'_>) -> R) -> R {
            let seen = Seen {
                trace: &self.trace,
                pages: &self.pages,
                at: Moment {
                    interval,
                    part: 1.0,
                },
            };
            act(&mut self.lru, seen)
        }

        fn touch(&mut self, page: u32, now: u32) {
            self.pages[page as usize].touch(now);
            self.lru.note(page, 1);
        }

        fn look(&mut self, interval: u32) -> Look {
            self.act(interval, KernelLru::look)
        }

        fn victim(&mut self, interval: u32) -> u32 {
            let looks = (0..self.lru.most_looks()).find_map(|_| match self.look(interval) {
                Look::Victim(page) => Some(page),
                _ => None,
            });
            looks.unwrap()
        }
    }

    #[test]
    fn classic_lists_give_a_used_page_a_second_chance_and_then_make_it_active() {
        let mut case = Case::new(Lru::Classic, &[0, 1]);
        assert_eq!([case.look(0), case.look(0)], [Look::Passed; 2]);
        case.touch(0, 1);
        // Page 0 was used at two looks in a row: it is active. Page 1 was not used since: it goes.
        assert_eq!(case.look(1), Look::Passed);
        assert_eq!(case.lru.lists.of(0), Some(list_of(ANON, 1)));
        assert_eq!(case.look(1), Look::Victim(1));
    }

    #[test]
    fn classic_lists_deactivate_where_the_inactive_one_is_short() {
        let mut case = Case::new(Lru::Classic, &[0, 1]);
        for _ in 0..2 {
            case.look(0);
        }
        case.touch(0, 1);
        case.look(1);
        case.act(1, |lru, _| lru.remove(1, 1));
        // One active page and no inactive one: used or not, it goes down, and has its chance there.
        case.touch(0, 2);
        assert_eq!(case.look(2), Look::Passed);
        assert_eq!(case.lru.lists.of(0), Some(list_of(ANON, 0)));
        assert_eq!(case.look(2), Look::Victim(0));
    }

    #[test]
    fn generations_take_what_was_not_used_since_the_last_two_were_made() {
        let mut case = Case::new(Lru::MultiGeneration, &[0, 1, 2]);
        for now in 1..8 {
            case.touch(0, now);
            case.touch(2, now);
            if let Look::Victim(page) = case.look(now) {
                assert_eq!(page, 1);
                return;
            }
        }
        unreachable!("page 1 was never used again, and never named");
    }

    #[test]
    fn a_file_that_was_read_once_goes_before_all_else() {
        for how in [Lru::Classic, Lru::MultiGeneration] {
            let mut case = Case::new(how, &[0, 3, 1]);
            assert_eq!(case.victim(0), 3);
        }
    }

    #[test]
    fn files_that_came_back_spare_those_that_are_left() {
        let mut case = Case::new(Lru::Classic, &[0, 1, 2]);
        for page in 0..3 {
            case.act(0, |lru, seen| lru.test_and_clear(page, seen));
        }
        case.touch(3, 0);
        case.act(0, |lru, seen| lru.add(3, seen));
        case.act(0, |lru, seen| lru.test_and_clear(3, seen));
        assert_eq!(case.lru.next_type(), Some(FILE));
        case.lru.scanned[FILE] = 1.0;
        assert_eq!(case.lru.next_type(), Some(ANON));
        case.lru.scanned[ANON] = 1.0;
        // Three anonymous pages against one file: 3 x 60 against 140.
        assert_eq!(case.lru.next_type(), Some(ANON));
        case.lru.cost = [10.0, 0.0];
        assert_eq!(case.lru.next_type(), Some(FILE));
    }

    #[test]
    fn uses_are_spread_evenly_over_an_interval() {
        let mut page = Page::unborn(0);
        page.touch(3);
        let at = |interval, part| Moment { interval, part };
        // Three uses, at 1/4, 2/4 and 3/4.
        assert!(!is_used_between(page, 3, at(3, 0.0), at(3, 0.2)));
        assert!(is_used_between(page, 3, at(3, 0.2), at(3, 0.3)));
        assert!(!is_used_between(page, 3, at(3, 0.3), at(3, 0.4)));
        assert!(is_used_between(page, 3, at(3, 0.6), at(5, 0.0)));
        assert!(!is_used_between(page, 3, at(3, 0.8), at(5, 0.0)));
        assert!(!is_used_between(page, 3, at(4, 0.0), at(5, 1.0)));
        assert!(is_used_between(page, 3, at(1, 1.0), at(5, 0.0)));
    }
}
