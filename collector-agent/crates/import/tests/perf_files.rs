//! Recordings of perf: real files, and what is wrong with damaged ones.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;

use proptest::prelude::*;
use tierscope_import::perf_fold::PerfIntervalPlan;
use tierscope_import::perf_recording::{PerfFileError, PerfLimits, PerfRecording, looks_like_perf, read};

fn bytes_of(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/perf");
    std::fs::read(directory.join(name)).unwrap()
}

fn read_all(bytes: &[u8]) -> Result<PerfRecording, PerfFileError> {
    read(bytes, PerfLimits::default())
}

#[test]
fn a_compressed_file_without_names_is_read() {
    let bytes = bytes_of("compressed.perf.data");
    assert!(looks_like_perf(&bytes[..64]));
    let recording = read_all(&bytes).unwrap();
    // What perf itself prints of this file: 52 samples.
    let samples = recording.samples.len() as u64 + recording.without_address;
    assert_eq!((samples, recording.lost), (52, 0));
    assert_eq!(recording.events[0].name, "page-faults");
    assert_eq!(recording.events[0].period, Some(1));
    assert!(recording.samples.is_sorted_by_key(|sample| sample.time_ns));
    assert!(!recording.changes.is_empty());
}

#[test]
fn the_forms_are_told_by_their_content() {
    for name in ["page-faults.perf.data", "page-faults.script.txt"] {
        assert!(looks_like_perf(&bytes_of(name)[..4096]), "{name}");
    }
    assert!(!looks_like_perf(&bytes_of("hotmem.out")));
    assert!(matches!(read_all(b"PAR1"), Err(PerfFileError::Unknown)));
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let good = bytes_of("page-faults.perf.data");
    let message = |bytes: &[u8]| read_all(bytes).unwrap_err().to_string();
    assert!(message(&good[..2000]).contains("the file ends before"));
    assert!(message(b"2ELIFREP").contains("byte order"));
    let mut stream = good.clone();
    stream[8] = 16;
    assert!(message(&stream).contains("stream"));
    let mut torn = good.clone();
    let data_at = u64::from_ne_bytes(std::array::from_fn(|index| good[40 + index])) as usize;
    torn[data_at + 6..data_at + 8].copy_from_slice(&[3, 0]);
    let text = message(&torn);
    assert!(
        text.contains(&format!("byte {data_at}")) && text.contains("size"),
        "{text}"
    );
    let small = PerfLimits {
        samples: 10,
        ..PerfLimits::default()
    };
    let text = read(&good, small).unwrap_err().to_string();
    assert!(text.contains("more than 10 samples"), "{text}");
    let refused = PerfIntervalPlan::new(&read_all(&good).unwrap())
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("page-faults") && refused.contains("no heat"),
        "{refused}"
    );
}

proptest! {
    #[test]
    fn damaged_files_are_refused_or_read_and_nothing_worse(
        places in prop::collection::vec((0_usize..26_000, any::<u8>()), 1..20),
        length in 0_usize..27_000,
        name in prop::sample::select(vec!["page-faults.perf.data", "compressed.perf.data"]),
    ) {
        let mut bytes = bytes_of(name);
        for (place, value) in places {
            let length = bytes.len();
            // More often than not in the header and the attributes, which all else hangs on.
            let place = if value % 2 == 0 { place % 400 } else { place % length };
            bytes[place] = value;
        }
        bytes.truncate(length.max(400));
        let _read = read_all(&bytes);
    }

    #[test]
    fn any_text_is_read(text in "[ -~\n]{0,400}", tail in "[0-9a-f/:\\[\\] .@(),A-Z_]{0,200}") {
        let line = format!("a 1/1 1.5: PERF_RECORD_MMAP2 {tail}\na 1/1 [000] 1.5: {tail}\n{text}");
        let _read = read_all(line.as_bytes());
        let _read = read_all(text.as_bytes());
    }
}
