//! Page tables, as far as the kernel hands them out: accessed bits, dirty marks, and what lies behind each page.

pub mod abit;
pub mod bpf;
mod clear;
pub mod idle;
pub mod mappings;
pub mod maps;
pub mod nodes_of_pages;
mod own_memory;
pub mod page_draw;
pub mod page_sizes;
pub mod pagemap;
mod physical;
pub mod placement;
pub mod probe;
pub mod process;
pub mod referenced;
pub mod rivals;
pub mod smaps;
pub mod soft_dirty;
pub mod uffd;
mod walk_error;
pub mod walk_probe;
pub mod walker;

/// Bytes of the addresses that one entry of a page table of the lowest level maps on x86-64, the one architecture whose
/// tables are walked. What the kernel prints by page is by the base page of its host ([`tierscope_rootfs::Root::page_bytes`]).
pub const PAGE_BYTES: u64 = tierscope_sample::page_size::MODEL_BYTES;
