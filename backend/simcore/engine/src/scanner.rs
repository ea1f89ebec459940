//! The scanner that arms hint faults (`task_numa_work`): how far it came in its pass, and when it came to each page.

use crate::page::{Kind, NEVER, Page, Tier};
use crate::params::Scan;
use crate::trace::Trace;

/// Where the scanner is. Pages are scanned in pieces, in order of birth.
pub(crate) struct Scanner {
    scan: Scan,
    pages: f64,
    /// Share of the pass that is done.
    place: f64,
    pass_intervals: f64,
    /// Whether pages were promoted since the pass began: faults of others are not counted (`task_numa_fault`).
    promoted: bool,
    /// The interval in which the scanner last came to each piece; empty where it comes to all in every one.
    visited: Vec<u32>,
    /// The page at which it goes on, where it arms as many as a recorded one.
    hand: usize,
    /// Units that it then arms at once, and the first page of each such piece of this interval.
    at_once: u64,
    begun: Vec<usize>,
}

impl Scanner {
    /// `at_once`: units that a recorded scanner arms in one piece.
    pub(crate) fn new(scan: Scan, at_once: u32, pages: usize) -> Self {
        let pieces = if scan.is_every_interval() {
            0
        } else {
            pages.div_ceil(scan.size_pages as usize)
        };
        Self {
            scan,
            pages: pages as f64,
            place: 0.0,
            pass_intervals: scan.pass_intervals,
            promoted: false,
            visited: vec![NEVER; pieces],
            hand: 0,
            at_once: u64::from(at_once),
            begun: Vec::new(),
        }
    }

    pub(crate) fn note_promotions(&mut self) {
        self.promoted = true;
    }

    /// Scans for one interval; a pass that ends is followed by the next, at its own speed.
    pub(crate) fn advance(&mut self, now: u32) {
        if self.visited.is_empty() {
            return;
        }
        let mut left = 1.0;
        while left > 0.0 {
            let until = self.place + left / self.pass_intervals;
            let ends = until >= 1.0;
            let (from, to) = (self.piece(self.place), self.piece(until.min(1.0)));
            self.visited[from..to].fill(now);
            if ends {
                left -= (1.0 - self.place) * self.pass_intervals;
                self.place = 0.0;
                self.end_pass();
            } else {
                self.place = until;
                left = 0.0;
            }
        }
    }

    /// Arms so many units of the slower tier that are not armed, from where it stands on, as a recorded kernel did.
    ///
    /// Files that were read once are taken for unmapped: the scanner comes to mapped memory alone.
    pub(crate) fn arm(
        &mut self,
        units: u64,
        now: u32,
        trace: &Trace,
        pages: &[Page],
        demoted: &[u32],
    ) {
        let (mut left, count) = (units, pages.len());
        let mut of_piece = 0;
        self.begun.clear();
        for _ in 0..count {
            if left == 0 {
                return;
            }
            let at = self.hand;
            self.hand = (at + 1) % count;
            let page = &pages[at];
            if page.tier() == Tier::Slow
                && !page.is_armed(demoted[at], self.visited[at])
                && (trace.kind(at as u32) != Kind::File as usize || page.is_used_again())
            {
                if of_piece == 0 {
                    self.begun.push(at);
                    of_piece = self.at_once;
                }
                self.visited[at] = now;
                let size = trace.size(at as u32);
                of_piece = of_piece.saturating_sub(size);
                left = left.saturating_sub(size);
            }
        }
    }

    /// The last interval, up to this one, in which the scanner came to a page; None before it first did.
    pub(crate) fn last_at(&self, page: u32, now: u32) -> Option<u32> {
        if self.visited.is_empty() {
            return Some(now);
        }
        let at = self.visited[(page / self.scan.size_pages) as usize];
        (at != NEVER).then_some(at)
    }

    /// The share of the interval after which a page was armed that was armed in it.
    ///
    /// The scanner takes all of a piece at once (`task_numa_work`); the pieces of an interval follow each other evenly.
    pub(crate) fn armed_part(&self, page: u32) -> f64 {
        let Some(&first) = self.begun.first() else {
            return 0.0;
        };
        let count = self.visited.len();
        let place = |at: usize| (at + count - first) % count;
        let later = self
            .begun
            .iter()
            .skip(1)
            .filter(|&&at| place(at) <= place(page as usize));
        later.count() as f64 / self.begun.len() as f64
    }

    /// The first piece at or after a place.
    fn piece(&self, place: f64) -> usize {
        let pieces = self.pages / f64::from(self.scan.size_pages);
        ((place * pieces).ceil() as usize).min(self.visited.len())
    }

