//! The running host as a source: counters, inventory and heat of the processes that the owner lists.

use std::sync::Arc;

use tierscope_pagetable::probe::ProbeError;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::inventory::{Inventory, Service};
use tierscope_wire::CollectorCost;

use crate::clocks::{self, SECOND_NS};
use crate::collect::{Collected, Collector, CollectorConfig, Stamp};
use crate::config::Config;
use crate::heat::backend::{DEFAULT_RSS_LIMIT_BYTES, HeatBackend, HeatProcess, HeatRound, HeatSettings};
use crate::heat::referenced::{self, ReferencedBackend};
use crate::heat_targets;
use crate::inventory;
use crate::names::NamePolicy;
use crate::services::Rules;
use crate::source::{Collection, Source};

/// Collectors of the running host.
pub(crate) struct LiveSource {
    config: Config,
    counters: Collector,
    names: NamePolicy,
    /// Whether accessed bits can be had. Tried once, when the first process is listed, because it takes memory.
    probed: Option<Result<(), ProbeError>>,
    /// Made with the first interval, and anew when its length changes.
    heat: Option<(i64, ReferencedBackend)>,
    boot_id: Arc<str>,
    /// The newest description of the host and its boot-time clock.
    described: Option<(i64, Inventory)>,
    /// The inventory while no heat is measured, with the time of its description and whether heat is switched off.
    quiet: Option<(i64, bool, Arc<Inventory>)>,
}

/// Settings and devices are looked at this often: that reads some hundred small files.
const DESCRIBE_EVERY_NS: i64 = 55 * SECOND_NS;

impl LiveSource {
    /// Collectors that have read nothing yet.
    pub(crate) fn new(config: &Config) -> Self {
        let mut reader = Reader::new(Root::live());
        let names = NamePolicy::for_host(&mut reader, Vec::new());
        let rules = Rules {
            own: config.services.clone(),
            max_services: config.limits.services,
            ..Rules::new(names.clone())
        };
        let limits = CollectorConfig {
            max_names: config.limits.counters,
            ..CollectorConfig::default()
        };
        let boot_id = tierscope_procfs::host::boot_id(&mut reader).unwrap_or_default();
        Self {
            config: config.clone(),
            counters: Collector::new(Root::live(), limits, rules),
            names,
            probed: None,
            heat: None,
            boot_id: Arc::from(boot_id),
            described: None,
            quiet: None,
        }
    }

    /// What the host is, read anew once a minute.
    fn describe(&mut self) -> &Inventory {
        let now_ns = clocks::boottime_ns();
        let old = self
            .described
            .take()
            .filter(|(at_ns, _)| now_ns - at_ns < DESCRIBE_EVERY_NS);
        let described = old.unwrap_or_else(|| (now_ns, inventory::describe(&mut self.counters)));
        &self.described.insert(described).1
    }

    fn collect_counters(&mut self, end: IntervalEnd) -> (Collected, CollectorCost) {
        let cpu_before_ns = clocks::thread_cpu_ns();
        let collected = self.counters.collect(Stamp {
            wall_ns: end.wall_ns,
            boottime_ns: end.boottime_ns,
            boot_id: Arc::clone(&self.boot_id),
        });
        let cost = CollectorCost {
            name: "counters".to_owned(),
            cpu_ns: clocks::thread_cpu_ns() - cpu_before_ns,
            runs: 1,
            failures: collected.problems.len() as u64,
            last_error: collected
                .problems
                .last()
                .map(ToString::to_string)
                .unwrap_or_default(),
        };
        (collected, cost)
    }

    /// One round over the listed processes.
    fn collect_heat(&mut self, end: IntervalEnd, interval_ns: i64) -> Visit {
        let (targets, problem) =
            heat_targets::choose(&self.config.heat, &self.counters.discovered().processes);
        let mut visit = Visit {
            targets,
            round: HeatRound::default(),
            problem,
        };
        if visit.targets.is_empty() && self.heat.is_none() {
            return visit;
        }
        if self
            .probed
            .get_or_insert_with(|| referenced::probe(&Root::live()))
            .is_err()
        {
            return visit;
        }
        let is_stale = self
            .heat
            .as_ref()
            .is_none_or(|(length_ns, _)| *length_ns != interval_ns);
        if is_stale {
            let (settings, names) = (self.heat_settings(interval_ns), self.names.clone());
            self.heat = Some((interval_ns, ReferencedBackend::new(Root::live(), settings, names)));
        }
        if let Some((_, heat)) = &mut self.heat {
            visit.round = heat.collect(&visit.targets, end);
        }
        visit
    }

    fn heat_settings(&mut self, interval_ns: i64) -> HeatSettings {
        HeatSettings {
            interval_ns,
            rss_limit_bytes: DEFAULT_RSS_LIMIT_BYTES,
            tier: only_tier(self.describe()),
            epoch_seed: clocks::wall_ns() as u64,
        }
    }

    /// As [`Self::inventory`], and the same object as long as nothing that it says can have changed.
    fn shared_inventory(&mut self, visit: Option<&Visit>) -> Arc<Inventory> {
        self.describe();
        let described_ns = self.described.as_ref().map_or(0, |(at_ns, _)| *at_ns);
        if visit.is_some_and(|visit| self.heat.is_some() || !visit.targets.is_empty()) {
            self.quiet = None;
            return Arc::new(self.inventory(visit));
        }
        let known = self
            .quiet
            .take()
            .filter(|(at_ns, off, _)| (*at_ns, *off) == (described_ns, visit.is_none()));
        let quiet = known.unwrap_or_else(|| (described_ns, visit.is_none(), Arc::new(self.inventory(visit))));
        Arc::clone(&self.quiet.insert(quiet).2)
    }

