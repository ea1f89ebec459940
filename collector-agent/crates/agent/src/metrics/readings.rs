//! The newest value of each counter, kept for as long as it is worth showing: costly files are read more rarely than
//! others, and what was not due has no value in a collection.

use std::collections::BTreeMap;

use tierscope_clock::SECOND_NS;
use tierscope_sample::counters::{CounterSample, Key};

/// Values of files that are read every minute or more often are shown for so long.
const FRESH_NS: i64 = 150 * SECOND_NS;
/// Where memory of single processes lies is read in rounds of half an hour, without control groups that tell it.
const ROUND_NS: i64 = 3700 * SECOND_NS;

/// Values by key, with the time of their reading.
#[derive(Debug, Default)]
pub(super) struct Readings {
    values: BTreeMap<Key, (i64, i64)>,
}

impl Readings {
    /// Takes a collection. Keys that it lacks are gone: their group, node or service is.
    pub(super) fn take(&mut self, sample: &CounterSample) {
        let now_ns = sample.end_boottime_ns.unwrap_or(sample.end_wall_ns);
        let mut before = std::mem::take(&mut self.values);
        for (key, value) in &sample.values {
            let kept = match value {
                Some(value) => Some((*value, now_ns)),
                None => before
                    .remove(key)
                    .filter(|(_, read_ns)| (0..=patience_ns(key)).contains(&(now_ns - read_ns))),
            };
            if let Some(kept) = kept {
                self.values.insert(key.clone(), kept);
            }
        }
    }

    /// Scope, source, name and value of each counter, sorted by key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, &str, i64)> {
        self.values.iter().map(|(key, (value, _))| {
            let (scope, source, name) = key.parts();
            (scope, source, name, *value)
        })
    }

    /// The value of one counter.
    pub(super) fn get(&self, scope: &str, source: &str, name: &str) -> Option<i64> {
        let key = Key::from_text(&format!("{scope}|{source}|{name}"));
        self.values.get(&key).map(|(value, _)| *value)
    }
}

fn patience_ns(key: &Key) -> i64 {
    match key.parts().1 {
        "placement" | "smaps_rollup" | "numa_maps" => ROUND_NS,
        _ => FRESH_NS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn sample(second: i64, values: &[(&str, Option<i64>)]) -> CounterSample {
        CounterSample {
            end_wall_ns: 0,
            end_boottime_ns: Some(second * SECOND_NS),
            boot_id: Arc::from(""),
            values: values
                .iter()
                .map(|(key, value)| (Key::from_text(key), *value))
                .collect(),
        }
    }

    #[test]
    fn what_was_not_due_keeps_its_value_for_a_while_and_what_is_gone_does_not() {
        let mut readings = Readings::default();
        let group = "cgroup:/a|memory.stat|anon";
        let placed = "service:host/a|placement|anon[dram]";
        readings.take(&sample(0, &[(group, Some(7)), (placed, Some(8))]));
        readings.take(&sample(60, &[(group, None), (placed, None)]));
        assert_eq!(readings.get("cgroup:/a", "memory.stat", "anon"), Some(7));
        readings.take(&sample(200, &[(group, None), (placed, None)]));
        assert_eq!(readings.get("cgroup:/a", "memory.stat", "anon"), None);
        assert_eq!(readings.iter().count(), 1);
        readings.take(&sample(201, &[(group, None)]));
        assert_eq!(readings.iter().count(), 0);
    }
}
