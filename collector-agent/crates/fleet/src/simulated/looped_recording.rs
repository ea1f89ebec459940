//! A kernel recording that can be played for ever: gauges start over at each turn, counters go on.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::ensure;
use tierscope_sample::catalogue::{self, Kind};
use tierscope_sample::counters::CounterSample;
use tierscope_sample::inventory::Inventory;
use tierscope_wire::Layout;

use crate::recording::ReadRecording;

/// Samples of one recording in the order of one layout: the union of all names that occur in it.
#[derive(Debug)]
pub(crate) struct LoopedRecording {
    pub(crate) layout: Arc<Layout>,
    pub(crate) inventory: Inventory,
    samples: Vec<Vec<Option<i64>>>,
    /// What each value gains per turn: 0 for gauges.
    gains: Vec<i64>,
}

impl LoopedRecording {
    /// Reads a recording by `read_recording`. `rename` turns the recorded scope of a key into the simulated one.
    pub(crate) fn load(
        path: &Path,
        read_recording: ReadRecording,
        rename: impl Fn(&str) -> String,
    ) -> anyhow::Result<Self> {
        let recording = read_recording(path)?;
        ensure!(
            recording.samples.len() > 1,
            "{}: one snapshot alone cannot be played",
            path.display()
        );
        Ok(Self::new(&recording.samples, recording.inventory, rename))
    }

    fn new(recorded: &[CounterSample], inventory: Inventory, rename: impl Fn(&str) -> String) -> Self {
        let names: BTreeSet<&str> = recorded
            .iter()
            .flat_map(|sample| sample.values.iter().map(|(key, _)| key.as_str()))
            .collect();
        // Renaming may change the order of keys: the layout sorts by the new name, values follow.
        let mut renamed: Vec<(String, &str)> = names.into_iter().map(|name| (rename(name), name)).collect();
        renamed.sort_unstable();
        renamed.dedup_by(|a, b| a.0 == b.0);
        let samples: Vec<Vec<Option<i64>>> = recorded.iter().map(|sample| pick(sample, &renamed)).collect();
        let gains = renamed
            .iter()
            .enumerate()
            .map(|(column, (name, _))| gain_of(name, &samples, column))
            .collect();
        let layout = Layout::new(
            renamed
                .into_iter()
                .map(|(name, _)| name.into_boxed_str())
                .collect(),
        );
        Self {
            layout: Arc::new(layout),
            inventory,
            samples,
            gains,
        }
    }

    /// The same recording on a host that runs `others` beside the service `own`: each has the counters of `own`, at half,
    /// a third and so on of their values.
    pub(crate) fn with_services(&self, own: &str, others: &[&str]) -> Self {
        let keys = self.layout.keys();
        let mut columns: Vec<(String, usize, i64)> = keys
            .iter()
            .enumerate()
            .map(|(column, key)| (key.to_string(), column, 1))
            .collect();
        for (number, other) in others.iter().enumerate() {
            for (column, key) in keys.iter().enumerate() {
                let Some((scope, rest)) = key.split_once('|') else {
                    continue;
                };
                let Some(kind) = scope.strip_suffix(own) else {
                    continue;
                };
                columns.push((format!("{kind}{other}|{rest}"), column, number as i64 + 2));
            }
        }
        columns.sort_unstable();
        let samples: Vec<Vec<Option<i64>>> = self
            .samples
            .iter()
            .map(|sample| {
                columns
                    .iter()
                    .map(|(_, column, part)| sample[*column].map(|value| value / part))
                    .collect()
            })
            .collect();
        let names = columns.iter().map(|(name, ..)| name.as_str());
        Self {
            gains: names
                .enumerate()
                .map(|(column, name)| gain_of(name, &samples, column))
                .collect(),
            layout: Arc::new(Layout::new(
                columns
                    .into_iter()
                    .map(|(name, ..)| name.into_boxed_str())
                    .collect(),
            )),
            inventory: self.inventory.clone(),
            samples,
        }
    }

    /// The values of a step; steps go on for ever.
    pub(crate) fn values(&self, step: u64) -> Vec<Option<i64>> {
        let length = self.samples.len() as u64;
        let turn = (step / length) as i64;
        self.samples[(step % length) as usize]
            .iter()
            .zip(&self.gains)
            .map(|(value, gain)| value.map(|value| value.wrapping_add(gain.wrapping_mul(turn))))
            .collect()
    }

    /// Steps in one turn.
    pub(crate) fn len(&self) -> u64 {
        self.samples.len() as u64
    }
}

fn pick(sample: &CounterSample, names: &[(String, &str)]) -> Vec<Option<i64>> {
    names
        .iter()
        .map(|(_, recorded)| {
            let place = sample
                .values
                .binary_search_by(|(key, _)| key.as_str().cmp(recorded));
            place.ok().and_then(|index| sample.values[index].1)
        })
        .collect()
}

