//! Leaves a busy host alone: above a share of its processors or its memory, heat pauses until it has calmed down.
//!
//! A paused interval is missing, not idle.

use std::fs;
use std::path::{Path, PathBuf};

use tierscope_rootfs::Reader;

use crate::config;

/// Share of a threshold below which the host counts as calm again.
const CALM_SHARE: f64 = 0.9;
/// Calm intervals in a row after which heat goes on.
const CALM_INTERVALS: u32 = 2;

/// How busy the host is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Clock ticks since boot that all processors spent on anything, waiting for a hypervisor included.
    pub(crate) busy_ticks: u64,
    /// Clock ticks since boot of all processors.
    pub(crate) total_ticks: u64,
    /// `MemTotal`, in kB.
    pub(crate) memory_total_kb: u64,
    /// `MemAvailable`, in kB.
    pub(crate) memory_available_kb: u64,
}

impl Reading {
    /// Reads `/proc/stat` and `/proc/meminfo`; `None` where they do not tell.
    pub(crate) fn take(reader: &mut Reader) -> Option<Self> {
        let (busy_ticks, total_ticks) = ticks(reader.read("/proc/stat").ok()?)?;
        let meminfo = reader.read("/proc/meminfo").ok()?;
        Some(Self {
            busy_ticks,
            total_ticks,
            memory_total_kb: kilobytes(meminfo, "MemTotal:")?,
            memory_available_kb: kilobytes(meminfo, "MemAvailable:")?,
        })
    }
}

/// Busy and all ticks of the line of all processors: user, nice, system, idle, iowait, irq, softirq, steal. Time of
/// guests is part of user and nice.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let values: Vec<u64> = line
        .split_ascii_whitespace()
        .take(8)
        .map_while(|word| word.parse().ok())
        .collect();
    let idle = values.get(3)? + values.get(4).copied().unwrap_or(0);
    let total: u64 = values.iter().sum();
    Some((total - idle, total))
}

fn kilobytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Decides from interval to interval.
#[derive(Debug)]
pub(crate) struct Guard {
    limits: config::Guard,
    /// Ticks at the end of the interval before.
    before: Option<Reading>,
    /// Why heat is paused, with the number of calm intervals since.
    paused: Option<(String, u32)>,
}

impl Guard {
    /// A guard that has seen nothing: heat may be measured.
    pub(crate) fn new(limits: config::Guard) -> Self {
        Self {
            limits,
            before: None,
            paused: None,
        }
    }

    /// Judges the interval that ends with this reading. Gives the reason while heat is to pause.
    pub(crate) fn judge(&mut self, reading: Reading) -> Option<&str> {
        let cpu_ratio = self.before.replace(reading).map_or(0.0, |before| {
            let total = reading.total_ticks.saturating_sub(before.total_ticks);
            let busy = reading.busy_ticks.saturating_sub(before.busy_ticks);
            if total == 0 {
                0.0
            } else {
                busy as f64 / total as f64
            }
        });
        let available = reading.memory_available_kb as f64 / reading.memory_total_kb.max(1) as f64;
        let memory_ratio = 1.0 - available;
        if let Some(reason) = self.too_busy(cpu_ratio, memory_ratio) {
            self.paused = Some((reason, 0));
        } else if let Some((_, calm)) = &mut self.paused {
            let is_calm = cpu_ratio <= self.limits.cpu_max_ratio * CALM_SHARE
                && memory_ratio <= self.limits.memory_max_ratio * CALM_SHARE;
            *calm = if is_calm { *calm + 1 } else { 0 };
            if *calm >= CALM_INTERVALS {
                self.paused = None;
            }
        }
        self.paused.as_ref().map(|(reason, _)| reason.as_str())
    }

    fn too_busy(&self, cpu_ratio: f64, memory_ratio: f64) -> Option<String> {
        let sides = [
            ("processors are busy", cpu_ratio, self.limits.cpu_max_ratio),
            ("memory is used", memory_ratio, self.limits.memory_max_ratio),
        ];
        let (what, ratio, limit) = sides.into_iter().find(|(_, ratio, limit)| ratio > limit)?;
        Some(format!(
            "paused: {:.0} % of the host's {what}, more than {:.0} %",
            ratio * 100.0,
            limit * 100.0
        ))
    }
}

/// How many intervals went unmeasured because the host was busy, since the stream began: kept on disk, so that it
/// survives a restart.
#[derive(Debug)]
pub(crate) struct GuardCount {
    path: PathBuf,
    stream: String,
    intervals: u64,
}

impl GuardCount {
    /// The count of this stream; 0 where the file is missing, damaged or of another stream.
    pub(crate) fn open(state_dir: &Path, stream_id: [u8; 16]) -> Self {
        let path = state_dir.join("guard-paused");
        let stream = format!("{:032x}", u128::from_be_bytes(stream_id));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let intervals = text
            .split_once(' ')
            .filter(|(of, _)| *of == stream)
            .and_then(|(_, count)| count.trim().parse().ok());
        Self {
            path,
            stream,
            intervals: intervals.unwrap_or(0),
        }
    }