    /// What the host is, with what the agent knows of its collectors and services. `visit` is `None` while heat is
    /// switched off by the service.
    fn inventory(&mut self, visit: Option<&Visit>) -> Inventory {
        let mut inventory = self.describe().clone();
        inventory.labels = self.config.labels.clone().into_iter().collect();
        if let Some(hostname) = &self.config.hostname {
            inventory.hostname.clone_from(hostname);
        }
        let probed = self.probed.as_ref().unwrap_or(&Ok(()));
        let listed = visit.map_or(0, |visit| visit.targets.len());
        let mut collector = referenced::describe(probed, listed, visit.map(|visit| &visit.round));
        if visit.is_none() {
            "the service has switched heat off".clone_into(&mut collector.reason);
        }
        let reason = if listed == 0 {
            collector.reason.clone()
        } else {
            NOT_LISTED.to_owned()
        };
        inventory
            .services
            .iter_mut()
            .for_each(|service| service.heat_reason.clone_from(&reason));
        for target in visit.map_or(&[][..], |visit| &visit.targets) {
            mark_measured(&mut inventory.services, &target.service);
        }
        inventory.collectors.retain(|other| other.name != collector.name);
        inventory.collectors.push(collector);
        inventory
    }
}

/// Why heat of a service is not measured although that of others is.
const NOT_LISTED: &str = "none of its processes is listed for heat";

/// One round of heat: whom it was for, what it gave, and what is wrong with the list.
struct Visit {
    targets: Vec<HeatProcess>,
    round: HeatRound,
    problem: Option<String>,
}

/// Marks a service as measured; one that the owner named in the list of processes alone is added.
fn mark_measured(services: &mut Vec<Service>, id: &str) {
    let (namespace, name) = id.split_once('/').unwrap_or(("", id));
    let is_it = |service: &Service| service.namespace == namespace && service.name == name;
    let index = services.iter().position(is_it).unwrap_or_else(|| {
        services.push(Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            rule: LISTED_RULE.to_owned(),
            ..Service::default()
        });
        services.len() - 1
    });
    let service = &mut services[index];
    service.processes += u32::from(service.rule == LISTED_RULE);
    service.heat_measured = true;
    service.heat_reason.clear();
}

/// Rule of services that the list of processes names.
const LISTED_RULE: &str = "list of heat processes";

/// The tier of all memory, `None` where there are several.
fn only_tier(inventory: &Inventory) -> Option<Arc<str>> {
    let mut classes = inventory.nodes.iter().map(|node| &node.tier_class);
    let first = classes.next()?;
    classes
        .all(|class| class == first)
        .then(|| Arc::from(first.as_str()))
}

fn cost_of(visit: &Visit) -> CollectorCost {
    let skipped = visit.round.skipped.first().map(|(_, reason)| reason.to_string());
    CollectorCost {
        name: "referenced".to_owned(),
        cpu_ns: visit.round.cpu_ns,
        runs: 1,
        failures: visit.round.skipped.len() as u64,
        last_error: visit.problem.clone().or(skipped).unwrap_or_default(),
    }
}

impl Source for LiveSource {
    fn collect(&mut self, end: IntervalEnd, interval_seconds: u32, heat: bool) -> Collection {
        let (collected, counters_cost) = self.collect_counters(end);
        let mut costs = vec![counters_cost];
        let visit = heat.then(|| self.collect_heat(end, i64::from(interval_seconds) * SECOND_NS));
        if visit.is_none()
            && let Some((_, heat)) = &mut self.heat
        {
            heat.miss();
        }
        costs.extend(
            visit
                .as_ref()
                .filter(|visit| !visit.targets.is_empty())
                .map(cost_of),
        );
        let inventory = self.shared_inventory(visit.as_ref());
        let folded = visit.map(|visit| visit.round.folded).unwrap_or_default();
        Collection {
            sample: collected.sample,
            inventory,
            heat: folded,
            counters_dropped: collected.dropped.names as u64,
            services_dropped: collected.dropped.services as u64,
            costs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_service_is_measured_and_one_that_only_the_list_names_is_added() {
        let known = Service {
            namespace: "host".to_owned(),
            name: "db".to_owned(),
            processes: 3,
            ..Service::default()
        };
        let mut services = vec![known];
        for id in ["host/db", "tierscope/api", "tierscope/api"] {
            mark_measured(&mut services, id);
        }
        let seen: Vec<_> = services
            .iter()
            .map(|service| (service.name.as_str(), service.processes))
            .collect();
        assert_eq!(seen, [("db", 3), ("api", 2)]);
        assert!(services.iter().all(|service| service.heat_measured));
    }

    #[test]
    fn a_host_with_one_class_of_memory_has_one_tier() {
        let node = |class: &str| tierscope_sample::inventory::Node {
            tier_class: class.to_owned(),
            ..tierscope_sample::inventory::Node::default()
        };
        let inventory = |classes: &[&str]| Inventory {
            nodes: classes.iter().map(|class| node(class)).collect(),
            ..Inventory::default()
        };
        assert_eq!(only_tier(&inventory(&["dram", "dram"])).as_deref(), Some("dram"));
        assert_eq!(only_tier(&inventory(&["dram", "cxl"])), None);
        assert_eq!(only_tier(&inventory(&[])), None);
    }
}
