//! The running host as a source: counters, inventory and heat of the processes that the owner lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;
use tierscope_clock::SECOND_NS;
use tierscope_heat::collector::{HeatCollector, View};
use tierscope_heat::order::{HeatOrder, Order};
use tierscope_heat::page_follow::{self, PageFollower};
use tierscope_host::collectors::{self, State};
use tierscope_host::names::NamePolicy;
use tierscope_host::pods;
use tierscope_host::services::Rules;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::inventory::Inventory;
use tierscope_sample::service::pod_uid;
use tierscope_wire::CollectorCost;

use crate::bench_command::stored;
use crate::collect::{Collected, Collector, CollectorConfig, Stamp};
use crate::config::Config;
use crate::hardware::HardwareCounters;
use crate::inventory;
use crate::inventory::memory_order::has_memory;
use crate::kubernetes::{self, Cluster};
use crate::served_loads::ServedTotals;
use crate::service_metrics::{self, ServiceMetrics, merge};
use crate::source::{Collection, FoundPods, Source};

/// Collectors of the running host.
pub(crate) struct LiveSource {
    config: Config,
    counters: Collector,
    heat: HeatCollector,
    /// `None` where the settings say so, and on recordings.
    follower: Option<PageFollower>,
    hardware: HardwareCounters,
    service_metrics: Option<ServiceMetrics>,
    cluster: Option<Cluster>,
    served: ServedTotals,
    boot_id: Arc<str>,
    /// The newest description of the host and its boot-time clock.
    described: Option<(i64, Inventory)>,
    /// The newest complete inventory, with the time of its description and what it says of heat.
    shared: Option<(i64, View, Arc<Inventory>)>,
}

/// Settings and devices are looked at this often: that reads some hundred small files.
const DESCRIBE_EVERY_NS: i64 = 55 * SECOND_NS;

impl LiveSource {
    /// Collectors of this host that have read nothing yet. Fails when a file that the settings name cannot be used.
    pub(crate) fn new(config: &Config) -> Result<Self> {
        Self::beneath(&Root::live(), config)
    }

    /// The same beneath any root; of a recording there is nothing to sample and no counter of the processor.
    pub(crate) fn beneath(root: &Root, config: &Config) -> Result<Self> {
        let mut reader = Reader::new(root.clone());
        let names = NamePolicy::of_settings(&mut reader, &config.names)?;
        let rules = Rules {
            own: config.services.clone(),
            max_services: config.limits.services,
            ..Rules::new(names.clone())
        };
        let limits = CollectorConfig {
            max_names: config.limits.counters,
            ..CollectorConfig::default()
        };
        let own_name = || tierscope_procfs::host::hostname(&mut reader).unwrap_or_default();
        let node = config.hostname.clone().unwrap_or_else(own_name);
        let boot_id = tierscope_procfs::host::boot_id(&mut reader).unwrap_or_default();
        Ok(Self {
            config: config.clone(),
            counters: Collector::new(root.clone(), limits, rules),
            heat: HeatCollector::new(config.heat.clone(), root.clone(), names),
            follower: (config.limits.followed_pages > 0 && root.is_live()).then(|| {
                let secret = tierscope_clock::wall_ns().cast_unsigned();
                PageFollower::new(root, config.limits.followed_pages, secret)
            }),
            hardware: if config.hardware_counters && root.is_live() {
                HardwareCounters::open(root)
            } else {
                HardwareCounters::default()
            },
            service_metrics: ServiceMetrics::start(&config.service_metrics),
            cluster: Cluster::start(&config.kubernetes, &node),
            served: ServedTotals::default(),
            boot_id: Arc::from(boot_id),
            described: None,
            shared: None,
        })
    }

    /// What the host is, read anew once a minute.
    fn describe(&mut self) -> &Inventory {
        let now_ns = tierscope_clock::boottime_ns();
        let old = self
            .described
            .take()
            .filter(|(at_ns, _)| now_ns - at_ns < DESCRIBE_EVERY_NS);
        let described = old.unwrap_or_else(|| {
            let inventory = Inventory {
                benches: stored::load(&self.config.state_dir),
                ..inventory::describe(&mut self.counters)
            };
            (now_ns, inventory)
        });
        &self.described.insert(described).1
    }

    /// Counters alone, between two collections.
    pub(crate) fn counters_now(&mut self) -> Collected {
        let end = IntervalEnd {
            wall_ns: tierscope_clock::wall_ns(),
            boottime_ns: Some(tierscope_clock::boottime_ns()),
        };
        self.collect_counters(end).0
    }