fn is_counter(key: &str) -> bool {
    let mut parts = key.splitn(3, '|').skip(1);
    let (Some(source), Some(name)) = (parts.next(), parts.next()) else {
        return false;
    };
    catalogue::find(source, name).is_some_and(|metric| metric.kind == Kind::Counter)
}

fn gain_of(name: &str, samples: &[Vec<Option<i64>>], column: usize) -> i64 {
    if is_counter(name) {
        gain(samples, column)
    } else {
        0
    }
}

/// Growth over the recording plus one mean step, so that the rate goes on over the seam.
fn gain(samples: &[Vec<Option<i64>>], column: usize) -> i64 {
    let mut present = samples.iter().filter_map(|sample| sample[column]);
    let Some(first) = present.next() else { return 0 };
    let Some(last) = present.next_back() else { return 0 };
    let growth = last.saturating_sub(first).max(0);
    growth + growth / (samples.len() as i64 - 1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_sample::counters::{Key, Scope};

    fn recording(promoted: &[i64], free: &[i64]) -> LoopedRecording {
        let samples: Vec<CounterSample> = promoted
            .iter()
            .zip(free)
            .map(|(promoted, free)| CounterSample {
                end_wall_ns: 0,
                end_boottime_ns: None,
                boot_id: Arc::from("boot"),
                values: vec![
                    (Key::new(&Scope::Host, "vmstat", "nr_free_pages"), Some(*free)),
                    (
                        Key::new(&Scope::Host, "vmstat", "pgpromote_success"),
                        Some(*promoted),
                    ),
                ],
            })
            .collect();
        LoopedRecording::new(&samples, Inventory::default(), str::to_owned)
    }

    #[test]
    fn counters_go_on_over_the_seam_and_gauges_start_over() {
        let recording = recording(&[100, 110, 120], &[9, 8, 7]);
        let played: Vec<_> = (0..7).map(|step| recording.values(step)).collect();
        let free: Vec<_> = played.iter().map(|values| values[0]).collect();
        let promoted: Vec<_> = played.iter().map(|values| values[1]).collect();
        assert_eq!(free, [9, 8, 7, 9, 8, 7, 9].map(Some));
        assert_eq!(promoted, [100, 110, 120, 130, 140, 150, 160].map(Some));
    }

    #[test]
    fn a_name_that_is_absent_from_a_snapshot_is_missing_there() {
        let mut samples = vec![
            CounterSample {
                end_wall_ns: 0,
                end_boottime_ns: None,
                boot_id: Arc::from("boot"),
                values: vec![(Key::new(&Scope::Host, "vmstat", "pgfault"), Some(1))],
            };
            2
        ];
        samples[1].values.clear();
        let recording = LoopedRecording::new(&samples, Inventory::default(), str::to_owned);
        assert_eq!(recording.values(1), [None]);
    }

    #[test]
    fn other_services_have_parts_of_the_first_ones_counters() {
        let sample = |value| CounterSample {
            end_wall_ns: 0,
            end_boottime_ns: None,
            boot_id: Arc::from("boot"),
            values: vec![
                (
                    Key::new(&Scope::Cgroup("/shop/a".to_owned()), "memory.stat", "pgfault"),
                    Some(value),
                ),
                (Key::new(&Scope::Host, "vmstat", "pgfault"), Some(value)),
            ],
        };
        let recording =
            LoopedRecording::new(&[sample(100), sample(160)], Inventory::default(), str::to_owned);
        let wide = recording.with_services("shop/a", &["shop/b", "media/c"]);
        let keys: Vec<&str> = wide.layout.keys().iter().map(AsRef::as_ref).collect();
        assert_eq!(
            keys,
            [
                "cgroup:/media/c|memory.stat|pgfault",
                "cgroup:/shop/a|memory.stat|pgfault",
                "cgroup:/shop/b|memory.stat|pgfault",
                "host|vmstat|pgfault"
            ]
        );
        assert_eq!(wide.values(0), [33, 100, 50, 100].map(Some));
        assert_eq!(wide.values(1), [53, 160, 80, 160].map(Some));
        assert_eq!(wide.values(2)[2], Some(50 + 60));
    }

    #[test]
    fn values_follow_their_renamed_keys() {
        let sample = CounterSample {
            end_wall_ns: 0,
            end_boottime_ns: None,
            boot_id: Arc::from("boot"),
            values: vec![
                (
                    Key::new(&Scope::Cgroup("/load".to_owned()), "memory.stat", "anon"),
                    Some(1),
                ),
                (Key::new(&Scope::Host, "vmstat", "pgfault"), Some(2)),
            ],
        };
        let recording = LoopedRecording::new(&[sample.clone(), sample], Inventory::default(), |key| {
            key.replace("cgroup:/load|", "service:z/z|")
        });
        assert_eq!(recording.layout.keys()[0].as_ref(), "host|vmstat|pgfault");
        assert_eq!(recording.values(0), [Some(2), Some(1)]);
    }
}
