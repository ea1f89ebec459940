//! What must hold on every host, whatever its laws: nothing is lost, nothing is made up.

use proptest::prelude::*;
use tierscope_twin::counters;
use tierscope_twin::fleet;
use tierscope_twin::host::{Host, HostInterval};
use tierscope_twin::kind::Place;
use tierscope_twin::laws::{Change, HeatLaw, HostLaw, IncidentLaw, Laws, PAGE_BYTES, ServiceShare, SlowLaw};
use tierscope_twin::popularity::Popularities;
use tierscope_twin::state::State;

const SHARES: [f64; 4] = [1.0, 0.8, 0.6667, 0.5];
const SETTINGS: [&str; 6] = [
    "dram_only",
    "tiered_6_12",
    "tiered_6_1",
    "tiered_7_2",
    "tiered_unlimited",
    "untouched",
];
const SERVICES: [&str; 10] = [
    "web",
    "cache-object",
    "cache-graph",
    "ads",
    "warehouse",
    "redis",
    "search",
    "shuffle",
    "queue",
    "guests",
];

/// Laws with one small host: 24 GiB, pages of the twin of 8 MiB.
fn small(service: &str, dram_share: f64, settings: &str, swap_gib: f64) -> Laws {
    let mut laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
    laws.page.unit_bytes = 8 << 20;
    laws.clock.warm_up_intervals = 5;
    laws.incidents.clear();
    laws.hosts = vec![HostLaw {
        name: "small".to_owned(),
        rack: "r1".to_owned(),
        cpus: 8,
        dram_gib: 24.0 * dram_share,
        slow: (dram_share < 1.0).then(|| SlowLaw {
            memory: "cxl".to_owned(),
            gib: 24.0 * (1.0 - dram_share),
        }),
        swap_gib,
        settings: settings.to_owned(),
        reserved_gib: 0.0,
        services: vec![ServiceShare {
            service: service.to_owned(),
            share: 0.95,
        }],
        heat: HeatLaw::default(),
    }];
    laws
}

/// A service whose pages never change their rank, nor are freed.
fn make_static(laws: &mut Laws) {
    for service in &mut laws.services {
        service.restart_every_h = 0.0;
        service.growth_per_day = 0.0;
        for population in &mut service.populations {
            population.drift_per_hour = 0.0;
            population.phase_s = 0.0;
            population.turnover_per_hour = 0.0;
        }
    }
}

fn incident(change: Change) -> IncidentLaw {
    IncidentLaw {
        name: "incident".to_owned(),
        begin_h: 0.0,
        end_h: 1000.0,
        hosts: vec!["small".to_owned()],
        service: None,
        controls: Vec::new(),
        change,
    }
}

fn laws() -> impl Strategy<Value = Laws> {
    let pick = |values: &'static [&'static str]| proptest::sample::select(values);
    (
        pick(&SERVICES),
        0_usize..4,
        pick(&SETTINGS),
        prop_oneof![Just(0.0), Just(2.0)],
        0_u8..5,
    )
        .prop_map(|(service, share, settings, swap_gib, trouble)| {
            let mut laws = small(service, SHARES[share], settings, swap_gib);
            laws.incidents.extend(match trouble {
                0 => Some(incident(Change::PingPong { hot_share: 1.0 })),
                1 => Some(incident(Change::Leak { gib_per_h: 4.0 })),
                2 => Some(incident(Change::FailingPromotion { failed_share: 0.5 })),
                3 => Some(incident(Change::LevelShift { factor: 1.3 })),
                _ => None,
            });
            laws
        })
}

/// Steps a new host, and shows it before and after each step.
fn steps(laws: &Laws, seed: u64, count: u32, mut see: impl FnMut(&Before, &Host, &HostInterval)) {
    let mut host = Host::new(laws, &Popularities::new(laws), 0, seed);
    for _ in 0..count {
        let before = Before::of(&host);
        let interval = host.step(laws);
        see(&before, &host, &interval);
    }
}

/// Pages by place, and counts, before a step.
struct Before {
    tally: tierscope_twin::tally::Tally,
    placed: [u64; 3],
}

