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
        nodes: from.nodes.into_iter().map(node).collect(),
        tiers: from.tiers.into_iter().map(tier).collect(),
        knobs: from.knobs.into_iter().map(knob).collect(),
        collectors: from.collectors.into_iter().map(collector).collect(),
        services: from.services.into_iter().map(service).collect(),
        swaps: from.swaps.into_iter().map(swap).collect(),
        findings: from.findings.into_iter().map(finding).collect(),
        labels: labels_to(from.labels, "")
            .chain(labels_to(from.kubernetes_labels, KUBERNETES))
            .collect(),
        cxl_devices: from.cxl_devices.into_iter().map(cxl).collect(),
        rdma_devices: from.rdma_devices,
        running_as_uid: from.running_as_uid,
        benches: from.benches.into_iter().map(bench).collect(),
        unmovable: from.unmovable.into_iter().map(unmovable).collect(),
        hypervisor: from.hypervisor,
        labels_complete: from.labels_complete,
        interval_seconds: from.interval_seconds,
        pods: from.pods.map(pods),
        kubernetes_labels_partial: from.kubernetes_labels_partial,
        tier_order: from.tier_order,
        tree: from.tree,
    }
}

fn labels_to(from: Vec<(String, String)>, source: &str) -> impl Iterator<Item = proto::Label> {
    from.into_iter().map(move |(key, value)| proto::Label {
        key,
        value,
        source: source.to_owned(),
    })
}

fn pod_label((key, value): (String, String)) -> proto::PodLabel {
    proto::PodLabel { key, value }
}

fn knob(from: sample::Knob) -> proto::Knob {
    proto::Knob {
        path: from.path,
        value: from.value,
        unavailable: from.unavailable.unwrap_or_default(),
    }
}

/// Calls `$convert!` for each part of an inventory that has the same fields as a sample and as a message: its type, the
/// function that converts one, the fields, and lists of parts with the function of their items.
#[macro_export]
macro_rules! inventory_parts {
    ($convert:ident) => {
        $convert!(NodePart, part, [tier_class, bytes, evidence]);
        $convert!(Tier, tier, [kernel_number, rank, nodes]);
        $convert!(Collector, collector, [
            name, active, reason, enable_hint, granularity, privilege, sees, cost, capabilities
        ]);
        $convert!(Service, service, [namespace, name, rule, processes, heat_measured, heat_reason]);
        $convert!(SwapDevice, swap, [
            name, kind, size_bytes, used_bytes, priority, zoned, discard, rotational
        ]);
        $convert!(Finding, finding, [id, severity, cause, fix, confidence]);
        $convert!(CxlDevice, cxl, [
            name, ram_bytes, numa_node, serial, pci_address, firmware_version, link_decigigatransfers,
            link_width, max_link_decigigatransfers, max_link_width, aer_correctable, aer_nonfatal, aer_fatal
        ]);
        $convert!(Unmovable, unmovable, [node, hugetlb_bytes, mlocked_bytes, pinned_pages]);
        $convert!(BenchFigure, figure, [
            name, unit, threads, block_bytes, pattern, median, p10, p90, repetitions, disturbed
        ]);
        $convert!(LoadedPoint, loaded, [
            bandwidth_bytes_per_s, latency_ns, threads, write_ratio, utilisation_ratio, latency_p10_ns,
            latency_p90_ns, repetitions, disturbed
        ]);
        $convert!(BenchSkip, bench_skip, [name, reason]);
        $convert!(Node, node, [
            id, memory_bytes, cpulist, tier_class, tier_evidence, distances, read_latency_ns,
            write_latency_ns, read_bandwidth_mib_per_s, write_bandwidth_mib_per_s, tier_certainty
        ], [parts: part]);
        $convert!(NodeBench, bench, [
            measured_wall_ns, cpu_node, memory_node, method, buffer_bytes, huge_page_bytes
        ], [figures: figure, loaded: loaded, skipped: bench_skip]);
        $convert!(Pod, pod, [
            uid, namespace, name, owner_kind, owner, owner_source, service_namespace, service, labels_known
        ], [labels: pod_label]);
        $convert!(PodList, pods, [left_out, unavailable], [pods: pod]);
    };
}

/// Writes the function that makes the message of a part.
macro_rules! to_message {
    ($part:ident, $name:ident, [$($field:ident),+] $(, [$($list:ident: $item:ident),+])?) => {
        fn $name(from: sample::$part) -> proto::$part {
            proto::$part {
                $($field: from.$field,)+
                $($($list: from.$list.into_iter().map($item).collect(),)+)?
            }
        }
    };
}

inventory_parts!(to_message);
