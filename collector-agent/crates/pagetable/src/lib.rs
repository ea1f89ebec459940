//! Accessed bits of page tables, as far as the kernel hands them out: `clear_refs` and smaps.

pub mod probe;
pub mod referenced;
pub mod smaps;
