//! The inventory message. Field for field; nothing is computed here.

use tierscope_sample::inventory as sample;

use crate::proto;

/// The source of labels that a cluster gave.
const KUBERNETES: &str = "kubernetes";

pub(crate) fn encode(from: &sample::Inventory) -> proto::Inventory {
    let from = from.clone();
    proto::Inventory {
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
        nodes: from.nodes.into_iter().map(node_to).collect(),
        tiers: from.tiers.into_iter().map(tier_to).collect(),
        knobs: from.knobs.into_iter().map(knob_to).collect(),
        collectors: from.collectors.into_iter().map(collector_to).collect(),
        services: from.services.into_iter().map(service_to).collect(),
        swaps: from.swaps.into_iter().map(swap_to).collect(),
        findings: from.findings.into_iter().map(finding_to).collect(),
        labels: labels_to(from.labels, "")
            .chain(labels_to(from.kubernetes_labels, KUBERNETES))
            .collect(),
        cxl_devices: from.cxl_devices.into_iter().map(cxl_to).collect(),
        rdma_devices: from.rdma_devices,
        running_as_uid: from.running_as_uid,
        benches: from.benches.into_iter().map(bench_to).collect(),
        unmovable: from.unmovable.into_iter().map(unmovable_to).collect(),
        hypervisor: from.hypervisor,
        labels_complete: from.labels_complete,
        interval_seconds: from.interval_seconds,
        pods: from.pods.map(pods_to),
        kubernetes_labels_partial: from.kubernetes_labels_partial,
        tier_order: from.tier_order,
        tree: from.tree,
    }
}

fn pods_to(from: sample::PodList) -> proto::PodList {
    proto::PodList {
        pods: from.pods.into_iter().map(pod_to).collect(),
        left_out: from.left_out,
        unavailable: from.unavailable,
    }
}

fn pod_to(from: sample::Pod) -> proto::Pod {
    let labels = from
        .labels
        .into_iter()
        .map(|(key, value)| proto::PodLabel { key, value });
    proto::Pod {
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

fn labels_to(from: Vec<(String, String)>, source: &str) -> impl Iterator<Item = proto::Label> {
    from.into_iter().map(move |(key, value)| proto::Label {
        key,
        value,
        source: source.to_owned(),
    })
}

fn node_to(from: sample::Node) -> proto::Node {
    proto::Node {
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
        parts: from.parts.into_iter().map(part_to).collect(),
    }
}

/// Writes the conversion between two structs whose fields have the same names.
macro_rules! same_fields {
    ($name:ident, $to:ident, $($field:ident),+) => {
        fn $to(from: sample::$name) -> proto::$name {
            proto::$name { $($field: from.$field),+ }
        }
    };
}

same_fields!(NodePart, part_to, tier_class, bytes, evidence);
same_fields!(Tier, tier_to, kernel_number, rank, nodes);
same_fields!(
    Collector,
    collector_to,
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
    service_to,
    namespace,
    name,
    rule,
    processes,
    heat_measured,
    heat_reason
);
same_fields!(
    SwapDevice, swap_to, name, kind, size_bytes, used_bytes, priority, zoned, discard, rotational
);
same_fields!(Finding, finding_to, id, severity, cause, fix, confidence);
same_fields!(
    CxlDevice,
    cxl_to,
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
    unmovable_to,
    node,
    hugetlb_bytes,
    mlocked_bytes,
    pinned_pages
);
same_fields!(
    BenchFigure,
    figure_to,
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
    loaded_to,
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
same_fields!(BenchSkip, bench_skip_to, name, reason);

fn bench_to(from: sample::NodeBench) -> proto::NodeBench {
    proto::NodeBench {
        measured_wall_ns: from.measured_wall_ns,
        cpu_node: from.cpu_node,
        memory_node: from.memory_node,
        figures: from.figures.into_iter().map(figure_to).collect(),
        loaded: from.loaded.into_iter().map(loaded_to).collect(),
        method: from.method,
        buffer_bytes: from.buffer_bytes,
        huge_page_bytes: from.huge_page_bytes,
        skipped: from.skipped.into_iter().map(bench_skip_to).collect(),
    }
}

fn knob_to(from: sample::Knob) -> proto::Knob {
    proto::Knob {
        path: from.path,
        value: from.value,
        unavailable: from.unavailable.unwrap_or_default(),
    }
}
