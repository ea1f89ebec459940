//! One simulated host, and the cast from which a fleet is drawn.

use std::sync::Arc;

use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::inventory::{Inventory, Service};
use tierscope_wire::{Content, CounterRow, Header, Origin, Sealed, Sealer, WireError};

use crate::fleet::reel::Reel;
use crate::fleet::spec::{ServiceSpec, Spec, TraceSpec};
use crate::fleet::trace::{Playing, Trace};

/// Nanoseconds of a minute: the length of an interval.
pub(crate) const MINUTE_NS: i64 = 60_000_000_000;
/// The simulated hosts have been up for a week when their history begins.
const UPTIME_MINUTES: i64 = 7 * 24 * 60;
const SKUS: [&str; 3] = ["t1-dram768-cxl3072", "t2-dram768-cxl3072", "t3-dram768-cxl3072"];
const REGIONS: [&str; 3] = ["eu-north", "eu-west", "us-east"];

/// Everything that the hosts of a fleet share.
pub(crate) struct Cast {
    roles: Vec<Role>,
}

/// A service of the fleet with its material.
struct Role {
    service: Arc<str>,
    group: String,
    weight: u32,
    reels: Vec<Arc<Reel>>,
    trace: Option<Arc<Trace>>,
    /// For the inventory.
    namespace: String,
    name: String,
}

impl Cast {
    /// Reads all recordings and traces.
    pub(crate) fn load(spec: &Spec) -> anyhow::Result<Self> {
        let mut traces: Vec<(&TraceSpec, Arc<Trace>)> = Vec::new();
        let mut roles = Vec::new();
        for service in &spec.services {
            let trace = match &service.trace {
                None => None,
                Some(wanted) => Some(shared_trace(wanted, &mut traces)?),
            };
            roles.push(Role::load(service, trace)?);
        }
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
    fn load(spec: &ServiceSpec, trace: Option<Arc<Trace>>) -> anyhow::Result<Self> {
        let service = format!("{}/{}", spec.namespace, spec.name);
        let rename = |key: &str| rename_scope(key, &service);
        let reels = spec
            .recordings
            .iter()
            .map(|path| Reel::load(path, rename).map(Arc::new))
            .collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self {
            service: Arc::from(service.as_str()),
            group: spec.group.clone(),
            weight: spec.weight,
            reels,
            trace,
            namespace: spec.namespace.clone(),
            name: spec.name.clone(),
        })
    }

    fn host(&self, number: u32, measures_heat: bool, seed: u64) -> SimHost {
        let reel = Arc::clone(&self.reels[(seed % self.reels.len() as u64) as usize]);
        let heat = self.trace.as_ref().filter(|_| measures_heat);
        let name = format!("sim-{}-{number:02}", self.name);
        let heat_reason = match (&self.trace, measures_heat) {
            (None, _) => "the demonstration has no page trace for this service",
            (Some(_), false) => "not among the hosts on which this service's heat is measured",
            (Some(_), true) => "",
        };
        let service = Service {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            rule: "simulated".to_owned(),
            processes: 1,
            heat_measured: heat.is_some(),
            heat_reason: heat_reason.to_owned(),
        };
        let labels = vec![
            ("rack".to_owned(), format!("r{:02}", mix(seed, 1) % 12)),
            ("region".to_owned(), pick(&REGIONS, mix(seed, 2)).to_owned()),
            ("sku".to_owned(), pick(&SKUS, mix(seed, 3)).to_owned()),
        ];
        let inventory = Inventory {
            hostname: name.clone(),
            services: vec![service],
            labels,
            ..reel.inventory.clone()
        };
        SimHost {
            playing: heat.map(|trace| trace.start(&self.service, &self.group, mix(seed, 4), MINUTE_NS)),
            step: mix(seed, 5) % reel.len(),
            stream_id: stream_id(seed),
            boot_id: Arc::from(format!("simulated-{seed:016x}")),
            name,
            inventory,
            reel,
            host_id: String::new(),
            credential: String::new(),
            minute: 0,
            booted_minute: 0,
            seq: 0,
            sealer: Sealer::default(),
        }
    }
}

