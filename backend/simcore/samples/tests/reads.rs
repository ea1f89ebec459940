//! Requests of remote read: what is asked, bounds, and bytes of any kind.
#![allow(clippy::unwrap_used, reason = "a test that fails here says so")]

use proptest::prelude::*;
use tierscope_samples::read::{Matcher, Query, answer, read};
use tierscope_samples::{Index, Limits, Request, Unreadable};

fn snappy(message: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(message).unwrap()
}

#[test]
fn a_selector_is_read_with_its_times_and_conditions() {
    let message = b"\x0a\x15\x08\x05\x10\xac\x02\x1a\x0e\x08\x02\x12\x03job\x1a\x05a.*|b\x10\x00";
    let found = read(&snappy(message), 20).unwrap();
    let matcher = Matcher {
        operator: "=~",
        label: "job".to_owned(),
        value: "a.*|b".to_owned(),
    };
    let expected = Query {
        start_ms: 5,
        end_ms: 300,
        matchers: vec![matcher],
    };
    assert_eq!(found, [expected]);
}

#[test]
fn a_sender_that_takes_no_samples_is_refused() {
    for taken in [
        &b""[..],
        b"\x10\x00",
        b"\x10\x01\x10\x00",
        b"\x12\x02\x01\x00",
    ] {
        assert_eq!(read(&snappy(taken), 20), Ok(vec![]), "{taken:?}");
    }
    for refused in [&b"\x12\x00"[..], b"\x10\x01", b"\x12\x01\x01"] {
        let error = read(&snappy(refused), 20).unwrap_err();
        assert!(
            matches!(error, Unreadable::NotAReadRequest(_)),
            "{refused:?}: {error}"
        );
    }
}

#[test]
fn an_answer_holds_the_series_as_a_request_to_write_does() {
    let labels = vec![("__name__".to_owned(), "up".to_owned())];
    let written = answer(&[vec![(
        labels.clone(),
        vec![60_000, 120_000],
        vec![1.0, 0.0],
    )]]);
    let message = snap::raw::Decoder::new().decompress_vec(&written).unwrap();
    // One result: a field 1 with the message of a write request in it.
    assert_eq!(
        (message[0], usize::from(message[1])),
        (10, message.len() - 2)
    );
    let limits = Limits {
        inflated_bytes: 1 << 20,
        samples: 10,
        oldest_ms: 0,
        newest_ms: 1 << 40,
    };
    let request = Request::read_message(&message[2..], &Index::new(1, 10), &limits).unwrap();
    assert_eq!(request.unknown().collect::<Vec<_>>(), [&labels]);
    assert_eq!(request.len(), 2);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(message in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&message, 5);
        if let Ok(queries) = read(&snappy(&message), 5) {
            prop_assert!(queries.len() <= 5);
            prop_assert!(queries.iter().all(|query| query.matchers.len() <= 5));
        }
    }
}
