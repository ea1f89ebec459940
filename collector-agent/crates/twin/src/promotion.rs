//! Which pages of the slow node become candidates for DRAM: the scanner, the hot threshold and the rate limit.
//!
//! Rules follow kernel/sched/fair.c: `task_scan_min`, `numa_promotion_adjust_threshold`,
//! `numa_promotion_rate_limit`, `should_numa_migrate_memory`.

use crate::laws::{GIB, KernelWork, PAGE_BYTES, Settings};
use crate::memory::Memory;
use crate::population::Marked;

/// Bit of `kernel.numa_balancing` for balancing between nodes.
pub const MODE_NORMAL: u32 = 1;
/// Bit of `kernel.numa_balancing` for tiering.
pub const MODE_TIERING: u32 = 2;

/// Time of one pass of the scanner over the memory of a service.
pub fn scan_pass_s(settings: &Settings, work: &KernelWork, resident_bytes: f64) -> f64 {
    let (shortest, longest) = (
        settings.scan_period_min_ms / 1e3,
        settings.scan_period_max_ms / 1e3,
    );
    let longest = longest.max(shortest);
    let period_s = shortest * (longest / shortest).powf(work.scan_period_position);
    period_s.max(resident_bytes / work.scan_bytes_per_s) * work.scanner_lag
}

/// What a hint fault came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// Times that the page was hit by a fault.
    pub times: u64,
    /// Times that the fault came before the hot threshold; 0 for a page that is not hot.
    pub hot_times: u64,
}

/// How often a page that was marked and touched was hit, and how often soon enough to be hot.
///
/// Touches are a Poisson process, of which is known that it had a touch in the step. A mark is hit once; the next pass
/// marks the page again. A mark of an earlier step has waited already.
pub fn faults(marked: &Marked, interval_s: f64, threshold_s: f64) -> Faults {
    let within = |time_s: f64| -(-marked.rate_per_s * time_s).exp_m1();
    let touched = within(interval_s);
    if let Some(waited_s) = marked.waited_s.filter(|_| marked.times < 2) {
        let first_touch_s = -(-marked.draw * touched).ln_1p() / marked.rate_per_s;
        return Faults {
            times: 1,
            hot_times: u64::from(waited_s + first_touch_s < threshold_s),
        };
    }
    let between_marks_s = interval_s / marked.times as f64;
    let times = if marked.times == 1 {
        1
    } else {
        rounded(
            marked.times as f64 * within(between_marks_s) / touched,
            marked.draw,
        )
        .min(marked.times)
    };
    let threshold_s = threshold_s.min(between_marks_s);
    let is_hot = marked.draw <= within(threshold_s * marked.times as f64) / touched;
    let hot_times = rounded(marked.times as f64 * within(threshold_s) / touched, marked.draw);
    Faults {
        times: times.max(1),
        hot_times: if is_hot {
            hot_times.clamp(1, times.max(1))
        } else {
            0
        },
    }
}

fn rounded(amount: f64, draw: f64) -> u64 {
    amount.floor() as u64 + u64::from(draw < amount.fract())
}

/// The threshold and the limiter of the DRAM node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromotionControl {
    /// The threshold as it has tuned itself; `None` for the one that is set.
    threshold_ms: Option<f64>,
    candidates_since: u64,
    since_s: f64,
    /// Pages that the limiter still lets through.
    tokens: f64,
}

impl PromotionControl {
    /// The threshold in force.
    pub fn threshold_s(&self, settings: &Settings) -> f64 {
        self.threshold_ms.unwrap_or(settings.hot_threshold_ms) / 1e3
    }

    /// Begins a step: the limiter lets more through.
    pub fn begin(&mut self, settings: &Settings, interval_s: f64, unit: u64) {
        let allowed = limit_pages_per_s(settings) * interval_s;
        // A page of the twin may be more than the limit of a step: what is left is kept for the next.
        self.tokens = (self.tokens + allowed).min(allowed.max(unit as f64));
    }

    /// Whether DRAM has so much free that whatever is touched may come. The threshold begins anew then.
    pub fn has_plenty_free(&mut self, memory: &Memory) -> bool {
        let present = memory.dram.managed;
        let enough = ((GIB as u64) / PAGE_BYTES).max(present / 16);
        let has = memory.dram.free() > memory.dram.watermarks.promo + enough;
        if has {
            self.threshold_ms = None;
        }
        has
    }

    /// Counts a candidate; whether the limiter lets it through.
    pub fn admit(&mut self, times: u64, unit: u64) -> bool {
        self.candidates_since += times * unit;
        let admitted = self.tokens >= unit as f64;
        if admitted {
            self.tokens -= unit as f64;
        }
        admitted
    }

