//! Memory of services from the files of their processes: a bounded part, in rounds that are spread over their period.
//!
//! The kernel walks the page tables of a process to print these files, so a round over the largest processes of a host
//! takes tenths of a second of CPU. Each collection reads the part of a round that its share of the period allows, and a
//! service gets its sums when the last of its processes is read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tierscope_host::services::{Discovered, FoundService, Process};
use tierscope_procfs::{counters, numa_maps, process};
use tierscope_rootfs::Reader;
use tierscope_sample::placement::{NodeClasses, Placement, has_several_classes};

use super::cadence::Timer;
use super::config::ProcessFiles;
use super::frame::Frame;
use crate::inventory::page_size;

const SOURCES: [&str; 3] = ["smaps_rollup", "numa_maps", "placement"];
/// Resident bytes that the first collection of a round may walk: some milliseconds.
const FIRST_BYTES: i64 = 128 << 20;
/// Names that say how much of a service is in its sums.
const READ: &str = "processes_read";
const TOO_LARGE: &str = "processes_too_large";

/// A process that is still to be read in a round.
#[derive(Debug)]
struct Waiting {
    pid: u32,
    start_time: u64,
    scope: String,
    resident_bytes: i64,
}

/// Sums of a service, by source and name.
#[derive(Debug, Default)]
struct Sums {
    smaps_rollup: BTreeMap<String, i64>,
    numa_maps: BTreeMap<String, i64>,
    placement: Placement,
}

#[derive(Debug, Default)]
pub(super) struct Rounds {
    timer: Timer,
    waiting: VecDeque<Waiting>,
    /// Services of the round that have no sums yet.
    open: BTreeMap<String, Sums>,
    total_bytes: i64,
    last_ns: i64,
    /// Resident bytes that may be walked now. What is not used is saved up for large processes, which are walked whole.
    credit_bytes: i64,
}

/// What a round needs to know of the host.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) discovered: &'a Discovered,
    pub(super) services: &'a [FoundService],
    /// Classes of the nodes' memory.
    pub(super) classes: &'a NodeClasses,
    /// Scopes of services whose placement is known from their control groups, which is better.
    pub(super) placed: &'a BTreeSet<String>,
    pub(super) limits: ProcessFiles,
}

impl Rounds {
    /// Keeps the sections of services in the frame while they are not due.
    pub(super) fn keep(frame: &mut Frame, services: &[FoundService]) {
        for service in services {
            let scope = format!("service:{}", service.id);
            for source in SOURCES {
                frame.section(&scope, source);
            }
        }
    }

    /// Reads the part of the round that is due, and begins a round when its time has come. Processes that may not be
    /// read, or are beyond the limits, are not in the sums; `processes_read` and `processes_too_large` say how many.
    pub(super) fn read(&mut self, reader: &mut Reader, frame: &mut Frame, scene: &Scene<'_>, now_ns: i64) {
        if self.waiting.is_empty() && self.timer.take(now_ns, scene.limits.min_ns) {
            self.begin(reader, scene);
            self.last_ns = now_ns;
            self.credit_bytes = FIRST_BYTES;
        }
        self.earn(now_ns, scene.limits.min_ns);
        while let Some(next) = self.next_affordable() {
            let sums = self.open.entry(next.scope.clone()).or_default();
            // The number may belong to another process by now.
            if process::stat(reader, next.pid)
                .is_ok_and(|stat| stat.is_ok_and(|stat| stat.start_time_ticks == next.start_time))
            {
                add_smaps_rollup(reader, next.pid, &mut sums.smaps_rollup);
                // With one node there is nothing to learn that the other file does not say.
                if scene.classes.len() > 1 {
                    add_numa_maps(reader, next.pid, scene, sums);
                }
            }
            if self.waiting.front().is_none_or(|other| other.scope != next.scope) {
                self.publish(frame, scene, &next.scope);
            }
        }
        if self.waiting.is_empty() {
            // Services all of whose processes are too large.
            for scope in self.open.keys().cloned().collect::<Vec<_>>() {
                self.publish(frame, scene, &scope);
            }
        }
    }

    fn begin(&mut self, reader: &mut Reader, scene: &Scene<'_>) {
        let has_counters =
            |process: &Process| scene.services.iter().any(|service| service.id == process.service);
        let mut waiting = Vec::new();
        for (process, resident_bytes) in largest(reader, scene.discovered, &scene.limits) {
            if !has_counters(process) {
                continue;
            }
            let scope = format!("service:{}", process.service);
            if resident_bytes > scene.limits.max_process_bytes {
                let sums = self.open.entry(scope).or_default();
                add_to(&mut sums.smaps_rollup, TOO_LARGE.to_owned(), 1);
                if scene.classes.len() > 1 {
                    add_to(&mut sums.numa_maps, TOO_LARGE.to_owned(), 1);
                }
                continue;
            }
            waiting.push(Waiting {
                pid: process.pid,
                start_time: process.start_time,
                scope,
                resident_bytes,
            });
        }
        self.total_bytes = waiting.iter().map(|process| process.resident_bytes).sum();
        // Small services first: they have their sums at once, and large ones when enough is saved up.
        let mut of_services: BTreeMap<String, i64> = BTreeMap::new();
        for process in &waiting {
            *of_services.entry(process.scope.clone()).or_default() += process.resident_bytes;
        }
        waiting
            .sort_by_cached_key(|process| (of_services[&process.scope], process.scope.clone(), process.pid));
        self.waiting = waiting.into();
    }

