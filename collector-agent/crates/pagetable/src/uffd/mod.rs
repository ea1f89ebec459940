//! Write tracking by userfaultfd: which pages of a process were written, exactly, and without its help. Stores only,
//! never heat.
//!
//! A userfaultfd in the mode `WP_ASYNC` marks pages as unwritten; the kernel takes the mark away at the first write, in
//! about 1 us and without waking anybody. `PAGEMAP_SCAN` lists the pages without the mark and marks them again. It needs
//! Linux 6.7. When the last descriptor is closed, as when its holder is killed, the kernel takes all marks away.

pub mod attach;
pub mod history;
#[cfg(target_arch = "x86_64")]
mod inject;
pub mod scan;
mod sys;
pub mod track;
