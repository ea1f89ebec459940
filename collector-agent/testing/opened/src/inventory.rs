//! The inventory of a host.

use tierscope_sample::inventory as sample;
use tierscope_wire::proto;

/// The source of labels that a cluster gave.
const KUBERNETES: &str = "kubernetes";

fn labels_from(from: Vec<proto::Label>) -> Vec<(String, String)> {
    from.into_iter().map(|label| (label.key, label.value)).collect()
}

pub(crate) fn decode(from: proto::Inventory) -> sample::Inventory {
    let (kubernetes, own) = from
        .labels
        .into_iter()
        .partition(|label| label.source == KUBERNETES);
    sample::Inventory {
        hostname: from.hostname,
        kernel_release: from.kernel_release,
        kernel_version: from.kernel_version,
        architecture: from.architecture,
        cpu_model: from.cpu_model,
        cpus_online: from.cpus_online,
        page_size_bytes: from.page_size_bytes,
        huge_page_bytes: from.huge_page_bytes,
        dialect: from.dialect,
        cgroup_version: from.cgroup_version,
        nodes: from.nodes.into_iter().map(node_from).collect(),
        tiers: from.tiers.into_iter().map(tier_from).collect(),
        knobs: from.knobs.into_iter().map(knob_from).collect(),
        collectors: from.collectors.into_iter().map(collector_from).collect(),
        services: from.services.into_iter().map(service_from).collect(),
        swaps: from.swaps.into_iter().map(swap_from).collect(),
        findings: from.findings.into_iter().map(finding_from).collect(),
        labels: labels_from(own),
        kubernetes_labels: labels_from(kubernetes),
        cxl_devices: from.cxl_devices.into_iter().map(cxl_from).collect(),
        rdma_devices: from.rdma_devices,
        running_as_uid: from.running_as_uid,
        benches: from.benches.into_iter().map(bench_from).collect(),
        unmovable: from.unmovable.into_iter().map(unmovable_from).collect(),
        hypervisor: from.hypervisor,
        labels_complete: from.labels_complete,
        interval_seconds: from.interval_seconds,
        pods: from.pods.map(pods_from),
        kubernetes_labels_partial: from.kubernetes_labels_partial,
        tier_order: from.tier_order,
        tree: from.tree,
        // It does not travel.
        problems: Vec::new(),
    }
}

fn pods_from(from: proto::PodList) -> sample::PodList {
    sample::PodList {
        pods: from.pods.into_iter().map(pod_from).collect(),
        left_out: from.left_out,
        unavailable: from.unavailable,
    }
}

fn pod_from(from: proto::Pod) -> sample::Pod {
    let labels = from.labels.into_iter().map(|label| (label.key, label.value));
    sample::Pod {
        uid: from.uid,
        namespace: from.namespace,
        name: from.name,
        owner_kind: from.owner_kind,
        owner: from.owner,
        owner_source: from.owner_source,
        service_namespace: from.service_namespace,
        service: from.service,
        labels: labels.collect(),
        labels_known: from.labels_known,
    }
}

fn node_from(from: proto::Node) -> sample::Node {
    sample::Node {
        id: from.id,
        memory_bytes: from.memory_bytes,
        cpulist: from.cpulist,
        tier_class: from.tier_class,
        tier_evidence: from.tier_evidence,
        distances: from.distances,
        read_latency_ns: from.read_latency_ns,
        write_latency_ns: from.write_latency_ns,
        read_bandwidth_mib_per_s: from.read_bandwidth_mib_per_s,
        write_bandwidth_mib_per_s: from.write_bandwidth_mib_per_s,
        tier_certainty: from.tier_certainty,
        parts: from.parts.into_iter().map(part_from).collect(),
    }
}

/// Writes the conversion between two structs whose fields have the same names.
macro_rules! same_fields {
    ($name:ident, $from:ident, $($field:ident),+) => {
        fn $from(from: proto::$name) -> sample::$name {
            sample::$name { $($field: from.$field),+ }
        }
    };
}

same_fields!(NodePart, part_from, tier_class, bytes, evidence);
same_fields!(Tier, tier_from, kernel_number, rank, nodes);
same_fields!(
    Collector,
    collector_from,
    name,
    active,
    reason,
    enable_hint,
    granularity,
    privilege,
    sees,
    cost,
    capabilities
);
same_fields!(
    Service,
    service_from,
    namespace,
    name,
    rule,
    processes,
    heat_measured,
    heat_reason
);
same_fields!(
    SwapDevice, swap_from, name, kind, size_bytes, used_bytes, priority, zoned, discard, rotational
);
same_fields!(Finding, finding_from, id, severity, cause, fix, confidence);
same_fields!(
    CxlDevice,
    cxl_from,
    name,
    ram_bytes,
    numa_node,
    serial,
    pci_address,
    firmware_version,
    link_decigigatransfers,
    link_width,
    max_link_decigigatransfers,
    max_link_width,
    aer_correctable,
    aer_nonfatal,
    aer_fatal
);
same_fields!(
    Unmovable,
    unmovable_from,
    node,
    hugetlb_bytes,
    mlocked_bytes,
    pinned_pages
);
same_fields!(
    BenchFigure,
    figure_from,
    name,
    unit,
    threads,
    block_bytes,
    pattern,
    median,
    p10,
    p90,
    repetitions,
    disturbed
);
same_fields!(
    LoadedPoint,
    loaded_from,
    bandwidth_bytes_per_s,
    latency_ns,
    threads,
    write_ratio,
    utilisation_ratio,
    latency_p10_ns,
    latency_p90_ns,
    repetitions,
    disturbed
);
same_fields!(BenchSkip, bench_skip_from, name, reason);

fn bench_from(from: proto::NodeBench) -> sample::NodeBench {
    sample::NodeBench {
        measured_wall_ns: from.measured_wall_ns,
        cpu_node: from.cpu_node,
        memory_node: from.memory_node,
        figures: from.figures.into_iter().map(figure_from).collect(),
        loaded: from.loaded.into_iter().map(loaded_from).collect(),
        method: from.method,
        buffer_bytes: from.buffer_bytes,
        huge_page_bytes: from.huge_page_bytes,
        skipped: from.skipped.into_iter().map(bench_skip_from).collect(),
    }
}

fn knob_from(from: proto::Knob) -> sample::Knob {
    let unavailable = Some(from.unavailable).filter(|reason| !reason.is_empty());
    sample::Knob {
        path: from.path,
        value: from.value,
        unavailable,
    }
}
