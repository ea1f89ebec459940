//! The mix of workloads from which a fleet is drawn: services with their recordings and traces.

use std::sync::Arc;

use tierscope_sample::inventory::{Inventory, Service};

use crate::recording::ReadRecording;
use crate::simulated::host::SimHost;
use crate::simulated::looped_heat::LoopedHeat;
use crate::simulated::looped_recording::LoopedRecording;
use crate::simulated::minutes::MINUTE_NS;
use crate::simulated::recorded::{Heat, Recorded};
use crate::simulated::seeds::mix;
use crate::simulated::spec::{ServiceSpec, Spec, TraceSpec};
use crate::simulated::trace::Trace;

const SKUS: [&str; 3] = ["t1-dram768-cxl3072", "t2-dram768-cxl3072", "t3-dram768-cxl3072"];
const REGIONS: [&str; 3] = ["eu-north", "eu-west", "us-east"];

/// Everything that the hosts of a fleet share.
pub(crate) struct WorkloadMix {
    roles: Vec<Role>,
}

/// A service of the fleet with its material.
struct Role {
    service: Arc<str>,
    group: String,
    weight: u32,
    recordings: Vec<Arc<LoopedRecording>>,
    trace: Option<Arc<Trace>>,
    /// For the inventory.
    namespace: String,
    name: String,
    /// Folded heat of all services of its hosts, where hosts share it; the own service comes first.
    shared: Vec<(Service, Arc<LoopedHeat>)>,
}

impl WorkloadMix {
    /// Reads all recordings and traces.
    ///
    /// `shared` is for load: heat is then folded once for all hosts, every host has that many services, and services
    /// without a trace are left out.
    pub(crate) fn load(
        spec: &Spec,
        read_recording: ReadRecording,
        shared: Option<usize>,
    ) -> anyhow::Result<Self> {
        let mut traces: Vec<(&TraceSpec, Arc<Trace>)> = Vec::new();
        let mut roles = Vec::new();
        for service in &spec.services {
            let trace = match &service.trace {
                None => None,
                Some(wanted) => Some(shared_trace(wanted, &mut traces)?),
            };
            roles.push(Role::load(service, read_recording, trace)?);
        }
        let Some(services) = shared else {
            return Ok(Self { roles });
        };
        roles.retain(|role| role.trace.is_some());
        anyhow::ensure!(
            (1..=roles.len()).contains(&services),
            "the recordings have {} services with heat; a host can have 1 to as many of them",
            roles.len()
        );
        share(&mut roles, services);
        Ok(Self { roles })
    }

    /// Draws `count` hosts: services by weight, the rest by seed.
    pub(crate) fn populate(&self, count: u32, heat_hosts: u32, seed: u64) -> Vec<SimHost> {
        let total: u32 = self.roles.iter().map(|role| role.weight).sum();
        let mut hosts = Vec::with_capacity(count as usize);
        let mut used = vec![0_u32; self.roles.len()];
        for number in 0..count {
            // The role that is furthest behind its share comes next, so that any count is spread by weight.
            let next = (0..self.roles.len())
                .max_by_key(|&index| {
                    let due =
                        u64::from(self.roles[index].weight) * u64::from(number + 1) * 1000 / u64::from(total);
                    (
                        due as i64 - i64::from(used[index]) * 1000,
                        std::cmp::Reverse(index),
                    )
                })
                .unwrap_or_default();
            used[next] += 1;
            let measures_heat = used[next] <= heat_hosts;
            hosts.push(self.roles[next].host(used[next], measures_heat, mix(seed, u64::from(number))));
        }
        hosts
    }
}

