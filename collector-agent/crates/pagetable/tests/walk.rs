//! The walk of page tables against processes whose touches are known. Skipped, with the reason printed, where the
//! kernel does not allow it.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::File;
use std::sync::Arc;

use tierscope_pagetable::referenced::ReferencedReader;
use tierscope_pagetable::rivals::who_clears_accessed_bits;
use tierscope_pagetable::walker::{Leaf, PageTableWalker};
use tierscope_rootfs::{Reader, Root};
use toucher::{Memory, PAGE_BYTES, Toucher, is_in_set, skip};

mod toucher;

/// 256 MiB.
const PAGES: usize = 65_536;
const PAGES_PER_HUGE: usize = 512;

/// A walker, and the lock that keeps tests with DAMON away: DAMON clears accessed bits.
fn walker() -> Option<(PageTableWalker, File)> {
    let lock = File::create("/tmp/tierscope-damon.lock").ok()?;
    lock.lock().unwrap();
    let walker = PageTableWalker::new(&Root::live()).map_err(skip).ok()?;
    (!is_disturbed()).then_some((walker, lock))
}

/// Whether somebody else clears accessed bits; prints who.
fn is_disturbed() -> bool {
    let who = who_clears_accessed_bits(&mut Reader::new(Root::live()));
    if let Some(who) = &who {
        skip(format_args!("{who} clears accessed bits at the same time"));
    }
    who.is_some()
}

fn clearer() -> ReferencedReader {
    ReferencedReader::new(Root::live(), u64::MAX, Box::new(|name: &str| Arc::from(name)))
}

/// What the child's memory has mapped.
fn leaves(walker: &mut PageTableWalker, toucher: &Toucher) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    let result = walker.walk(toucher.pid(), |leaf| {
        if toucher.page_of(leaf.address).is_some() {
            leaves.push(leaf);
        }
    });
    result.unwrap();
    leaves
}

fn accessed_pages(toucher: &Toucher, leaves: &[Leaf]) -> Vec<usize> {
    let accessed = leaves.iter().filter(|leaf| leaf.entry.is_accessed());
    accessed
        .filter_map(|leaf| toucher.page_of(leaf.address))
        .collect()
}

#[test]
fn exactly_the_touched_pages_are_accessed() {
    let Some((mut walker, _lock)) = walker() else {
        return;
    };
    for memory in [Memory::Anon, Memory::Shmem, Memory::PrivateFile] {
        let (mut toucher, mut clearer) = (Toucher::start(memory, PAGES), clearer());
        for (seed, verb) in [(1, "set"), (2, "read"), (3, "read"), (4, "set")] {
            clearer.clear(toucher.key()).unwrap();
            toucher.tell(&format!("{verb} {seed}"));
            let leaves = leaves(&mut walker, &toucher);
            assert_eq!(leaves.len(), PAGES, "all pages are resident");
            assert!(leaves.iter().all(|leaf| leaf.size_bytes == PAGE_BYTES as u64));
            let expected: Vec<usize> = (0..PAGES).filter(|page| is_in_set(seed, *page)).collect();
            let accessed = accessed_pages(&toucher, &leaves);
            if accessed != expected && is_disturbed() {
                return;
            }
            assert_eq!(accessed, expected, "{memory:?}, seed {seed}");
        }
    }
}

#[test]
fn a_huge_page_is_one_unit() {
    let Some((mut walker, _lock)) = walker() else {
        return;
    };
    let (mut toucher, mut clearer) = (Toucher::start(Memory::Huge, PAGES), clearer());
    let huge = leaves(&mut walker, &toucher)
        .iter()
        .filter(|leaf| leaf.size_bytes == 2 << 20)
        .count();
    if huge < PAGES / PAGES_PER_HUGE {
        return skip(format_args!("only {huge} huge pages were given"));
    }
    for pages in [0, 1, PAGES_PER_HUGE, 5 * PAGES_PER_HUGE + 1] {
        clearer.clear(toucher.key()).unwrap();
        toucher.tell(&format!("first {pages}"));
        let accessed = accessed_pages(&toucher, &leaves(&mut walker, &toucher));
        let expected = (0..pages.div_ceil(PAGES_PER_HUGE)).map(|page| page * PAGES_PER_HUGE);
        assert_eq!(accessed, expected.collect::<Vec<_>>());
    }
}

#[test]
fn an_ended_process_has_no_tables() {
    let Some((mut walker, _lock)) = walker() else {
        return;
    };
    let mut toucher = Toucher::start(Memory::Anon, 16);
    let pid = toucher.pid();
    toucher.end();
    assert!(walker.walk(pid, |_| {}).is_err());
    assert!(walker.walk(2, |_| {}).is_err(), "a thread of the kernel");
}
