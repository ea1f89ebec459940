//! The running host as a source: counters, inventory and heat of the processes that the owner lists.

use std::sync::Arc;

use tierscope_pagetable::probe::ProbeError;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_sample::inventory::Inventory;
use tierscope_wire::CollectorCost;

use crate::clocks::{self, SECOND_NS};
use crate::collect::{Collected, Collector, CollectorConfig, Stamp};
use crate::config::Config;
use crate::heat::{self, DEFAULT_RSS_LIMIT_BYTES, HeatCollector, HeatRound, HeatSettings};
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
    probed: Result<(), ProbeError>,
    /// Made with the first interval, and anew when its length changes.
    heat: Option<(i64, HeatCollector)>,
    boot_id: Arc<str>,
    /// The newest description of the host and its boot-time clock.
    described: Option<(i64, Inventory)>,
}

/// Settings and devices are looked at this often: that reads some hundred small files.
const DESCRIBE_EVERY_NS: i64 = 55 * SECOND_NS;

impl LiveSource {
    /// Collectors that have read nothing yet, save whether accessed bits can be had.
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
            probed: heat::probe(&Root::live()),
            heat: None,
            boot_id: Arc::from(boot_id),
            described: None,
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

    /// One round over the listed processes; says how many are listed.
    fn collect_heat(&mut self, end: IntervalEnd, interval_ns: i64) -> (usize, HeatRound, Option<String>) {
        let (targets, problem) =
            heat_targets::choose(&self.config.heat, &self.counters.discovered().processes);
        let (settings, names) = (self.heat_settings(interval_ns), self.names.clone());
        let is_stale = self
            .heat
            .as_ref()
            .is_none_or(|(length_ns, _)| *length_ns != interval_ns);
        if is_stale {
            self.heat = Some((interval_ns, HeatCollector::new(Root::live(), settings, names)));
        }
        let round = self
            .heat
            .as_mut()
            .map(|(_, heat)| heat.collect(&targets, end))
            .unwrap_or_default();
        (targets.len(), round, problem)
    }

    fn heat_settings(&mut self, interval_ns: i64) -> HeatSettings {
        HeatSettings {
            interval_ns,
            rss_limit_bytes: DEFAULT_RSS_LIMIT_BYTES,
            tier: only_tier(self.describe()),
            epoch_seed: clocks::wall_ns() as u64,
        }
    }

    /// What the host is, with what the agent knows of its collectors and services.
    fn inventory(&mut self, listed: usize, round: Option<&HeatRound>) -> Inventory {
        let mut inventory = self.describe().clone();
        inventory.labels = self.config.labels.clone().into_iter().collect();
        if let Some(hostname) = &self.config.hostname {
            inventory.hostname.clone_from(hostname);
        }
        let heat = heat::describe(&self.probed, listed, round);
        inventory
            .collectors
            .retain(|collector| collector.name != heat.name);
        inventory.collectors.push(heat);
        for service in &mut inventory.services {
            let id = format!("{}/{}", service.namespace, service.name);
            service.heat_measured =
                round.is_some_and(|round| round.folded.rows.iter().any(|row| *row.service == *id));
            service.heat_reason = if service.heat_measured {
                String::new()
            } else {
                "none of its processes is listed".to_owned()
            };
        }
        inventory
    }
}

/// The tier of all memory, `None` where there are several.
fn only_tier(inventory: &Inventory) -> Option<Arc<str>> {
    let mut classes = inventory.nodes.iter().map(|node| &node.tier_class);
    let first = classes.next()?;
    classes
        .all(|class| class == first)
        .then(|| Arc::from(first.as_str()))
}

impl Source for LiveSource {
    fn collect(&mut self, end: IntervalEnd, interval_seconds: u32, heat: bool) -> Collection {
        let (collected, counters_cost) = self.collect_counters(end);
        let mut costs = vec![counters_cost];
        let mut folded = Folded::default();
        let inventory = if heat && self.probed.is_ok() {
            let interval_ns = i64::from(interval_seconds) * SECOND_NS;
            let (listed, round, problem) = self.collect_heat(end, interval_ns);
            costs.push(CollectorCost {
                name: "referenced".to_owned(),
                cpu_ns: round.cpu_ns,
                runs: 1,
                failures: round.skipped.len() as u64,
                last_error: problem.unwrap_or_default(),
            });
            let inventory = self.inventory(listed, Some(&round));
            folded = round.folded;
            inventory
        } else {
            if let Some((_, heat)) = &mut self.heat {
                heat.miss();
            }
            self.inventory(0, None)
        };
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
