//! From paths to hosts: this host, a snapshot, a recording, what `once --json` printed, and directories of such.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tierscope_import::recognise::recognise;
use tierscope_import::tree::{self, Snapshot, TreeProblem};

use super::observed::{Host, Reading};
use crate::once;

/// Most bytes of a file of readings: one of a host with some thousand control groups takes 20 MiB.
const MAX_FILE_BYTES: u64 = 4 << 30;
/// A recording is judged by this many of its snapshots at most, spread over its time, with its first and last.
const SNAPSHOTS: usize = 8;

/// Hosts by name, and files that were passed over, with the reason.
#[derive(Debug, Default)]
pub(super) struct Found {
    hosts: BTreeMap<String, Host>,
    pub(super) passed_over: Vec<String>,
}

impl Found {
    /// Adds what a path holds.
    ///
    /// # Errors
    /// Where it holds nothing that can be assessed; the error says what would do.
    pub(super) fn add(&mut self, path: &Path) -> Result<()> {
        let before = self.count();
        self.add_shown(path, path)
            .with_context(|| format!("{} cannot be assessed", path.display()))?;
        if self.count() == before {
            // Of SUSE's supportconfig, which prints what commands say and keeps no file of the kernel.
            let why = if path.join("basic-environment.txt").exists() {
                "This is a supportconfig: texts of commands, without the kernel's files. Run `once --json` on the host.".into()
            } else {
                self.passed_over.last().cloned().unwrap_or_default()
            };
            bail!(
                "{} holds no reading: give `/`, a snapshot (a directory with proc or sys), a recording of snapshots, \
                 `.json` files of what `tierscope-agent once --json` printed, or a directory or an archive of such. {why}",
                path.display()
            );
        }
        Ok(())
    }

    /// Hosts with their readings in order of time.
    pub(super) fn into_hosts(self) -> (Vec<Host>, Vec<String>) {
        let mut hosts: Vec<Host> = self.hosts.into_values().collect();
        let mut named: BTreeMap<String, usize> = BTreeMap::new();
        for host in &hosts {
            *named.entry(host.name.clone()).or_default() += 1;
        }
        for host in &mut hosts {
            // Reports that name no host may all be called `sysinfo` or `data`.
            if named.get(&host.name).is_some_and(|times| *times > 1) {
                host.name.clone_from(&host.source);
            }
            host.readings.sort_by_key(|reading| reading.taken_at_ns);
        }
        (hosts, self.passed_over)
    }

    fn count(&self) -> usize {
        self.hosts.values().map(|host| host.readings.len()).sum()
    }

    /// Adds what is at a path, under the name by which people know it: that of an archive is not where it was unpacked.
    fn add_shown(&mut self, path: &Path, shown: &Path) -> Result<()> {
        if tree::holds_a_root(path) {
            return self.add_snapshots(shown, &[once::snapshot_of(path)?], &stem(shown));
        }
        if is_named(path, "json") || is_named(path, "jsonl") {
            if let Some(other) = recognise(path)?.filter(|told| !told.what.contains("once --json")) {
                bail!("{} is {}: {}", shown.display(), other.what, other.next_step);
            }
            return self.add_lines(shown, File::open(path)?);
        }
        match tree::open(path) {
            Ok(recording) => {
                let name = recording.name.clone();
                self.add_snapshots(shown, &spread(&recording.snapshots), &name)
            }
            Err(_) if path.is_dir() => self.add_directory(path, shown),
            Err(error) if matches!(error.problem, TreeProblem::Empty | TreeProblem::SeveralRoots(_)) => {
                let unpacked = tree::unpacked(path)?;
                self.add_directory(unpacked.path(), shown)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Each entry of a directory by itself; one that cannot be read leaves the others.
    fn add_directory(&mut self, path: &Path, shown: &Path) -> Result<()> {
        let mut names: Vec<OsString> = std::fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<std::io::Result<_>>()?;
        names.sort();
        for name in names {
            let shown = shown.join(&name);
            if let Err(error) = self.add_shown(&path.join(&name), &shown) {
                // What says its own path says where that was unpacked.
                let why = format!("{error:#}").replace(&path.display().to_string(), "");
                let why = why
                    .trim_start_matches('/')
                    .trim_start_matches(&*name.to_string_lossy());
                self.passed_over
                    .push(format!("{}: {}", shown.display(), why.trim_start()));
            }
        }
        Ok(())
    }

    fn add_snapshots(&mut self, path: &Path, snapshots: &[Snapshot], name: &str) -> Result<()> {
        for snapshot in snapshots {
            let reading = serde_json::from_value::<Reading>(once::document(snapshot)?)?.checked()?;
            self.add_reading(path, name, reading);
        }
        Ok(())
    }

    /// Readings, one JSON object on a line each, or one object over many lines.
    fn add_lines(&mut self, path: &Path, file: impl Read) -> Result<()> {
        let bounded = BufReader::new(file.take(MAX_FILE_BYTES));
        for reading in serde_json::Deserializer::from_reader(bounded).into_iter::<Reading>() {
            let reading = reading.context("is no reading of `once --json`")?.checked()?;
            self.add_reading(path, &stem(path), reading);
        }
        Ok(())
    }

    fn add_reading(&mut self, path: &Path, name: &str, reading: Reading) {
        let source = path.display().to_string();
        let own = reading.inventory.hostname.as_str();
        // Readings without a host's name belong together where they are in one file.
        let (key, name) = if own.is_empty() {
            (source.as_str(), name)
        } else {
            (own, own)
        };
        let host = self.hosts.entry(key.to_owned()).or_insert_with(|| Host {
            name: name.to_owned(),
            source: source.clone(),
            readings: Vec::new(),
        });
        host.readings.push(reading);
    }
}

fn is_named(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// The name of a file without what its kind adds.
fn stem(path: &Path) -> String {
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    name.into_owned()
}

/// Snapshots over the whole time of a recording.
fn spread(snapshots: &[Snapshot]) -> Vec<Snapshot> {
    let last = snapshots.len() - 1;
    let count = snapshots.len().min(SNAPSHOTS);
    let mut places: Vec<usize> = (0..count)
        .map(|place| place * last / (count - 1).max(1))
        .collect();
    places.dedup();
    places.into_iter().map(|place| snapshots[place].clone()).collect()
}
