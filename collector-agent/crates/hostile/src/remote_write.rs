//! Requests of Prometheus remote write, and stored bodies of samples.

use std::collections::BTreeMap;

use tierscope_samples::{Index, Limits, Request, Sample, SeriesRef, body};

const HOUR_MS: i64 = 3_600_000;
const LIMITS: Limits = Limits {
    inflated_bytes: 1 << 20,
    samples: 10_000,
    oldest_ms: 0,
    newest_ms: 4_000_000_000_000,
};

/// The bytes as a compressed request of either version, as the message within one, and as a stored body. What is taken
/// is in its bounds, and comes back from storage as it was.
pub(crate) fn remote_write(bytes: &[u8]) {
    let index = Index::new(1, 1000);
    let compressed = Request::read(bytes, &index, &LIMITS);
    let message = Request::read_message(bytes, &index, &LIMITS);
    let compressed_v2 = Request::read_v2(bytes, &index, &LIMITS);
    let message_v2 = Request::read_message_v2(bytes, &index, &LIMITS);
    for request in [compressed, message, compressed_v2, message_v2]
        .into_iter()
        .flatten()
    {
        take(request, &index);
    }
    let _ = body::unpack(bytes, |_| {});
}

fn take(mut request: Request, index: &Index) {
    assert!(request.len() <= LIMITS.samples);
    let found: Vec<Option<SeriesRef>> = (0..)
        .zip(request.unknown())
        .map(|(series, labels)| (labels.len() % 2 == 0).then_some(SeriesRef { series, target: 1 }))
        .collect();
    assert_eq!(request.resolve(&found, index), Ok(()));
    let mut parts = BTreeMap::new();
    request.split_into(&mut parts, HOUR_MS);
    let kept: usize = parts.values().map(Vec::len).sum();
    assert_eq!(kept, request.len());
    for mut samples in parts.into_values() {
        body::tidy(&mut samples);
        let packed = body::pack(&samples, 1).map(|packed| packed.bytes);
        let mut back: Vec<Sample> = Vec::new();
        let read = packed.map(|packed| body::unpack(&packed, |sample| back.push(sample)));
        assert!(read.is_none_or(|read| read.is_ok()));
        let bits = |samples: &[Sample]| -> Vec<(i64, i64, u64)> {
            samples
                .iter()
                .map(|sample| (sample.series, sample.at_ms, sample.value.to_bits()))
                .collect()
        };
        assert_eq!(bits(&back), bits(&samples));
    }
}
