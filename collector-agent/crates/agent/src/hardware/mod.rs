//! Events that the hardware counts without sampling: bytes at memory controllers and CXL devices, and cycles in which
//! processors wait for memory. Where the host has no such unit, the collector says why.

mod bandwidth;
mod plan;
mod stalls;

use std::collections::BTreeMap;

use tierscope_perf::counting::{Counted, CountingGroup};
use tierscope_perf::pmu::Pmu;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::counters::Key;

use plan::Planned;
use tierscope_clock::SECOND_NS;
use tierscope_host::collectors::State;

/// Names of the collectors in the inventory.
pub(crate) const BANDWIDTH: &str = "memory_bandwidth";
pub(crate) const STALLS: &str = "memory_stall";
/// Shortest time between two readings: each counter of a unit outside of cores is asked on a processor of its socket.
const READ_EVERY_NS: i64 = 10 * SECOND_NS;
/// Most counters that are opened: each holds a file descriptor.
const MAX_COUNTERS: usize = 256;

/// A value that several counters make up.
#[derive(Debug)]
struct Value {
    key: Key,
    counters: Vec<(CountingGroup, f64)>,
    /// Largest sum so far: scaling for shared counters may take a little back.
    largest: i64,
}

/// The counters of the running host.
#[derive(Debug, Default)]
pub(crate) struct HardwareCounters {
    values: Vec<Value>,
    states: Vec<(&'static str, State)>,
    last_ns: Option<i64>,
}

impl HardwareCounters {
    /// Opens what the host offers; counting begins at once.
    pub(crate) fn open(root: &Root) -> Self {
        let mut reader = Reader::new(root.clone());
        let offers = [
            (BANDWIDTH, bandwidth::plan(&mut reader)),
            (STALLS, stalls::plan(&mut reader)),
        ];
        let mut counters = Self::default();
        let mut left = MAX_COUNTERS;
        for (name, plan) in offers {
            let opened = plan.and_then(|plan| open_all(root, &plan, &mut left));
            let state = match opened {
                Ok(values) => {
                    counters.values.extend(values);
                    State::on()
                }
                // Bandwidth that resctrl measures is read with the other files of the host.
                Err(reason) if name == BANDWIDTH && root.join("/sys/fs/resctrl/mon_data").exists() => State {
                    reason: format!("by resctrl alone; {reason}"),
                    ..State::on()
                },
                Err(reason) => State::off(reason, ""),
            };
            counters.states.push((name, state));
        }
        counters.values.sort_by(|a, b| a.key.cmp(&b.key));
        counters
    }

    /// Whether each collector counts, and why not.
    pub(crate) fn states(&self) -> &[(&'static str, State)] {
        &self.states
    }

    /// Values in order of their keys; none have a value while they are not due.
    pub(crate) fn read(&mut self, now_ns: i64) -> Vec<(Key, Option<i64>)> {
        let is_due = self
            .last_ns
            .is_none_or(|last_ns| now_ns - last_ns >= READ_EVERY_NS || now_ns < last_ns);
        if is_due {
            self.last_ns = Some(now_ns);
        }
        let read = |value: &mut Value| (value.key.clone(), is_due.then(|| value.read()).flatten());
        self.values.iter_mut().map(read).collect()
    }
}

impl Value {
    /// The sum over all counters; `None` where one cannot be read, so that a sum would be too small.
    fn read(&mut self) -> Option<i64> {
        let mut sum = 0.0;
        for (group, factor) in &self.counters {
            let counts = group.read().ok()?;
            sum += counts.into_iter().map(Counted::scaled).sum::<Option<u64>>()? as f64 * factor;
        }
        self.largest = self.largest.max(sum as i64);
        Some(self.largest)
    }
}

/// Opens all counters of a plan, or none: a part of a sum is no figure.
fn open_all(root: &Root, plan: &[Planned], left: &mut usize) -> Result<Vec<Value>, String> {
    if plan.len() > *left {
        return Err(format!(
            "it would take {} counters, and the agent opens at most {MAX_COUNTERS}",
            plan.len()
        ));
    }
    let mut units: BTreeMap<&str, Pmu> = BTreeMap::new();
    let mut values: BTreeMap<&str, Vec<(CountingGroup, f64)>> = BTreeMap::new();
    for counter in plan {
        let unit = match units.remove(counter.unit.as_str()) {
            Some(unit) => unit,
            None => Pmu::read(root, &counter.unit).map_err(|error| error.to_string())?,
        };
        let group =
            CountingGroup::open(&unit, &[&counter.event], counter.cpu).map_err(|error| error.to_string())?;
        units.insert(&counter.unit, unit);
        values
            .entry(&counter.key)
            .or_default()
            .push((group, counter.factor));
    }
    *left -= plan.len();
    let value = |(key, counters): (&str, Vec<(CountingGroup, f64)>)| Value {
        key: Key::from_text(key),
        counters,
        largest: 0,
    };
    Ok(values.into_iter().map(value).collect())
}

#[cfg(test)]
mod tests;
