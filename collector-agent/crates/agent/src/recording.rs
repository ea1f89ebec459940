//! A snapshot tree as counter samples, by the same readers as a live host.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use tierscope_host::names::NamePolicy;
use tierscope_host::services::Rules;
use tierscope_import::tree;
use tierscope_rootfs::Root;
use tierscope_sample::counters::CounterSample;
use tierscope_sample::inventory::Inventory;

use crate::collect::{Collector, CollectorConfig, Stamp};
use crate::inventory;

pub(crate) struct Recording {
    /// Name of the archive or directory.
    pub(crate) name: String,
    /// One sample per snapshot, at its recorded time; raw values.
    pub(crate) samples: Vec<CounterSample>,
    /// What the host was at the first snapshot.
    pub(crate) inventory: Inventory,
    /// Lines that could not be understood.
    pub(crate) problems: Vec<String>,
}

/// Reads a directory or `.tar.zst` of snapshots.
pub(crate) fn read_recording(path: &Path) -> Result<Recording> {
    let tree = tree::open(path)?;
    let rules = Rules::new(NamePolicy::plain());
    let first = Root::new(&tree.snapshots[0].root);
    let mut collector = Collector::new(first, CollectorConfig::for_recordings(), rules);
    let mut recording = Recording {
        name: tree.name.clone(),
        samples: Vec::with_capacity(tree.snapshots.len()),
        inventory: Inventory::default(),
        problems: Vec::new(),
    };
    for snapshot in &tree.snapshots {
        collector.set_root(Root::new(&snapshot.root));
        let collected = collector.collect(Stamp {
            wall_ns: snapshot.wall_ns,
            boottime_ns: snapshot.boottime_ns,
            boot_id: Arc::from(snapshot.boot_id.as_str()),
        });
        if recording.samples.is_empty() {
            recording.inventory = inventory::describe(&mut collector);
        }
        recording.samples.push(collected.sample);
        recording
            .problems
            .extend(collected.problems.iter().map(ToString::to_string));
    }
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_snapshot_of_the_ping_pong_recording_gives_its_raw_vmstat() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/kernel-lab/04-pingpong.tar.zst");
        let recording = read_recording(&path).expect("readable");
        assert_eq!(recording.samples.len(), 103);
        assert_eq!(recording.problems, Vec::<String>::new());
        let value = |sample: &CounterSample, name: &str| {
            let index = sample.values.binary_search_by(|(key, _)| key.as_str().cmp(name));
            index.ok().and_then(|index| sample.values[index].1)
        };
        let growth = |name: &str| {
            let ends = [&recording.samples[0], &recording.samples[102]].map(|sample| value(sample, name));
            ends[1].zip(ends[0]).map(|(last, first)| last - first)
        };
        // docs of the recording: the sums of tests/data/kernel-lab, first to last /proc/vmstat.
        assert_eq!(growth("host|vmstat|pgdemote_kswapd"), Some(283_433));
        assert_eq!(growth("host|vmstat|pgpromote_success"), Some(258_633));
    }
}
