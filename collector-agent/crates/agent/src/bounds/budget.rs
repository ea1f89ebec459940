//! The agent's own budget: what it uses is measured, and beyond it the agent does less, step by step.
//!
//! First heat is measured over longer intervals, then with a cheaper back end, then not at all; then counters are read
//! more rarely. It comes back one step at a time after a long calm, and more slowly after each relapse.

use tierscope_clock::SECOND_NS;

use crate::config;

/// Shortest time over which use is judged: single intervals of some seconds say little.
const WINDOW_NS: i64 = 60 * SECOND_NS;
/// Windows in a row beyond the budget after which the agent does less.
const STRIKES: u32 = 3;
/// So many times the budget is answered at once.
const FAR_BEYOND: f64 = 3.0;
/// Share of the budget below which a window counts as calm.
const CALM_SHARE: f64 = 0.7;
/// Calm windows in a row after which the agent does more again; doubled with each relapse.
const CALM_WINDOWS: u32 = 10;
const MAX_RELAPSES: u32 = 4;
const MEBIBYTE: f64 = 1_048_576.0;
const HOUR_NS: f64 = 3_600e9;

/// What the agent used since the time before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) elapsed_ns: i64,
    /// Of all threads of the agent.
    pub(crate) cpu_ns: i64,
    /// Of kernel threads that work for it.
    pub(crate) kernel_cpu_ns: i64,
    /// Resident memory now.
    pub(crate) rss_bytes: i64,
    /// Compressed bytes that were queued.
    pub(crate) queued_bytes: i64,
}

/// Resident memory of this process; 0 where `/proc` does not tell.
pub(crate) fn resident_bytes() -> i64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: i64 = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * rustix::param::page_size() as i64
}

/// What heat is doing, which decides which steps would save anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeatUse {
    /// Whether a back end measures.
    pub(crate) active: bool,
    /// Whether a cheaper one could take over.
    pub(crate) has_cheaper: bool,
}

/// How much the agent does. Each step costs less than the one before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Everything that the settings allow.
    #[default]
    Full,
    /// Heat over two intervals at a time.
    HalfHeat,
    /// Heat over four intervals at a time.
    QuarterHeat,
    /// The same with a cheaper back end.
    DegradedHeat,
    /// Counters alone.
    NoHeat,
    /// Counters at every fourth interval.
    RareCounters,
}

impl Level {
    const ALL: [Self; 6] = [
        Self::Full,
        Self::HalfHeat,
        Self::QuarterHeat,
        Self::DegradedHeat,
        Self::NoHeat,
        Self::RareCounters,
    ];

    /// Intervals that one measurement of heat covers.
    pub(crate) fn heat_every(self) -> u32 {
        match self {
            Self::Full => 1,
            Self::HalfHeat => 2,
            _ => 4,
        }
    }

    pub(crate) fn has_heat(self) -> bool {
        self < Self::NoHeat
    }

    /// Whether a cheaper back end is used.
    pub(crate) fn is_degraded(self) -> bool {
        self == Self::DegradedHeat
    }

    /// Intervals that one reading of counters covers.
    pub(crate) fn counters_every(self) -> u32 {
        if self == Self::RareCounters { 4 } else { 1 }
    }

    /// As it travels in the agent's report of itself.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "within",
            Self::HalfHeat | Self::QuarterHeat | Self::DegradedHeat => "backed_off",
            Self::NoHeat | Self::RareCounters => "stopped",
        }
    }

    /// The next step down that saves anything; the last one stays.
    fn down(self, heat: HeatUse) -> Self {
        let saves = |level: Self| match level {
            Self::DegradedHeat => heat.active && heat.has_cheaper,
            Self::RareCounters => true,
            _ => heat.active,
        };
        let below = Self::ALL.into_iter().filter(|level| *level > self);
        below.into_iter().find(|level| saves(*level)).unwrap_or(self)
    }

    fn up(self) -> Self {
        let mut above = Self::ALL.into_iter().filter(|level| *level < self);
        above.next_back().unwrap_or(self)
    }
}

/// Judges the agent's use from interval to interval.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: config::Budget,
    level: Level,
    /// Why it left the level above; "" while within.
    reason: String,
    /// Use that has not been judged yet.
    open: Usage,
    strikes: u32,
    calm: u32,
    relapses: u32,
}

