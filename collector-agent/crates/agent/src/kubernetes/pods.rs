//! Pods of this node from all that is known of them.

use std::collections::BTreeMap;

use tierscope_host::pods::Pods;
use tierscope_host::services::Discovered;
use tierscope_sample::inventory::{Pod, PodList};
use tierscope_sample::service::{ServiceId, owner_of_pod, pod_uid};

use super::api::Told;

/// Most pods that travel; a kubelet runs 110 unless told otherwise.
const MAX_PODS: usize = 512;
/// Said where nothing names a pod.
const NO_LOGS: &str =
    "no log directory of the kubelet can be read: mount the host's /var/log/pods where the agent runs";

/// Every pod that something is known of, by uid: those whose processes run, and those that the kubelet's logs name.
pub(crate) fn describe(names: &Pods, discovered: &Discovered, told: Option<&Told>) -> BTreeMap<String, Pod> {
    let mut services: BTreeMap<String, BTreeMap<&ServiceId, usize>> = BTreeMap::new();
    for process in &discovered.processes {
        if let Some(uid) = pod_uid(&process.cgroup) {
            *services
                .entry(uid)
                .or_default()
                .entry(&process.service)
                .or_default() += 1;
        }
    }
    let mut uids: Vec<&String> = services.keys().chain(names.keys()).collect();
    uids.sort();
    uids.dedup();
    let found = uids.into_iter().map(|uid| {
        let service = services
            .get(uid)
            .and_then(|counts| counts.iter().rev().max_by_key(|(_, count)| **count))
            .map(|(service, _)| *service);
        (uid.clone(), pod(uid, names, service, told))
    });
    found.collect()
}

fn pod(uid: &str, names: &Pods, service: Option<&ServiceId>, told: Option<&Told>) -> Pod {
    let mut pod = Pod {
        uid: uid.to_owned(),
        ..Pod::default()
    };
    if let Some(service) = service {
        pod.service_namespace = service.namespace.to_string();
        pod.service = service.name.to_string();
    }
    if let Some(told) = told.and_then(|told| told.pods.as_ref()?.get(uid)) {
        pod.namespace.clone_from(&told.namespace);
        pod.name.clone_from(&told.name);
        "api".clone_into(&mut pod.owner_source);
        (pod.owner_kind, pod.owner) = told.owner.clone().unwrap_or_default();
        pod.labels.clone_from(&told.labels);
        pod.labels_known = true;
    } else if let Some(known) = names.get(uid) {
        let owner = owner_of_pod(&known.name);
        pod.namespace.clone_from(&known.namespace);
        pod.name.clone_from(&known.name);
        "name".clone_into(&mut pod.owner_source);
        owner.kind.unwrap_or_default().clone_into(&mut pod.owner_kind);
        owner.name.clone_into(&mut pod.owner);
    }
    pod
}

/// Those whose processes run, as they travel; `None` where none does.
pub(crate) fn running(found: &BTreeMap<String, Pod>, told: Option<&Told>) -> Option<PodList> {
    let all: Vec<&Pod> = found.values().filter(|pod| !pod.service.is_empty()).collect();
    if all.is_empty() {
        return None;
    }
    // What failed is another matter where the answer before still tells of every pod.
    let problem = told.and_then(|told| told.problem.clone());
    let problem = problem.filter(|_| all.iter().any(|pod| !pod.labels_known));
    let unavailable = problem.or_else(|| {
        let is_nameless = all.iter().all(|pod| pod.name.is_empty());
        is_nameless.then(|| NO_LOGS.to_owned())
    });
    Some(PodList {
        left_out: u32::try_from(all.len().saturating_sub(MAX_PODS)).unwrap_or(u32::MAX),
        pods: all.into_iter().take(MAX_PODS).cloned().collect(),
        unavailable: unavailable.unwrap_or_default(),
    })
}
