//! Whatever crashes happen: acknowledged records are gone, all others are there in order or counted. After
//! a power cut acknowledged ones may be there too.

mod fault_disk;

use std::collections::BTreeMap;
use std::path::Path;

use fault_disk::{Fault, FaultDisk};
use proptest::prelude::*;
use tierscope_spool::{Limits, Spool};

const LIMITS: Limits = Limits {
    max_bytes: 2000,
    segment_bytes: 400,
};

#[derive(Debug, Clone)]
enum Step {
    Append { bytes: u16 },
    Reserve,
    Acknowledge,
    Reject,
    Restart { restore_removed: bool },
    Plan(Fault),
    FlipBit { at: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let fault = prop_oneof![
        (any::<u8>(), any::<u8>()).prop_map(|(after, kept)| Fault::PowerCut {
            after: after % 5,
            kept
        }),
        (any::<u8>(), 0_u8..4).prop_map(|(kept, count)| Fault::Full { kept, count }),
        any::<u8>().prop_map(|kept| Fault::SyncFails { kept }),
        any::<bool>().prop_map(|happened| Fault::RenameFails { happened }),
        Just(Fault::ReadFails),
    ];
    let step = prop_oneof![
        8 => (0_u16..300).prop_map(|bytes| Step::Append { bytes }),
        1 => Just(Step::Reserve),
        4 => Just(Step::Acknowledge),
        1 => Just(Step::Reject),
        2 => any::<bool>().prop_map(|restore_removed| Step::Restart { restore_removed }),
        2 => fault.prop_map(Step::Plan),
        1 => any::<usize>().prop_map(|at| Step::FlipBit { at }),
    ];
    prop::collection::vec(step, 1..80)
}

/// What the spool promised so far.
#[derive(Default)]
struct Promises {
    /// Records whose append returned Ok and that are not acknowledged.
    open: BTreeMap<u64, Vec<u8>>,
    /// Records whose append failed: they may turn up, or not.
    unsure: BTreeMap<u64, Vec<u8>>,
    /// All sequence numbers below were acknowledged, and the call returned Ok.
    done_below: u64,
    /// The same where it stays so after a power cut: those up to the last one that was refused.
    durably_done_below: u64,
    /// All sequence numbers below were acknowledged, but the call may have failed.
    perhaps_done_below: u64,
    /// Sequence numbers that left the spool, in a message or in a record that was read.
    used: u64,
    flips: u64,
}

fn open(disk: &FaultDisk) -> Spool {
    Spool::open(Box::new(disk.clone()), Path::new("/spool"), LIMITS, "machine").expect("the disk works again")
}

fn append(spool: &mut Spool, promises: &mut Promises, bytes: u16) {
    let seq = spool.next_seq();
    assert!(seq >= promises.used, "sequence number {seq} was used before");
    let payload = vec![seq as u8; usize::from(bytes)];
    match spool.append(seq, &payload) {
        Ok(()) => promises.open.insert(seq, payload),
        Err(_) => promises.unsure.insert(seq, payload),
    };
}

fn take(spool: &mut Spool, promises: &mut Promises, reject: bool) {
    let Ok(Some(record)) = spool.peek() else { return };
    assert!(
        record.seq >= promises.done_below,
        "record {} was acknowledged before",
        record.seq
    );
    let expected = promises
        .open
        .get(&record.seq)
        .or_else(|| promises.unsure.get(&record.seq));
    assert_eq!(Some(&record.payload), expected, "record {}", record.seq);
    promises.used = promises.used.max(record.seq + 1);
    promises.perhaps_done_below = record.seq + 1;
    let answer = if reject {
        spool.reject(&record, "refused")
    } else {
        spool.acknowledge(&record)
    };
    if answer.is_ok() {
        promises.done_below = record.seq + 1;
        if reject {
            promises.durably_done_below = record.seq + 1;
        }
    }
}

/// Reads all that is left and compares it with what was promised.
fn check_rest(spool: &mut Spool, promises: &Promises) {
    let mut seen = Vec::new();
    while let Some(record) = spool.peek().expect("the disk works") {
        let expected = promises
            .open
            .get(&record.seq)
            .or_else(|| promises.unsure.get(&record.seq));
        assert_eq!(Some(&record.payload), expected, "record {}", record.seq);
        assert!(record.seq >= promises.done_below);
        assert!(
            seen.last().is_none_or(|last| *last < record.seq),
            "records come in order"
        );
        seen.push(record.seq);
        spool.acknowledge(&record).expect("the disk works");
    }
    let due = promises
        .open
        .keys()
        .filter(|seq| **seq >= promises.perhaps_done_below);
    let missing = due.filter(|seq| !seen.contains(seq)).count() as u64;
    let stats = spool.stats();
    assert!(
        missing <= stats.dropped + promises.flips,
        "{missing} records are missing, counted {stats:?}"
    );
    assert!(
        missing <= stats.dropped || stats.damaged > 0,
        "damage is not counted: {stats:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_lost_in_silence(steps in steps()) {
        let disk = FaultDisk::new();
        let mut promises = Promises::default();
        let mut spool = open(&disk);
        for step in steps {
            match step {
                Step::Append { bytes } => append(&mut spool, &mut promises, bytes),
                Step::Reserve => {
                    let given = spool.reserve_seq();
                    if let Ok(seq) = given {
                        prop_assert!(seq >= promises.used);
                        promises.used = seq + 1;
                    }
                }
                Step::Acknowledge => take(&mut spool, &mut promises, false),
                Step::Reject => take(&mut spool, &mut promises, true),
                Step::Restart { restore_removed } => {
                    drop(spool);
                    if disk.power_on(restore_removed) {
                        promises.done_below = promises.durably_done_below;
                    }
                    spool = open(&disk);
                }
                Step::Plan(fault) => disk.plan(fault),
                Step::FlipBit { at } => promises.flips += u64::from(disk.flip_bit(at)),
            }
        }
        drop(spool);
        if disk.power_on(true) {
            promises.done_below = promises.durably_done_below;
        }
        check_rest(&mut open(&disk), &promises);
    }
}

#[test]
fn a_power_cut_while_it_opens_leaves_a_whole_state() {
    for (after, records) in (0..4).flat_map(|after| (1..20).map(move |records| (after, records))) {
        let disk = FaultDisk::new();
        let mut promises = Promises::default();
        let mut spool = open(&disk);
        let stream_id = spool.stream_id();
        for _ in 0..records {
            append(&mut spool, &mut promises, 1);
            take(&mut spool, &mut promises, false);
        }
        // The process ends; what it wrote unsynced is not on the disk yet.
        drop(spool);
        disk.power_on(false);
        disk.plan(Fault::PowerCut { after, kept: 200 });
        let _ = Spool::open(Box::new(disk.clone()), Path::new("/spool"), LIMITS, "machine");
        disk.power_on(false);
        let spool = open(&disk);
        assert_eq!(spool.stream_id(), stream_id, "after {after}, {records} records");
        assert!(
            spool.next_seq() >= promises.used,
            "after {after}, {records} records"
        );
    }
}
