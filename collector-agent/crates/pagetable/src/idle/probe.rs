//! Finds out by doing whether idle marks follow accesses: on memory of this process itself.

use std::sync::Arc;

use tierscope_rootfs::Root;

use super::{IdleError, IdleReader};
use crate::own_memory::OwnMemory;
use crate::placement::Placement;
use crate::process::process_key;

const PAGES: usize = 1024;
/// Wrong pages that are let pass: those whose translation stays cached, or that are not on a list of reclaim yet.
const MAX_WRONG: usize = PAGES / 4;

/// Marks the pages of this process idle, touches every second one of some, and reads the marks.
pub fn probe_idle(root: &Root) -> Result<(), IdleError> {
    let namer = Box::new(|name: &str| Arc::from(name));
    let mut reader = IdleReader::new(root, u64::MAX, namer, Placement::default())?;
    let this = process_key(root, std::process::id())?;
    let mut memory = OwnMemory::new(PAGES).map_err(|error| IdleError::Refused {
        file: "memory for the probe",
        reason: error.to_string(),
    })?;
    (0..PAGES).for_each(|page| memory.write(page));
    reader.read_and_mark(this, |_, _| {})?;
    (0..PAGES).step_by(2).for_each(|page| memory.write(page));
    let mut wrong_pages = PAGES;
    reader.read_and_mark(this, |_, pages| {
        for state in pages {
            if let Some(page) = memory.page_of(state.address) {
                wrong_pages -= usize::from(state.active == page.is_multiple_of(2));
            }
        }
    })?;
    if wrong_pages > MAX_WRONG {
        return Err(IdleError::NotFollowing {
            pages: PAGES,
            wrong_pages,
        });
    }
    Ok(())
}
