//! The types that flow through the agent, and the pure rules over them. No I/O, no clock.
//!
//! Readers (`procfs`, `sysfs`, `pagetable`, `import`) produce these types, `wire` encodes them. A value that the
//! kernel does not offer is `None`, never zero.

mod _generated;
pub mod advice;
pub mod catalogue;
mod charter;
mod column;
pub mod counters;
pub mod fold;
mod gap_tally;
pub mod gaps;
pub mod heat;
pub mod history;
pub mod inventory;
pub use inventory::page_size;
pub mod mapping;
mod marks;
mod metric;
pub mod page_group;
pub mod page_moves;
pub mod page_sample;
mod page_tally;
pub mod placement;
pub mod service;
pub mod tile_grid;
pub mod tiles;
mod vma;
pub mod vma_fold;
mod vma_history;
mod vma_tiles;
