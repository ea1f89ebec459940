//! Whether the host has processors to spare.

use std::time::Duration;

use anyhow::{Result, bail};
use tierscope_procfs::stat;
use tierscope_rootfs::Reader;

/// Share of the processors' time above which nothing is measured.
const MOST_BUSY_RATIO: f64 = 0.8;
/// Time over which it is taken.
const WINDOW: Duration = Duration::from_millis(500);

/// Ticks of all processors since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    all: i64,
    idle: i64,
}

/// Refuses while other programs use more than four fifths of the processors: figures would be wrong, and they would be
/// slowed down.
pub(super) fn refuse_busy_host(reader: &mut Reader) -> Result<()> {
    let before = read(reader);
    std::thread::sleep(WINDOW);
    let ratio = busy_ratio(before, read(reader));
    if ratio > MOST_BUSY_RATIO {
        bail!(
            "the processors of this host are busy for {:.0}% of the time: wait for a quiet hour, or give --force",
            ratio * 100.0
        );
    }
    Ok(())
}

/// A file that cannot be read refuses nothing.
fn read(reader: &mut Reader) -> Ticks {
    let mut ticks = Ticks::default();
    let read = stat::read(reader, |name, value| {
        // The kernel counts time of guests as time of users too.
        if name.starts_with("cpu_") && !name.starts_with("cpu_guest") {
            ticks.all += value;
            if matches!(name, "cpu_idle" | "cpu_iowait") {
                ticks.idle += value;
            }
        }
    });
    if read.is_ok() { ticks } else { Ticks::default() }
}

/// Share of the time between two readings in which processors did something.
fn busy_ratio(before: Ticks, after: Ticks) -> f64 {
    let all = after.all - before.all;
    if all <= 0 {
        return 0.0;
    }
    1.0 - (after.idle - before.idle) as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    #[test]
    fn idle_time_and_waiting_for_disks_is_not_busy_and_guests_count_once() {
        let root = FakeRoot::new();
        root.write("proc/stat", "cpu  100 0 50 800 50 0 0 0 90 0\n");
        let mut reader = Reader::new(root.root());
        let ticks = read(&mut reader);
        assert_eq!(ticks, Ticks { all: 1000, idle: 850 });
        let later = Ticks { all: 2000, idle: 950 };
        assert!((busy_ratio(ticks, later) - 0.9).abs() < 1e-9);
        assert!(refuse_busy_host(&mut reader).is_ok(), "a recording stands still");
    }
}