    /// The next process of the round, once its size is saved up.
    fn next_affordable(&mut self) -> Option<Waiting> {
        let resident_bytes = self.waiting.front()?.resident_bytes;
        if resident_bytes > self.credit_bytes {
            return None;
        }
        self.credit_bytes -= resident_bytes;
        self.waiting.pop_front()
    }

    /// Adds what the time since the last collection earns, so that the round ends within its period.
    fn earn(&mut self, now_ns: i64, period_ns: i64) {
        if period_ns == 0 {
            self.credit_bytes = i64::MAX;
            return;
        }
        let share = (now_ns - self.last_ns).clamp(0, period_ns) as f64 / period_ns as f64;
        let earned_bytes = (self.total_bytes as f64 * share) as i64;
        self.credit_bytes = self
            .credit_bytes
            .saturating_add(earned_bytes)
            .min(self.total_bytes.max(FIRST_BYTES));
        self.last_ns = now_ns;
    }

    fn publish(&mut self, frame: &mut Frame, scene: &Scene<'_>, scope: &str) {
        let Some(sums) = self.open.remove(scope) else {
            return;
        };
        for (source, values) in [
            ("smaps_rollup", &sums.smaps_rollup),
            ("numa_maps", &sums.numa_maps),
        ] {
            let section = frame.section(scope, source);
            for (name, value) in values {
                frame.put(section, name, Some(*value));
            }
        }
        if !scene.placed.contains(scope) && has_several_classes(scene.classes) {
            put_placement(frame, scope, &sums.placement);
        }
    }
}

/// Writes the placement of a service: `anon[dram]` and its kin.
pub(super) fn put_placement(frame: &mut Frame, scope: &str, placement: &Placement) {
    let section = frame.section(scope, "placement");
    for (kind, class, bytes) in placement.iter() {
        frame.put(section, &format!("{}[{class}]", kind.name()), Some(bytes.max(0)));
    }
}

/// The largest processes of a host within the limits, with their resident bytes. Processes without a `statm` (in some
/// recordings) count as empty.
pub fn largest<'d>(
    reader: &mut Reader,
    discovered: &'d Discovered,
    limits: &ProcessFiles,
) -> Vec<(&'d Process, i64)> {
    let mut by_size: Vec<(i64, &Process)> = discovered
        .processes
        .iter()
        .map(|process| (process::resident_pages(reader, process.pid).unwrap_or(0), process))
        .collect();
    by_size.sort_by_key(|(pages, process)| (std::cmp::Reverse(*pages), process.pid));
    let mut total_bytes = 0_i64;
    // Where a recording does not tell, the largest: the limits hold.
    let page_bytes = page_size::of_host(reader).map_or(page_size::LARGEST, |size| i64::from(size.bytes));
    let in_bytes = |(pages, process): (i64, &'d Process)| (process, pages.saturating_mul(page_bytes));
    let fits = |(_, resident_bytes): &(&Process, i64)| {
        // A process that is too large for itself is told of, and leaves room for others.
        if *resident_bytes <= limits.max_process_bytes {
            total_bytes = total_bytes.saturating_add(*resident_bytes);
        }
        total_bytes <= limits.max_resident_bytes
    };
    by_size
        .into_iter()
        .take(limits.max_processes)
        .map(in_bytes)
        .filter(fits)
        .collect()
}

fn add_smaps_rollup(reader: &mut Reader, pid: u32, sums: &mut BTreeMap<String, i64>) {
    let mut add = |name: &str, value: i64| add_to(sums, name.to_owned(), value);
    // Absent: the process is gone, or the recording has none this time. Unreadable: it belongs to somebody else.
    if let Ok(Ok(())) = counters::smaps_rollup(reader, pid, &mut add) {
        add(READ, 1);
    }
}

fn add_numa_maps(reader: &mut Reader, pid: u32, scene: &Scene<'_>, sums: &mut Sums) {
    let Ok(maps) = numa_maps::read(reader, pid, scene.limits.max_file_bytes) else {
        return;
    };
    for ((kind, node), bytes) in maps.resident_bytes {
        add_to(&mut sums.numa_maps, format!("{}[N{node}]", kind.name()), bytes);
        sums.placement.add(kind, node, bytes, scene.classes);
    }
    // A process whose maps were cut is not counted as read: its part is a lower bound.
    let is_whole = i64::from(!maps.cut && maps.file_bytes > 0);
    add_to(&mut sums.numa_maps, READ.to_owned(), is_whole);
}

fn add_to(sums: &mut BTreeMap<String, i64>, name: String, value: i64) {
    let sum = sums.entry(name).or_default();
    *sum = sum.saturating_add(value);
}
