//! Hint faults: when a page is first touched after the scan, and the threshold that makes it hot.

use crate::params::{HintTime, HotPageSelection};

/// Share of the reference by which the threshold moves, 2/16.
const STEP_RATIO: f64 = 0.125;
/// Largest threshold, in reference thresholds.
const MOST_RATIO: f64 = 2.0;
/// Candidates within this share of their target leave the threshold as it is.
const BAND: f64 = 0.1;

/// Expected seconds from the scan to the first of so many accesses in an interval.
pub fn expected_hint_seconds(accesses: u32, interval_s: f64) -> f64 {
    interval_s / (f64::from(accesses) + 1.0)
}

/// Seconds from the scan to the first touch; None where none falls into the interval.
pub(crate) fn hint_seconds(
    how: HintTime,
    page: u32,
    now: u32,
    accesses: u32,
    interval_s: f64,
) -> Option<f32> {
    match how {
        HintTime::Expected => Some(expected_hint_seconds(accesses, interval_s) as f32),
        HintTime::Drawn { seed } => {
            let drawn = -uniform(seed, page, now).ln() * interval_s / f64::from(accesses);
            (drawn <= interval_s).then_some(drawn as f32)
        }
    }
}

/// The share of an interval after which the first of so many accesses comes that are spread over it at random.
///
/// Of all pages alike, its mean is that of `expected_hint_seconds`; a number of the page and the interval decides.
pub fn first_access(page: u32, now: u32, accesses: u32) -> f64 {
    1.0 - uniform(0, page, now).powf(1.0 / f64::from(accesses))
}

/// A number in (0, 1] for each page and interval: the same in whatever order pages are asked for (splitmix64).
fn uniform(seed: u64, page: u32, now: u32) -> f64 {
    let mut x = seed ^ (u64::from(page) << 32 | u64::from(now)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    ((x >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// The threshold of the next period: one step down after too many candidates, one up after too few (kernel/sched/fair.c).
pub fn adjusted_threshold(threshold_s: f64, reference_s: f64, candidates: f64, target: f64) -> f64 {
    let step = reference_s * STEP_RATIO;
    if candidates > target * (1.0 + BAND) {
        (threshold_s - step).max(step)
    } else if candidates < target * (1.0 - BAND) {
        (threshold_s + step).min(reference_s * MOST_RATIO)
    } else {
        threshold_s
    }
}

impl HotPageSelection {
    /// Candidates that the limit allows in so many seconds.
    pub(crate) fn tokens(&self, seconds: f64) -> f64 {
        self.limit_units_per_s * seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_accesses_come_after_the_expected_share_of_the_interval_on_average() {
        for accesses in [1, 3, 99] {
            let sum: f64 = (0..20_000)
                .map(|page| first_access(page, 7, accesses))
                .sum();
            let expected = expected_hint_seconds(accesses, 1.0);
            assert!((sum / 20_000.0 / expected - 1.0).abs() < 0.03, "{accesses}");
        }
    }
}
