//! The worked examples of the specification: small traces whose every number is known.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a failed unwrap is a failed test; exact results are compared"
)]

use tierscope_engine::{
    HintTime, HotPageSelection, Interleave, Lru, Memory, Offload, Outcome, Pages, Params, Place,
    Policy, Rows, Scan, SwapDevice, Tenant, Tpp, Trace, Watermarks, adjusted_threshold,
    offload_units, oracle_accesses, simulate, writes_of_evictions,
};

const ANON: u8 = 0;
const FILE: u8 = 1;
/// Pages of the example, in order of birth: c and d hold file, a and b anonymous memory.
const C: u32 = 0;
const D: u32 = 1;
const A: u32 = 2;
const B: u32 = 3;

fn example() -> Trace {
    example_of([])
}

fn example_of<const N: usize>(tenants: [u8; N]) -> Trace {
    let rows = [
        (0, C, 10),
        (0, D, 10),
        (0, A, 10),
        (0, B, 10),
        (1, A, 50),
        (1, B, 30),
        (1, C, 5),
        (2, A, 50),
        (2, B, 30),
        (3, A, 50),
        (3, B, 30),
        (3, D, 5),
    ];
    let column = |value: fn(&(u32, u32, u32)) -> u32| rows.iter().map(value).collect::<Vec<_>>();
    let pages = Pages {
        kinds: &[FILE, FILE, ANON, ANON],
        units: &[1; 4],
        first: &[0; 4],
        last: &[3; 4],
        tenants: &tenants,
    };
    let rows = Rows {
        interval: &column(|row| row.0),
        page: &column(|row| row.1),
        accesses: &column(|row| row.2),
        written: &[false; 12],
    };
    Trace::new(4, pages, rows).unwrap()
}

#[test]
fn files_that_are_accessed_in_one_interval_are_read_once() {
    let pages = Pages {
        kinds: &[FILE, FILE, ANON],
        units: &[3, 1, 1],
        first: &[0; 3],
        last: &[1; 3],
        tenants: &[],
    };
    let rows = Rows {
        interval: &[0, 0, 0, 1],
        page: &[0, 1, 2, 1],
        accesses: &[9, 1, 1, 1],
        written: &[false; 4],
    };
    let trace = Trace::new(2, pages, rows).unwrap();
    assert_eq!((trace.read_once_units(), trace.largest()), (3, 3));
    assert_eq!(example().read_once_units(), 0);
}

fn params(policy: Policy) -> Params {
    Params {
        kswapd: None,
        cache_trim_mode: false,
        group: Vec::new(),
        tenants: Vec::new(),
        policy,
        memory: Memory {
            dram_units: 2,
            slow_units: 4,
            swap: None,
            watermarks: Watermarks {
                low: 0,
                high: 0,
                promo: 0,
            },
        },
        offload: None,
        interval_s: 60.0,
        scan: Scan::EVERY_INTERVAL,
        lru: Lru::Exact,
        armed_units: Vec::new(),
        hint_time: HintTime::Expected,
        round_trip_intervals: [1, 10],
    }
}

fn hot(threshold_s: f64, limit_units_per_s: f64) -> Policy {
    Policy::HotPageSelection(HotPageSelection {
        threshold_s,
        limit_units_per_s,
        automatic_threshold: false,
        free_fast_path_units: 1 << 18,
        allocation_demotes: false,
        needs_free: false,
        threshold_intervals: 1,
    })
}

fn tpp(type_aware: bool) -> Policy {
    Policy::Tpp(Tpp {
        type_aware,
        decoupled: true,
        active_lru_filter: true,
        demotion_watermark: 0,
    })
}

fn run(policy: Policy) -> Outcome {
    simulate(&example(), params(policy)).unwrap()
}

fn local(outcome: &Outcome) -> Vec<u64> {
    outcome
        .intervals
        .iter()
        .map(|interval| interval.at(Place::Dram))
        .collect()
}

fn moves(outcome: &Outcome) -> (u64, u64) {
    (
        outcome.total(|interval| interval.promoted.iter().sum()),
        outcome.total(|interval| interval.demoted.iter().sum()),
    )
}

