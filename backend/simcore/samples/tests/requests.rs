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

/// References of labels, and (time, value) of each sample.
type SeriesV2 = (Vec<u64>, Vec<(i64, f64)>);

/// A message of version 2.0 with these texts in its table.
fn message_v2(symbols: &[&str], series: &[SeriesV2]) -> Vec<u8> {
    let mut message = Vec::new();
    for symbol in symbols {
        put_bytes(&mut message, 4, symbol.as_bytes());
    }
    for (references, samples) in series {
        let mut inner = Vec::new();
        let mut packed = Vec::new();
        for reference in references {
            put_varint(&mut packed, *reference);
        }
        put_bytes(&mut inner, 1, &packed);
        for (at_ms, value) in samples {
            let mut sample = vec![9];
            sample.extend_from_slice(&value.to_bits().to_le_bytes());
            sample.push(16);
            put_varint(&mut sample, *at_ms as u64);
            put_bytes(&mut inner, 2, &sample);
        }
        put_bytes(&mut message, 5, &inner);
    }
    message
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_bytes(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[test]
fn a_series_is_the_same_one_by_either_version() {
    let index = Index::new(7, 100);
    let up = labels(&[("__name__", "up"), ("instance", "a:9100")]);
    let mut first = Request::read(&body_of(&[(up, vec![1], vec![1.0])]), &index, &LIMITS).unwrap();
    let stored = SeriesRef {
        series: 5,
        target: 6,
    };
    first.resolve(&[Some(stored)], &index).unwrap();
    let message = message_v2(
        &["", "__name__", "up", "instance", "a:9100"],
        &[(vec![1, 2, 3, 4], vec![(2, 0.0)])],
    );
    let body = snap::raw::Encoder::new().compress_vec(&message).unwrap();
    let second = Request::read_v2(&body, &index, &LIMITS).unwrap();
    assert_eq!((second.unknown().count(), second.len()), (0, 1));
}

#[test]
fn references_that_lead_nowhere_are_refused() {
    let index = Index::new(7, 100);
    for references in [vec![1, 9], vec![1], vec![1, u64::MAX]] {
        let message = message_v2(&["", "__name__"], &[(references, vec![])]);
        let refused = Request::read_message_v2(&message, &index, &LIMITS).unwrap_err();
        assert!(matches!(refused, Unreadable::NotARequest(_)), "{refused}");
    }
}

#[test]
fn symbols_that_are_repeated_do_not_cost_memory() {
    let long = "x".repeat(4000);
    let references = vec![1; 60];
    let series = vec![(references, vec![(1, 1.0)]); 5_000];
    let message = message_v2(&["", &long], &series);
    assert!(message.len() < LIMITS.inflated_bytes);
    let index = Index::new(7, 100);
    let refused = Request::read_message_v2(&message, &index, &LIMITS).unwrap_err();
    assert_eq!(refused, Unreadable::TooManySymbols(LIMITS.inflated_bytes));
    let many: Vec<u8> = std::iter::repeat_n([34, 0], request::SYMBOLS_MAX + 1)
        .flatten()
        .collect();
    let refused = Request::read_message_v2(&many, &index, &LIMITS).unwrap_err();
    assert_eq!(refused, Unreadable::TooManySymbols(LIMITS.inflated_bytes));
}

#[test]
fn series_of_native_histograms_are_told_and_the_rest_is_stepped_over() {
    let mut inner = Vec::new();
    for reference in [1, 2] {
        inner.push(8); // not packed
        put_varint(&mut inner, reference);
    }
    for number in [3, 4, 5] {
        put_bytes(&mut inner, number, b""); // a histogram, an exemplar, metadata
    }
    inner.extend_from_slice(&[48, 5]); // when it was created
    put_bytes(&mut inner, 2, &[16, 5]); // a sample of zero
    let mut message = Vec::new();
    put_bytes(&mut message, 5, &inner);
    for symbol in ["", "__name__", "up"] {
        put_bytes(&mut message, 4, symbol.as_bytes());
    }
    let index = Index::new(7, 100);
    let mut read = Request::read_message_v2(&message, &index, &LIMITS).unwrap();
    assert_eq!((read.len(), read.histogram_series().count()), (1, 0));
    assert_eq!(
        read.unknown().collect::<Vec<_>>(),
        [&labels(&[("__name__", "up")])]
    );
    let found = SeriesRef {
        series: 4,
        target: 2,
    };
    read.resolve(&[Some(found)], &index).unwrap();
    assert_eq!(read.histogram_series().collect::<Vec<_>>(), [4]);
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
        let _ = Request::read_v2(&bytes, &index, &LIMITS);
        let _ = Request::read_message_v2(&bytes, &index, &LIMITS);
        let _ = body::join([&bytes[..]]);
    }

    #[test]
    fn both_versions_say_the_same(
        drawn in prop::collection::vec(
            (0_usize..4, 0_usize..4, prop::collection::vec((0_i64..2_000_000, any::<u64>()), 0..5)), 0..8,
        ),
    ) {
        let texts = ["", "__name__", "up", "instance", "a", "b", "1bad", "job"];
        let mut first = Vec::new();
        let mut second = Vec::new();
        for (name, value, samples) in &drawn {
            let references = vec![1, *name as u64 + 3, 3, *value as u64 + 4];
            let pairs = references
                .chunks(2)
                .map(|pair| (texts[pair[0] as usize].to_owned(), texts[pair[1] as usize].to_owned()))
                .collect::<Labels>();
            let samples: Vec<(i64, f64)> =
                samples.iter().map(|(at_ms, bits)| (*at_ms, f64::from_bits(*bits))).collect();
            let (times, values) = samples.iter().copied().unzip();
            first.push((pairs, times, values));
            second.push((references, samples));
        }
        let message = message_v2(&texts, &second);
        let body = snap::raw::Encoder::new().compress_vec(&message).unwrap();
        let stored = |mut request: Request| {
            let index = Index::new(1, 100);
            let names: Vec<Labels> = request.unknown().cloned().collect();
            let ids: Vec<_> = (0..).zip(&names).map(|(series, _)| Some(SeriesRef { series, target: 1 })).collect();
            request.resolve(&ids, &index).unwrap();
            let mut parts = std::collections::BTreeMap::new();
            request.split_into(&mut parts, 3_600_000);
            let samples: Vec<_> = parts
                .into_values()
                .flatten()
                .map(|sample: body::Sample| (sample.series, sample.at_ms, sample.value.to_bits()))
                .collect();
            (names, samples, request.refusals)
        };
        let one = Request::read(&body_of(&first), &Index::new(1, 100), &LIMITS).unwrap();
        let two = Request::read_v2(&body, &Index::new(1, 100), &LIMITS).unwrap();
        prop_assert_eq!(stored(one), stored(two));
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
