//! Readers of files made elsewhere: page traces and records of damo, folded as a live source is, and trees of snapshots.

pub mod damo;
pub mod damo_fold;
pub mod damo_grid;
mod damo_json;
mod damo_record;
mod damo_text;
pub mod damo_wss;
pub mod page_trace;
mod perf_data;
pub mod perf_fold;
pub mod perf_recording;
mod perf_samples;
mod perf_script;
mod perf_space;
pub mod recognise;
mod trace_columns;
pub mod trace_error;
pub mod trace_fold;
pub mod trace_intervals;
mod trace_pages;
pub mod trace_sample;
mod trace_tiles;
pub mod tree;
mod tree_error;