/// The resource of which most of the budget was used.
struct Worst {
    /// Used by allowed; 1 is the whole budget.
    share: f64,
    /// In words.
    what: String,
}

impl Budget {
    /// A budget of which nothing has been used.
    pub(crate) fn new(limits: config::Budget) -> Self {
        Self {
            limits,
            level: Level::default(),
            reason: String::new(),
            open: Usage::default(),
            strikes: 0,
            calm: 0,
            relapses: 0,
        }
    }

    /// How much the agent may do now.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Why it does less than the settings allow; "" while it does not.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// Takes in what was used since the time before, and changes the level when a window is full.
    pub(crate) fn note(&mut self, usage: Usage, heat: HeatUse) {
        let open = &mut self.open;
        open.elapsed_ns += usage.elapsed_ns;
        open.cpu_ns += usage.cpu_ns;
        open.kernel_cpu_ns += usage.kernel_cpu_ns;
        open.queued_bytes += usage.queued_bytes;
        open.rss_bytes = usage.rss_bytes;
        if open.elapsed_ns < WINDOW_NS {
            return;
        }
        let window = std::mem::take(open);
        self.judge(&self.worst(window), heat);
    }

    fn judge(&mut self, worst: &Worst, heat: HeatUse) {
        self.strikes = if worst.share > 1.0 { self.strikes + 1 } else { 0 };
        self.calm = if worst.share <= CALM_SHARE {
            self.calm + 1
        } else {
            0
        };
        if self.strikes >= STRIKES || worst.share > FAR_BEYOND {
            self.level = self.level.down(heat);
            self.reason.clone_from(&worst.what);
            self.strikes = 0;
        } else if self.calm >= self.calm_needed() && self.level > Level::Full {
            self.level = self.level.up();
            self.calm = 0;
            // The next recovery takes longer: this one may have been too early.
            self.relapses = (self.relapses + 1).min(MAX_RELAPSES);
            if self.level == Level::Full {
                self.reason.clear();
            }
        }
    }

    fn calm_needed(&self) -> u32 {
        CALM_WINDOWS << self.relapses
    }

