//! Counts events of any unit without sampling: memory bandwidth of uncore and CXL units, stalls of cores.

use crate::attr;
use crate::error::PerfError;
use crate::pmu::Pmu;
use crate::sys::{Descriptor, Reading, Target};

/// The count of one event since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// What the counter says.
    pub raw: u64,
    /// How long the event was enabled.
    pub enabled_ns: u64,
    /// How long of that it had a counter: less where events share the few there are.
    pub running_ns: u64,
}

impl Counted {
    /// The count scaled up for the time without a counter; `None` when it never had one.
    pub fn scaled(self) -> Option<u64> {
        if self.running_ns == 0 {
            return None;
        }
        let share = u128::from(self.enabled_ns.max(self.running_ns));
        Some((u128::from(self.raw) * share / u128::from(self.running_ns)) as u64)
    }
}

impl From<Reading> for Counted {
    fn from(reading: Reading) -> Self {
        Self {
            raw: reading.count,
            enabled_ns: reading.enabled_ns,
            running_ns: reading.running_ns,
        }
    }
}

/// Events of one unit that count on one CPU, or for one process.
#[derive(Debug)]
pub struct CountingGroup {
    events: Vec<Descriptor>,
}

impl CountingGroup {
    /// Counts events of a unit on a CPU, for all processes. `events` are names or terms as in [`Pmu::encode`]; `cpu` is
    /// one of [`Pmu::cpus`] for units outside of cores. Counting begins at once.
    pub fn open(pmu: &Pmu, events: &[&str], cpu: u32) -> Result<Self, PerfError> {
        let target = Target {
            thread: None,
            cpu: Some(cpu),
        };
        Self::open_on(pmu, events, target)
    }

    /// Counts events of a unit for one thread, on whichever CPU it runs.
    pub fn open_thread(pmu: &Pmu, events: &[&str], thread: u32) -> Result<Self, PerfError> {
        let target = Target {
            thread: Some(thread),
            cpu: None,
        };
        Self::open_on(pmu, events, target)
    }

    fn open_on(pmu: &Pmu, events: &[&str], target: Target) -> Result<Self, PerfError> {
        let mut opened = Vec::with_capacity(events.len());
        for event in events {
            let name = format!("{}/{event}/", pmu.name);
            let attr = attr::counting(pmu.kind, pmu.encode(event)?.words);
            let fail = |errno| PerfError::from_errno(&name, errno);
            let descriptor = Descriptor::open(&attr, target, None).map_err(fail)?;
            descriptor.enable().map_err(fail)?;
            opened.push(descriptor);
        }
        Ok(Self { events: opened })
    }

    /// The counts in the order of the events, since opening.
    pub fn read(&self) -> Result<Vec<Counted>, PerfError> {
        let read = |event: &Descriptor| {
            let reading = event.read();
            reading
                .map(Counted::from)
                .map_err(|errno| PerfError::from_errno("reading a counter", errno))
        };
        self.events.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_scaled_for_the_time_without_a_counter() {
        let counted = |raw, enabled_ns, running_ns| Counted {
            raw,
            enabled_ns,
            running_ns,
        };
        assert_eq!(counted(100, 4_000, 1_000).scaled(), Some(400));
        assert_eq!(counted(100, 4_000, 4_000).scaled(), Some(100));
        assert_eq!(counted(100, 4_000, 0).scaled(), None);
        assert_eq!(
            counted(u64::MAX / 2, 1 << 60, 1 << 60).scaled(),
            Some(u64::MAX / 2)
        );
    }
}
