//! The `once` command: reads a host, or each snapshot of a recording, and prints everything that was read.
//!
//! The shape of the JSON is stable and described in docs/agent-json.md. Its output stays on the host, so executables
//! appear by their base name.

#[cfg(test)]
mod damaged_files;
mod report;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use clap::Args;
use tierscope_host::names::NamePolicy;
use tierscope_host::services::Rules;
use tierscope_import::tree::{self, Snapshot, SnapshotTree, TreeProblem, holds_a_root};
use tierscope_procfs::host;
use tierscope_rootfs::{Reader, Root};

use crate::collect::{Collected, Collector, CollectorConfig, Stamp};

/// Reads every counter once and prints it.
#[derive(Debug, Clone, Args)]
pub struct OnceArgs {
    /// What stands for `/`: the running host, a snapshot, a recording of many, or an archive of either.
    #[arg(long, value_name = "TREE", default_value = "/")]
    pub root: PathBuf,
    /// Prints one JSON object per snapshot, each on a line of its own, instead of a summary.
    #[arg(long)]
    pub json: bool,
}

/// Reads and prints. A tree of several snapshots gives one object each, in order of time.
pub fn run(args: &OnceArgs, out: &mut impl Write) -> anyhow::Result<()> {
    if holds_a_root(&args.root) {
        let snapshot = snapshot_of(&args.root)?;
        return print(&snapshot, args.json, out);
    }
    let recording = tree::open(&args.root)?;
    for snapshot in &recording.snapshots {
        print(snapshot, args.json, out)?;
    }
    Ok(())
}

/// What stands for `/` at a path: the directory itself, or the newest snapshot of a recording or an archive, which is
/// unpacked as long as the second value lives.
pub(crate) fn newest_root(path: &Path) -> anyhow::Result<(Root, Option<SnapshotTree>)> {
    if holds_a_root(path) {
        return Ok((Root::new(path), None));
    }
    match tree::open(path) {
        Ok(recording) => {
            let newest = &recording.snapshots[recording.snapshots.len() - 1];
            Ok((Root::new(&newest.root), Some(recording)))
        }
        Err(error) if path.is_dir() && matches!(error.problem, TreeProblem::Empty) => Root::named(path)
            .map(|root| (root, None))
            .map_err(anyhow::Error::msg),
        Err(error) => Err(error.into()),
    }
}

/// A directory that stands for `/` and need not be named by its time: the running host is taken now, another one when its
/// files were written.
pub(crate) fn snapshot_of(path: &Path) -> anyhow::Result<Snapshot> {
    let named_by_time = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.parse::<u64>().is_ok());
    if named_by_time {
        let recording = tree::open(path)?;
        if let [only] = recording.snapshots.as_slice() {
            return Ok(only.clone());
        }
    }
    if path != Path::new("/") {
        return Ok(tree::snapshot_of_root(path));
    }
    let mut reader = Reader::new(Root::live());
    let wall = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .context("the clock stands before 1970")?;
    Ok(Snapshot {
        root: path.to_owned(),
        wall_ns: i64::try_from(wall.as_nanos())?,
        boottime_ns: host::uptime_ns(&mut reader),
        boot_id: host::boot_id(&mut reader).unwrap_or_default(),
    })
}

/// The object that `--json` prints of one snapshot.
pub(crate) fn document(snapshot: &Snapshot) -> anyhow::Result<serde_json::Value> {
    let (mut collector, collected) = read(snapshot);
    let limits = recording_config().process_files.unwrap_or_default();
    report::json(&mut collector, &collected, snapshot, limits)
}

fn print(snapshot: &Snapshot, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    if json {
        serde_json::to_writer(&mut *out, &document(snapshot)?)?;
        writeln!(out)?;
    } else {
        let (mut collector, collected) = read(snapshot);
        report::text(&mut collector, &collected, snapshot, out)?;
    }
    Ok(())
}

fn recording_config() -> CollectorConfig {
    CollectorConfig {
        max_names: usize::MAX,
        ..CollectorConfig::for_recordings()
    }
}

fn read(snapshot: &Snapshot) -> (Collector, Collected) {
    let root = Root::new(&snapshot.root);
    let mut collector = Collector::new(root, recording_config(), Rules::new(NamePolicy::plain()));
    let collected = collector.collect(Stamp {
        wall_ns: snapshot.wall_ns,
        boottime_ns: snapshot.boottime_ns,
        boot_id: snapshot.boot_id.as_str().into(),
    });
    (collector, collected)
}
