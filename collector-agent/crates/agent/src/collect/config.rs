//! Limits and cadences of a collector.

use tierscope_clock::SECOND_NS;

use super::cadence::Rescan;
use super::slow::SlowCadences;

/// Limits and cadences.
#[derive(Debug, Clone)]
pub struct CollectorConfig {
    /// Counter names of one host.
    pub max_names: usize,
    /// Control groups that are read.
    pub max_cgroups: usize,
    /// When nodes, groups, services and processes are looked for again.
    pub rescan: Rescan,
    /// Shortest time between two readings of `/proc/zoneinfo`, which takes zone locks.
    pub zoneinfo_min_ns: i64,
    /// Shortest time between two readings of control groups, whose counters the kernel sums over CPUs for it.
    pub groups_min_ns: i64,
    /// Shortest time between two readings of what DAMON's schemes did: some ten small files each.
    pub schemes_min_ns: i64,
    /// Sources that are read more rarely still.
    pub slow: SlowCadences,
    /// Files of single processes; `None` leaves them out.
    pub process_files: Option<ProcessFiles>,
    /// Whether numbers of services are collected: their control groups, and their processes.
    pub services: bool,
}

/// How much is read of single processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessFiles {
    /// Length of a round over the processes, which is spread over the collections within it.
    pub min_ns: i64,
    /// The largest processes of the host, at most so many.
    pub max_processes: usize,
    /// Resident bytes of all of them together: reading walks their page tables.
    pub max_resident_bytes: i64,
    /// Resident bytes of one process; a larger one is counted and not read.
    pub max_process_bytes: i64,
    /// Bytes read of one `numa_maps`.
    pub max_file_bytes: u64,
}

impl Default for ProcessFiles {
    fn default() -> Self {
        Self {
            min_ns: 1800 * SECOND_NS,
            max_processes: 50,
            max_resident_bytes: 16 << 30,
            max_process_bytes: 8 << 30,
            max_file_bytes: 1 << 20,
        }
    }
}

impl Default for CollectorConfig {
    fn default() -> Self {
        Self {
            max_names: 4096,
            max_cgroups: 200,
            rescan: Rescan::default(),
            zoneinfo_min_ns: 5 * SECOND_NS,
            groups_min_ns: 10 * SECOND_NS,
            schemes_min_ns: 10 * SECOND_NS,
            slow: SlowCadences::default(),
            process_files: Some(ProcessFiles::default()),
            services: true,
        }
    }
}

impl CollectorConfig {
    /// For recordings: every snapshot is read whole, whatever the time between them.
    pub fn for_recordings() -> Self {
        let process_files = ProcessFiles {
            min_ns: 0,
            max_process_bytes: i64::MAX,
            max_file_bytes: 64 << 20,
            ..ProcessFiles::default()
        };
        Self {
            rescan: Rescan::ALWAYS,
            zoneinfo_min_ns: 0,
            groups_min_ns: 0,
            schemes_min_ns: 0,
            slow: SlowCadences::ALWAYS,
            process_files: Some(process_files),
            ..Self::default()
        }
    }
}