    fn worst(&self, window: Usage) -> Worst {
        let seconds_share = |ns: i64| ns as f64 / window.elapsed_ns as f64;
        let per_hour = window.queued_bytes as f64 / window.elapsed_ns as f64 * HOUR_NS;
        let (cpu, kernel_cpu) = (seconds_share(window.cpu_ns), seconds_share(window.kernel_cpu_ns));
        let limits = &self.limits;
        let resources = [
            (cpu * 100.0, limits.cpu_max_ratio * 100.0, "% of a core"),
            (
                kernel_cpu * 100.0,
                limits.kernel_cpu_max_ratio * 100.0,
                "% of a core in the kernel",
            ),
            (
                window.rss_bytes as f64 / MEBIBYTE,
                limits.rss_max_mib as f64,
                "MiB of memory",
            ),
            (
                per_hour / MEBIBYTE,
                limits.upload_max_mib_per_hour as f64,
                "MiB to send in an hour",
            ),
        ];
        let (used, allowed, unit) = resources
            .into_iter()
            .max_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)))
            .unwrap_or((0.0, 1.0, ""));
        Worst {
            share: used / allowed,
            what: format!("the agent used {used:.1} {unit}; its budget is {allowed:.1}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAT: HeatUse = HeatUse {
        active: true,
        has_cheaper: true,
    };

    fn budget() -> Budget {
        Budget::new(config::Budget::default())
    }

    /// A minute with so many per cent of a core.
    fn minute(cpu_percent: i64) -> Usage {
        Usage {
            elapsed_ns: WINDOW_NS,
            cpu_ns: WINDOW_NS / 100 * cpu_percent,
            rss_bytes: 20 << 20,
            ..Usage::default()
        }
    }

    fn minutes(budget: &mut Budget, count: u32, cpu_percent: i64) {
        for _ in 0..count {
            budget.note(minute(cpu_percent), HEAT);
        }
    }

    #[test]
    fn a_short_excess_changes_nothing() {
        let mut budget = budget();
        minutes(&mut budget, 2, 5);
        minutes(&mut budget, 1, 2);
        minutes(&mut budget, 2, 5);
        assert_eq!((budget.level(), budget.reason()), (Level::Full, ""));
    }

    #[test]
    fn a_lasting_excess_takes_one_step_after_the_other_and_says_why() {
        let mut budget = budget();
        let mut seen = Vec::new();
        for _ in 0..6 {
            minutes(&mut budget, STRIKES, 5);
            seen.push(budget.level());
        }
        let steps = [
            Level::HalfHeat,
            Level::QuarterHeat,
            Level::DegradedHeat,
            Level::NoHeat,
            Level::RareCounters,
            Level::RareCounters,
        ];
        assert_eq!(seen, steps);
        assert!(budget.reason().contains("5.0 % of a core"), "{}", budget.reason());
        let names: Vec<_> = steps.iter().map(|level| level.name()).collect();
        assert_eq!(
            names,
            [
                "backed_off",
                "backed_off",
                "backed_off",
                "stopped",
                "stopped",
                "stopped"
            ]
        );
        let every: Vec<_> = steps
            .iter()
            .map(|level| (level.heat_every(), level.counters_every()))
            .collect();
        assert_eq!(every, [(2, 1), (4, 1), (4, 1), (4, 1), (4, 4), (4, 4)]);
    }

    #[test]
    fn far_beyond_the_budget_there_is_no_waiting() {
        let mut budget = budget();
        minutes(&mut budget, 1, 20);
        assert_eq!(budget.level(), Level::HalfHeat);
    }

    #[test]
    fn steps_that_would_save_nothing_are_left_out() {
        let idle = HeatUse::default();
        assert_eq!(Level::Full.down(idle), Level::RareCounters);
        let only = HeatUse {
            active: true,
            has_cheaper: false,
        };
        assert_eq!(Level::QuarterHeat.down(only), Level::NoHeat);
    }

    #[test]
    fn it_recovers_slowly_and_more_slowly_after_a_relapse() {
        let mut budget = budget();
        minutes(&mut budget, STRIKES, 5);
        assert_eq!(budget.level(), Level::HalfHeat);
        minutes(&mut budget, CALM_WINDOWS - 1, 1);
        assert_eq!(budget.level(), Level::HalfHeat);
        minutes(&mut budget, 1, 1);
        assert_eq!((budget.level(), budget.reason()), (Level::Full, ""));
        minutes(&mut budget, STRIKES, 5);
        assert_eq!(budget.level(), Level::HalfHeat);
        minutes(&mut budget, CALM_WINDOWS, 1);
        assert_eq!(budget.level(), Level::HalfHeat, "the second time takes longer");
        minutes(&mut budget, 3 * CALM_WINDOWS, 1);
        assert_eq!(budget.level(), Level::Full);
        // Neither calm nor beyond: it stays where it is.
        minutes(&mut budget, STRIKES, 5);
        minutes(&mut budget, 1000, 3);
        assert_eq!(budget.level(), Level::HalfHeat);
    }

    #[test]
    fn each_resource_has_its_limit() {
        let cases = [
            (
                Usage {
                    kernel_cpu_ns: WINDOW_NS / 5,
                    ..minute(0)
                },
                "in the kernel",
            ),
            (
                Usage {
                    rss_bytes: 200 << 20,
                    ..minute(0)
                },
                "MiB of memory",
            ),
            (
                Usage {
                    queued_bytes: 512 << 10,
                    ..minute(0)
                },
                "30.0 MiB to send",
            ),
        ];
        for (usage, what) in cases {
            let mut budget = budget();
            for _ in 0..STRIKES {
                budget.note(usage, HEAT);
            }
            assert_eq!(budget.level(), Level::HalfHeat);
            assert!(budget.reason().contains(what), "{}", budget.reason());
        }
    }

    #[test]
    fn short_intervals_are_judged_together() {
        let mut budget = budget();
        let busy_start = Usage {
            elapsed_ns: SECOND_NS,
            cpu_ns: SECOND_NS / 2,
            ..Usage::default()
        };
        budget.note(busy_start, HEAT);
        let quiet = Usage {
            elapsed_ns: SECOND_NS,
            ..Usage::default()
        };
        for _ in 0..600 {
            budget.note(quiet, HEAT);
        }
        assert_eq!(budget.level(), Level::Full);
    }
}
