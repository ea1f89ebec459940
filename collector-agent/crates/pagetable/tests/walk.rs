//! The walk of page tables against processes whose touches are known. Skipped, with the reason printed, where the
//! kernel does not allow it.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::File;
use std::sync::Arc;

use tierscope_pagetable::abit::AbitReader;
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::Unmeasured;
use tierscope_pagetable::referenced::ReferencedReader;
use tierscope_pagetable::soft_dirty::{SoftDirtyError, probe_soft_dirty};
use tierscope_pagetable::walk_probe::probe_walk;
use tierscope_pagetable::walker::{Leaf, PageTableWalker};
use tierscope_rootfs::Root;
use tierscope_sample::heat::PageKind;
use tierscope_sample::page_group::{PageSize, PageState, TierIndex};
use toucher::{Memory, PAGE_BYTES, Toucher, is_in_set, keep_damon_away, observe, skip};
use waiting::wait_for;

mod toucher;
#[path = "../../../testing/waiting.rs"]
mod waiting;

/// 256 MiB.
const PAGES: usize = 65_536;
const PAGES_PER_HUGE: usize = 512;

/// A walker, and the lock that keeps tests with DAMON away.
fn walker() -> Option<(PageTableWalker, File)> {
    let lock = keep_damon_away();
    let walker = PageTableWalker::new(&Root::live()).map_err(skip).ok()?;
    Some((walker, lock))
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
            let expected: Vec<usize> = (0..PAGES).filter(|page| is_in_set(seed, *page)).collect();
            observe(&format!("{memory:?}, seed {seed}"), &expected, || {
                clearer.clear(toucher.key()).unwrap();
                toucher.tell(&format!("{verb} {seed}"));
                let leaves = leaves(&mut walker, &toucher);
                assert!(leaves.iter().all(|leaf| leaf.size_bytes == PAGE_BYTES as u64));
                // While a page moves it is not mapped.
                if leaves.len() < PAGES {
                    return Vec::new();
                }
                assert_eq!(leaves.len(), PAGES, "each page once");
                accessed_pages(&toucher, &leaves)
            });
        }
    }
}

#[test]
fn a_huge_page_is_one_unit() {
    let Some((mut walker, _lock)) = walker() else {
        return;
    };
    let (mut toucher, mut clearer) = (Toucher::start(Memory::Huge, PAGES), clearer());
    let is_huge = |leaf: &Leaf| leaf.size_bytes == 2 << 20;
    let huge = leaves(&mut walker, &toucher)
        .iter()
        .copied()
        .filter(is_huge)
        .count();
    if huge < PAGES / PAGES_PER_HUGE {
        return skip(format_args!("only {huge} huge pages were given"));
    }
    for pages in [0, 1, PAGES_PER_HUGE, 5 * PAGES_PER_HUGE + 1] {
        let expected = (0..pages.div_ceil(PAGES_PER_HUGE)).map(|page| page * PAGES_PER_HUGE);
        observe("huge", &expected.collect::<Vec<_>>(), || {
            clearer.clear(toucher.key()).unwrap();
            toucher.tell(&format!("first {pages}"));
            let leaves = leaves(&mut walker, &toucher);
            // The kernel may split a page to move it; its parts are accessed as the whole was.
            if !leaves.iter().all(is_huge) {
                return Vec::new();
            }
            accessed_pages(&toucher, &leaves)
        });
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

/// All pages of the child's memory, as the reader gives them; how many of them where some are not mapped, because the
/// kernel moves them.
fn all_pages_of(
    reader: &mut AbitReader,
    toucher: &Toucher,
    kind: PageKind,
) -> Result<Vec<PageState>, String> {
    let mut pages = Vec::new();
    let result = reader.read(toucher.key(), |mapping, chunk| {
        if mapping.start == toucher.address {
            assert_eq!(mapping.kind, kind);
            pages.extend_from_slice(chunk);
        }
    });
    result.unwrap();
    assert!(pages.len() <= PAGES);
    let count = pages.len();
    (count == PAGES).then_some(pages).ok_or(format!("{count} pages"))
}

#[test]
fn pages_have_kinds_and_written_copies_of_file_pages_are_anonymous() {
    let Some((_, _lock)) = walker() else { return };
    let placement = Placement::only(Some(TierIndex(2)));
    let namer = Box::new(|name: &str| Arc::from(name));
    let mut reader = AbitReader::new(&Root::live(), u64::MAX, namer, placement).unwrap();
    for (memory, kind) in [
        (Memory::Anon, PageKind::Anon),
        (Memory::Shmem, PageKind::Tmpfs),
        (Memory::ReadFile, PageKind::File),
    ] {
        let mut toucher = Toucher::start(memory, PAGES);
        let all_anon = memory == Memory::Anon;
        let before = wait_for(|| all_pages_of(&mut reader, &toucher, kind));
        assert!(
            before
                .iter()
                .all(|page| page.anon == all_anon && page.tier == Some(TierIndex(2)))
        );
        let in_set = |wanted: bool| (0..PAGES).filter(move |page| is_in_set(5, *page) == wanted);
        observe("pages read", &in_set(true).collect::<Vec<_>>(), || {
            reader.clear(toucher.key()).unwrap();
            toucher.tell("set 5");
            let after = wait_for(|| all_pages_of(&mut reader, &toucher, kind));
            let copied = memory == Memory::ReadFile;
            assert!(in_set(true).all(|page| after[page].anon == (all_anon || copied)));
            assert!(in_set(false).all(|page| after[page].anon == all_anon));
            assert!(after.iter().all(|page| page.size == PageSize::Small4K));
            (0..PAGES).filter(|page| after[*page].active).collect()
        });
    }
}

#[test]
fn what_is_not_the_process_is_not_read() {
    let Some((_, _lock)) = walker() else { return };
    let namer = || Box::new(|name: &str| Arc::from(name));
    let toucher = Toucher::start(Memory::Anon, 16);
    let mut small = AbitReader::new(&Root::live(), 4096, namer(), Placement::default()).unwrap();
    assert!(matches!(
        small.clear(toucher.key()),
        Err(Unmeasured::TooLarge { .. })
    ));
    let mut reader = AbitReader::new(&Root::live(), u64::MAX, namer(), Placement::default()).unwrap();
    let mut other = toucher.key();
    other.start_time_ticks += 1;
    assert_eq!(reader.clear(other), Err(Unmeasured::Gone));
    assert_eq!(
        reader.read(other, |_, _| panic!("handed out")),
        Err(Unmeasured::Gone)
    );
}

/// Pages that are used all the time stay in the translation caches of the processor, in which their use leaves no mark.
#[test]
fn pages_whose_translations_are_cached_are_seen() {
    let Some((mut walker, _lock)) = walker() else {
        return;
    };
    if probe_soft_dirty(&Root::live()) != Err(SoftDirtyError::NotSupported) {
        return skip("cached translations stay on kernels with soft-dirty marks");
    }
    let (mut toucher, mut clearer) = (Toucher::start(Memory::Anon, PAGES_PER_HUGE), clearer());
    let expected: Vec<usize> = (0..PAGES_PER_HUGE).filter(|page| is_in_set(1, *page)).collect();
    for _ in 0..3 {
        observe("cached translations", &expected, || {
            toucher.tell("cached 1");
            clearer.clear(toucher.key()).unwrap();
            toucher.tell("cached 1");
            accessed_pages(&toucher, &leaves(&mut walker, &toucher))
        });
    }
}

#[test]
fn the_probe_works_where_the_walk_does() {
    let Some((_, _lock)) = walker() else { return };
    probe_walk(&Root::live()).unwrap();
}
