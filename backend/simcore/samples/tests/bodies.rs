//! Bodies give back what went in, bit by bit and each time once; rows are made of whole counters.

#![allow(clippy::unwrap_used, reason = "a test that fails here says so")]

use proptest::prelude::*;
use tierscope_samples::body::{self, Sample};
use tierscope_samples::fold::{self, Place, STALE_BITS};

fn sample(series: i64, at_ms: i64, value: f64) -> Sample {
    Sample {
        series,
        at_ms,
        value,
    }
}

fn bits(samples: &[Sample]) -> Vec<(i64, i64, u64)> {
    samples
        .iter()
        .map(|s| (s.series, s.at_ms, s.value.to_bits()))
        .collect()
}

#[test]
fn of_repeats_the_first_stays() {
    let first = body::pack(&[sample(1, 10, 1.0)], 1).unwrap();
    let second = body::pack(&[sample(1, 10, 2.0), sample(1, 11, 3.0)], 1).unwrap();
    let joined = body::join([&first.bytes[..], &second.bytes[..], &second.bytes[..]]).unwrap();
    assert_eq!(
        bits(&joined),
        bits(&[sample(1, 10, 1.0), sample(1, 11, 3.0)])
    );
}

#[test]
fn counters_of_a_minute_take_little_room() {
    let samples: Vec<Sample> = (0..500)
        .flat_map(|series| {
            (0..240).map(move |step| {
                sample(
                    series,
                    1_700_000_000_000 + step * 15_000,
                    (step * 37) as f64,
                )
            })
        })
        .collect();
    let packed = body::pack(&samples, 3).unwrap();
    assert!(
        packed.bytes.len() < samples.len() / 10,
        "{} bytes",
        packed.bytes.len()
    );
}

#[test]
fn rows_take_what_came_since_the_row_before() {
    let places =
        [(1, 0, 1.0), (2, 1, 1e6), (3, 2, 1.0), (4, 3, 1.0)].map(|(series, column, scale)| Place {
            series,
            column,
            scale,
            held_ms: 0,
        });
    // The series 3 is scraped by itself, between the others.
    let samples = [
        sample(1, 1000, 5.0),
        sample(1, 2000, 7.0),
        sample(2, 1000, 0.25),
        sample(2, 2000, f64::from_bits(STALE_BITS)),
        sample(3, 900, 1.0),
        sample(3, 1500, 2.0),
        sample(3, 1900, 3.0),
        sample(4, 1000, 8.0),
        sample(4, 2000, 9.0),
    ];
    let rows = fold::rows(&samples, &places, 4);
    assert_eq!(rows.times_ms, [1000, 2000]);
    assert_eq!(rows.values, [5, 250_000, 1, 8, 7, 0, 3, 9]);
    assert_eq!(
        rows.present,
        [true, true, true, true, true, false, true, true]
    );
}

#[test]
fn series_of_one_column_add_up_or_are_missing() {
    let places = [1, 2].map(|series| Place {
        series,
        column: 0,
        scale: 100.0,
        held_ms: 0,
    });
    let samples = [
        sample(1, 1000, 1.5),
        sample(1, 2000, 2.0),
        sample(2, 1000, 0.25),
    ];
    let rows = fold::rows(&samples, &places, 1);
    assert_eq!(
        (rows.values, rows.present),
        (vec![175, 0], vec![true, false])
    );
}

#[test]
fn values_that_stand_are_summed_as_the_newest_of_each_series() {
    let places = [(1, 0, 0), (2, 1, 500), (3, 1, 500)].map(|(series, column, held_ms)| Place {
        series,
        column,
        scale: 1.0,
        held_ms,
    });
    let samples = [
        sample(1, 1000, 1.0),
        sample(1, 2000, 2.0),
        sample(1, 3000, 3.0),
        sample(2, 600, 10.0),
        sample(2, 990, 20.0),
        sample(2, 1900, 30.0),
        sample(2, 2400, 40.0),
        sample(3, 700, 5.0),
        sample(3, 1950, 7.0),
        sample(3, 2900, f64::from_bits(STALE_BITS)),
    ];
    let rows = fold::rows(&samples, &places, 2);
    assert_eq!(
        rows.times_ms,
        [1000, 2000, 3000],
        "they make no rows of their own"
    );
    assert_eq!(rows.values, [1, 25, 2, 37, 3, 0]);
    assert_eq!(rows.present, [true, true, true, true, true, false]);
}

fn any_samples() -> impl Strategy<Value = Vec<Sample>> {
    let value = prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        (-1000_i64..1000).prop_map(|v| v as f64)
    ];
    prop::collection::vec((0_i64..6, any::<i64>(), value), 0..200).prop_map(|all| {
        all.into_iter()
            .map(|(series, at_ms, value)| sample(series, at_ms, value))
            .collect()
    })
}

proptest! {
    #[test]
    fn bodies_are_exact(mut samples in any_samples()) {
        body::tidy(&mut samples);
        let packed = body::pack(&samples, 1);
        let back = packed.map_or(Vec::new(), |body| body::join([&body.bytes[..]]).unwrap());
        prop_assert_eq!(bits(&back), bits(&samples));
    }

    #[test]
    fn damaged_bodies_are_refused_or_read(mut samples in any_samples(), place in any::<usize>(), bit in 0_u8..8) {
        body::tidy(&mut samples);
        if let Some(mut packed) = body::pack(&samples, 1) {
            let place = place % packed.bytes.len();
            packed.bytes[place] ^= 1 << bit;
            let _ = body::unpack(&packed.bytes, |_| {});
        }
    }
}
