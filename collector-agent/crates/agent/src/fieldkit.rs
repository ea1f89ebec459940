//! `tierscope-agent fieldkit`: records one host for an hour into one file that its owner can look at and send.
//!
//! The batches are those that a running agent would upload: the same collectors, bounds and redaction, sealed by the same
//! code. The snapshots are copies of kernel files, which `tierscope analyze` reads. What people are asked for, and what is
//! done with it: docs/howto/field-kit.md.

mod archive;
mod files;
mod manifest;
mod raw_samples;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use tierscope_clock::{SECOND_NS, boottime_ns, rfc3339, wall_ns};
use tierscope_heat::order::Order;
use tierscope_host::names::NamePolicy;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::inventory::Inventory;
use tierscope_spool::Stats;
use tierscope_upload::Plan;
use tierscope_wire::{Header, Origin, texts};

use crate::bounds::Bounds;
use crate::bounds::priority;
use crate::config::Config;
use crate::doctor;
use crate::explain::PageSource;
use crate::live::LiveSource;
use crate::run::stop_on_signals;
use crate::source::Source as _;
use crate::uplink::queue::{Queue, Standing};
use archive::Archive;
use manifest::{EndedBy, Manifest, Missing, README, SCHEMA, missing_of};
use raw_samples::RawSamples;

/// Intervals of a long recording; short ones have shorter intervals, so that they have several.
const INTERVAL_SECONDS: u32 = 60;
/// A recording has this many intervals, if it is long enough.
const INTERVALS: u64 = 10;
/// Name of a host whose owner gives none.
const HOST: &str = "field-kit";
const MEBIBYTE: u64 = 1 << 20;

/// Records this host into one file, to look at and to send: what would be uploaded, snapshots of the kernel's counters,
/// what `doctor` says, and the hardware. Needs no root; says in the file what is missing without it.
#[derive(Debug, Args)]
pub(crate) struct FieldkitArgs {
    /// How long to record.
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = "field-kit.tar.zst")]
    out: PathBuf,
    /// Programs whose heat and pages are measured: by path, name, text of the command line, or pid:<id>; may be repeated.
    #[arg(long = "program", value_name = "NAME")]
    programs: Vec<String>,
    /// Adds ten seconds of `perf mem record`. Not redacted: it names programs and the files that they map.
    #[arg(long)]
    perf: bool,
    /// Largest size of the file.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(4..=4096))]
    max_mib: u64,
    /// Name of the host in the kit.
    #[arg(long, default_value = HOST)]
    hostname: String,
    /// Settings of the agent (TOML): names, heat, budget.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Directory that stands for `/`: the running host, or a snapshot of one.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

impl FieldkitArgs {
    /// The settings in force: the owner's, for a host that sends nothing.
    fn settings(&self) -> Result<Config> {
        let mut config = Config::read_named(self.config.as_deref())?;
        config.hostname = Some(self.hostname.clone());
        config.heat.programs.extend(self.programs.iter().cloned());
        config.check().map_err(|mistake| anyhow::anyhow!("{mistake}"))?;
        Ok(config)
    }
}

/// Records until the time is over, the file is full or somebody interrupts; in each case the file is whole.
///
/// # Errors
/// Where the root is no host, the settings are not right, or the file cannot be written.
pub(crate) fn run(args: &FieldkitArgs, out: &mut impl Write) -> Result<()> {
    let root = Root::named(&args.root).map_err(anyhow::Error::msg)?;
    if args.out.is_dir() {
        bail!("{} is a directory: name a file with --out", args.out.display());
    }
    let config = args.settings()?;
    let stop = stop_on_signals()?;
    priority::lower(config.nice);
    let kit = Kit::begin(args, &config, root)?;
    let (manifest, bytes) = kit.record(args, &stop)?;
    writeln!(
        out,
        "{}: {bytes} bytes, {} snapshots, {} batches, ended by {}",
        args.out.display(),
        manifest.snapshots,
        manifest.batches,
        match manifest.ended_by {
            EndedBy::Time => "the clock",
            EndedBy::Signal => "a signal",
            EndedBy::Size => "its largest size",
        }
    )?;
    for missing in &manifest.missing {
        writeln!(out, "  without {}: {}", missing.what, missing.reason)?;
    }
    writeln!(
        out,
        "Look at it before you send it: README.txt in it says what is personal."
    )?;
    Ok(())
}

