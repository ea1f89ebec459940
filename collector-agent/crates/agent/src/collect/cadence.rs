//! When something is due again.

use tierscope_clock::SECOND_NS;

/// When nodes, control groups and services are looked for again. New ones change the layout of the counters, and the
/// service takes a limited number of layouts of a host per day: a host on which they come and go is looked at ever more
/// rarely. A day has at most about 30 changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rescan {
    /// Time to the second look; each next one takes twice as long, up to a limit.
    pub first_ns: i64,
    /// Limit after a look that found nothing new.
    pub stable_max_ns: i64,
    /// Limit after a look that found changes.
    pub changing_max_ns: i64,
    /// Shortest time between two walks over the processes, which do not change the layout by themselves.
    pub walk_min_ns: i64,
}

impl Default for Rescan {
    fn default() -> Self {
        Self {
            first_ns: 55 * SECOND_NS,
            stable_max_ns: 600 * SECOND_NS,
            changing_max_ns: 3600 * SECOND_NS,
            walk_min_ns: 25 * SECOND_NS,
        }
    }
}

impl Rescan {
    /// Every time.
    pub(super) const ALWAYS: Self = Self {
        first_ns: 0,
        stable_max_ns: 0,
        changing_max_ns: 0,
        walk_min_ns: 0,
    };
}

/// Remembers when something was done last.
#[derive(Debug, Default)]
pub(super) struct Timer {
    last_ns: Option<i64>,
}

impl Timer {
    /// Whether `min_ns` have passed since the last time, or the clock was set back; if so, `now_ns` is the last time.
    pub(super) fn take(&mut self, now_ns: i64, min_ns: i64) -> bool {
        let due = self
            .last_ns
            .is_none_or(|last_ns| now_ns - last_ns >= min_ns || now_ns < last_ns);
        if due {
            self.last_ns = Some(now_ns);
        }
        due
    }
}

/// The growing distance between two looks at nodes, groups and services.
#[derive(Debug)]
pub(super) struct Backoff {
    rule: Rescan,
    period_ns: i64,
    timer: Timer,
}

impl Backoff {
    pub(super) fn new(rule: Rescan) -> Self {
        Self {
            rule,
            // Half, because the first look doubles it.
            period_ns: rule.first_ns / 2,
            timer: Timer::default(),
        }
    }

    /// Whether a look is due now.
    pub(super) fn take(&mut self, now_ns: i64) -> bool {
        self.timer.take(now_ns, self.period_ns)
    }

    /// Sets the time to the next look by what this one found.
    pub(super) fn settle(&mut self, changed: bool) {
        let limit_ns = if changed {
            self.rule.changing_max_ns
        } else {
            self.rule.stable_max_ns
        };
        self.period_ns = self.period_ns.saturating_mul(2).min(limit_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_due_at_first_after_its_time_and_when_the_clock_goes_back() {
        let mut timer = Timer::default();
        let due: Vec<bool> = [100, 104, 105, 50, 54, 55]
            .into_iter()
            .map(|now_ns| timer.take(now_ns, 5))
            .collect();
        assert_eq!(due, [true, false, true, true, false, true]);
    }

    #[test]
    fn a_host_that_changes_all_the_time_gets_few_layouts_a_day() {
        let looks = |changed: bool| {
            let mut backoff = Backoff::new(Rescan::default());
            let minutes = (0..24 * 60).map(|minute| minute * 60 * SECOND_NS);
            minutes
                .filter(|now_ns| backoff.take(*now_ns).then(|| backoff.settle(changed)).is_some())
                .count()
        };
        assert!(looks(true) <= 32, "{}", looks(true));
        assert!((140..160).contains(&looks(false)), "{}", looks(false));
    }
}
