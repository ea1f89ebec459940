//! Heat of the listed processes as one collector: who is measured, by which back end, and why the others are not.

use std::collections::BTreeMap;
use std::sync::Arc;

use tierscope_clock::SECOND_NS;
use tierscope_host::collectors::{self, State};
use tierscope_host::names::NamePolicy;
use tierscope_host::services::Process;
use tierscope_perf::ServedLoads;
use tierscope_rootfs::Root;
use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_sample::inventory::{Finding, Inventory, Service};
use tierscope_wire::CollectorCost;

use crate::backend::{HeatProcess, HeatRound, HeatSettings};
use crate::chain::by_size::SizedChain;
use crate::order::{HeatCost, HeatOrder, HeatScope, Order};
use crate::plain_names::escaped_name;
use crate::settings::Heat;
use crate::targets::Targets;
use crate::write_tracking::{self, WriteTracking};

/// Why heat of a service is not measured although that of others is.
const NOT_LISTED: &str = "none of its processes is listed for heat";
const NOTHING_LISTED: &str = "no process is listed for heat";
const HOW_TO_LIST: &str =
    "name programs, executables or control groups under [heat] in the agent's configuration";
const HOW_TO_NAME: &str = "compare it with `ps -eo pid,comm,args`, start the program, or take the entry out of the agent's configuration";
const UNMATCHED_FINDING: &str = "heat-pattern-fits-nobody";
const ELSEWHERE: &str = "the service has other hosts measure it";
/// Rounds with nobody to measure after which measuring ends: a restart of a service is not worth beginning anew.
const EMPTY_ROUNDS: u32 = 3;
/// Name of the kernel's threads among the costs of collectors.
const KERNEL_THREAD: &str = "kdamond";

/// Measures heat as it is told, and knows what to say of it.
pub struct HeatCollector {
    settings: Heat,
    targets: Targets,
    chain: SizedChain,
    /// Rounds in a row with nobody to measure.
    empty_rounds: u32,
    writes: WriteTracking,
    view: View,
}

