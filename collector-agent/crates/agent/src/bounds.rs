//! What may be measured in an interval: the owner's settings, then the service's plan, the guard and the budget, each of
//! which can only take away.

pub(crate) mod allowance;
pub(crate) mod budget;
pub(crate) mod guard;
pub(crate) mod pause;
pub(crate) mod priority;

use tierscope_clock::{SECOND_NS, boottime_ns, process_cpu_ns};
use tierscope_heat::order::{HeatCost, HeatOrder, HeatScope};
use tierscope_rootfs::{Reader, Root};
use tierscope_upload::Plan;

use crate::bounds::budget::{Budget, HeatUse, Level, Usage, resident_bytes};
use crate::bounds::guard::{Guard, Reading};
use crate::config::Config;

/// Keeps the agent within its bounds.
pub(crate) struct Bounds {
    follow_plan: bool,
    guard: Guard,
    budget: Budget,
    reader: Reader,
    /// Why the guard pauses heat; `None` while it does not.
    busy: Option<String>,
    /// Boot-time clock and the agent's processor time at the last measurement.
    before: Option<(i64, i64)>,
}

impl Bounds {
    /// Bounds of which nothing has been used.
    pub(crate) fn new(config: &Config, root: Root) -> Self {
        Self {
            follow_plan: config.heat.follow_plan,
            guard: Guard::new(config.guard.clone()),
            budget: Budget::new(config.budget.clone()),
            reader: Reader::new(root),
            busy: None,
            before: None,
        }
    }

    /// What is to be done about heat in the interval that ends now. Looks at how busy the host was in it.
    pub(crate) fn order(&mut self, plan: &Plan) -> HeatOrder {
        self.busy =
            Reading::take(&mut self.reader).and_then(|reading| self.guard.judge(reading).map(str::to_owned));
        let level = self.budget.level();
        if !plan.heat.enabled {
            return HeatOrder::Stop("the service has switched heat off".to_owned());
        }
        if !level.has_heat() {
            return HeatOrder::Stop(format!("stopped: {}", self.budget.reason()));
        }
        if let Some(reason) = &self.busy {
            return HeatOrder::Miss(reason.clone());
        }
        let planned = |services: &Option<Vec<String>>| services.clone().filter(|_| self.follow_plan);
        HeatOrder::Measure(HeatScope {
            services: planned(&plan.heat.services),
            sample_services: planned(&plan.heat.sample_services),
            every: level.heat_every(),
            degraded: level.is_degraded(),
        })
    }

    /// Why the guard pauses heat, as of the last interval.
    pub(crate) fn busy(&self) -> Option<&str> {
        self.busy.as_deref()
    }

    pub(crate) fn is_counting(&self, end_wall_ns: i64, interval_seconds: u32) -> bool {
        let every = i64::from(self.budget.level().counters_every());
        let interval_ns = i64::from(interval_seconds) * SECOND_NS;
        let number = (end_wall_ns + interval_ns / 2) / interval_ns;
        number % every == 0
    }

    /// Measures what the agent used since the last measurement, and holds it against the budget.
    pub(crate) fn measure(&mut self, heat: &HeatCost, queued_bytes: i64) -> Usage {
        let now = (boottime_ns(), process_cpu_ns());
        // The first one carries the start of the process, over no known time.
        let before = self.before.replace(now).unwrap_or(now);
        let usage = Usage {
            elapsed_ns: now.0 - before.0,
            cpu_ns: now.1 - before.1,
            kernel_cpu_ns: heat.kernel_cpu_ns,
            rss_bytes: resident_bytes(),
            queued_bytes,
        };
        let heat = HeatUse {
            active: heat.backend.is_some(),
            has_cheaper: heat.has_cheaper,
        };
        self.budget.note(usage, heat);
        usage
    }

    /// How much the agent does, and why not more.
    pub(crate) fn standing(&self) -> (Level, &str) {
        (self.budget.level(), self.budget.reason())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;
    use tierscope_upload::HeatPlan;

    /// Uses up the budget of an agent without heat, so that it reads counters rarely.
    pub(crate) fn exhaust(bounds: &mut Bounds) {
        bounds.budget.note(excess(), HeatUse::default());
        assert_eq!(bounds.standing().0, Level::RareCounters);
    }

    fn host(idle_ticks: u64, busy_ticks: u64) -> FakeRoot {
        let root = FakeRoot::new();
        write_stat(&root, idle_ticks, busy_ticks);
        root.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 900 kB\n");
        root
    }

    fn write_stat(root: &FakeRoot, idle_ticks: u64, busy_ticks: u64) {
        root.write(
            "proc/stat",
            &format!("cpu  {busy_ticks} 0 0 {idle_ticks} 0 0 0 0 0 0\n"),
        );
    }

    fn planned(services: &[&str]) -> Plan {
        let services = services.iter().map(|&name| name.to_owned()).collect();
        Plan {
            heat: HeatPlan {
                services: Some(services),
                ..HeatPlan::default()
            },
            ..Plan::default()
        }
    }

    fn excess() -> Usage {
        Usage {
            elapsed_ns: 60 * SECOND_NS,
            cpu_ns: 60 * SECOND_NS,
            ..Usage::default()
        }
    }

    #[test]
    fn the_plan_narrows_what_is_measured_unless_the_owner_says_otherwise() {
        let root = host(0, 0);
        let mut bounds = Bounds::new(&Config::default(), root.root());
        let plan = planned(&["host/cache"]);
        let HeatOrder::Measure(scope) = bounds.order(&plan) else {
            panic!("measured");
        };
        assert_eq!(scope.services, plan.heat.services);
        let mut config = Config::default();
        config.heat.follow_plan = false;
        let mut own = Bounds::new(&config, root.root());
        assert_eq!(own.order(&plan), HeatOrder::Measure(HeatScope::default()));
    }

    #[test]
    fn a_busy_host_misses_intervals_and_an_exhausted_budget_ends_heat() {
        let root = host(100, 0);
        let mut bounds = Bounds::new(&Config::default(), root.root());
        assert!(matches!(bounds.order(&Plan::default()), HeatOrder::Measure(_)));
        write_stat(&root, 100, 100);
        assert!(
            matches!(bounds.order(&Plan::default()), HeatOrder::Miss(reason) if reason.contains("100 %"))
        );
        assert!(bounds.busy().is_some());
        let heat = HeatUse {
            active: true,
            has_cheaper: false,
        };
        for _ in 0..3 {
            bounds.budget.note(excess(), heat);
        }
        assert!(
            matches!(bounds.order(&Plan::default()), HeatOrder::Stop(reason) if reason.contains("of a core"))
        );
        assert_eq!(bounds.standing().0, Level::NoHeat);
        assert!(bounds.is_counting(61 * SECOND_NS, 1));
        bounds.budget.note(excess(), HeatUse::default());
        let counted = (0..8).filter(|second| bounds.is_counting(second * SECOND_NS, 1));
        assert_eq!(counted.collect::<Vec<_>>(), [0, 4]);
    }
}
