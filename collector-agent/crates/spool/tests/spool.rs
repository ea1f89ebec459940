//! The queue on a real file system.

use std::fs;

use tempfile::TempDir;
use tierscope_spool::{Limits, OsDisk, Spool, SpoolError};

fn open(directory: &TempDir, identity: &str) -> Spool {
    let limits = Limits {
        max_bytes: 10_000,
        segment_bytes: 1000,
    };
    Spool::open(
        Box::new(OsDisk),
        &directory.path().join("spool"),
        limits,
        identity,
    )
    .expect("opened")
}

fn append(spool: &mut Spool, payload: &[u8]) {
    spool.append(spool.next_seq(), payload).expect("appended");
}

#[test]
fn records_and_the_stream_survive_a_restart() {
    let directory = TempDir::new().expect("a directory");
    let mut spool = open(&directory, "a");
    let stream_id = spool.stream_id();
    append(&mut spool, b"one");
    append(&mut spool, b"two");
    let first = spool.peek().expect("readable").expect("there");
    spool.acknowledge(&first).expect("acknowledged");
    drop(spool);
    let mut spool = open(&directory, "a");
    assert_eq!(spool.stream_id(), stream_id);
    let second = spool.peek().expect("readable").expect("there");
    assert_eq!((second.seq, second.payload.as_slice()), (1, b"two".as_slice()));
    assert_eq!(spool.next_seq(), 2);
    assert_eq!(spool.stats().sent_bytes, 3);
}

#[test]
fn a_damaged_state_falls_back_and_uses_no_number_twice() {
    for name in ["state.0", "state.1"] {
        let directory = TempDir::new().expect("a directory");
        let mut spool = open(&directory, "a");
        for _ in 0..3 {
            append(&mut spool, b"one");
            let record = spool.peek().expect("readable").expect("there");
            spool.acknowledge(&record).expect("acknowledged");
        }
        let (stream_id, next_seq) = (spool.stream_id(), spool.next_seq());
        drop(spool);
        let path = directory.path().join("spool").join(name);
        let mut bytes = fs::read(&path).expect("a state");
        bytes[60] ^= 1;
        fs::write(&path, bytes).expect("damaged");
        fs::remove_file(directory.path().join("spool/00000000000000000000.segment")).expect("removed");
        let spool = open(&directory, "a");
        assert_eq!(spool.stream_id(), stream_id);
        assert!(spool.next_seq() >= next_seq, "{name}");
    }
}

#[test]
fn another_machine_starts_another_stream_and_keeps_what_waits() {
    let directory = TempDir::new().expect("a directory");
    let mut spool = open(&directory, "a");
    let stream_id = spool.stream_id();
    append(&mut spool, b"one");
    drop(spool);
    let mut spool = open(&directory, "b");
    assert_ne!(spool.stream_id(), stream_id);
    assert_eq!(spool.peek().expect("readable").expect("there").payload, b"one");
}

#[test]
fn a_full_queue_drops_the_oldest_segments_and_counts_them() {
    let directory = TempDir::new().expect("a directory");
    let mut spool = open(&directory, "a");
    for _ in 0..100 {
        append(&mut spool, &[7; 300]);
    }
    let stats = spool.stats();
    assert!(stats.bytes <= 10_000);
    assert_eq!(stats.pending_records + stats.dropped, 100);
    assert_eq!(spool.peek().expect("readable").expect("there").seq, stats.dropped);
    drop(spool);
    assert_eq!(open(&directory, "a").stats().dropped, stats.dropped);
}

#[test]
fn a_record_that_the_queue_does_not_take_counts_as_dropped() {
    let directory = TempDir::new().expect("a directory");
    let mut spool = open(&directory, "a");
    append(&mut spool, b"one");
    let refused = spool.append(spool.next_seq(), &[7; 6000]);
    assert!(matches!(refused, Err(SpoolError::TooLarge { .. })));
    assert_eq!(spool.stats().dropped, 1);
    append(&mut spool, b"two");
    let first = spool.peek().expect("readable").expect("there");
    spool.acknowledge(&first).expect("acknowledged");
    drop(spool);
    assert_eq!(open(&directory, "a").stats().dropped, 1);
}

#[test]
fn a_rejected_record_is_kept_aside_with_its_reason() {
    let directory = TempDir::new().expect("a directory");
    let mut spool = open(&directory, "a");
    append(&mut spool, b"bad");
    append(&mut spool, b"good");
    let bad = spool.peek().expect("readable").expect("there");
    spool.reject(&bad, "422 unreadable").expect("rejected");
    assert_eq!(spool.peek().expect("readable").expect("there").payload, b"good");
    assert_eq!(spool.stats().rejected, 1);
    let kept = directory.path().join("spool/rejected/00000000000000000000");
    assert_eq!(fs::read(kept.with_extension("batch")).expect("kept"), b"bad");
    assert_eq!(
        fs::read_to_string(kept.with_extension("reason")).expect("kept"),
        "422 unreadable"
    );
}

#[test]
fn rejected_records_are_bounded() {
    let directory = TempDir::new().expect("a directory");
    let mut spool = open(&directory, "a");
    for _ in 0..50 {
        append(&mut spool, b"bad");
        let bad = spool.peek().expect("readable").expect("there");
        spool.reject(&bad, "no").expect("rejected");
    }
    let files = fs::read_dir(directory.path().join("spool/rejected"))
        .expect("there")
        .count();
    assert_eq!(files, 64, "32 records and their reasons");
    assert_eq!(spool.stats().rejected, 50);
}

#[test]
fn a_record_for_another_number_or_beyond_the_limit_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let mut spool = open(&directory, "a");
    assert!(matches!(
        spool.append(5, b"x"),
        Err(SpoolError::WrongSequence { given: 5, next: 0 })
    ));
    assert!(matches!(
        spool.append(0, &[0; 6000]),
        Err(SpoolError::TooLarge { .. })
    ));
    append(&mut spool, b"fits");
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = TempDir::new().expect("a directory");
    let mut spool = open(&directory, "a");
    append(&mut spool, b"one");
    for entry in fs::read_dir(directory.path().join("spool")).expect("there") {
        let mode = entry
            .expect("readable")
            .metadata()
            .expect("readable")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0);
    }
}