    pub(crate) fn intervals(&self) -> u64 {
        self.intervals
    }

    /// Counts one more. A failure to write is passed over: it costs a count after the next start.
    pub(crate) fn add(&mut self) {
        self.intervals += 1;
        let temporary = self.path.with_extension("new");
        let _ = fs::write(&temporary, format!("{} {}\n", self.stream, self.intervals))
            .and_then(|()| fs::rename(&temporary, &self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    /// From a 2-core machine under load, 60 s apart.
    const STAT_BEFORE: &str =
        "cpu  1243055 311 187712 1097611 20481 0 6021 3300 120 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
    const STAT_AFTER: &str =
        "cpu  1253305 311 188912 1098011 20531 0 6071 3350 120 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
    const MEMINFO: &str =
        "MemTotal:       24589876 kB\nMemFree:         1204000 kB\nMemAvailable:   18442407 kB\n";

    fn reading(busy: u64, total: u64, available_percent: u64) -> Reading {
        Reading {
            busy_ticks: busy,
            total_ticks: total,
            memory_total_kb: 1000,
            memory_available_kb: available_percent * 10,
        }
    }

    fn guard() -> Guard {
        Guard::new(config::Guard::default())
    }

    #[test]
    fn recorded_files_are_read_as_the_kernel_means_them() {
        let root = FakeRoot::new();
        root.write("proc/stat", STAT_BEFORE);
        root.write("proc/meminfo", MEMINFO);
        let mut reader = Reader::new(root.root());
        let before = Reading::take(&mut reader).expect("readable");
        assert_eq!(before.total_ticks - before.busy_ticks, 1_097_611 + 20_481);
        assert_eq!(
            (before.memory_total_kb, before.memory_available_kb),
            (24_589_876, 18_442_407)
        );
        root.write("proc/stat", STAT_AFTER);
        let after = Reading::take(&mut reader).expect("readable");
        // 11,550 of 12,000 ticks.
        assert_eq!(after.total_ticks - before.total_ticks, 12_000);
        assert_eq!(after.busy_ticks - before.busy_ticks, 11_550);
        let mut guard = guard();
        assert_eq!(guard.judge(before), None);
        assert!(
            guard
                .judge(after)
                .is_some_and(|reason| reason.contains("96 % of the host's processors"))
        );
    }

    #[test]
    fn a_host_without_these_files_is_measured() {
        assert_eq!(Reading::take(&mut Reader::new(FakeRoot::new().root())), None);
        assert_eq!(ticks("cpu  1 2\n"), None);
    }

    #[test]
    fn heat_goes_on_only_when_the_host_has_been_calm_for_a_while() {
        let mut guard = guard();
        let mut at = (0, 0);
        // Busy percent of each interval, and whether heat pauses after it.
        let intervals = [
            (50, false),
            (80, false),
            (81, true),
            (79, true), // below the limit, but not calm
            (72, true),
            (75, true), // not calm: the count begins anew
            (60, true),
            (60, false),
            (79, false),
            (95, true),
        ];
        guard.judge(reading(0, 0, 90));
        for (index, (busy, paused)) in intervals.into_iter().enumerate() {
            at = (at.0 + busy, at.1 + 100);
            assert_eq!(
                guard.judge(reading(at.0, at.1, 90)).is_some(),
                paused,
                "interval {index}"
            );
        }
    }

    #[test]
    fn full_memory_pauses_too_and_a_limit_of_one_never_does() {
        let mut guard = guard();
        assert!(
            guard
                .judge(reading(0, 0, 19))
                .is_some_and(|reason| reason.contains("memory"))
        );
        let mut off = Guard::new(config::Guard {
            cpu_max_ratio: 1.0,
            memory_max_ratio: 1.0,
        });
        off.judge(reading(0, 0, 0));
        assert_eq!(off.judge(reading(100, 100, 0)), None);
    }

    #[test]
    fn clocks_that_stand_still_are_not_busy() {
        let mut guard = guard();
        guard.judge(reading(50, 100, 90));
        assert_eq!(guard.judge(reading(50, 100, 90)), None);
        assert_eq!(guard.judge(reading(10, 20, 90)), None, "counters that went back");
    }

    #[test]
    fn the_count_survives_a_restart_and_begins_anew_with_the_stream() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut count = GuardCount::open(directory.path(), [1; 16]);
        count.add();
        count.add();
        assert_eq!(GuardCount::open(directory.path(), [1; 16]).intervals(), 2);
        assert_eq!(GuardCount::open(directory.path(), [2; 16]).intervals(), 0);
        fs::write(directory.path().join("guard-paused"), "x").expect("written");
        assert_eq!(GuardCount::open(directory.path(), [1; 16]).intervals(), 0);
    }
}
