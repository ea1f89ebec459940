//! Reuse intervals: the time from an activity of a page to its next one.
//!
//! Definitions: docs/method/heat.md, "Reuse intervals". A gap is closed by re-access, freed by unmap, or censored when its
//! end can no longer be seen; each gap ends once, so sums over blocks of intervals stay exact.

use crate::heat::GAP_BINS;
use crate::history::History;

/// Longest gap, in intervals, that the history can show.
pub const LONGEST_GAP: u32 = GAP_BINS as u32;

/// The gap that a page's newest activity closed: `history` is after the touch of the newest interval.
/// `None` without an earlier activity, or when an unobserved interval lies between the two.
pub const fn closed_gap(history: History) -> Option<u32> {
    let earlier = history.activity >> 1;
    if earlier == 0 {
        return None;
    }
    let gap = earlier.trailing_zeros() + 1;
    if history.valid_run() > gap {
        Some(gap)
    } else {
        None
    }
}

/// The gap that is open at the end of the newest interval: its length so far, 1..=63. `None` when the page is active
/// in that interval, was never active, or when an unobserved interval lies within the lag.
pub const fn open_gap(history: History) -> Option<u32> {
    match history.age() {
        Some(lag) if lag > 0 && history.valid_run() > lag => Some(lag),
        _ => None,
    }
}

/// How a page's gap ended, and after how many intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapEnd {
    /// By re-access.
    Closed(u32),
    /// By unmap.
    Freed(u32),
    /// Nothing more can be seen of it: it lasted at least that long.
    Censored(u32),
}

/// The end of the gap of a page that is unmapped in the next interval, which is `observed` or missing.
/// `None` when no gap is open, or one of less than an interval.
pub const fn end_by_unmap(history: History, observed: bool) -> Option<GapEnd> {
    let Some(lag) = history.age() else { return None };
    if history.valid_run() <= lag {
        return None;
    }
    if observed && lag < LONGEST_GAP {
        Some(GapEnd::Freed(lag + 1))
    } else if lag > 0 {
        Some(GapEnd::Censored(lag))
    } else {
        None
    }
}

/// The length at which the next interval censors a page's gap: because that interval is missing, or because the gap
/// outgrows the history. `history` is before the interval and shows gaps of at most `longest` intervals.
pub const fn censored_by_next(history: History, observed: bool, longest: u32) -> Option<u32> {
    match open_gap(history) {
        Some(lag) if !observed || lag >= longest => Some(lag),
        _ => None,
    }
}

/// All gaps of one bitmap: closed ones from the newest to the oldest, and the lengths of those left open by the
/// newest interval or by an unobserved one.
pub fn list_gaps(history: History) -> (Vec<u32>, Vec<u32>) {
    let (mut closed, mut open) = (Vec::new(), Vec::new());
    // Walks from old to new; `last` is the position of the activity whose gap is running.
    let mut last: Option<u32> = None;
    for position in (0..u64::BITS).rev() {
        let bit = 1 << position;
        if history.validity & bit == 0 {
            open.extend(last.take().map(|start| start - position - 1));
        } else if history.activity & bit != 0 {
            closed.extend(last.replace(position).map(|start| start - position));
        }
    }
    open.extend(last);
    open.retain(|&length| length > 0);
    closed.reverse();
    open.reverse();
    (closed, open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(activity: u64) -> History {
        History {
            activity,
            validity: u64::MAX,
        }
    }

    #[test]
    fn gaps_of_the_worked_examples() {
        assert_eq!(list_gaps(observed(0b10_0010_0110)), (vec![1, 3, 4], vec![1]));
        assert_eq!(list_gaps(observed(0b1001)), (vec![3], vec![]));
        assert_eq!(open_gap(observed(0b10_0010_0110)), Some(1));
        assert_eq!(
            (closed_gap(observed(0b1001)), open_gap(observed(0b1001))),
            (Some(3), None)
        );
    }

    #[test]
    fn a_hole_leaves_the_gap_before_it_open() {
        // Activity at 7 and 1, the interval at 4 missing: 7 - 4 - 1 intervals are known.
        let history = History {
            activity: 0b1000_0010,
            validity: !(1 << 4),
        };
        assert_eq!(list_gaps(history), (vec![], vec![1, 2]));
        // A hole right after the activity leaves nothing known.
        let dropped = History {
            activity: 0b1000_0000,
            validity: !(1 << 6),
        };
        assert_eq!(list_gaps(dropped), (vec![], vec![]));
        assert_eq!(open_gap(dropped), None);
    }

    #[test]
    fn the_longest_gap_fills_the_history() {
        assert_eq!(closed_gap(observed(1 | 1 << 63)), Some(63));
        assert_eq!(open_gap(observed(1 << 63)), Some(63));
        assert_eq!(censored_by_next(observed(1 << 63), true, LONGEST_GAP), Some(63));
        assert_eq!(censored_by_next(observed(1 << 62), true, LONGEST_GAP), None);
        assert_eq!(end_by_unmap(observed(1 << 63), true), Some(GapEnd::Censored(63)));
    }

    #[test]
    fn unmap_ends_a_gap_in_the_interval_after_the_lag() {
        assert_eq!(end_by_unmap(observed(1), true), Some(GapEnd::Freed(1)));
        assert_eq!(end_by_unmap(observed(0b100), true), Some(GapEnd::Freed(3)));
        assert_eq!(end_by_unmap(observed(0b100), false), Some(GapEnd::Censored(2)));
        assert_eq!(end_by_unmap(observed(1), false), None);
        assert_eq!(end_by_unmap(observed(0), true), None);
    }
}
