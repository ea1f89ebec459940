//! Latency from a histogram: quantiles of the requests between two readings.

/// Cumulative counts by upper bound, ascending; the last bound is infinite where the service keeps to the format.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Histogram(Vec<(f64, f64)>);

impl Histogram {
    /// Adds the count of a bucket of one series; series with the same bounds are summed.
    pub(super) fn add(&mut self, bound: f64, count: f64) {
        match self.0.binary_search_by(|(own, _)| own.total_cmp(&bound)) {
            Ok(index) => self.0[index].1 += count,
            Err(index) => self.0.insert(index, (bound, count)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The latency below which the share `quantile` of the requests since `before` stayed, interpolated in its bucket.
    /// `None` without requests, after a restart of the service, and where the quantile lies above the last bound.
    pub(super) fn quantile_since(&self, before: &Self, quantile: f64) -> Option<f64> {
        let counts: Vec<(f64, f64)> = self
            .0
            .iter()
            .map(|(bound, count)| (*bound, count - before.count_at(*bound)))
            .collect();
        let is_reset = counts.iter().any(|(_, count)| *count < 0.0) || self.0.len() != before.0.len();
        let total = counts.last().map_or(0.0, |(_, count)| *count);
        if is_reset || total <= 0.0 {
            return None;
        }
        let rank = quantile * total;
        let (mut lower_bound, mut below) = (0.0, 0.0);
        for (bound, count) in counts {
            if count >= rank {
                let inside = count - below;
                let share = if inside > 0.0 {
                    (rank - below) / inside
                } else {
                    1.0
                };
                return bound
                    .is_finite()
                    .then_some(lower_bound + (bound - lower_bound) * share);
            }
            (lower_bound, below) = (bound.max(0.0), count);
        }
        None
    }

    fn count_at(&self, bound: f64) -> f64 {
        let found = self.0.binary_search_by(|(own, _)| own.total_cmp(&bound));
        found.map_or(0.0, |index| self.0[index].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(counts: [f64; 4]) -> Histogram {
        let mut histogram = Histogram::default();
        for (bound, count) in [f64::INFINITY, 0.1, 0.01, 0.001].into_iter().zip(counts) {
            histogram.add(bound, count);
        }
        histogram
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-12)
    }

    #[test]
    fn quantiles_are_of_the_requests_in_between() {
        let before = histogram([1000.0, 1000.0, 1000.0, 0.0]);
        let after = histogram([1100.0, 1098.0, 1050.0, 0.0]);
        // 50 of 100 requests stayed below 10 ms, 98 below 100 ms, 2 above.
        assert!(near(after.quantile_since(&before, 0.5), 0.01));
        assert!(near(after.quantile_since(&before, 0.74), 0.01 + 0.09 * 0.5));
        assert_eq!(after.quantile_since(&before, 0.99), None, "above the last bound");
    }

    #[test]
    fn no_requests_and_a_restart_have_no_latency() {
        let before = histogram([10.0, 10.0, 9.0, 5.0]);
        assert_eq!(before.quantile_since(&before, 0.5), None);
        let restarted = histogram([3.0, 3.0, 3.0, 3.0]);
        assert_eq!(restarted.quantile_since(&before, 0.5), None);
        assert_eq!(
            before.quantile_since(&Histogram::default(), 0.5),
            None,
            "nothing to compare with"
        );
    }

    #[test]
    fn series_with_the_same_bounds_are_summed() {
        let mut twice = histogram([4.0, 3.0, 2.0, 1.0]);
        for (bound, count) in histogram([4.0, 3.0, 2.0, 1.0]).0 {
            twice.add(bound, count);
        }
        assert_eq!(twice, histogram([8.0, 6.0, 4.0, 2.0]));
    }
}
