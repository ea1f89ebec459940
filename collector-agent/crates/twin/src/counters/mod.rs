//! What a kernel prints: the files of a host as their numbers, under exactly the names that its version has.
//!
//! A name that a version lacks is left out. A name that it has, for something that does not happen on the twin (huge
//! pages, compaction, dirty pages), is there with 0, as on a host where that does not happen.

mod cgroup;
mod gauges;
mod host;
mod names;
mod node;
mod values;

use crate::host::Host;
use crate::laws::{Dialect, PAGE_BYTES, Settings};
use crate::pressure::Pressure;

use gauges::Gauges;

pub use values::Values;

/// All files of a host at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// `/proc/vmstat`.
    pub vmstat: Values,
    /// `/proc/meminfo`, KiB.
    pub meminfo: Values,
    /// `/proc/pressure/memory`.
    pub pressure: Pressure,
    /// Nodes, in order.
    pub nodes: Vec<NodeReading>,
    /// The cgroup of each service, by `namespace/name`.
    pub cgroups: Vec<CgroupReading>,
}

/// Files of one node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeReading {
    /// `vmstat`.
    pub vmstat: Values,
    /// `meminfo`, KiB.
    pub meminfo: Values,
    /// `numastat`.
    pub numastat: Values,
    /// Name of its zone: the twin has one for each node.
    pub zone: &'static str,
    /// What `/proc/zoneinfo` says of it, pages: free, watermarks, sizes.
    pub zoneinfo: Values,
}

/// Files of one cgroup.
#[derive(Debug, Clone, PartialEq)]
pub struct CgroupReading {
    /// `namespace/name` of the service.
    pub service: String,
    /// `memory.current`, bytes.
    pub current_bytes: u64,
    /// `memory.stat`: bytes, and events.
    pub stat: Values,
    /// `memory.numa_stat`: names with bytes (or events) by node.
    pub numa_stat: Vec<(&'static str, Vec<u64>)>,
    /// `memory.pressure`.
    pub pressure: Pressure,
}

/// Reads all files of a host, whose settings in force are `settings`.
pub fn read(host: &Host, settings: &Settings) -> Reading {
    let gauges = Gauges::new(host);
    let tally = host.tally();
    let dialect = settings.dialect;
    let view = |(index, node)| node::View {
        node,
        sizes: gauges.on_node(index),
        tally: &tally,
        is_slow: index == 1,
    };
    let nodes = std::iter::once(&host.memory.dram).chain(&host.memory.slow);
    let views: Vec<node::View<'_>> = nodes.enumerate().map(view).collect();
    let services = 0..host.services.len();
    Reading {
        vmstat: print(names::vmstat(dialect), |name| {
            host::event(&tally, host.has_lower_tier(), name)
                .or_else(|| host::global(&views, name))
                .unwrap_or_else(|| views.iter().map(|view| node::stat(view, name)).sum())
        }),
        meminfo: host::meminfo(host, &views),
        pressure: host.pressure,
        nodes: views
            .iter()
            .map(|view| read_node(view, host.has_lower_tier(), dialect))
            .collect(),
        cgroups: services
            .map(|service| read_cgroup(host, &gauges, service, dialect))
            .collect(),
    }
}

fn read_node(view: &node::View<'_>, has_lower_tier: bool, dialect: Dialect) -> NodeReading {
    NodeReading {
        vmstat: print(names::node_vmstat(dialect), |name| node::stat(view, name)),
        meminfo: node::meminfo(view),
        numastat: node::numastat(view),
        zone: if view.is_slow && has_lower_tier {
            "Movable"
        } else {
            "Normal"
        },
        zoneinfo: node::zoneinfo(view.node, dialect),
    }
}

fn read_cgroup(host: &Host, gauges: &Gauges, service: usize, dialect: Dialect) -> CgroupReading {
    let law = &host.services[service].law;
    let nodes = 1 + usize::from(host.memory.slow.is_some());
    let view = cgroup::View {
        gauges,
        service,
        tally: &host.tallies[service],
        nodes,
    };
    CgroupReading {
        service: format!("{}/{}", law.namespace, law.name),
        current_bytes: gauges.of_service(service).resident() * PAGE_BYTES,
        stat: print(names::memory_stat(dialect), |name| cgroup::stat(&view, name)),
        numa_stat: cgroup::numa_stat(&view, dialect),
        pressure: host.pressures[service],
    }
}

fn print(names: impl Iterator<Item = &'static str>, value: impl Fn(&str) -> u64) -> Values {
    names.map(|name| (name, value(name))).collect()
}