/// One simulated host.
#[derive(Debug)]
pub(crate) struct SimHost {
    pub(crate) name: String,
    pub(crate) inventory: Inventory,
    pub(crate) host_id: String,
    pub(crate) credential: String,
    reel: Arc<Reel>,
    playing: Option<Playing>,
    /// Position in the endless reel.
    step: u64,
    /// The next minute to give, since the Unix epoch.
    minute: i64,
    booted_minute: i64,
    stream_id: [u8; 16],
    boot_id: Arc<str>,
    seq: u64,
    sealer: Sealer,
}

impl SimHost {
    /// Sets the minute with which its history begins.
    pub(crate) fn start_at(&mut self, minute: i64) {
        self.minute = minute;
        self.booted_minute = minute - UPTIME_MINUTES;
    }

    /// Passes over the minutes before `minute`; never goes back.
    pub(crate) fn skip_to(&mut self, minute: i64) {
        let skipped = (minute - self.minute).max(0);
        self.step += skipped as u64;
        self.minute += skipped;
    }

    /// The next minute that it will give.
    pub(crate) fn next_minute(&self) -> i64 {
        self.minute
    }

    /// Gives the minutes from its next one up to `end` (exclusive) as sealed batches.
    pub(crate) fn seal_until(&mut self, end: i64) -> Result<Vec<Sealed>, WireError> {
        let mut content = Content::default();
        if self.seq == 0 {
            content.inventory = Some(self.inventory.clone());
        }
        while self.minute < end {
            self.add_minute(&mut content);
        }
        let header = Header {
            host_id: self.host_id.clone(),
            stream_id: self.stream_id,
            seq: self.seq,
            boot_id: self.boot_id.to_string(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            origin: Origin::Simulated,
            sealed_wall_ns: (self.minute - 1) * MINUTE_NS,
            sealed_boottime_ns: Some((self.minute - 1 - self.booted_minute) * MINUTE_NS),
        };
        let sealed = self.sealer.seal(content, &header)?;
        self.seq += sealed.len() as u64;
        Ok(sealed)
    }

    fn add_minute(&mut self, content: &mut Content) {
        let end = IntervalEnd {
            wall_ns: self.minute * MINUTE_NS,
            boottime_ns: Some((self.minute - self.booted_minute) * MINUTE_NS),
        };
        content.counters.push(CounterRow {
            layout: Arc::clone(&self.reel.layout),
            end_wall_ns: end.wall_ns,
            end_boottime_ns: end.boottime_ns,
            boot_id: Arc::clone(&self.boot_id),
            values: self.reel.values(self.step),
        });
        if let Some(playing) = &mut self.playing {
            let folded = playing.minute(end);
            content.heat.extend(folded.rows);
            content.gaps.extend(folded.gaps);
            content.tile_epochs.extend(folded.tile_epochs);
            content.tile_columns.extend(folded.tile_columns);
            content.page_samples.extend(folded.page_samples);
        }
        self.step += 1;
        self.minute += 1;
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

fn stream_id(seed: u64) -> [u8; 16] {
    let mut id = [0; 16];
    // The time parts the streams of two runs that use one seed.
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64);
    id[..8].copy_from_slice(&mix(seed, now).to_le_bytes());
    id[8..].copy_from_slice(&mix(now, seed).to_le_bytes());
    id
}

/// A number that depends on both arguments and looks random (`SplitMix64` finaliser).
fn mix(seed: u64, number: u64) -> u64 {
    let mut mixed = seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
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

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        assert_eq!(mix(7, 3), mix(7, 3));
        assert_ne!(mix(7, 3), mix(8, 3));
        assert_ne!(mix(7, 3), mix(7, 4));
    }
}
