//! Memory, tier moves and heat of pods, by the control groups of their containers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use tierscope_sample::inventory::{Inventory, Pod};
use tierscope_sample::placement::placed;
use tierscope_sample::service::{pod_and_container, pod_uid};

use super::exposition::Page;
use super::readings::Readings;
use super::services::HeatByPlace;
use super::tiers::MOVES;
use crate::source::FoundPods;

pub(super) struct Node<'a> {
    pub(super) readings: &'a Readings,
    pub(super) inventory: &'a Inventory,
    pub(super) pods: &'a FoundPods,
    pub(super) heat: &'a HeatByPlace<'a>,
}

static UNKNOWN: LazyLock<Pod> = LazyLock::new(Pod::default);

/// Labels of a pod: what Prometheus joins and filters by.
struct Labels<'a> {
    uid: &'a str,
    /// Empty where nothing is known of it.
    known: &'a Pod,
    node: &'a str,
}

impl<'a> Labels<'a> {
    /// Those of the pod with this uid; without its name where the node does not show it.
    fn of(node: &Node<'a>, uid: &'a str) -> Self {
        Self {
            uid,
            known: node.pods.by_uid.get(uid).unwrap_or(&UNKNOWN),
            node: &node.inventory.hostname,
        }
    }

    /// Writes one sample of the pod with more labels.
    fn sample(&self, page: &mut Page, more: &[(&str, &str)], value: f64) {
        let own = [
            ("namespace", self.known.namespace.as_str()),
            ("pod", &self.known.name),
            ("uid", self.uid),
            ("owner_kind", &self.known.owner_kind),
            ("owner", &self.known.owner),
            ("node", self.node),
        ];
        page.sample(&[&own, more].concat(), value);
    }
}

/// Writes everything that is known of pods; nothing on hosts without.
pub(super) fn write(page: &mut Page, node: &Node<'_>) {
    write_memory(page, node);
    write_moves(page, node);
    write_heat(page, node);
}

fn write_memory(page: &mut Page, node: &Node<'_>) {
    let mut sums: BTreeMap<(String, &str, &str), i64> = BTreeMap::new();
    for (scope, source, name, bytes) in node.readings.iter() {
        // Reading a path takes longest, so it comes last.
        let (Some((number, kinds)), "memory.numa_stat") = (placed(name), source) else {
            continue;
        };
        let Some(uid) = scope.strip_prefix("cgroup:").and_then(pod_uid) else {
            continue;
        };
        let found = node.inventory.node(number);
        let tier = found.map_or("unknown", |found| found.tier_class.as_str());
        for (kind, sign) in kinds {
            *sums.entry((uid.clone(), tier, kind.name())).or_default() += sign * bytes;
        }
    }
    page.metric(
        "tierscope_pod_memory_bytes",
        "gauge",
        "Memory charged to the containers of a pod by tier and kind. owner_kind and owner are the cluster's word where it is asked, else they follow from the pod's name.",
    );
    for ((uid, tier, kind), bytes) in sums {
        let more = [("tier", tier), ("kind", kind)];
        Labels::of(node, &uid).sample(page, &more, bytes.max(0) as f64);
    }
}

/// One counter for each container: their sum would fall when one of them starts anew, which reads as more moves.
fn write_moves(page: &mut Page, node: &Node<'_>) {
    page.metric(
        "tierscope_pod_tier_moves_bytes_total",
        "counter",
        "Memory of a container of a pod that the kernel moved between tiers, by who moved it.",
    );
    let page_bytes = f64::from(node.inventory.page_size_bytes);
    if page_bytes == 0.0 {
        return;
    }
    for (scope, source, name, pages) in node.readings.iter() {
        let moves = MOVES
            .iter()
            .find(|moves| moves.dialect == "mainline" && moves.counter == name);
        let (Some(moves), "memory.stat") = (moves, source) else {
            continue;
        };
        let Some((uid, container)) = scope.strip_prefix("cgroup:").and_then(pod_and_container) else {
            continue;
        };
        let more = [
            ("container_cgroup", container),
            ("direction", moves.direction),
            ("by", moves.by),
        ];
        Labels::of(node, &uid).sample(page, &more, pages as f64 * page_bytes);
    }
}

/// Heat is measured by service: it is that of a pod where the service has no other on this node.
fn write_heat(page: &mut Page, node: &Node<'_>) {
    page.metric(
        "tierscope_pod_heat_bytes",
        "gauge",
        "Resident memory of a pod by heat, where its service has no other pod on this node.",
    );
    for (&(service, tier, kind), classes) in node.heat {
        let Some(uid) = node.pods.of_services.get(service) else {
            continue;
        };
        let labels = Labels::of(node, uid);
        for (class, bytes) in classes.named() {
            let more = [("tier", tier), ("kind", kind), ("class", class)];
            labels.sample(page, &more, bytes as f64);
        }
    }
}
