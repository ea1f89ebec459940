//! Finds out by doing whether the walk of page tables shows touches: on memory of this process itself.

use std::hint::black_box;

use tierscope_rootfs::Root;

use crate::PAGE_BYTES;
use crate::clear::Clearer;
use crate::process::{ProcessFiles, process_key};
use crate::walk_error::WalkError;
use crate::walker::PageTableWalker;

/// Pages tried. They are fresh after the clearing, so that no cached translation hides a touch.
const PAGES: usize = 2048;
/// One page in this many is touched.
const TOUCHED_EVERY: usize = 3;
/// Wrong pages that are let pass: those of other threads and of reclaim.
const MAX_WRONG: usize = PAGES / 64;

/// Clears the accessed bits of this process, touches fresh pages, and walks its tables. Costs some 50 ms and affects no
/// other process.
pub fn probe_walk(root: &Root) -> Result<(), WalkError> {
    let mut walker = PageTableWalker::new(root)?;
    let this = process_key(root, std::process::id())?;
    let page_bytes = PAGE_BYTES as usize;
    let mut memory = vec![0_u8; (PAGES + 1) * page_bytes];
    let skipped = memory.as_ptr().align_offset(page_bytes);
    let pages = &mut memory[skipped..skipped + PAGES * page_bytes];
    let start = pages.as_ptr() as u64;
    Clearer::new(root).clear(&mut ProcessFiles::new(root.clone()), this)?;
    for page in pages.chunks_mut(page_bytes).step_by(TOUCHED_EVERY) {
        page[0] = black_box(1);
    }
    let mut touched = vec![false; PAGES];
    walker.walk(this.pid, |leaf| {
        let page = leaf
            .address
            .checked_sub(start)
            .map(|offset| (offset / PAGE_BYTES) as usize);
        if let Some(touched) = page.and_then(|page| touched.get_mut(page)) {
            *touched = leaf.entry.is_accessed();
        }
    })?;
    black_box(&memory);
    let is_wrong = |(page, touched): &(usize, &bool)| **touched != page.is_multiple_of(TOUCHED_EVERY);
    let wrong_pages = touched.iter().enumerate().filter(is_wrong).count();
    if wrong_pages > MAX_WRONG {
        return Err(WalkError::NotFollowing {
            pages: PAGES,
            wrong_pages,
        });
    }
    Ok(())
}