    /// Ends a step: every `scan_period_max_ms` the threshold moves by a sixteenth of its range, so that the candidates come
    /// to within a tenth of what the limit admits.
    pub fn end(&mut self, settings: &Settings, interval_s: f64) {
        self.since_s += interval_s;
        let period_s = settings.scan_period_max_ms / 1e3;
        if self.since_s + 1e-9 < period_s {
            return;
        }
        let target = limit_pages_per_s(settings) * self.since_s;
        let reference_ms = settings.hot_threshold_ms;
        let unit_ms = reference_ms * 2.0 / 16.0;
        let threshold_ms = self.threshold_ms.unwrap_or(reference_ms);
        let candidates = self.candidates_since as f64;
        // The kernel moves once a period, also where a step is longer.
        let moves = (self.since_s / period_s).floor().max(1.0);
        if candidates > target * 1.1 {
            self.threshold_ms = Some((threshold_ms - unit_ms * moves).max(unit_ms));
        } else if candidates < target * 0.9 {
            self.threshold_ms = Some((threshold_ms + unit_ms * moves).min(2.0 * reference_ms));
        }
        self.candidates_since = 0;
        self.since_s = 0.0;
    }
}

fn limit_pages_per_s(settings: &Settings) -> f64 {
    (settings.promote_rate_limit_mib_per_s * 256) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::Dialect;

    fn settings(limit: u64) -> Settings {
        Settings {
            dialect: Dialect::V6_12,
            numa_balancing: 2,
            demotion_enabled: true,
            promote_rate_limit_mib_per_s: limit,
            hot_threshold_ms: 1000.0,
            scan_period_min_ms: 1000.0,
            scan_period_max_ms: 60_000.0,
            watermark_scale_factor: 10,
            swappiness: 60.0,
        }
    }

    #[test]
    fn the_threshold_tunes_itself_as_the_kernels_does() {
        // 100 MiB/s for 60 s are 1,536,000 pages, with a dead band from 1,382,400 to 1,689,600.
        let settings = settings(100);
        let mut control = PromotionControl::default();
        let mut seen = Vec::new();
        for candidates in [2_000_000, 2_000_000, 1_500_000, 1_000_000] {
            control.begin(&settings, 60.0, 1);
            control.admit(candidates, 1);
            control.end(&settings, 60.0);
            seen.push((control.threshold_s(&settings) * 1e3) as u32);
        }
        assert_eq!(seen, [875, 750, 750, 875]);
    }

    #[test]
    fn without_a_real_limit_the_threshold_drifts_to_its_end() {
        let settings = settings(65_536);
        let mut control = PromotionControl::default();
        for _ in 0..10 {
            control.end(&settings, 60.0);
        }
        assert!((control.threshold_s(&settings) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_limit_below_one_page_of_the_twin_lets_one_through_now_and_then() {
        let settings = settings(1);
        let mut control = PromotionControl::default();
        let unit = 16_384;
        let admitted = (0..100)
            .filter(|_| {
                control.begin(&settings, 6.0, unit);
                control.admit(1, unit)
            })
            .count();
        // 256 pages a second for 600 seconds are 9.4 pages of the twin.
        assert_eq!(admitted, 9);
    }

    #[test]
    fn hot_pages_are_hit_at_every_mark_and_cool_ones_rarely_soon() {
        let marked = |rate_per_s: f64, times: u64, draw: f64| Marked {
            unit: 0,
            rate_per_s,
            times,
            waited_s: None,
            draw,
        };
        assert_eq!(
            faults(&marked(1e3, 4, 0.5), 60.0, 1.0),
            Faults {
                times: 4,
                hot_times: 4
            }
        );
        assert_eq!(
            faults(&marked(1e-3, 1, 0.5), 60.0, 1.0),
            Faults {
                times: 1,
                hot_times: 0
            }
        );
        let late = |waited_s: f64| Marked {
            waited_s: Some(waited_s),
            ..marked(1e3, 1, 0.5)
        };
        assert_eq!(
            faults(&late(30.0), 60.0, 1.0),
            Faults {
                times: 1,
                hot_times: 0
            }
        );
        assert_eq!(
            faults(&late(0.5), 1.0, 1.0),
            Faults {
                times: 1,
                hot_times: 1
            }
        );
        let hot = (1..=1000)
            .filter(|draw| faults(&marked(1.0 / 60.0, 1, f64::from(*draw) / 1e3), 60.0, 1.0).hot_times > 0)
            .count();
        // (1 - e^(-1/60)) / (1 - 1/e)
        assert_eq!(hot, 26);
    }
}
