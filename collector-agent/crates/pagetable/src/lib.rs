//! Page tables, as far as the kernel hands them out: accessed bits, dirty marks, and what lies behind each page.

mod clear;
pub mod maps;
pub mod pagemap;
pub mod probe;
pub mod process;
pub mod referenced;
pub mod smaps;

/// Bytes of a base page, and of the addresses that one entry of a page table of the lowest level maps.
pub const PAGE_BYTES: u64 = 4096;
