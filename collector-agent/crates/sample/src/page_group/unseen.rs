//! How much more memory may have been active than pages with samples show, for back ends that sample events.
//!
//! A page that was accessed and has no sample had at least one event, and of the events of such pages no more were
//! missed than the pages with exactly one sample tell. No spread of accesses over pages is assumed. The rule and what it
//! reaches on recorded traces: docs/method/heat.md, "Unseen pages".

use crate::heat::{ACTIVE_COUNTS, WINDOWS};

/// Intervals that the longest window takes.
const KEPT: usize = ACTIVE_COUNTS - 1;
/// Two-sided normal quantile of 95 %.
const QUANTILE: f64 = 1.959_964;

/// Counts of the newest ten intervals, newest first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Newest<T>([T; KEPT]);

impl<T: Copy> Newest<T> {
    /// No interval so far: each counts as `idle`.
    pub(super) fn of(idle: T) -> Self {
        Self([idle; KEPT])
    }

    /// Adds what an interval gave.
    pub(super) fn push(&mut self, value: T) {
        self.0.rotate_right(1);
        self.0[0] = value;
    }

    /// The intervals of each of [`WINDOWS`], folded.
    pub(super) fn windows(&self, join: impl Fn(T, T) -> T) -> [T; WINDOWS.len()] {
        WINDOWS.map(|window| {
            let rest = &self.0[1..window as usize];
            rest.iter().fold(self.0[0], |sum, value| join(sum, *value))
        })
    }
}

/// Most pages that were accessed and have no sample, where `count` pages have exactly one and an event is sampled with
/// probability `chance`. Stores are another population, of which only their samples are known: each counts as a page
/// with one, which bounds them too.
pub(super) fn most_unseen_pages(count: f64, chance: f64) -> f64 {
    let chance = chance.clamp(f64::MIN_POSITIVE, 1.0);
    most_expected(count) * (1.0 - chance) / chance
}

/// The upper limit of the mean of a Poisson count, at 97.5 %, by Byar's approximation (Breslow and Day 1987, volume 2,
/// section 2.3): 1 % below the exact one at 0, closer from 1 on.
fn most_expected(count: f64) -> f64 {
    let next = count + 1.0;
    next * (1.0 - 1.0 / (9.0 * next) + QUANTILE / (3.0 * next.sqrt())).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_that_of_garwood() {
        // Exact: chi2.ppf(0.975, 2 n + 2) / 2.
        for (count, exact) in [(0.0, 3.6889), (1.0, 5.5716), (10.0, 18.3904), (1000.0, 1063.9536)] {
            let found = most_expected(count);
            assert!((found / exact - 1.0).abs() < 0.01, "{count}: {found}");
        }
    }

    #[test]
    fn windows_join_the_newest_intervals() {
        let mut newest = Newest::of(0);
        for value in 1..=12 {
            newest.push(value);
        }
        assert_eq!(newest.windows(|a, b| a + b), [12, 23, 50, 75]);
    }

    #[test]
    fn a_sampler_that_takes_every_event_misses_none() {
        assert!(most_unseen_pages(5.0, 1.0) < f64::EPSILON);
        assert!((most_unseen_pages(0.0, 0.001) - 999.0 * most_expected(0.0)).abs() < 1e-6);
    }
}
