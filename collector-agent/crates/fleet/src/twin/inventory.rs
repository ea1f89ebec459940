//! What the agent of a twin's host says of its hardware, kernel, settings and services.

use tierscope_sample::inventory::{
    BenchFigure, Collector, Inventory, Knob, LoadedPoint, Node, NodeBench, Service, SwapDevice, Tier,
};
use tierscope_twin::host::Host;
use tierscope_twin::laws::PAGE_BYTES;
use tierscope_twin::laws::{Dialect, GIB, HostLaw, Laws, MemoryLaw, Settings};
use tierscope_twin::service::HostService;

use crate::twin::panel::{backend, slow_class};

/// 2^20 bytes, in which bandwidths are told.
const MIB_PER_GB: f64 = 1e9 / 1_048_576.0;

pub(crate) fn inventory(host: &Host, laws: &Laws) -> Inventory {
    let law = &host.law;
    let settings = &laws.settings[&law.settings];
    let (nodes, tiers) = nodes(law, laws);
    let gib = law.dram_gib + law.slow.as_ref().map_or(0.0, |slow| slow.gib);
    Inventory {
        hostname: law.name.clone(),
        kernel_release: release(settings.dialect).to_owned(),
        architecture: "x86_64".to_owned(),
        cpu_model: "simulated processor".to_owned(),
        cpus_online: law.cpus,
        page_size_bytes: PAGE_BYTES as u32,
        dialect: "mainline".to_owned(),
        cgroup_version: "v2".to_owned(),
        nodes,
        tiers,
        knobs: knobs(settings),
        collectors: vec![Collector {
            name: backend(law.heat).1.to_owned(),
            active: true,
            reason: "simulated".to_owned(),
            granularity: "page".to_owned(),
            ..Collector::default()
        }],
        services: host.services.iter().map(service).collect(),
        swaps: swaps(law),
        labels: vec![
            ("rack".to_owned(), law.rack.clone()),
            ("sku".to_owned(), format!("dram{:.0}-of-{gib:.0}", law.dram_gib)),
        ],
        labels_complete: true,
        interval_seconds: 60,
        benches: benches(law, laws),
        ..Inventory::default()
    }
}

fn nodes(law: &HostLaw, laws: &Laws) -> (Vec<Node>, Vec<Tier>) {
    let mut nodes = vec![node(0, law.dram_gib, law.cpus, &laws.memory["dram"], "dram")];
    let mut tiers = vec![Tier {
        kernel_number: 4,
        rank: 0,
        nodes: vec![0],
    }];
    if let Some(slow) = &law.slow {
        let memory = &laws.memory[&slow.memory];
        nodes.push(node(1, slow.gib, 0, memory, slow_class(memory)));
        if memory.is_lower_tier {
            tiers.push(Tier {
                kernel_number: 22,
                rank: 1,
                nodes: vec![1],
            });
        } else {
            tiers[0].nodes.push(1);
        }
    }
    let count = nodes.len() as u32;
    for node in &mut nodes {
        node.distances = (0..count)
            .map(|other| if other == node.id { 10 } else { 20 })
            .collect();
    }
    (nodes, tiers)
}

/// What the agent's bench would have measured when the host was idle, from the processors of the first node.
fn benches(law: &HostLaw, laws: &Laws) -> Vec<NodeBench> {
    let slow = law.slow.as_ref().map(|slow| slow.memory.as_str());
    std::iter::once("dram")
        .chain(slow)
        .zip(0_u32..)
        .map(|(name, node)| bench(&laws.memory[name], node))
        .collect()
}