/// A kit that is being recorded.
struct Kit {
    root: Root,
    archive: Archive,
    source: LiveSource,
    queue: Queue,
    bounds: Bounds,
    header: Header,
    interval_seconds: u32,
    /// What keeps back ends of heat from measuring here.
    pages: PageSource,
    snapshots: u64,
    /// Texts of all batches so far.
    texts: BTreeSet<String>,
    inventory: Option<Arc<Inventory>>,
    heat_backend: Option<&'static str>,
}

impl Kit {
    fn begin(args: &FieldkitArgs, config: &Config, root: Root) -> Result<Self> {
        let source = LiveSource::beneath(&root, config)?;
        let mut archive = Archive::begin(&args.out, args.max_mib * MEBIBYTE)?;
        archive.add("README.txt", README.as_bytes())?;
        let mut reader = Reader::new(root.clone());
        let names = NamePolicy::of_settings(&mut reader, &config.names)?;
        let examined = doctor::Examined::of(&mut reader, names);
        let document = examined.document("/");
        archive.add("doctor.json", &serde_json::to_vec_pretty(&document)?)?;
        let boot_id = tierscope_procfs::host::boot_id(&mut reader).unwrap_or_default();
        let mut stream_id = [0; 16];
        getrandom::fill(&mut stream_id).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
        let header = Header {
            host_id: HOST.to_owned(),
            stream_id,
            seq: 0,
            boot_id,
            agent_version: crate::VERSION.to_owned(),
            origin: Origin::Live,
            sealed_wall_ns: 0,
            sealed_boottime_ns: None,
        };
        Ok(Self {
            bounds: Bounds::new(config, root.clone()),
            root,
            archive,
            source,
            queue: Queue::default(),
            header,
            interval_seconds: interval_seconds(args.seconds),
            pages: examined.pages,
            snapshots: 0,
            texts: BTreeSet::new(),
            inventory: None,
            heat_backend: None,
        })
    }

