//! Requests: what a sender writes is read; any bytes are taken or refused; limits hold.

#![allow(clippy::unwrap_used, reason = "a test that fails here says so")]

use proptest::prelude::*;
use tierscope_samples::request::{
    self, Limits, NEW_LABEL_BYTES_MAX, NEW_LABELS_MAX, Request, Unreadable,
};
use tierscope_samples::{Index, Labels, SeriesRef, body};

const LIMITS: Limits = Limits {
    inflated_bytes: 1 << 20,
    samples: 10_000,
    oldest_ms: 0,
    newest_ms: 1_000_000,
};

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn body_of(series: &[(Labels, Vec<i64>, Vec<f64>)]) -> Vec<u8> {
    request::write(
        series
            .iter()
            .map(|(labels, times, values)| (&labels[..], &times[..], &values[..])),
    )
}

#[test]
fn series_are_unknown_once() {
    let index = Index::new(7, 100);
    let up = labels(&[("__name__", "up"), ("instance", "a:9100")]);
    let body = body_of(&[(up.clone(), vec![1, 2], vec![0.0, 1.0])]);
    let mut first = Request::read(&body, &index, &LIMITS).unwrap();
    assert_eq!(first.unknown().collect::<Vec<_>>(), [&up]);
    first
        .resolve(
            &[Some(SeriesRef {
                series: 5,
                target: 6,
            })],
            &index,
        )
        .unwrap();
    let again = Request::read(&body, &index, &LIMITS).unwrap();
    assert_eq!(
        (again.unknown().count(), again.len(), index.len()),
        (0, 2, 1)
    );
}

#[test]
fn what_does_not_fit_is_left_out_alone() {
    let index = Index::new(7, 100);
    let series = [
        (
            labels(&[("__name__", "up")]),
            vec![-1, 5, 1_000_001],
            vec![1.0; 3],
        ),
        (labels(&[("job", "x")]), vec![5], vec![1.0]),
        (labels(&[("__name__", "1up")]), vec![5], vec![1.0]),
        (
            labels(&[("__name__", "up"), ("a", "1"), ("a", "2")]),
            vec![5],
            vec![1.0],
        ),
    ];
    let read = Request::read(&body_of(&series), &index, &LIMITS).unwrap();
    assert_eq!((read.len(), read.unknown().count()), (1, 1));
    assert_eq!(
        (
            read.refusals.too_old,
            read.refusals.too_new,
            read.refusals.labels
        ),
        (1, 1, 3)
    );
    assert!(read.refusals.labels_reason.unwrap().contains("__name__"));
}

#[test]
fn claims_beyond_the_limit_are_refused_before_inflating() {
    // A length of 2 GiB in five bytes of header, and nothing behind it.
    let claim = [0x80, 0x80, 0x80, 0x80, 0x08];
    let refused = Request::read(&claim, &Index::new(0, 1), &LIMITS).unwrap_err();
    assert!(matches!(
        refused,
        Unreadable::TooLarge {
            claimed: 0x8000_0000,
            ..
        }
    ));
}

#[test]
fn many_empty_series_do_not_cost_memory() {
    let message: Vec<u8> = std::iter::repeat_n([10, 0], 400_000).flatten().collect();
    let body = snap::raw::Encoder::new().compress_vec(&message).unwrap();
    assert!(body.len() < 100_000);
    let refused = Request::read(&body, &Index::new(0, 1), &LIMITS).unwrap_err();
    assert_eq!(refused, Unreadable::TooMany(10_000));
}

#[test]
fn labels_of_new_series_are_bounded_in_number_and_bytes() {
    let limits = Limits {
        inflated_bytes: 32 << 20,
        samples: 100_000,
        ..LIMITS
    };
    let narrow: Vec<(String, String)> = (0..60)
        .map(|at| (format!("l{at}"), "v".to_owned()))
        .chain([("__name__".to_owned(), "m".to_owned())])
        .collect();
    let wide = vec![
        ("__name__".to_owned(), "m".to_owned()),
        ("wide".to_owned(), "\u{1f525}".repeat(1000)),
    ];
    for (labels, most) in [
        (narrow, NEW_LABELS_MAX / 61),
        (wide, NEW_LABEL_BYTES_MAX / 4040),
    ] {
        let read = |n: usize| {
            let each = (&labels[..], &[1_000_i64][..], &[1.0][..]);
            Request::read(
                &request::write(std::iter::repeat_n(each, n)),
                &Index::new(7, 1),
                &limits,
            )
        };
        assert_eq!(read(most + 50).unwrap_err(), Unreadable::TooManyLabels);
        assert_eq!(read(most - 50).unwrap().unknown().count(), most - 50);
    }
}

#[test]
fn labels_apart_from_each_other_are_one_set() {
    let index = Index::new(7, 100);
    let (name, job) = (
        b"\x0a\x0e\x0a\x08__name__\x12\x02up",
        b"\x0a\x08\x0a\x03job\x12\x01x",
    );
    let sample = b"\x12\x0b\x09\0\0\0\0\0\0\xf0\x3f\x10\x05";
    let message = |parts: &[&[u8]]| {
        let inner = parts.concat();
        [&[10, inner.len() as u8][..], &inner].concat()
    };
    let together = message(&[name, job, sample]);
    let apart = message(&[name, sample, job]);
    let both: Vec<Labels> = [together, apart]
        .iter()
        .map(|bytes| {
            let read = Request::read_message(bytes, &index, &LIMITS).unwrap();
            assert_eq!(read.len(), 1);
            read.unknown().next().unwrap().clone()
        })
        .collect();
    assert_eq!(both[0], both[1]);
    assert_eq!(both[0], labels(&[("__name__", "up"), ("job", "x")]));
}

proptest! {
    #[test]
    fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let index = Index::new(1, 10);
        let _ = Request::read(&bytes, &index, &LIMITS);
        let _ = Request::read_message(&bytes, &index, &LIMITS);
        let _ = body::join([&bytes[..]]);
    }

    #[test]
    fn damaged_requests_are_taken_or_refused(cut in 0_usize..200, place in 0_usize..200, bit in 0_u8..8) {
        let series = [
            (labels(&[("__name__", "node_vmstat_pgpromote_success"), ("instance", "a")]), vec![1, 2], vec![3.0, 4.0]),
            (labels(&[("__name__", "up"), ("instance", "a")]), vec![1, 2], vec![1.0, f64::NAN]),
        ];
        let mut body = body_of(&series);
        let place = place % body.len();
        body[place] ^= 1 << bit;
        body.truncate(body.len() - cut % body.len());
        let read = Request::read(&body, &Index::new(1, 10), &LIMITS);
        prop_assert!(read.map_or(true, |read| read.len() <= 20));
    }
}
