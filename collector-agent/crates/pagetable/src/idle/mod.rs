//! Idle page tracking: which pages were touched since they were marked idle, by page frame.
//!
//! Needs `CONFIG_IDLE_PAGE_TRACKING`, which few distributions build in, and `CAP_SYS_ADMIN`. Marking a page clears its
//! accessed bits and keeps what they said for reclaim, so it disturbs reclaim less than `clear_refs`. Rules and limits:
//! docs/method/page-bits.md.

mod frames;
mod pages;
mod probe;

pub use frames::{FrameFlags, IdleBitmap};
pub use pages::IdleReader;
pub use probe::probe_idle;

use crate::process::Unmeasured;

/// Why pages cannot be marked idle here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdleError {
    /// The kernel lacks it.
    #[error("the kernel has no idle page tracking: it was built without CONFIG_IDLE_PAGE_TRACKING")]
    NotSupported,
    /// The kernel refuses.
    #[error("{file} cannot be used: {reason}; run with CAP_SYS_ADMIN")]
    Refused {
        /// The kernel's file.
        file: &'static str,
        /// Why.
        reason: String,
    },
    /// A file of the process cannot be used.
    #[error(transparent)]
    Process(#[from] Unmeasured),
    /// The marks do not follow the accesses.
    #[error("idle marks do not follow accesses: {wrong_pages} of {pages} pages are wrong")]
    NotFollowing {
        /// Pages that were tried.
        pages: usize,
        /// Pages with the wrong mark.
        wrong_pages: usize,
    },
}
