//! Records which pages of processes are touched, every one, by intervals: what samples of pages are held against.
//! Arguments: seconds of an interval, intervals, then process ids. Writes rows of four numbers of 8 bytes, little-endian,
//! to standard output: interval, process id (0 for memory that has a file, which processes share), number of the page
//! (for such memory from inode and offset), kind (0 anon, 1 file, 2 tmpfs). The first interval lists what is resident.
//! Clears accessed bits: nothing else that reads them may run meanwhile.
#![allow(clippy::unwrap_used, reason = "a recording that cannot be made ends")]

use std::io::{BufWriter, Write as _, stdout};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tierscope_pagetable::PAGE_BYTES;
use tierscope_pagetable::abit::AbitReader;
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::process_key;
use tierscope_rootfs::Root;
use tierscope_sample::heat::PageKind;

/// Above the pages that an address can have, so that a file's number and place in it stay apart.
const INODE_SHIFT: u32 = 28;

fn main() {
    let arguments: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    let [seconds, intervals, pids @ ..] = arguments.as_slice() else {
        panic!("seconds, intervals, process ids")
    };
    let root = Root::live();
    let mut reader = AbitReader::new(
        &root,
        u64::MAX,
        Box::new(|name: &str| Arc::from(name)),
        Placement::only(None),
    )
    .unwrap();
    let keys: Vec<_> = pids
        .iter()
        .filter_map(|&pid| process_key(&root, u32::try_from(pid).unwrap()).ok())
        .collect();
    let mut out = BufWriter::new(stdout().lock());
    let mut next = Instant::now();
    for interval in 0..*intervals {
        for &key in &keys {
            let pid = u64::from(key.pid);
            // One that ended is as if it touched nothing more.
            let _ended = reader.read(key, |mapping, pages| {
                for page in pages.iter().filter(|page| page.active || interval == 0) {
                    let shared = mapping.inode != 0 && !page.anon;
                    let kind = if page.anon { PageKind::Anon } else { mapping.kind };
                    let first = if shared {
                        let offset = mapping.offset_bytes + (page.address - mapping.start);
                        (mapping.inode << INODE_SHIFT) + offset / PAGE_BYTES
                    } else {
                        page.address / PAGE_BYTES
                    };
                    for part in 0..u64::from(page.size.bytes()) / PAGE_BYTES {
                        for word in [interval, if shared { 0 } else { pid }, first + part, kind as u64] {
                            out.write_all(&word.to_le_bytes()).unwrap();
                        }
                    }
                }
            });
            let _ended = reader.clear(key);
        }
        out.flush().unwrap();
        next += Duration::from_secs(*seconds);
        sleep(next.saturating_duration_since(Instant::now()));
    }
}
