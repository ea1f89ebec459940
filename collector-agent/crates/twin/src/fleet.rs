//! A fleet from its laws: hosts that go their way one by one, and the runs that tell what would have been.

use crate::host::{Host, HostInterval};
use crate::laws::{Change, Laws, SlowLaw};
use crate::popularity::Popularities;
use crate::truth::{EffectTruth, LossPoint, ServedCounts, Truth, Windows};

/// Lets a host go through its warm-up and then `intervals` intervals, which `see` is shown, each with the host after it.
pub fn run_host(
    laws: &Laws,
    index: usize,
    seed: u64,
    intervals: u32,
    mut see: impl FnMut(&Host, &HostInterval),
) -> Host {
    let mut host = Host::new(laws, &Popularities::new(laws), index, seed);
    for _ in 0..laws.clock.warm_up_intervals {
        host.step(laws);
    }
    for _ in 0..intervals {
        let interval = host.step(laws);
        see(&host, &interval);
    }
    host
}

/// The truth of a fleet over `intervals` intervals. `note` is called after each host.
pub fn tell(laws: &Laws, seed: u64, intervals: u32, mut note: impl FnMut(&str)) -> Truth {
    let mut truth = Truth::new(laws, seed);
    for (index, law) in laws.hosts.iter().enumerate() {
        let mut windows: Option<Windows> = None;
        let mut served = ServedCounts::default();
        let host = run_host(laws, index, seed, intervals, |host, interval| {
            let windows = windows.get_or_insert_with(|| Windows::new(host));
            truth.windows.extend(windows.add(laws, host, interval));
            served.add(host, laws.clock.interval_s);
        });
        truth.served.extend(served.rows(&host));
        note(&law.name);
    }
    truth
}

/// Means of one service of a host over a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Means {
    /// Capacity.
    pub capacity_ops_per_s: f64,
    /// Capacity with all memory in DRAM.
    pub all_dram_ops_per_s: f64,
    /// Share of accesses that were slow, over all accesses of the run.
    pub slow_access_share: f64,
    /// Operations that were done.
    pub throughput_ops_per_s: f64,
    /// Median time of an operation.
    pub p50_us: f64,
    /// Its 99th percentile.
    pub p99_us: f64,
}

/// After a change, before its effect counts: memory moves first.
const SETTLING_S: f64 = 1800.0;

/// Means of each service of a host over the intervals from `from` on.
pub fn means(laws: &Laws, index: usize, seed: u64, intervals: u32, from: u32) -> Vec<Means> {
    let mut sums = vec![(Means::default(), 0.0, 0.0); laws.hosts[index].services.len()];
    run_host(laws, index, seed, intervals, |_, interval| {
        if interval.number < i64::from(from) {
            return;
        }
        for ((means, slow, all), service) in sums.iter_mut().zip(&interval.services) {
            means.capacity_ops_per_s += service.performance.capacity_ops_per_s;
            means.all_dram_ops_per_s += service.all_dram.capacity_ops_per_s;
            means.throughput_ops_per_s += service.performance.throughput_ops_per_s;
            means.p50_us += service.performance.p50_us;
            means.p99_us += service.performance.p99_us;
            *slow += service.accesses.iter().map(|by_place| by_place[1]).sum::<f64>();
            *all += service.accesses.iter().flatten().sum::<f64>();
        }
    });
    let count = f64::from((intervals - from).max(1));
    sums.into_iter()
        .map(|(means, slow, all)| Means {
            capacity_ops_per_s: means.capacity_ops_per_s / count,
            all_dram_ops_per_s: means.all_dram_ops_per_s / count,
            slow_access_share: slow / f64::max(all, 1.0),
            throughput_ops_per_s: means.throughput_ops_per_s / count,
            p50_us: means.p50_us / count,
            p99_us: means.p99_us / count,
        })
        .collect()
}

/// What services of a host lose at each share of DRAM: the same host, its memory divided anew between DRAM and `slow`
/// memory. A host without slow memory gets the settings of that name with it; others keep their own.
pub fn loss_curve(
    laws: &Laws,
    index: usize,
    seed: u64,
    intervals: u32,
    shares: &[f64],
    (slow, settings): (&str, &str),
) -> Vec<LossPoint> {
    let mut points = Vec::new();
    for share in shares {
        let mut other = laws.clone();
        let host = &mut other.hosts[index];
        if host.slow.is_none() {
            settings.clone_into(&mut host.settings);
        }
        let all_gib = host.dram_gib + host.slow.as_ref().map_or(0.0, |slow| slow.gib);
        host.dram_gib = all_gib * share;
        host.slow = (*share < 1.0).then(|| SlowLaw {
            memory: slow.to_owned(),
            gib: all_gib * (1.0 - share),
        });
        for (means, service) in means(&other, index, seed, intervals, 0)
            .iter()
            .zip(&laws.hosts[index].services)
        {
            points.push(LossPoint {
                host: laws.hosts[index].name.clone(),
                service: service.service.clone(),
                dram_share: *share,
                loss_ratio: 1.0 - means.capacity_ops_per_s / means.all_dram_ops_per_s,
                slow_access_share: means.slow_access_share,
            });
        }
    }
    points
}

/// What experiments did within `intervals`, once they had settled: each of their hosts against itself without the
/// experiment.
pub fn effects(laws: &Laws, seed: u64, intervals: u32) -> Vec<EffectTruth> {
    let mut effects = Vec::new();
    for (number, incident) in laws.incidents.iter().enumerate() {
        let Change::Experiment { set } = &incident.change else {
            continue;
        };
        let from = ((incident.begin_h * 3600.0 + SETTLING_S) / laws.clock.interval_s).max(0.0) as u32;
        let until = intervals.min((incident.end_h * 3600.0 / laws.clock.interval_s) as u32);
        if from >= until {
            continue;
        }
        let mut without = laws.clone();
        without.incidents.remove(number);
        for (index, host) in laws
            .hosts
            .iter()
            .enumerate()
            .filter(|(_, host)| incident.hosts.contains(&host.name))
        {
            let with = means(laws, index, seed, until, from);
            let without = means(&without, index, seed, until, from);
            for ((with, without), share) in with.iter().zip(&without).zip(&host.services) {
                let change = |of: fn(&Means) -> f64| of(with) / of(without) - 1.0;
                effects.push(EffectTruth {
                    incident: incident.name.clone(),
                    host: host.name.clone(),
                    service: share.service.clone(),
                    capacity_change_ratio: change(|means| means.capacity_ops_per_s),
                    throughput_change_ratio: change(|means| means.throughput_ops_per_s),
                    p50_change_ratio: change(|means| means.p50_us),
                    p99_change_ratio: change(|means| means.p99_us),
                    slow_access_share_change: with.slow_access_share - without.slow_access_share,
                    set: set.clone(),
                });
            }
        }
    }
    effects
}
