//! A recording of snapshots in memory, and who reads it.

use std::path::Path;

use tierscope_sample::counters::CounterSample;
use tierscope_sample::inventory::Inventory;

/// A recording in memory.
#[derive(Debug)]
pub struct Recording {
    /// Name of the archive or directory.
    pub name: String,
    /// One sample per snapshot, at its recorded time; raw values.
    pub samples: Vec<CounterSample>,
    /// What the host was at the first snapshot.
    pub inventory: Inventory,
    /// Lines that could not be understood.
    pub problems: Vec<String>,
}

/// Reads a directory or `.tar.zst` of snapshots. The agent gives it, because it reads a live host by the same code.
pub type ReadRecording = fn(&Path) -> anyhow::Result<Recording>;
