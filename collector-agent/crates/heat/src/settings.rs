//! The owner's settings of heat: whose is measured, and by which back ends.

use std::path::PathBuf;

use serde::Deserialize;

use crate::backend::{DEFAULT_RSS_LIMIT_BYTES, SamplingSettings};

/// Back ends of heat that are tried unless the owner names others, best first. None of them is intrusive.
pub const DEFAULT_BACKENDS: [&str; 5] = ["pebs", "ibs", "spe", "damon_pages", "referenced"];

/// Whose heat is measured. Nothing is measured unless it is listed here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Heat {
    /// Which processes are measured.
    pub processes: HeatProcesses,
    /// A file with a process per line: `pid [start_time [service]]`, read again in each interval.
    pub pids_file: Option<PathBuf>,
    /// Patterns for control group paths.
    pub cgroups: Vec<String>,
    /// Patterns for paths of executables.
    pub executables: Vec<String>,
    /// Back ends in the order in which they are tried; the first that works on this host measures.
    pub backends: Vec<String>,
    /// Patterns for paths of executables whose writes are tracked: they pay for it at their first write to each page.
    pub write_tracking: Vec<String>,
    /// Processes with more resident memory are left alone.
    pub max_process_mib: u64,
    /// Whether the service may narrow which of the listed services are measured here.
    pub follow_plan: bool,
    /// How hardware samplers sample.
    pub sampling: SamplingSettings,
}

impl Default for Heat {
    fn default() -> Self {
        Self {
            processes: HeatProcesses::default(),
            pids_file: None,
            cgroups: Vec::new(),
            executables: Vec::new(),
            backends: DEFAULT_BACKENDS.map(str::to_owned).to_vec(),
            write_tracking: Vec::new(),
            max_process_mib: DEFAULT_RSS_LIMIT_BYTES >> 20,
            follow_plan: true,
            sampling: SamplingSettings::default(),
        }
    }
}

/// Which processes are measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeatProcesses {
    /// Those of the pid file, the control groups and the executables listed.
    #[default]
    Listed,
    /// None, whatever else is listed.
    None,
}