    fn collect_counters(&mut self, end: IntervalEnd) -> (Collected, CollectorCost) {
        let cpu_before_ns = tierscope_clock::thread_cpu_ns();
        let mut collected = self.counters.collect(Stamp {
            wall_ns: end.wall_ns,
            boottime_ns: end.boottime_ns,
            boot_id: Arc::clone(&self.boot_id),
        });
        let hardware = self.hardware.read(end.boottime_ns.unwrap_or(end.wall_ns));
        merge(&mut collected.sample.values, hardware);
        let cost = CollectorCost {
            name: "counters".to_owned(),
            cpu_ns: tierscope_clock::thread_cpu_ns() - cpu_before_ns,
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

    /// What the host is, with what the agent knows of its collectors and services: the same object as long as nothing
    /// that it says can have changed.
    fn inventory(&mut self, pods: &FoundPods) -> Arc<Inventory> {
        self.describe();
        let described_ns = self.described.as_ref().map_or(0, |(at_ns, _)| *at_ns);
        let view = self.heat.view();
        if let Some((at_ns, known, inventory)) = &self.shared
            && *at_ns == described_ns
            && known == view
        {
            return Arc::clone(inventory);
        }
        let mut inventory = self.describe().clone();
        inventory.labels = self.config.labels.clone().into_iter().collect();
        self.write_cluster(&mut inventory, pods);
        inventory.labels_complete = true;
        inventory.interval_seconds = self.config.interval_seconds.unwrap_or_default();
        if let Some(hostname) = &self.config.hostname {
            inventory.hostname.clone_from(hostname);
        }
        let view = self.heat.view().clone();
        view.write_into(&mut inventory);
        collectors::write_states(&mut inventory, self.hardware.states());
        if let Some(follower) = &self.follower {
            collectors::write_states(&mut inventory, &[(page_follow::NAME, follower.state())]);
        }
        if self.service_metrics.is_some() {
            collectors::write_states(&mut inventory, &[(service_metrics::COLLECTOR, State::on())]);
        }
        let inventory = Arc::new(inventory);
        self.shared = Some((described_ns, view, Arc::clone(&inventory)));
        inventory
    }

    /// What is known of the cluster now.
    fn write_cluster(&self, inventory: &mut Inventory, pods: &FoundPods) {
        let config = &self.config.kubernetes;
        let told = self.cluster.as_ref().map(Cluster::told);
        let of_node = told.and_then(|told| told.node_labels.as_ref());
        let mut labels: BTreeMap<String, String> = of_node.into_iter().flatten().cloned().collect();
        labels.extend(kubernetes::read_labels_file(config));
        inventory.kubernetes_labels = labels.into_iter().collect();
        inventory.kubernetes_labels_partial = config.api && !config.labels.is_empty() && of_node.is_none();
        inventory.pods = kubernetes::running(&pods.by_uid, told);
        inventory
            .findings
            .extend(self.cluster.as_ref().and_then(Cluster::finding));
        if self.cluster.is_some() {
            collectors::write_states(inventory, &[(kubernetes::COLLECTOR, State::on())]);
        }
    }

    #[cfg(test)]
    pub(crate) fn with_cluster(&mut self, cluster: Cluster) -> Arc<Inventory> {
        self.counters_now();
        (self.cluster, self.shared) = (Some(cluster), None);
        let pods = self.pods();
        self.inventory(&pods)
    }

    /// Pods of the node, and the newest answer of the cluster where it is asked.
    fn pods(&mut self) -> FoundPods {
        let names = pods::read(self.counters.reader());
        let discovered = self.counters.discovered();
        if let Some(cluster) = &mut self.cluster {
            let uids: BTreeSet<String> = discovered
                .processes
                .iter()
                .filter_map(|process| pod_uid(&process.cgroup))
                .collect();
            cluster.look(tierscope_clock::boottime_ns(), uids.iter());
        }
        let told = self.cluster.as_ref().map(Cluster::told);
        FoundPods {
            by_uid: kubernetes::describe(&names, discovered, told),
            of_services: discovered.pods_of_services(),
        }
    }
}

/// The tier of all memory, `None` where there are several.
fn only_tier(inventory: &Inventory) -> Option<Arc<str>> {
    let nodes = inventory.nodes.iter().filter(|node| has_memory(node));
    let mut classes = nodes.map(|node| &node.tier_class);
    let first = classes.next()?;
    classes
        .all(|class| class == first)
        .then(|| Arc::from(first.as_str()))
}

impl Source for LiveSource {
    fn collect(&mut self, end: IntervalEnd, order: &Order) -> Collection {
        if let Some(metrics) = &mut self.service_metrics {
            metrics.begin();
        }
        let (mut collected, counters_cost) = self.collect_counters(end);
        let tier = only_tier(self.describe());
        let found = &self.counters.discovered().processes;
        let heat = self.heat.collect(end, order, found, tier);
        merge(&mut collected.sample.values, self.served.add(&heat.served));
        let mut costs = vec![counters_cost];
        if let Some(follower) = &mut self.follower {
            let found = &self.counters.discovered().processes;
            match &order.heat {
                HeatOrder::Stop(reason) => follower.stop(reason),
                // It is cheap enough for a busy host, where pages move most.
                HeatOrder::Measure(_) | HeatOrder::Miss(_) => {
                    let now_ns = tierscope_clock::boottime_ns();
                    merge(&mut collected.sample.values, follower.collect(found, now_ns));
                }
            }
            costs.push(follower.cost());
        }
        costs.extend(heat.collector_costs);
        if let Some(metrics) = &mut self.service_metrics {
            let (values, cost) = metrics.finish();
            merge(&mut collected.sample.values, values);
            costs.push(cost);
        }
        let pods = self.pods();
        costs.extend(self.cluster.as_mut().map(Cluster::cost));
        Collection {
            sample: collected.sample,
            gone: collected.gone,
            inventory: self.inventory(&pods),
            pods,
            heat: heat.folded,
            counters_dropped: collected.dropped.names as u64,
            services_dropped: collected.dropped.services as u64,
            costs,
            heat_cost: heat.cost,
            warnings: heat.warnings,
            heat_services: heat.services,
        }
    }

    fn look(&mut self) {
        if let Some(follower) = &mut self.follower {
            follower.look(tierscope_clock::boottime_ns());
        }
    }

    fn rest(&mut self) {
        self.heat.stop();
        if let Some(follower) = &mut self.follower {
            follower.stop("paused");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut removed = inventory(&["dram", "unknown"]);
        removed.nodes[1].memory_bytes = Some(0);
        assert_eq!(only_tier(&removed).as_deref(), Some("dram"));
        assert_eq!(only_tier(&inventory(&[])), None);
    }
}
