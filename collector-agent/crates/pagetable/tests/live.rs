//! Accessed bits of a real process whose accesses are known. Skipped, with the reason printed, where the kernel does
//! not allow it.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use tierscope_pagetable::probe::{ProbeError, probe_referenced, this_process};
use tierscope_pagetable::referenced::{ReferencedReader, Unmeasured};
use tierscope_rootfs::Root;
use tierscope_sample::heat::PageKind;
use tierscope_sample::vma_fold::{ProcessKey, VmaReading};

use toucher::{Memory, PAGE_BYTES, Toucher, is_in_set, keep_damon_away, skip};
use waiting::wait_for;

mod toucher;
#[path = "../../../testing/waiting.rs"]
mod waiting;

const PAGES: usize = 4096;

/// Why the kernel cannot do this here; `None` where it can. Probed once: two probes of one process would clear each
/// other's bits.
static REFUSED: LazyLock<Option<String>> = LazyLock::new(|| {
    let thp = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    match probe_referenced(&Root::live()) {
        Ok(()) if thp.contains("[always]") => {
            Some("huge pages are on, so touches show in steps of 2 MiB".to_owned())
        }
        Ok(()) => None,
        Err(ProbeError::Refused(refused)) => Some(refused.to_string()),
        Err(error) => panic!("{error}"),
    }
});

/// Whether to run, with the lock that keeps tests with DAMON away; prints why not.
fn supported() -> Option<File> {
    let lock = keep_damon_away();
    if let Some(reason) = &*REFUSED {
        skip(reason);
        return None;
    }
    Some(lock)
}

fn reader() -> ReferencedReader {
    ReferencedReader::new(Root::live(), u64::MAX, Box::new(|name: &str| Arc::from(name)))
}

/// The child's memory after it did something, once so many of its pages show as touched and all as resident. The kernel
/// may age a page or move it between a touch and its reading, so that too little makes the child do it again.
fn after(
    toucher: &mut Toucher,
    reader: &mut ReferencedReader,
    command: &str,
    touched_pages: usize,
) -> VmaReading {
    let process = toucher.key();
    let (wanted, all) = ((touched_pages * PAGE_BYTES) as i64, (PAGES * PAGE_BYTES) as i64);
    wait_for(|| {
        reader.clear(process).unwrap();
        toucher.tell(command);
        let vmas = reader.read(process).unwrap();
        let found = vmas.into_iter().find(|vma| vma.start == toucher.address);
        let mapping = found.expect("the mapping is listed");
        let seen = (mapping.referenced_bytes, mapping.resident_bytes);
        assert!(
            seen.0 <= wanted && seen.1 <= all,
            "{command}: {seen:?} of {wanted} and {all}"
        );
        if seen == (wanted, all) {
            Ok(mapping)
        } else {
            Err(format!("{command}: {seen:?} of {wanted} and {all}"))
        }
    })
}

#[test]
fn referenced_bytes_equal_the_pages_touched() {
    let Some(_lock) = supported() else { return };
    let (mut toucher, mut reader) = (Toucher::start(Memory::Anon, PAGES), reader());
    let process = toucher.key();
    for pages in [0, 700, 1, PAGES, 0] {
        let mapping = after(&mut toucher, &mut reader, &format!("first {pages}"), pages);
        assert_eq!((mapping.kind, &*mapping.mapping), (PageKind::Anon, ""));
    }
    toucher.end();
    assert_eq!(reader.clear(process), Err(Unmeasured::Gone));
    assert_eq!(reader.read(process), Err(Unmeasured::Gone));
}

#[test]
fn referenced_bytes_are_exact_for_scattered_touches_of_every_kind() {
    let Some(_lock) = supported() else { return };
    let kinds = [
        (Memory::Anon, PageKind::Anon),
        (Memory::Shmem, PageKind::Tmpfs),
        // All of its pages were written, so they are anonymous copies.
        (Memory::PrivateFile, PageKind::Anon),
    ];
    for (memory, kind) in kinds {
        let (mut toucher, mut reader) = (Toucher::start(memory, PAGES), reader());
        for (seed, verb) in [(1, "set"), (2, "read"), (3, "set")] {
            let pages = (0..PAGES).filter(|page| is_in_set(seed, *page)).count();
            assert!((200..320).contains(&pages));
            let mapping = after(&mut toucher, &mut reader, &format!("{verb} {seed}"), pages);
            assert_eq!(mapping.kind, kind, "{memory:?}");
            let dirty_bytes = mapping.beside.dirty_bytes;
            let written = Some(mapping.resident_bytes);
            assert_eq!(dirty_bytes, written, "{memory:?}: the child wrote every page");
        }
    }
}

#[test]
fn a_reused_id_is_another_process() {
    let Some(_lock) = supported() else { return };
    let toucher = Toucher::start(Memory::Anon, PAGES);
    let mut reader = reader();
    let key = toucher.key();
    let before = ProcessKey {
        start_time_ticks: key.start_time_ticks - 1,
        ..key
    };
    assert_eq!(reader.clear(before), Err(Unmeasured::Gone));
    assert_eq!(reader.read(before), Err(Unmeasured::Gone));
}

#[test]
fn a_process_above_the_limit_is_left_alone() {
    let mut reader = ReferencedReader::new(Root::live(), 4096, Box::new(|name: &str| Arc::from(name)));
    let this = this_process(&Root::live()).unwrap();
    assert!(matches!(
        reader.read(this),
        Err(Unmeasured::TooLarge {
            limit_bytes: 4096,
            ..
        })
    ));
}

/// A recorded tree: no kernel behind it.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

const STAT: &str = "9 (a) b) S 1 0 0 0 -1 0 1 0 0 0 2 1 0 0 20 0 3 0 3859 82 5";
const PROCESS: ProcessKey = ProcessKey {
    pid: 9,
    start_time_ticks: 3859,
};

fn reader_of(root: &Path) -> ReferencedReader {
    ReferencedReader::new(Root::new(root), 1 << 30, Box::new(|name: &str| Arc::from(name)))
}

#[test]
fn a_kernel_without_clear_refs_is_told_from_a_process_that_ended() {
    let directory = tree(&[("proc/9/stat", STAT)]);
    let mut reader = reader_of(directory.path());
    assert_eq!(reader.clear(PROCESS), Err(Unmeasured::NotSupported));
    assert_eq!(reader.read(PROCESS), Err(Unmeasured::NotSupported));
    let other = ProcessKey { pid: 10, ..PROCESS };
    assert_eq!(
        (reader.clear(other), reader.read(other)),
        (Err(Unmeasured::Gone), Err(Unmeasured::Gone))
    );
}

#[test]
fn clearing_writes_one_to_the_file_of_the_process() {
    let smaps = "1000-2000 rw-p 0 0:0 0\nRss: 4 kB\nPss: 4 kB\nReferenced: 4 kB\n";
    let files = [
        ("proc/9/stat", STAT),
        ("proc/9/clear_refs", ""),
        ("proc/9/smaps", smaps),
    ];
    let directory = tree(&files);
    let mut reader = reader_of(directory.path());
    reader.clear(PROCESS).unwrap();
    assert_eq!(
        std::fs::read_to_string(directory.path().join("proc/9/clear_refs")).unwrap(),
        "1"
    );
    assert_eq!(reader.read(PROCESS).unwrap()[0].referenced_bytes, 4096);
}
