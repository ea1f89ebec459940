//! Readers of `/proc`: host counters, zones, pressure, swap, and what a process shows of its memory.
//!
//! Each module reads one surface. Counter readers hand names and values to a closure in the order of the file, so that
//! a caller can store them without an allocation per line. Names are kept as the kernel prints them.

pub mod buddyinfo;
pub mod counters;
pub mod host;
pub mod numa_maps;
pub mod pressure;
pub mod process;
pub mod stat;
pub mod swaps;
pub mod zoneinfo;
