//! Memory of services from the files of their processes: a bounded part, at a slow cadence.

use std::collections::BTreeMap;

use tierscope_procfs::{counters, numa_maps, process};
use tierscope_rootfs::Reader;

use super::ProcessFiles;
use super::frame::Frame;
use crate::services::{Discovered, FoundService, Process};

const SOURCES: [&str; 2] = ["smaps_rollup", "numa_maps"];
/// Resident size is only used to choose, so the usual page size will do.
const PAGE_BYTES: i64 = 4096;

/// Keeps the sections of services in the frame while they are not due.
pub(super) fn keep(frame: &mut Frame, services: &[FoundService]) {
    for service in services {
        let scope = format!("service:{}", service.id);
        for source in SOURCES {
            frame.section(&scope, source);
        }
    }
}

/// Sums `smaps_rollup` and `numa_maps` of the largest processes by service. Processes that may not be read, or are
/// beyond the limits, are not in the sums; `processes_read` says how many are.
pub(super) fn read(
    reader: &mut Reader,
    frame: &mut Frame,
    discovered: &Discovered,
    services: &[FoundService],
    limits: &ProcessFiles,
) {
    let mut sums: BTreeMap<String, [BTreeMap<String, i64>; 2]> = BTreeMap::new();
    let has_counters = |process: &&Process| services.iter().any(|service| service.id == process.service);
    for process in largest(reader, discovered, limits)
        .into_iter()
        .filter(has_counters)
    {
        let service = sums.entry(format!("service:{}", process.service)).or_default();
        add_smaps_rollup(reader, process.pid, &mut service[0]);
        add_numa_maps(reader, process.pid, limits.max_file_bytes, &mut service[1]);
    }
    for (scope, by_source) in sums {
        for (source, values) in SOURCES.into_iter().zip(by_source) {
            let section = frame.section(&scope, source);
            for (name, value) in values {
                frame.put(section, &name, Some(value));
            }
        }
    }
}

/// The largest processes of a host within the limits. Processes without a `statm` (in recordings) count as empty.
pub fn largest<'d>(
    reader: &mut Reader,
    discovered: &'d Discovered,
    limits: &ProcessFiles,
) -> Vec<&'d Process> {
    let mut by_size: Vec<(i64, &Process)> = discovered
        .processes
        .iter()
        .map(|process| (process::resident_pages(reader, process.pid).unwrap_or(0), process))
        .collect();
    by_size.sort_by_key(|(pages, process)| (std::cmp::Reverse(*pages), process.pid));
    let mut total_bytes = 0_i64;
    let fits = |(pages, _): &&(i64, &Process)| {
        total_bytes = total_bytes.saturating_add(pages.saturating_mul(PAGE_BYTES));
        total_bytes <= limits.max_resident_bytes
    };
    by_size
        .iter()
        .take(limits.max_processes)
        .filter(fits)
        .map(|(_, process)| *process)
        .collect()
}

fn add_smaps_rollup(reader: &mut Reader, pid: u32, sums: &mut BTreeMap<String, i64>) {
    let mut add = |name: &str, value: i64| add_to(sums, name.to_owned(), value);
    // Absent: the process is gone, or the recording has none this time. Unreadable: it belongs to somebody else.
    if let Ok(Ok(())) = counters::smaps_rollup(reader, pid, &mut add) {
        add("processes_read", 1);
    }
}

fn add_numa_maps(reader: &mut Reader, pid: u32, max_file_bytes: u64, sums: &mut BTreeMap<String, i64>) {
    let Ok(maps) = numa_maps::read(reader, pid, max_file_bytes) else {
        return;
    };
    let mut add = |name: String, value: i64| add_to(sums, name, value);
    for ((kind, node), bytes) in maps.resident_bytes {
        add(format!("{}[N{node}]", kind.name()), bytes);
    }
    // A process whose maps were cut is not counted as read: its part is a lower bound.
    add(
        "processes_read".to_owned(),
        i64::from(!maps.cut && maps.file_bytes > 0),
    );
}

fn add_to(sums: &mut BTreeMap<String, i64>, name: String, value: i64) {
    let sum = sums.entry(name).or_default();
    *sum = sum.saturating_add(value);
}
