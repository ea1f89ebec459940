//! Readers of files made elsewhere: page traces, folded as a live source is, and trees of snapshots.

pub mod page_trace;
mod trace_columns;
pub mod trace_error;
pub mod trace_fold;
pub mod trace_intervals;
mod trace_tiles;
pub mod tree;
mod unpack;
