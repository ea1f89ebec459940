//! Repetitions and what they say: median, 10th and 90th percentile, and whether something disturbed them.

use tierscope_sample::inventory::BenchFigure;

/// Repetitions whose 10th and 90th percentile differ by more than this share of the median were disturbed.
const DISTURBED_RATIO: f64 = 0.25;

/// Median and spread of repetitions, in the unit of the repetitions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) p10: f64,
    pub(crate) p90: f64,
    pub(crate) repetitions: u32,
    pub(crate) disturbed: bool,
}

impl Spread {
    /// The spread of at least one finite repetition; `None` for none.
    pub(crate) fn of(mut repetitions: Vec<f64>) -> Option<Self> {
        repetitions.retain(|value| value.is_finite());
        repetitions.sort_unstable_by(f64::total_cmp);
        let median = percentile(&repetitions, 0.5)?;
        let (p10, p90) = (percentile(&repetitions, 0.1)?, percentile(&repetitions, 0.9)?);
        Some(Self {
            median,
            p10,
            p90,
            repetitions: u32::try_from(repetitions.len()).unwrap_or(u32::MAX),
            disturbed: p90 - p10 > DISTURBED_RATIO * median,
        })
    }

    /// The figure of this name and unit; threads, block size and pattern are left at "not applicable".
    pub(crate) fn named(self, name: &str, unit: &str) -> BenchFigure {
        BenchFigure {
            name: name.to_owned(),
            unit: unit.to_owned(),
            median: self.median,
            p10: self.p10,
            p90: self.p90,
            repetitions: self.repetitions,
            disturbed: self.disturbed,
            ..BenchFigure::default()
        }
    }
}

/// The percentile `share` (0 to 1) of ascending values, linear between neighbours.
fn percentile(ascending: &[f64], share: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let place = share * last as f64;
    let below = place as usize;
    let above = (below + 1).min(last);
    Some(ascending[below] + (ascending[above] - ascending[below]) * (place - below as f64))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn is_near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn percentiles_lie_between_neighbours() {
        let spread = Spread::of((0..=10).rev().map(f64::from).collect()).unwrap();
        assert!(is_near(spread.median, 5.0) && is_near(spread.p10, 1.0) && is_near(spread.p90, 9.0));
        assert_eq!(spread.repetitions, 11);
        let two = Spread::of(vec![10.0, 20.0]).unwrap();
        assert!(is_near(two.median, 15.0) && is_near(two.p10, 11.0) && is_near(two.p90, 19.0));
    }

    #[test]
    fn a_wide_spread_is_marked_and_a_narrow_one_is_not() {
        assert!(Spread::of(vec![100.0, 100.0, 150.0, 160.0]).unwrap().disturbed);
        assert!(!Spread::of(vec![100.0, 101.0, 102.0, 104.0]).unwrap().disturbed);
        assert!(!Spread::of(vec![7.0]).unwrap().disturbed);
    }

    #[test]
    fn nothing_measured_is_no_figure() {
        assert_eq!(Spread::of(Vec::new()), None);
        assert_eq!(Spread::of(vec![f64::INFINITY, f64::NAN]), None);
    }
}
