//! The owner's settings of heat: whose is measured, and by which back ends.

use std::path::PathBuf;

use serde::Deserialize;

use crate::backend::{DEFAULT_RSS_LIMIT_BYTES, SamplingSettings};

/// Back ends of heat that are tried unless the owner names others, best first. None of them is intrusive.
pub const DEFAULT_BACKENDS: [&str; 5] = ["pebs", "ibs", "spe", "damon_pages", "referenced"];
/// Back ends that are tried where the owner names programs: first all that tell pages apart, best first. Who names a
/// program agrees to what they cost it. The last two give heat where none of those works.
pub const PAGE_BACKENDS: [&str; 8] = [
    "pebs",
    "ibs",
    "spe",
    "abit_walk",
    "idle_page",
    "damon_pages",
    "damon_regions",
    "referenced",
];

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
    /// Patterns for paths and names of executables.
    pub executables: Vec<String>,
    /// Programs whose pages are sampled: by path, name, text of the command line, or `pid:<id>`.
    pub programs: Vec<String>,
    /// Processes that were started with this variable set to 1, on, true or yes are listed as if named under `programs`.
    /// Without it no environment is read.
    pub opt_in_variable: Option<String>,
    /// Back ends in the order in which they are tried; without it [`DEFAULT_BACKENDS`], or [`PAGE_BACKENDS`] where
    /// programs are named or may ask.
    pub backends: Option<Vec<String>>,
    /// Patterns for paths of executables whose writes are tracked: they pay for it at their first write to each page.
    pub write_tracking: Vec<String>,
    /// Processes with more resident memory are measured by back ends that sample alone.
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
            programs: Vec::new(),
            opt_in_variable: None,
            backends: None,
            write_tracking: Vec::new(),
            max_process_mib: DEFAULT_RSS_LIMIT_BYTES >> 20,
            follow_plan: true,
            sampling: SamplingSettings::default(),
        }
    }
}

impl Heat {
    /// [`Heat::max_process_mib`] in bytes.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.max_process_mib.saturating_mul(1 << 20)
    }

    /// Back ends in the order in which they are tried; the first that works on this host measures.
    pub fn chain(&self) -> Vec<String> {
        if let Some(backends) = &self.backends {
            return backends.clone();
        }
        let chain: &[&str] = if self.programs.is_empty() && self.opt_in_variable.is_none() {
            &DEFAULT_BACKENDS
        } else {
            &PAGE_BACKENDS
        };
        chain.iter().map(|&name| name.to_owned()).collect()
    }
}

/// Which processes are measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeatProcesses {
    /// Those of the pid file, the control groups, the executables and the programs listed.
    #[default]
    Listed,
    /// None, whatever else is listed.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_programs_ask_for_back_ends_that_tell_pages_apart() {
        let mut heat = Heat::default();
        assert_eq!(heat.chain(), DEFAULT_BACKENDS);
        heat.programs = vec!["redis-server".to_owned()];
        assert_eq!(heat.chain(), PAGE_BACKENDS);
        let asked = Heat {
            opt_in_variable: Some("MEASURE_ME".to_owned()),
            ..Heat::default()
        };
        assert_eq!(asked.chain(), PAGE_BACKENDS);
        heat.backends = Some(vec!["referenced".to_owned()]);
        assert_eq!(heat.chain(), ["referenced"], "what the owner names stands");
        let known = tierscope_host::collectors::backend_names();
        assert_eq!(known, PAGE_BACKENDS, "every back end has its place");
    }
}