fn bench(memory: &MemoryLaw, memory_node: u32) -> NodeBench {
    let bytes_per_s = memory.bandwidth_gb_per_s * 1e9;
    let figure = |name: &str, unit: &str, median: f64| BenchFigure {
        name: name.to_owned(),
        unit: unit.to_owned(),
        threads: 1,
        median,
        p10: median,
        p90: median,
        repetitions: 1,
        ..BenchFigure::default()
    };
    NodeBench {
        cpu_node: 0,
        memory_node,
        figures: vec![
            figure("idle_latency", "ns", memory.latency_ns),
            figure("mixed_bandwidth", "bytes_per_s", bytes_per_s),
        ],
        loaded: memory
            .loaded
            .iter()
            .filter(|(utilisation, _)| *utilisation > 0.0)
            .map(|(utilisation, factor)| {
                let latency_ns = memory.latency_ns * factor;
                LoadedPoint {
                    bandwidth_bytes_per_s: utilisation * bytes_per_s,
                    latency_ns,
                    threads: 1,
                    utilisation_ratio: *utilisation,
                    latency_p10_ns: latency_ns,
                    latency_p90_ns: latency_ns,
                    repetitions: 1,
                    ..LoadedPoint::default()
                }
            })
            .collect(),
        method: "simulated".to_owned(),
        ..NodeBench::default()
    }
}

fn service(service: &HostService) -> Service {
    Service {
        namespace: service.law.namespace.clone(),
        name: service.law.name.clone(),
        rule: "simulated".to_owned(),
        processes: 1,
        heat_measured: true,
        heat_reason: String::new(),
    }
}

fn swaps(law: &HostLaw) -> Vec<SwapDevice> {
    let device = (law.swap_gib > 0.0).then(|| SwapDevice {
        name: "nvme0n1p3".to_owned(),
        kind: "partition".to_owned(),
        size_bytes: (law.swap_gib * GIB) as i64,
        rotational: Some(false),
        ..SwapDevice::default()
    });
    device.into_iter().collect()
}

fn release(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::V6_1 => "6.1.0",
        Dialect::V6_12 => "6.12.0",
        Dialect::V7_2 => "7.2.0",
    }
}

fn node(id: u32, gib: f64, cpus: u32, memory: &MemoryLaw, class: &str) -> Node {
    let bandwidth = Some((memory.bandwidth_gb_per_s * MIB_PER_GB) as u32);
    Node {
        id,
        memory_bytes: Some((gib * GIB) as i64),
        cpulist: if cpus > 0 {
            format!("0-{}", cpus - 1)
        } else {
            String::new()
        },
        tier_class: class.to_owned(),
        tier_evidence: "simulated".to_owned(),
        read_latency_ns: Some(memory.latency_ns as u32),
        write_latency_ns: Some(memory.latency_ns as u32),
        read_bandwidth_mib_per_s: bandwidth,
        write_bandwidth_mib_per_s: bandwidth,
        ..Node::default()
    }
}

/// The settings that the twin follows, at the paths where its kernel has them.
fn knobs(settings: &Settings) -> Vec<Knob> {
    let values = [
        (
            "/proc/sys/kernel/numa_balancing",
            settings.numa_balancing.to_string(),
        ),
        (
            "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps",
            settings.promote_rate_limit_mib_per_s.to_string(),
        ),
        ("/proc/sys/vm/swappiness", format!("{:.0}", settings.swappiness)),
        (
            "/proc/sys/vm/watermark_scale_factor",
            settings.watermark_scale_factor.to_string(),
        ),
        (
            "/sys/kernel/debug/sched/numa_balancing/hot_threshold_ms",
            format!("{:.0}", settings.hot_threshold_ms),
        ),
        (
            "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms",
            format!("{:.0}", settings.scan_period_max_ms),
        ),
        (
            "/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
            format!("{:.0}", settings.scan_period_min_ms),
        ),
        (
            "/sys/kernel/mm/numa/demotion_enabled",
            settings.demotion_enabled.to_string(),
        ),
    ];
    values
        .into_iter()
        .map(|(path, value)| Knob {
            path: path.to_owned(),
            value: Some(value),
            unavailable: None,
        })
        .collect()
}