#[test]
fn policies_serve_what_the_example_says() {
    let cases = [
        (Policy::FirstTouch, [20, 5, 0, 5], (0, 0)),
        (Policy::NumaBalancing, [20, 5, 0, 5], (0, 0)),
        (
            Policy::Interleave(Interleave {
                dram_weight: 1,
                slow_weight: 1,
            }),
            [20, 55, 50, 50],
            (0, 0),
        ),
        (tpp(false), [20, 5, 0, 80], (2, 2)),
        (tpp(true), [20, 80, 80, 80], (0, 0)),
        (hot(1.0, 1e9), [20, 5, 0, 5], (0, 0)),
        (hot(2.0, 1e9), [20, 5, 80, 80], (2, 2)),
        (hot(2.0, 1.0 / 60.0), [20, 5, 50, 80], (2, 2)),
    ];
    for (policy, served, moved) in cases {
        let outcome = run(policy);
        assert_eq!(local(&outcome), served, "{policy:?}");
        assert_eq!(moves(&outcome), moved, "{policy:?}");
        assert_eq!(
            outcome.local_ratio().unwrap(),
            served.iter().sum::<u64>() as f64 / 290.0,
            "{policy:?}"
        );
    }
}

#[test]
fn the_reference_serves_everything_and_the_oracle_what_fits() {
    assert_eq!(run(Policy::AllDram).local_ratio(), Some(1.0));
    assert_eq!(oracle_accesses(&example(), 2), [20.0, 80.0, 80.0, 80.0]);
}

#[test]
fn the_threshold_follows_the_candidates() {
    // 100 MB/s of 4 KiB pages over 60 s: a target of 1,536,000, left alone between 1,382,400 and 1,689,600.
    let (mut threshold, mut found) = (1.0, Vec::new());
    for candidates in [2e6, 2e6, 1.5e6, 1e6] {
        threshold = adjusted_threshold(threshold, 1.0, candidates, 25_600.0 * 60.0);
        found.push(threshold);
    }
    assert_eq!(found, [0.875, 0.75, 0.75, 0.875]);
    for (candidates, wanted) in [
        (1_689_600.0, 1.0),
        (1_689_601.0, 0.875),
        (1_382_399.0, 1.125),
        (1_382_400.0, 1.0),
    ] {
        assert_eq!(
            adjusted_threshold(1.0, 1.0, candidates, 1_536_000.0),
            wanted,
            "{candidates}"
        );
    }
    assert_eq!(adjusted_threshold(0.125, 1.0, 1e9, 1.0), 0.125);
    assert_eq!(adjusted_threshold(2.0, 1.0, 0.0, 1.0), 2.0);
}

#[test]
fn clean_pages_are_written_again_where_slots_were_given_back() {
    assert_eq!(writes_of_evictions(100, 60, 0.4, SwapDevice::BlockSsd), 40);
    assert_eq!(writes_of_evictions(100, 60, 0.6, SwapDevice::BlockSsd), 100);
    for used in [0.1, 0.4, 0.6, 0.9] {
        assert_eq!(writes_of_evictions(100, 60, used, SwapDevice::Zns), 40);
    }
}

#[test]
fn offloading_takes_less_under_pressure() {
    let offload = Offload {
        step_s: 6.0,
        reclaim_ratio: 0.0005,
        pressure_target: 0.001,
        fault_s: 80e-6,
    };
    let mib = offload_units(100.0 * 1024.0, 0.0004, &offload);
    assert!((mib - 30.72).abs() < 1e-9, "{mib}");
    assert_eq!(offload_units(1e6, 0.002, &offload), 0.0);
}

