//! The owner's settings of heat: whose is measured, and by which back ends.

use std::path::PathBuf;

use serde::Deserialize;

use crate::heat::backend::{DEFAULT_RSS_LIMIT_BYTES, SamplingSettings};

/// Back ends of heat that are tried unless the owner names others, best first. None of them is intrusive.
pub(crate) const DEFAULT_BACKENDS: [&str; 5] = ["pebs", "ibs", "spe", "damon_pages", "referenced"];

/// Whose heat is measured. Nothing is measured unless it is listed here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Heat {
    /// Which processes are measured.
    pub(crate) processes: HeatProcesses,
    /// A file with a process per line: `pid [start_time [service]]`, read again in each interval.
    pub(crate) pids_file: Option<PathBuf>,
    /// Patterns for control group paths.
    pub(crate) cgroups: Vec<String>,
    /// Patterns for paths of executables.
    pub(crate) executables: Vec<String>,
    /// Back ends in the order in which they are tried; the first that works on this host measures.
    pub(crate) backends: Vec<String>,
    /// Patterns for paths of executables whose writes are tracked: they pay for it at their first write to each page.
    pub(crate) write_tracking: Vec<String>,
    /// Processes with more resident memory are left alone.
    pub(crate) max_process_mib: u64,
    /// Whether the service may narrow which of the listed services are measured here.
    pub(crate) follow_plan: bool,
    /// How hardware samplers sample.
    pub(crate) sampling: SamplingSettings,
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
pub(crate) enum HeatProcesses {
    /// Those of the pid file, the control groups and the executables listed.
    #[default]
    Listed,
    /// None, whatever else is listed.
    None,
}
