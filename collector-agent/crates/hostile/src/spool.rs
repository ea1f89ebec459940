//! A spool whose files hold any bytes.

use std::path::Path;

use tierscope_spool::{Limits, Spool};

use crate::memory_disk::MemoryDisk;

const DIRECTORY: &str = "/spool";
const IDENTITY: &str = "machine";
/// Records looked at before the spool is taken to run in a circle.
const MOST_RECORDS: usize = 10_000;

/// Opens a spool on these bytes, split over two segments and the two state files, empties it, and goes on writing.
/// Whatever was there, what is appended afterwards comes back.
///
/// # Panics
/// When a record that was appended does not come back, or the spool cannot be emptied.
pub(crate) fn spool(bytes: &[u8]) {
    let disk = MemoryDisk::default();
    let quarter = bytes.len() / 4;
    let parts = [0, 1, 2, 3].map(|part| &bytes[part * quarter..(part + 1) * quarter]);
    let names = [
        "00000000000000000000.segment",
        "00000000000000000007.segment",
        "state.0",
        "state.1",
    ];
    for (name, part) in names.iter().zip(parts) {
        disk.put(&Path::new(DIRECTORY).join(name), part);
    }
    let Ok(mut spool) = open(&disk) else { return };
    for _ in 0..MOST_RECORDS {
        match spool.peek() {
            Ok(Some(record)) => {
                let _ = spool.acknowledge(&record);
            }
            Ok(None) | Err(_) => break,
        }
    }
    assert!(matches!(spool.peek(), Ok(None)), "the spool does not run empty");
    let seq = spool.next_seq();
    assert!(spool.append(seq, b"after").is_ok(), "nothing can be appended");
    drop(spool);
    let reopened = open(&disk).and_then(|mut spool| spool.peek());
    let payload = reopened.ok().flatten().map(|record| record.payload);
    assert_eq!(payload.as_deref(), Some(&b"after"[..]));
}

fn open(disk: &MemoryDisk) -> tierscope_spool::Result<Spool> {
    let limits = Limits::for_bytes(1 << 20);
    Spool::open(Box::new(disk.clone()), Path::new(DIRECTORY), limits, IDENTITY)
}
