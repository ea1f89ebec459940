//! The inventory message and back. Field for field; nothing is computed here.

use tierscope_sample::inventory as sample;

use crate::proto;

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
        dialect: from.dialect,
        cgroup_version: from.cgroup_version,
        nodes: from.nodes.into_iter().map(node_to).collect(),
        tiers: from.tiers.into_iter().map(tier_to).collect(),
        knobs: from.knobs.into_iter().map(knob_to).collect(),
        collectors: from.collectors.into_iter().map(collector_to).collect(),
        services: from.services.into_iter().map(service_to).collect(),
        swaps: from.swaps.into_iter().map(swap_to).collect(),
        findings: from.findings.into_iter().map(finding_to).collect(),
        labels: from
            .labels
            .into_iter()
            .map(|(key, value)| proto::Label { key, value })
            .collect(),
        cxl_devices: from.cxl_devices.into_iter().map(cxl_to).collect(),
        rdma_devices: from.rdma_devices,
        running_as_uid: from.running_as_uid,
    }
}

pub(crate) fn decode(from: proto::Inventory) -> sample::Inventory {
    sample::Inventory {
        hostname: from.hostname,
        kernel_release: from.kernel_release,
        kernel_version: from.kernel_version,
        architecture: from.architecture,
        cpu_model: from.cpu_model,
        cpus_online: from.cpus_online,
        page_size_bytes: from.page_size_bytes,
        dialect: from.dialect,
        cgroup_version: from.cgroup_version,
        nodes: from.nodes.into_iter().map(node_from).collect(),
        tiers: from.tiers.into_iter().map(tier_from).collect(),
        knobs: from.knobs.into_iter().map(knob_from).collect(),
        collectors: from.collectors.into_iter().map(collector_from).collect(),
        services: from.services.into_iter().map(service_from).collect(),
        swaps: from.swaps.into_iter().map(swap_from).collect(),
        findings: from.findings.into_iter().map(finding_from).collect(),
        labels: from
            .labels
            .into_iter()
            .map(|label| (label.key, label.value))
            .collect(),
        cxl_devices: from.cxl_devices.into_iter().map(cxl_from).collect(),
        rdma_devices: from.rdma_devices,
        running_as_uid: from.running_as_uid,
    }
}

/// Writes both directions of a conversion between two structs whose fields have the same names.
macro_rules! same_fields {
    ($name:ident, $to:ident, $from:ident, $($field:ident),+) => {
        fn $to(from: sample::$name) -> proto::$name {
            proto::$name { $($field: from.$field),+ }
        }

        fn $from(from: proto::$name) -> sample::$name {
            sample::$name { $($field: from.$field),+ }
        }
    };
}

same_fields!(
    Node,
    node_to,
    node_from,
    id,
    memory_bytes,
    cpulist,
    tier_class,
    tier_evidence,
    distances,
    read_latency_ns,
    write_latency_ns,
    read_bandwidth_mib_per_s,
    write_bandwidth_mib_per_s
);
same_fields!(Tier, tier_to, tier_from, kernel_number, rank, nodes);
same_fields!(
    Collector,
    collector_to,
    collector_from,
    name,
    active,
    reason,
    enable_hint,
    granularity,
    privilege
);
same_fields!(
    Service,
    service_to,
    service_from,
    namespace,
    name,
    rule,
    processes,
    heat_measured,
    heat_reason
);
same_fields!(
    SwapDevice, swap_to, swap_from, name, kind, size_bytes, used_bytes, priority, zoned
);
same_fields!(
    Finding,
    finding_to,
    finding_from,
    id,
    severity,
    cause,
    fix,
    confidence
);
same_fields!(CxlDevice, cxl_to, cxl_from, name, ram_bytes, numa_node, serial);

fn knob_to(from: sample::Knob) -> proto::Knob {
    proto::Knob {
        path: from.path,
        value: from.value,
        unavailable: from.unavailable.unwrap_or_default(),
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