/// What the inventory says of heat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// Where each back end stands.
    states: Vec<(&'static str, State)>,
    /// What there is to say of the services with listed processes.
    services: BTreeMap<Arc<str>, Standing>,
    /// Said of all other services.
    not_listed: &'static str,
    /// Patterns that mean nobody.
    warnings: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Standing {
    /// Listed processes.
    processes: u32,
    /// Those of them that are measured.
    measured: u32,
    /// How many are not, by the reason.
    left_out: BTreeMap<String, usize>,
}

impl Standing {
    fn leave_out(&mut self, reason: &str) {
        *self.left_out.entry(reason.to_owned()).or_default() += 1;
    }

    /// Why those that are not measured are not; with how many, unless one reason is that of all.
    fn reason(&self) -> String {
        if self.measured == 0 && self.left_out.len() == 1 {
            return self.left_out.keys().cloned().collect();
        }
        let lines = self.left_out.iter().map(|(reason, &count)| {
            let are = if count == 1 { "is" } else { "are" };
            format!(
                "{count} of {} processes {are} not measured: {reason}",
                self.processes
            )
        });
        lines.collect::<Vec<_>>().join("; ")
    }
}

/// One interval of heat.
#[derive(Debug, Default)]
pub struct HeatInterval {
    /// Rows and tiles of all process groups.
    pub folded: Folded,
    /// What it took.
    pub cost: HeatCost,
    /// Empty while nobody is measured. What the kernel's threads took stands apart from what the agent took.
    pub collector_costs: Vec<CollectorCost>,
    /// What is to be said of the settings: patterns that mean no process.
    pub warnings: Vec<String>,
    /// Services that are measured, as `namespace/name`.
    pub services: Vec<String>,
    /// Sampled loads of the interval by what served them, of each measured service; empty where nothing tells.
    pub served: BTreeMap<Arc<str>, ServedLoads>,
}

impl HeatCollector {
    /// A collector that has tried nothing yet.
    pub fn new(settings: Heat, root: Root, names: NamePolicy) -> Self {
        Self {
            writes: WriteTracking::new(root.clone(), &settings.write_tracking),
            empty_rounds: 0,
            targets: Targets::new(&settings, &root),
            chain: SizedChain::new(root, names, &settings.chain(), settings.limit_bytes()),
            settings,
            view: View::default(),
        }
    }

    /// Does what is ordered. `tier` is the label of the host's only memory tier, if it has but one.
    pub fn collect(
        &mut self,
        end: IntervalEnd,
        order: &Order,
        found: &[Process],
        tier: Option<Arc<str>>,
    ) -> HeatInterval {
        let (listed, problem) = self.targets.choose(found);
        let mut interval = self.obey(end, order, found, tier, listed, problem);
        self.view.warnings = self.targets.warnings();
        interval.warnings.extend(self.view.warnings.iter().cloned());
        let measured = self
            .view
            .services
            .iter()
            .filter(|(_, standing)| standing.measured > 0);
        interval.services = measured.map(|(id, _)| id.to_string()).collect();
        interval
    }

    fn obey(
        &mut self,
        end: IntervalEnd,
        order: &Order,
        found: &[Process],
        tier: Option<Arc<str>>,
        listed: Vec<HeatProcess>,
        problem: Option<String>,
    ) -> HeatInterval {
        match &order.heat {
            HeatOrder::Measure(scope) => {
                let interval_ns = i64::from(order.interval_seconds) * SECOND_NS;
                if !is_due(end, interval_ns, scope.every) {
                    return self.unmeasured();
                }
                let settings = HeatSettings {
                    interval_ns: interval_ns * i64::from(scope.every),
                    rss_limit_bytes: self.settings.limit_bytes(),
                    tier,
                    epoch_seed: tierscope_clock::wall_ns() as u64,
                    sampling: self.settings.sampling,
                };
                self.writes.list(found);
                self.measure(end, scope, listed, problem, &settings)
            }
            HeatOrder::Miss(reason) => {
                self.chain.miss();
                self.writes.miss();
                self.view = self.view_of_pause(&listed, reason);
                self.unmeasured()
            }
            HeatOrder::Stop(reason) => {
                self.chain.stop();
                self.writes.stop();
                self.view = self.view_of_pause(&listed, reason);
                self.unmeasured()
            }
        }
    }

    /// Ends measuring at once.
    pub fn stop(&mut self) {
        self.chain.stop();
        self.writes.stop();
    }

    /// An interval without a visit.
    fn unmeasured(&self) -> HeatInterval {
        HeatInterval {
            cost: self.cost(&HeatRound::default()),
            ..HeatInterval::default()
        }
    }

    fn measure(
        &mut self,
        end: IntervalEnd,
        scope: &HeatScope,
        listed: Vec<HeatProcess>,
        problem: Option<String>,
        settings: &HeatSettings,
    ) -> HeatInterval {
        let (chosen, elsewhere): (Vec<_>, Vec<_>) = listed
            .into_iter()
            .partition(|process| is_wanted(scope.services.as_deref(), process));
        self.chain.set_degraded(scope.degraded);
        let mut round = self.round(&chosen, end, settings);
        let cpu_before = tierscope_clock::thread_cpu_ns();
        self.writes
            .collect(&chosen, end, settings.interval_ns, &mut round.folded.rows);
        round.cpu_ns += tierscope_clock::thread_cpu_ns() - cpu_before;
        let wanted = scope.sample_services.as_deref();
        round
            .folded
            .page_samples
            .retain(|sample| is_planned(wanted, &sample.service));
        self.view = self.view_of_round(&chosen, &elsewhere, &round);
        HeatInterval {
            warnings: self.warnings_of(&round),
            cost: self.cost(&round),
            collector_costs: if chosen.is_empty() {
                Vec::new()
            } else {
                self.collector_costs(&round, problem)
            },
            folded: round.folded,
            served: round.served.unwrap_or_default(),
            ..HeatInterval::default()
        }
    }

    /// Nothing is tried, and no memory is taken for it, until there is somebody to measure; and nothing stays in the
    /// kernel for nobody.
    fn round(&mut self, chosen: &[HeatProcess], end: IntervalEnd, settings: &HeatSettings) -> HeatRound {
        self.empty_rounds = if chosen.is_empty() {
            self.empty_rounds + 1
        } else {
            0
        };
        if self.empty_rounds > EMPTY_ROUNDS {
            self.chain.stop();
        }
        if chosen.is_empty() && self.chain.active().is_none() {
            return HeatRound::default();
        }
        self.chain.collect(chosen, end, settings)
    }

    /// What is to be said of a round: who was left out, what stands in the way of exactness, and what gave way.
    fn warnings_of(&self, round: &HeatRound) -> Vec<String> {
        let mut warnings = unmeasured(round);
        let measures = self.chain.active().unwrap_or("heat");
        warnings.extend(round.note.iter().map(|note| format!("{measures}: {note}")));
        warnings.extend(self.chain.given_way());
        warnings
    }

    fn cost(&self, round: &HeatRound) -> HeatCost {
        HeatCost {
            backend: self.chain.active(),
            sampling: round.sampling.unwrap_or_default(),
            kernel_cpu_ns: round.kernel_cpu_ns,
            has_cheaper: self.chain.has_cheaper(),
            listed: !self.view.services.is_empty(),
        }
    }

    fn collector_costs(&self, round: &HeatRound, problem: Option<String>) -> Vec<CollectorCost> {
        let skipped = round.skipped.first().map(|(_, reason)| reason.clone());
        let agent = CollectorCost {
            name: self.chain.active().unwrap_or("heat").to_owned(),
            cpu_ns: round.cpu_ns,
            runs: 1,
            failures: round.skipped.len() as u64,
            last_error: problem.or(skipped).unwrap_or_default(),
        };
        let kernel = (round.kernel_cpu_ns > 0).then(|| CollectorCost {
            name: KERNEL_THREAD.to_owned(),
            cpu_ns: round.kernel_cpu_ns,
            runs: 1,
            ..CollectorCost::default()
        });
        std::iter::once(agent).chain(kernel).collect()
    }

    fn view_of_round(&self, chosen: &[HeatProcess], elsewhere: &[HeatProcess], round: &HeatRound) -> View {
        let mut services: BTreeMap<Arc<str>, Standing> = BTreeMap::new();
        for process in chosen {
            let skipped = round.skipped.iter().find(|(other, _)| other.key == process.key);
            let standing = services.entry(Arc::clone(&process.service)).or_default();
            standing.processes += 1;
            match skipped {
                None => standing.measured += 1,
                Some((_, reason)) => standing.leave_out(reason),
            }
        }
        for process in elsewhere {
            let standing = services.entry(Arc::clone(&process.service)).or_default();
            standing.processes += 1;
            standing.leave_out(ELSEWHERE);
        }
        let state = match (chosen.len(), elsewhere.len()) {
            (0, 0) => State::off(NOTHING_LISTED, HOW_TO_LIST),
            (0, _) => State::off(
                ELSEWHERE,
                "set follow_plan = false under [heat] to measure here all the same",
            ),
            (listed, _) => measuring(listed, round),
        };
        View {
            states: self.states(&state),
            services,
            not_listed: if chosen.is_empty() && elsewhere.is_empty() {
                NOTHING_LISTED
            } else {
                NOT_LISTED
            },
            warnings: Vec::new(),
        }
    }

    fn view_of_pause(&self, listed: &[HeatProcess], reason: &str) -> View {
        let mut services: BTreeMap<Arc<str>, Standing> = BTreeMap::new();
        for process in listed {
            let standing = services.entry(Arc::clone(&process.service)).or_default();
            standing.processes += 1;
            standing.leave_out(reason);
        }
        View {
            states: self.states(&State::off(reason, "")),
            services,
            not_listed: NOT_LISTED,
            warnings: Vec::new(),
        }
    }

    /// Where each back end and the tracking of writes stand.
    fn states(&self, measuring: &State) -> Vec<(&'static str, State)> {
        let mut states = self.chain.states(measuring);
        states.push((write_tracking::NAME, self.writes.state()));
        states
    }

    /// What the inventory says of heat now.
    pub fn view(&self) -> &View {
        &self.view
    }
}

impl View {
    /// Adds what is known of heat to a description of the host.
    pub fn write_into(&self, inventory: &mut Inventory) {
        for (name, state) in &self.states {
            if let Some(facts) = collectors::facts(name) {
                let entry = facts.entry(state.clone());
                match inventory.collectors.iter_mut().find(|known| known.name == *name) {
                    Some(known) => *known = entry,
                    None => inventory.collectors.push(entry),
                }
            }
        }
        inventory
            .findings
            .extend(self.warnings.iter().map(|cause| Finding {
                id: UNMATCHED_FINDING.to_owned(),
                severity: "warning".to_owned(),
                cause: cause.clone(),
                fix: HOW_TO_NAME.to_owned(),
                confidence: "certain".to_owned(),
            }));
        for service in &mut inventory.services {
            self.not_listed.clone_into(&mut service.heat_reason);
        }
        for (id, standing) in &self.services {
            mark(&mut inventory.services, id, standing);
        }
    }
}

/// Who was left out of a round and why, a line for each service and reason.
fn unmeasured(round: &HeatRound) -> Vec<String> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (process, reason) in &round.skipped {
        *counts.entry((&process.service, reason)).or_default() += 1;
    }
    let line = |((service, reason), count): ((&str, &str), usize)| {
        let processes = if count == 1 {
            "1 process is"
        } else {
            &format!("{count} processes are")
        };
        format!("{service}: {processes} not measured: {reason}")
    };
    counts.into_iter().map(line).collect()
}