    /// Records a round now and at the end of each interval; then writes what is known at the end.
    fn record(mut self, args: &FieldkitArgs, stop: &Receiver<()>) -> Result<(Manifest, u64)> {
        let began_wall_ns = wall_ns();
        let temporary = tempfile::tempdir().context("no temporary directory")?;
        let raw = self.start_raw(args, temporary.path());
        let (began, interval) = (Instant::now(), Duration::from_secs(self.interval_seconds.into()));
        let end = began + Duration::from_secs(args.seconds);
        let mut due = began;
        let ended_by = loop {
            if !self.round()? {
                break EndedBy::Size;
            }
            due += interval;
            if due > end {
                break EndedBy::Time;
            }
            match stop.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => break EndedBy::Signal,
            }
        };
        let mut missing = self.missing(args);
        if let Err(reason) = self.add_raw(raw) {
            missing.push(Missing {
                what: "samples/perf.data".to_owned(),
                reason,
                hint: "run it as root with --perf, on a host that has performance monitoring units"
                    .to_owned(),
            });
        }
        let manifest = Manifest {
            schema: SCHEMA,
            agent_version: crate::VERSION,
            began: rfc3339(began_wall_ns),
            ended: rfc3339(wall_ns()),
            began_wall_ns,
            ended_wall_ns: wall_ns(),
            interval_seconds: self.interval_seconds,
            ended_by,
            live: self.root.is_live(),
            as_root: rustix::process::geteuid().is_root(),
            snapshots: self.snapshots,
            batches: self.header.seq,
            heat_backend: self.heat_backend,
            missing,
        };
        let bytes = self.finish(&manifest)?;
        Ok((manifest, bytes))
    }

    /// Writes the last members; the size of the file in bytes.
    fn finish(mut self, manifest: &Manifest) -> Result<u64> {
        if let Some(inventory) = &self.inventory {
            let text = serde_json::to_vec_pretty(&**inventory)?;
            self.archive.add("inventory.json", &text)?;
        }
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        self.archive
            .add("batches/texts.txt", texts.join("\n").as_bytes())?;
        self.archive
            .add("manifest.json", &serde_json::to_vec_pretty(manifest)?)?;
        self.archive.finish()
    }

    /// What the collectors could not do, as of the last interval, and what nobody asked for.
    fn missing(&self, args: &FieldkitArgs) -> Vec<Missing> {
        let inventory = self.inventory.as_deref();
        let mut missing = inventory.map_or_else(Vec::new, |inventory| missing_of(inventory, &self.pages));
        if args.programs.is_empty() {
            missing.push(Missing {
                what: "heat and page samples".to_owned(),
                reason: "no program is named".to_owned(),
                hint: "name the programs that matter with --program".to_owned(),
            });
        }
        missing
    }

    fn start_raw(&self, args: &FieldkitArgs, directory: &Path) -> RawSamples {
        if !args.perf {
            RawSamples::Absent("not asked for".to_owned())
        } else if self.root.is_live() {
            RawSamples::start(directory, args.seconds)
        } else {
            RawSamples::Absent("a recording has no processor to sample".to_owned())
        }
    }

    fn add_raw(&mut self, raw: RawSamples) -> Result<(), String> {
        let content = raw.finish()?;
        if !self.archive.has_room(1, content.len() as u64) {
            return Err(format!(
                "{} bytes of samples do not fit: raise --max-mib",
                content.len()
            ));
        }
        let added = self.archive.add("samples/perf.data", &content);
        added.map_err(|error| format!("{error:#}"))
    }

    /// One interval's end. `false` where there is no room for more.
    fn round(&mut self) -> Result<bool> {
        let end = IntervalEnd {
            wall_ns: wall_ns(),
            boottime_ns: self.root.is_live().then(boottime_ns),
        };
        let files = files::copy(self.root.as_path(), self.snapshots == 0);
        let order = Order {
            interval_seconds: self.interval_seconds,
            heat: self.bounds.order(&Plan::default()),
        };
        let collection = self.source.collect(end, &order);
        let heat = collection.heat_cost.clone();
        self.heat_backend = heat.backend.or(self.heat_backend);
        self.inventory = Some(Arc::clone(&collection.inventory));
        let standing = {
            let (level, reason) = self.bounds.standing();
            Standing {
                budget_state: level.name(),
                budget_reason: reason.to_owned(),
                guard_paused_intervals: 0,
            }
        };
        let content = self.queue.content(collection, standing, &Stats::default());
        let header = Header {
            sealed_wall_ns: wall_ns(),
            sealed_boottime_ns: end.boottime_ns,
            ..self.header.clone()
        };
        let batches = self.queue.seal(content, &header)?;
        let batch_bytes: u64 = batches.iter().map(|batch| batch.body.len() as u64).sum();
        let file_bytes: u64 = files.iter().map(|file| file.content.len() as u64).sum();
        let members = files.len() as u64 + 1 + batches.len() as u64;
        if !self.archive.has_room(members, batch_bytes + file_bytes) {
            return Ok(false);
        }
        for batch in batches {
            self.texts.extend(texts(&batch.body)?);
            self.archive
                .add(&format!("batches/{:06}.pb.zst", batch.seq), &batch.body)?;
            self.header.seq = batch.seq + 1;
        }
        self.add_snapshot(&files, end)?;
        self.bounds.measure(&heat, batch_bytes.cast_signed());
        self.archive.flush()?;
        Ok(true)
    }

    fn add_snapshot(&mut self, files: &[files::KernelFile], end: IntervalEnd) -> Result<()> {
        let directory = format!(
            "{}.{:03}",
            end.wall_ns / SECOND_NS,
            end.wall_ns % SECOND_NS / 1_000_000
        );
        for file in files {
            self.archive
                .add(&format!("{directory}/{}", file.path), &file.content)?;
        }
        let boottime = end
            .boottime_ns
            .map(|boottime_ns| format!("monotonic_end {}\n", seconds(boottime_ns)));
        let clocks = format!(
            "realtime_end {}\n{}",
            seconds(end.wall_ns),
            boottime.unwrap_or_default()
        );
        self.archive
            .add(&format!("{directory}/_recorder"), clocks.as_bytes())?;
        self.snapshots += 1;
        Ok(())
    }
}

/// Nanoseconds as seconds with nine decimals, as `_recorder` has them.
fn seconds(ns: i64) -> String {
    format!("{}.{:09}", ns / SECOND_NS, ns % SECOND_NS)
}

/// Intervals of a recording: a divisor of a minute, so that a short recording has ten of them.
fn interval_seconds(recorded_seconds: u64) -> u32 {
    let wanted = (recorded_seconds / INTERVALS).clamp(1, INTERVAL_SECONDS.into());
    let divisors = (1..=INTERVAL_SECONDS).filter(|seconds| INTERVAL_SECONDS.is_multiple_of(*seconds));
    divisors
        .filter(|seconds| u64::from(*seconds) <= wanted)
        .max()
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_recordings_have_short_intervals() {
        let of = [1, 10, 45, 100, 599, 600, 3600, 86_400].map(interval_seconds);
        assert_eq!(of, [1, 1, 4, 10, 30, 60, 60, 60]);
    }
}