impl Before {
    fn of(host: &Host) -> Self {
        Self {
            tally: host.tally(),
            placed: placed(host),
        }
    }
}

fn placed(host: &Host) -> [u64; 3] {
    let mut pages = [0; 3];
    for population in &host.populations {
        for (sum, units) in pages.iter_mut().zip(population.counts()) {
            *sum += units as u64 * host.memory.unit;
        }
    }
    pages
}

fn value(values: &counters::Values, name: &str) -> Option<u64> {
    values
        .iter()
        .find(|(own, _)| *own == name)
        .map(|(_, value)| *value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Placed pages are those that nodes and swap hold; no node holds more than it has; the counted places are true.
    #[test]
    fn memory_is_conserved(laws in laws(), seed in 1_u64..800) {
        steps(&laws, seed, 25, |_, host, _| {
            let [dram, slow, _] = placed(host);
            assert_eq!(dram, host.memory.dram.used);
            assert_eq!(slow, host.memory.slow.map_or(0, |node| node.used));
            assert!(host.memory.dram.used + host.memory.dram.kernel <= host.memory.dram.managed);
            assert!(host.memory.slow.is_none_or(|node| node.used <= node.managed));
            let swapped: usize = host
                .populations
                .iter()
                .filter(|population| population.kind.is_swap_backed())
                .map(|population| population.counts()[2])
                .sum();
            assert_eq!(swapped as u64 * host.memory.unit, host.memory.swap_used);
            assert!(host.memory.swap_used <= host.memory.swap);
            for population in &host.populations {
                for place in Place::ALL {
                    let index = place.index().expect("a place that holds pages");
                    assert_eq!(population.at(place).count(), population.counts()[index]);
                }
            }
        });
    }

    /// Counts only grow, and what they say has moved is what has moved.
    #[test]
    fn counts_are_the_moves(laws in laws(), seed in 1_u64..800) {
        steps(&laws, seed, 25, |before, host, _| {
            let now = host.tally();
            assert!(now.has_not_fallen(&before.tally));
            let done = now.since(&before.tally);
            let after = placed(host);
            let sum = |by_kind: &[u64]| by_kind.iter().sum::<u64>();
            let evicted = sum(&done.evicted_kswapd) + sum(&done.evicted_direct);
            let evicted_slow = sum(&done.evicted_slow_kswapd) + sum(&done.evicted_slow_direct);
            let freed_out = sum(&done.freed) - sum(&done.freed_resident);
            // Arrivals less departures, by place; frees are not told apart by node.
            assert_eq!(
                before.placed[2] + evicted,
                after[2] + sum(&done.refaulted) + freed_out
            );
            assert_eq!(
                before.placed.iter().sum::<u64>() + sum(&done.born),
                after.iter().sum::<u64>() + sum(&done.freed)
            );
            let dram_in = done.allocated_dram;
            let slow_in = done.allocated_slow;
            assert_eq!(dram_in + slow_in, sum(&done.born) + sum(&done.refaulted) + done.promoted_pages() + done.demoted());
            assert_eq!(
                before.placed[0] + before.placed[1] + dram_in + slow_in,
                after[0] + after[1] + evicted + sum(&done.freed_resident) + done.promoted_pages() + done.demoted()
            );
            assert!(evicted_slow <= evicted && done.returned <= done.promoted_pages());
            assert!(done.promoted_counted <= done.promoted_pages());
            assert_eq!(done.missed, done.allocated_slow - done.demoted());
        });
    }

    /// Same laws and seed: the same bytes. Another seed: others.
    #[test]
    fn a_seed_is_a_fleet(laws in laws(), seed in 1_u64..800) {
        let mut laws = laws;
        laws.clock.window_intervals = 5;
        let tell = |seed: u64| serde_json::to_vec(&fleet::tell(&laws, seed, 10, |_| {})).expect("JSON");
        prop_assert_eq!(tell(seed), tell(seed));
        prop_assert_ne!(tell(seed), tell(seed + 1000));
    }

    /// What is printed only grows where kernels' counters do, and its parts sum to the whole.
    #[test]
    fn printed_counters_agree(laws in laws(), seed in 1_u64..800) {
        let mut last: Option<counters::Reading> = None;
        steps(&laws, seed, 15, |_, host, interval| {
            let reading = counters::read(host, &interval.conditions.settings);
            for name in ["pgpromote_success", "pgpromote_candidate", "numa_hit", "numa_miss", "nr_free_pages", "nr_shmem"] {
                let by_node: Option<u64> = reading.nodes.iter().map(|node| value(&node.vmstat, name)).sum();
                assert_eq!(value(&reading.vmstat, name), by_node, "{name}");
            }
            let of = |name: &str| value(&reading.vmstat, name).unwrap_or_default();
            assert_eq!(of("numa_miss"), of("numa_foreign"));
            assert_eq!(of("pgsteal_anon") + of("pgsteal_file"), of("pgsteal_kswapd") + of("pgsteal_direct"));
            assert_eq!(of("pgscan_anon") + of("pgscan_file"), of("pgscan_kswapd") + of("pgscan_direct"));
            let moved = host.tally().promoted_pages() + of("pgdemote_kswapd") + of("pgdemote_direct");
            assert_eq!(of("pgmigrate_success"), moved);
            for (cgroup, by_node) in reading.cgroups.iter().flat_map(|cgroup| {
                cgroup.numa_stat.iter().map(move |(name, by_node)| (value(&cgroup.stat, name), by_node))
            }) {
                assert_eq!(cgroup, Some(by_node.iter().sum()));
            }
            if let Some(last) = &last {
                for ((name, before), (_, now)) in last.vmstat.iter().zip(&reading.vmstat) {
                    assert!(name.starts_with("nr_") || now >= before, "{name}: {before} to {now}");
                }
            }
            last = Some(reading);
        });
    }

    /// Without a second node no access is slow, and nothing moves between nodes.
    #[test]
    fn all_dram_is_never_slow(service in proptest::sample::select(&SERVICES[..]), seed in 1_u64..800) {
        let laws = small(service, 1.0, "tiered_6_12", 0.0);
        steps(&laws, seed, 20, |_, host, interval| {
            assert_eq!(interval.services[0].slow_share().unwrap_or(0.0).to_bits(), 0.0_f64.to_bits());
            assert_eq!(host.tally().promoted_pages() + host.tally().demoted(), 0);
        });
    }

    /// Under laws that stand still and a kernel that moves nothing, less DRAM never means fewer slow accesses.
    #[test]
    fn less_dram_is_never_better(service in proptest::sample::select(&SERVICES[..]), seed in 1_u64..800) {
        let mut last = 0.0;
        for share in [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4] {
            let mut laws = small(service, share, "untouched", 0.0);
            make_static(&mut laws);
            let slow = fleet::means(&laws, 0, seed, 10, 0)[0].slow_access_share;
            prop_assert!(slow >= last - 1e-9, "{share}: {slow} after {last}");
            last = slow;
        }
    }

    /// No window with three tenths of slow accesses is called healthy, whatever the laws.
    #[test]
    fn slow_is_not_healthy(laws in laws(), seed in 1_u64..800) {
        for window in fleet::tell(&laws, seed, 30, |_| {}).windows {
            let slow = window.slow_access_share.unwrap_or(0.0);
            prop_assert!(slow < 0.3 || !matches!(window.state, State::Healthy | State::Fits | State::HarmlessDemotion));
            prop_assert!((-1e-6..1.0).contains(&window.loss_ratio) || slow < 1e-3, "{}", window.loss_ratio);
            let resident: u64 = window.kinds.values().map(|kind| kind.placed_bytes.dram + kind.placed_bytes.slow).sum();
            let by_heat: u64 = window
                .kinds
                .values()
                .flat_map(|kind| [kind.hot, kind.warm, kind.cold])
                .map(|bytes| bytes.dram + bytes.slow)
                .sum();
            prop_assert_eq!(resident, by_heat);
            prop_assert_eq!(resident % PAGE_BYTES, 0);
        }
    }
}