#[test]
fn a_page_that_goes_round_is_counted_once_at_its_promotion() {
    // One page of DRAM; a and b are accessed in turn, twice each, so that each access promotes what the other pushed out.
    let n = 24_u32;
    let interval: Vec<u32> = (0..n)
        .flat_map(|now| if now == 0 { vec![0, 0] } else { vec![now] })
        .collect();
    let page: Vec<u32> = (0..n)
        .flat_map(|now| {
            if now == 0 {
                vec![0, 1]
            } else {
                vec![(now / 2) % 2]
            }
        })
        .collect();
    let rows = interval.len();
    let trace = Trace::new(
        n as usize,
        Pages {
            kinds: &[ANON; 2],
            units: &[1; 2],
            first: &[0; 2],
            last: &[n - 1; 2],
            tenants: &[],
        },
        Rows {
            interval: &interval,
            page: &page,
            accesses: &vec![100; rows],
            written: &vec![false; rows],
        },
    )
    .unwrap();
    let mut settings = params(tpp(false));
    settings.memory.dram_units = 1;
    let outcome = simulate(&trace, settings).unwrap();
    let (promoted, demoted) = moves(&outcome);
    let round_trips = outcome.total(|interval| interval.round_trips[1]);
    assert!(promoted >= 8, "{promoted}");
    assert_eq!(promoted, demoted);
    // The first page to come up had never been in DRAM; all others had been demoted from there.
    assert_eq!(round_trips, promoted - 1);
    // Two accesses apart is further than one interval.
    assert_eq!(outcome.total(|interval| interval.round_trips[0]), 0);
}

#[test]
fn hot_pages_wait_for_free_memory_where_promotion_needs_it() {
    let Policy::HotPageSelection(mut hot_pages) = hot(2.0, 1e9) else {
        unreachable!("made above")
    };
    hot_pages.needs_free = true;
    // DRAM is full of c and d when a and b are first found hot: refused, but demotion begins, down to promo.
    let mut settings = params(Policy::HotPageSelection(hot_pages));
    settings.memory.watermarks.promo = 2;
    let outcome = simulate(&example(), settings).unwrap();
    assert_eq!(local(&outcome), [20, 5, 0, 50]);
    // b finds one page free, of which none would stay free: demotion goes on to empty DRAM, a last.
    assert_eq!(moves(&outcome), (1, 3));
    let refused: Vec<u64> = outcome
        .intervals
        .iter()
        .map(|at| at.failed_promotions)
        .collect();
    assert_eq!(refused, [0, 2, 1, 1]);
}

/// The example with c and d of one tenant and a and b of another, under TPP.
fn shared(tenants: [Tenant; 2]) -> Outcome {
    let mut settings = params(tpp(false));
    settings.tenants = tenants.to_vec();
    simulate(&example_of([0, 0, 1, 1]), settings).unwrap()
}

/// DRAM that each tenant holds at the end of each interval.
fn held(outcome: &Outcome) -> Vec<[u64; 2]> {
    let by_interval = outcome.tenants.chunks(2);
    by_interval
        .map(|pair| [pair[0].used[0], pair[1].used[0]])
        .collect()
}

#[test]
fn a_protected_tenant_stays_until_nothing_else_is_left() {
    let free = Tenant::default();
    let protected = Tenant {
        low_units: 2,
        ..free
    };
    // a and b push c and d out at the end of interval 2; protected they do as well, as DRAM holds nothing else.
    assert_eq!(
        held(&shared([free, free])),
        [[2, 0], [2, 0], [0, 2], [0, 2]]
    );
    assert_eq!(
        held(&shared([protected, free])),
        held(&shared([free, free]))
    );
    let outcome = shared([free, free]);
    let sums = |at: usize| -> Vec<u64> {
        outcome
            .tenants
            .chunks(2)
            .map(|pair| pair[at].accesses.iter().sum())
            .collect()
    };
    assert_eq!(sums(0), [20, 5, 0, 5]);
    assert_eq!(sums(1), [20, 80, 80, 80]);
}

#[test]
fn a_tenant_at_its_limit_makes_room_among_its_own_pages() {
    let most = |units| Tenant {
        dram_max_units: Some(units),
        ..Tenant::default()
    };
    // One page of c and d is left in DRAM, so that there is room for one of a and b from the start.
    let outcome = shared([most(1), Tenant::default()]);
    assert!(held(&outcome).iter().all(|pair| pair[0] <= 1));
    assert_eq!(outcome.intervals[1].accesses[0][0], 50);
    // Nothing of a and b may be in DRAM: what they promote goes back.
    let outcome = shared([Tenant::default(), most(0)]);
    assert_eq!(held(&outcome)[3], [2, 0]);
    assert_eq!(
        held(&shared([most(2), most(2)])),
        held(&shared([Tenant::default(); 2]))
    );
}
