//! Finds out by doing whether accessed bits can be cleared and read: on memory of this process itself.

use std::hint::black_box;
use std::sync::Arc;

use tierscope_rootfs::Root;
use tierscope_sample::vma_fold::{ProcessKey, VmaReading};

use crate::process::process_key;
use crate::referenced::{ReferencedReader, Unmeasured};

const PAGE_BYTES: usize = crate::PAGE_BYTES as usize;
/// Half of the memory that is touched. Large enough for a mapping of its own.
const HALF_BYTES: usize = 4 << 20;
/// What other threads and cached address translations may add to or hide from a half.
const SLACK_BYTES: i64 = 3 * HALF_BYTES as i64 / 4;

/// Why the probe failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// A step was refused.
    #[error(transparent)]
    Refused(#[from] Unmeasured),
    /// The bits do not follow the accesses.
    #[error(
        "accessed bits do not follow accesses: {touched_bytes} bytes set before clearing, {cleared_bytes} after it, \
         {touched_again_bytes} after touching {HALF_BYTES} more"
    )]
    NotFollowing {
        /// `Referenced` after touching the first half of the memory.
        touched_bytes: i64,
        /// `Referenced` after clearing.
        cleared_bytes: i64,
        /// `Referenced` after touching the second half.
        touched_again_bytes: i64,
    },
}

/// Touches memory of this process, clears its bits, touches other memory, and reads the bits after each step. Costs
/// some milliseconds and affects no other process.
pub fn probe_referenced(root: &Root) -> Result<(), ProbeError> {
    let mut reader = ReferencedReader::new(root.clone(), u64::MAX, Box::new(|name: &str| Arc::from(name)));
    let this = this_process(root)?;
    let mut memory = vec![0_u8; 2 * HALF_BYTES];
    let address = memory.as_ptr() as u64;
    let (first, second) = memory.split_at_mut(HALF_BYTES);
    touch(first);
    let touched_bytes = referenced_around(&reader.read(this)?, address);
    reader.clear(this)?;
    let cleared_bytes = referenced_around(&reader.read(this)?, address);
    // Fresh pages: a translation that the processor still caches would hide a touch of an old one.
    touch(second);
    let touched_again_bytes = referenced_around(&reader.read(this)?, address);
    let half = HALF_BYTES as i64;
    let follows = touched_bytes >= half
        && cleared_bytes <= touched_bytes - half + SLACK_BYTES
        && touched_again_bytes >= cleared_bytes + half - SLACK_BYTES;
    if follows {
        Ok(())
    } else {
        Err(ProbeError::NotFollowing {
            touched_bytes,
            cleared_bytes,
            touched_again_bytes,
        })
    }
}

fn touch(memory: &mut [u8]) {
    for page in memory.chunks_mut(PAGE_BYTES) {
        page[0] = black_box(1);
    }
    black_box(memory);
}

/// Accessed bytes of the mappings that the probe's memory lies in.
fn referenced_around(vmas: &[VmaReading], address: u64) -> i64 {
    let end = address + 2 * HALF_BYTES as u64;
    let around = vmas.iter().filter(|vma| vma.start < end && vma.end > address);
    around.map(|vma| vma.referenced_bytes).sum()
}

/// The key of this process.
pub fn this_process(root: &Root) -> Result<ProcessKey, Unmeasured> {
    process_key(root, std::process::id())
}