impl Role {
    fn load(
        spec: &ServiceSpec,
        read_recording: ReadRecording,
        trace: Option<Arc<Trace>>,
    ) -> anyhow::Result<Self> {
        let service = format!("{}/{}", spec.namespace, spec.name);
        let rename = |key: &str| rename_scope(key, &service);
        let recordings = spec
            .recordings
            .iter()
            .map(|path| LoopedRecording::load(path, read_recording, rename).map(Arc::new))
            .collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self {
            service: Arc::from(service.as_str()),
            group: spec.group.clone(),
            weight: spec.weight,
            recordings,
            trace,
            namespace: spec.namespace.clone(),
            name: spec.name.clone(),
            shared: Vec::new(),
        })
    }

    fn service(&self, heat_reason: &str) -> Service {
        Service {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            rule: "simulated".to_owned(),
            processes: 1,
            heat_measured: heat_reason.is_empty(),
            heat_reason: heat_reason.to_owned(),
        }
    }

    fn host(&self, number: u32, measures_heat: bool, seed: u64) -> SimHost {
        let recording = Arc::clone(&self.recordings[(seed % self.recordings.len() as u64) as usize]);
        let name = format!("sim-{}-{number:02}", self.name);
        let (services, heat) = if self.shared.is_empty() {
            let heat_reason = match (&self.trace, measures_heat) {
                (None, _) => "the demonstration has no page trace for this service",
                (Some(_), false) => "not among the hosts on which this service's heat is measured",
                (Some(_), true) => "",
            };
            let trace = self.trace.as_ref().filter(|_| measures_heat);
            let own = trace.map(|trace| trace.start(&self.service, &self.group, mix(seed, 4), MINUTE_NS));
            (
                vec![self.service(heat_reason)],
                own.map(|own| Heat::Own(Box::new(own))),
            )
        } else {
            let (services, recordings) = self.shared.iter().cloned().unzip();
            (services, Some(Heat::Shared(recordings)))
        };
        let labels = vec![
            ("rack".to_owned(), format!("r{:02}", mix(seed, 1) % 12)),
            ("region".to_owned(), pick(&REGIONS, mix(seed, 2)).to_owned()),
            ("sku".to_owned(), pick(&SKUS, mix(seed, 3)).to_owned()),
        ];
        let inventory = Inventory {
            hostname: name.clone(),
            services,
            labels,
            ..recording.inventory.clone()
        };
        SimHost::new(
            name,
            inventory,
            Box::new(Recorded::new(recording, heat, seed)),
            seed,
        )
    }
}

/// Gives the hosts of each role the services of the roles that follow it, up to `services` in all.
fn share(roles: &mut [Role], services: usize) {
    let folded: Vec<(Service, Arc<LoopedHeat>)> = roles
        .iter()
        .filter_map(|role| {
            let playing = role
                .trace
                .as_ref()?
                .start(&role.service, &role.group, 0, MINUTE_NS);
            Some((role.service(""), Arc::new(LoopedHeat::fold(playing))))
        })
        .collect();
    for (number, role) in roles.iter_mut().enumerate() {
        role.shared = (number..number + services)
            .map(|place| folded[place % folded.len()].clone())
            .collect();
        let others: Vec<String> = role.shared[1..]
            .iter()
            .map(|(service, _)| format!("{}/{}", service.namespace, service.name))
            .collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        for recording in &mut role.recordings {
            *recording = Arc::new(recording.with_services(&role.service, &others));
        }
    }
}

/// The trace that `wanted` names, read once for all services that share it.
fn shared_trace<'a>(
    wanted: &'a TraceSpec,
    traces: &mut Vec<(&'a TraceSpec, Arc<Trace>)>,
) -> anyhow::Result<Arc<Trace>> {
    if let Some((_, trace)) = traces.iter().find(|(known, _)| *known == wanted) {
        return Ok(Arc::clone(trace));
    }
    let trace = Arc::new(Trace::load(wanted)?);
    traces.push((wanted, Arc::clone(&trace)));
    Ok(trace)
}

/// The workload of a recording runs in the control group `/load`; in the fleet it is the service.
fn rename_scope(key: &str, service: &str) -> String {
    match key.split_once('|') {
        Some(("cgroup:/load", rest)) => format!("cgroup:/{service}|{rest}"),
        Some((scope, rest)) if scope.starts_with("service:") => format!("service:{service}|{rest}"),
        _ => key.to_owned(),
    }
}

fn pick<'a>(names: &[&'a str], number: u64) -> &'a str {
    names[(number % names.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_workload_becomes_the_service() {
        assert_eq!(
            rename_scope("cgroup:/load|memory.stat|anon", "shop/checkout"),
            "cgroup:/shop/checkout|memory.stat|anon"
        );
        assert_eq!(
            rename_scope("host|vmstat|pgfault", "shop/checkout"),
            "host|vmstat|pgfault"
        );
    }
}