/// What the back end in use says after a round over `listed` processes.
fn measuring(listed: usize, round: &HeatRound) -> State {
    let reason = round.skipped.first().map(|(_, reason)| reason.as_str());
    match (round.measured, reason) {
        (0, reason) => State::off(
            reason.unwrap_or("no listed process runs"),
            "run the agent as root, or as the user whose processes are listed",
        ),
        (_, None) => State {
            reason: round.note.clone().unwrap_or_default(),
            ..State::on()
        },
        (measured, Some(reason)) => State {
            active: true,
            reason: format!(
                "{measured} of {listed} processes are measured; {} are not: {reason}",
                round.skipped.len()
            ),
            hint: String::new(),
        },
    }
}

/// Whether a process belongs to the services that are to be measured here.
fn is_wanted(services: Option<&[String]>, process: &HeatProcess) -> bool {
    is_planned(services, &process.service)
}

/// Whether a plan names a service; without one every service is. Plans have the names that the service writes out.
fn is_planned(services: Option<&[String]>, service: &str) -> bool {
    let known_as = escaped_name(service);
    services.is_none_or(|services| services.iter().any(|name| **name == *known_as))
}

/// Whether heat is measured at the end of this interval when it is measured over `every` of them.
fn is_due(end: IntervalEnd, interval_ns: i64, every: u32) -> bool {
    let number = (end.wall_ns + interval_ns / 2) / interval_ns;
    number % i64::from(every.max(1)) == 0
}

/// Rule of services that the list of processes names.
const LISTED_RULE: &str = "list of heat processes";

/// Says of a service what became of its heat; one that the owner named in the list of processes alone is added.
fn mark(services: &mut Vec<Service>, id: &str, standing: &Standing) {
    let (namespace, name) = id.split_once('/').unwrap_or(("", id));
    let is_it = |service: &Service| service.namespace == namespace && service.name == name;
    let index = services.iter().position(is_it).unwrap_or_else(|| {
        services.push(Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            rule: LISTED_RULE.to_owned(),
            processes: standing.processes,
            ..Service::default()
        });
        services.len() - 1
    });
    let service = &mut services[index];
    service.heat_measured = standing.measured > 0;
    service.heat_reason = standing.reason();
}

#[cfg(test)]
mod tests;