    fn end_pass(&mut self) {
        if std::mem::take(&mut self.promoted) {
            let longest = self
                .scan
                .longest_pass_intervals
                .max(self.scan.pass_intervals);
            self.pass_intervals = (self.pass_intervals * self.scan.pass_growth).min(longest);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn visits(scan: Scan, page: u32, promotes: bool) -> Vec<Option<u32>> {
        let mut scanner = Scanner::new(scan, 8, 8);
        let visit = |now| {
            scanner.advance(now);
            if promotes {
                scanner.note_promotions();
            }
            scanner.last_at(page, now)
        };
        (0..8).map(visit).collect()
    }

    /// A scanner that comes to as many pages as a recorded one did.
    const RECORDED: Scan = Scan {
        pass_intervals: f64::INFINITY,
        ..Scan::EVERY_INTERVAL
    };

    /// Pages of ten intervals that nobody touches.
    fn untouched(kind: Kind, count: usize) -> Trace {
        let pages = crate::trace::Pages {
            kinds: &vec![kind as u8; count],
            units: &vec![1; count],
            first: &vec![0; count],
            last: &vec![9; count],
            tenants: &[],
        };
        let rows = crate::trace::Rows {
            interval: &[],
            page: &[],
            accesses: &[],
            written: &[],
        };
        Trace::new(10, pages, rows).unwrap()
    }

    #[test]
    fn a_pass_comes_to_each_page_once() {
        let scan = Scan {
            pass_intervals: 4.0,
            longest_pass_intervals: 4.0,
            pass_growth: 1.3,
            size_pages: 2,
        };
        // Of eight pages, the first two are scanned in intervals 0, 4, ...; the last two in 3, 7, ...
        let first = [0, 0, 0, 0, 4, 4, 4, 4].map(Some);
        assert_eq!(visits(scan, 0, true), first);
        assert_eq!(visits(scan, 1, true), first);
        let last = visits(scan, 7, true);
        assert_eq!(last[..3], [None; 3]);
        assert_eq!(last[3..], [3, 3, 3, 3, 7].map(Some));
        assert_eq!(
            visits(Scan::EVERY_INTERVAL, 7, true),
            [0, 1, 2, 3, 4, 5, 6, 7].map(Some)
        );
    }

    #[test]
    fn a_recorded_scanner_arms_as_many_of_the_slower_tier_as_it_did_and_goes_on_from_there() {
        let page = Page::on(Tier::Slow);
        let mut pages = vec![page; 5];
        pages[1] = Page::on(Tier::Dram);
        let trace = untouched(Kind::Anon, 5);
        let mut scanner = Scanner::new(RECORDED, 2, 5);
        let mut arm = |units, now, pages: &[Page]| {
            scanner.arm(units, now, &trace, pages, &[NEVER; 5]);
            (0..5)
                .filter(|&page| scanner.visited[page] == now)
                .collect::<Vec<_>>()
        };
        assert_eq!(arm(2, 1, &pages), [0, 2]);
        // Page 0 was used since, which takes its fault; 2 is still armed.
        pages[0].touch(2);
        assert_eq!(arm(9, 3, &pages), [0, 3, 4]);
    }

    #[test]
    fn pieces_of_an_interval_are_armed_one_after_the_other() {
        let page = Page::on(Tier::Slow);
        let (trace, pages) = (untouched(Kind::Anon, 6), vec![page; 6]);
        let quarter = |scanner: &Scanner, page| (scanner.armed_part(page) * 4.0) as u32;
        let mut scanner = Scanner::new(RECORDED, 2, 6);
        scanner.arm(3, 1, &trace, &pages, &[NEVER; 6]);
        assert_eq!([0, 1, 2].map(|page| quarter(&scanner, page)), [0, 0, 2]);
        // It goes on behind them, and over the end.
        let mut scanner = Scanner::new(RECORDED, 1, 6);
        scanner.arm(4, 1, &trace, &pages, &[NEVER; 6]);
        scanner.visited.fill(NEVER);
        scanner.arm(4, 3, &trace, &pages, &[NEVER; 6]);
        assert_eq!(
            [4, 5, 0, 1].map(|page| quarter(&scanner, page)),
            [0, 1, 2, 3]
        );
    }

    #[test]
    fn files_that_were_read_once_are_not_armed() {
        let trace = untouched(Kind::File, 2);
        let mut pages = [Page::on(Tier::Slow); 2];
        pages[0].touch(0);
        pages[1].touch(0);
        pages[1].touch(1);
        let mut scanner = Scanner::new(RECORDED, 2, 2);
        scanner.arm(9, 2, &trace, &pages, &[NEVER; 2]);
        assert_eq!(scanner.visited, [NEVER, 2]);
    }

    #[test]
    fn passes_that_promote_grow_up_to_the_longest() {
        let scan = Scan {
            pass_intervals: 2.0,
            longest_pass_intervals: 3.0,
            pass_growth: 1.3,
            size_pages: 1,
        };
        // Passes of 2, 2.6 and 3 intervals begin at 0, 2 and 4.6.
        assert_eq!(visits(scan, 0, true), [0, 0, 2, 2, 4, 4, 4, 7].map(Some));
        assert_eq!(visits(scan, 0, false), [0, 0, 2, 2, 4, 4, 6, 6].map(Some));
    }
}
