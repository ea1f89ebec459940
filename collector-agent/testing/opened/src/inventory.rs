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
        nodes: from.nodes.into_iter().map(node).collect(),
        tiers: from.tiers.into_iter().map(tier).collect(),
        knobs: from.knobs.into_iter().map(knob).collect(),
        collectors: from.collectors.into_iter().map(collector).collect(),
        services: from.services.into_iter().map(service).collect(),
        swaps: from.swaps.into_iter().map(swap).collect(),
        findings: from.findings.into_iter().map(finding).collect(),
        labels: labels_from(own),
        kubernetes_labels: labels_from(kubernetes),
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
        // It does not travel.
        problems: Vec::new(),
    }
}

fn pod_label(from: proto::PodLabel) -> (String, String) {
    (from.key, from.value)
}

fn knob(from: proto::Knob) -> sample::Knob {
    let unavailable = Some(from.unavailable).filter(|reason| !reason.is_empty());
    sample::Knob {
        path: from.path,
        value: from.value,
        unavailable,
    }
}

/// Writes the function that reads a part from its message.
macro_rules! from_message {
    ($part:ident, $name:ident, [$($field:ident),+] $(, [$($list:ident: $item:ident),+])?) => {
        fn $name(from: proto::$part) -> sample::$part {
            sample::$part {
                $($field: from.$field,)+
                $($($list: from.$list.into_iter().map($item).collect(),)+)?
            }
        }
    };
}

tierscope_wire::inventory_parts!(from_message);
