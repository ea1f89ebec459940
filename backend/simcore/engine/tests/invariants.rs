//! What holds for every trace, machine and policy. That books balance is checked after every interval by the simulator.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a failed unwrap is a failed test; exact results are compared"
)]

mod traces;

use proptest::prelude::*;
use tierscope_engine::{Place, Policy, oracle_accesses, simulate};
use traces::{columns, params};

const SLACK: f64 = 1e-9;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_access_is_served_somewhere_and_no_policy_beats_the_oracle(
        columns in columns(3),
        settings in params(),
    ) {
        let trace = columns.trace();
        let outcome = simulate(&trace, settings.clone()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let bound = oracle_accesses(&trace, settings.memory.dram_units);
        for (now, (interval, most)) in outcome.intervals.iter().zip(bound).enumerate() {
            let rows = columns.rows.iter().filter(|row| row.0 as usize == now);
            let accesses: u64 = rows.map(|row| u64::from(row.2)).sum();
            let served: u64 = interval.accesses.iter().flatten().sum();
            prop_assert_eq!(served, accesses);
            if settings.policy != Policy::AllDram {
                prop_assert!(interval.at(Place::Dram) as f64 <= most + SLACK, "interval {}", now);
            }
            prop_assert!(interval.round_trips[0] <= interval.round_trips[1]);
            prop_assert!(interval.round_trips[1] <= interval.promoted.iter().sum());
        }
        if settings.policy == Policy::AllDram && settings.offload.is_none() && settings.group.is_empty() {
            prop_assert_eq!(outcome.local_ratio().unwrap_or(1.0), 1.0);
        }
    }

    #[test]
    fn more_dram_never_hurts_the_oracle(columns in columns(4)) {
        let trace = columns.trace();
        let sums: Vec<f64> = (1..40).map(|units| oracle_accesses(&trace, units).iter().sum()).collect();
        prop_assert!(sums.windows(2).all(|pair| pair[0] <= pair[1] + SLACK));
        let all = oracle_accesses(&trace, 1 << 20).iter().sum::<f64>();
        prop_assert_eq!(all, trace.accesses() as f64);
    }

    #[test]
    fn one_seed_gives_one_result_on_any_number_of_threads(columns in columns(2), settings in params()) {
        let trace = columns.trace();
        let alone = simulate(&trace, settings.clone());
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| simulate(&trace, settings.clone()));
            let second = scope.spawn(|| simulate(&trace, settings.clone()));
            (first.join().unwrap(), second.join().unwrap())
        });
        prop_assert_eq!(&alone, &first);
        prop_assert_eq!(&alone, &second);
    }

    #[test]
    fn the_order_of_rows_within_an_interval_changes_nothing(
        columns in columns(1),
        settings in params(),
        seed in any::<u64>(),
    ) {
        // Births keep their order; all other rows may come in any.
        let mut shuffled = columns.clone();
        shuffled.rows.sort_by_key(|&(now, page, ..)| {
            let born = columns.first[page as usize] == now;
            let place = if born { u64::from(page) } else { u64::from(page).wrapping_mul(seed | 1) };
            (now, !born, place)
        });
        prop_assert_eq!(simulate(&columns.trace(), settings.clone()), simulate(&shuffled.trace(), settings));
    }
}
