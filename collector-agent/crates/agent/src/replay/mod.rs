//! `tierscope-agent replay`: sends recordings made elsewhere over the wire that a live host uses, marked as imported.

mod damo;
mod deliver;
mod kit;
mod open;
mod perf;
mod source;
mod summary;
mod timing;
mod traces;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use sha2::{Digest, Sha256};
use tierscope_clock::{SECOND_NS, rfc3339, wall_ns};
use tierscope_host::services::service_name;
use tierscope_import::tree::field_kit::FieldKit;
use tierscope_sample::inventory::{Inventory, Service};
use tierscope_upload::credential::{self, Credential, Introduction};
use tierscope_upload::{Client, Settings};
use tierscope_wire::{Content, CounterRow, LayoutCache};

use crate::recording::{Recording, read_recording};
use deliver::{Delivered, Delivery};
use kit::open_kit;
use open::open_heat;
use source::{HeatSource, Identity};
use summary::{RecordingSummary, Summary, describe};
use timing::{TimeChoice, shift_ns};

/// Sends recordings: snapshot trees (directory or .tar.zst), page traces (.parquet), memory samples of perf
/// (perf.data, or the text of `perf script`), records of damo, and field kits.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Recordings; all of them belong to one host.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Base address of the service.
    #[arg(long, required_unless_present = "dry_run")]
    server: Option<String>,
    /// Service that a page trace, a recording of perf or a record of damo belongs to: [NAMESPACE/]NAME.
    #[arg(long)]
    service: Option<String>,
    /// Name under which the host is shown; that of the recording unless given.
    #[arg(long)]
    host: Option<String>,
    /// At which time the recordings are sent.
    #[arg(long, value_enum, default_value_t = TimeChoice::Auto)]
    time: TimeChoice,
    /// File with a join token, for a host that is new.
    #[arg(long)]
    join_token_file: Option<PathBuf>,
    /// Host id and credential: used when it exists, else written at enrolment.
    #[arg(long)]
    credential_file: Option<PathBuf>,
    /// Directory for the credential unless --credential-file is given.
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// Label of the host, KEY=VALUE; may be repeated.
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Certificates (PEM) of a private authority.
    #[arg(long)]
    ca_file: Option<PathBuf>,
    /// Reads everything and sends nothing.
    #[arg(long)]
    dry_run: bool,
    /// Prints the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// What was read of one path.
enum Source {
    Snapshots(Box<Recording>),
    Heat(Box<dyn HeatSource>),
    Kit(FieldKit),
}

/// Reads, then sends.
pub(crate) fn run(args: &ReplayArgs) -> Result<()> {
    let sources = args
        .paths
        .iter()
        .map(|path| open(path))
        .collect::<Result<Vec<_>>>()?;
    let has_heat = sources.iter().any(|source| matches!(source, Source::Heat(_)));
    if has_heat && args.service.is_none() {
        bail!("a recording of heat belongs to a service: name it with --service [NAMESPACE/]NAME");
    }
    let plan = Plan::new(args, sources);
    let (host_id, delivered) = if args.dry_run {
        (None, None)
    } else {
        let (host_id, delivered) = plan.send(args)?;
        (Some(host_id), Some(delivered))
    };
    let summary = plan.summary(host_id, delivered);
    let text = if args.json {
        serde_json::to_string_pretty(&summary)?
    } else {
        describe(&summary)
    };
    writeln!(std::io::stdout(), "{text}").context("the summary cannot be printed")
}

fn open(path: &Path) -> Result<Source> {
    if let Some(heat) = open_heat(path)? {
        return Ok(Source::Heat(heat));
    }
    if let Some(kit) = open_kit(path)? {
        return Ok(Source::Kit(kit));
    }
    read_recording(path).map(|recording| Source::Snapshots(Box::new(recording)))
}

/// What is sent, and at which time.
struct Plan {
    host: String,
    paths: Vec<PathBuf>,
    sources: Vec<Source>,
    /// Added to the times of all snapshots, so that recordings keep their distance.
    shift_ns: i64,
    /// End of recordings of heat, which have no time of their own.
    heat_end_ns: i64,
}

impl Plan {
    fn new(args: &ReplayArgs, sources: Vec<Source>) -> Self {
        let now_ns = wall_ns();
        let last_ns = sources.iter().filter_map(last_recorded_ns).max();
        let shift_ns = last_ns.map_or(0, |last_ns| shift_ns(args.time, last_ns, now_ns));
        let recorded_name = sources.iter().find_map(|source| match source {
            Source::Snapshots(recording) => Some(recording.name.clone()),
            Source::Heat(_) | Source::Kit(_) => None,
        });
        let first_stem = args.paths.first().and_then(|path| path.file_stem());
        let stem = first_stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Self {
            host: args.host.clone().or(recorded_name).unwrap_or(stem),
            paths: args.paths.clone(),
            sources,
            shift_ns,
            // A whole minute, as a live interval would end.
            heat_end_ns: now_ns / (60 * SECOND_NS) * (60 * SECOND_NS),
        }
    }

    fn send(&self, args: &ReplayArgs) -> Result<(String, Delivered)> {
        let client = Client::new(&Settings {
            server: args.server.clone().unwrap_or_default(),
            ca_file: args.ca_file.clone(),
            allow_http: false,
            agent_version: crate::VERSION.to_owned(),
            timeout: Duration::from_secs(60),
        })?;
        let credential = obtain_credential(args, &client, &self.host)?;
        let mut total = Delivered::default();
        for (path, source) in self.paths.iter().zip(&self.sources) {
            let stream_id = self.stream_id(&credential, path, source);
            let mut delivery = Delivery::new(&client, &credential, stream_id);
            match source {
                Source::Snapshots(recording) => self.send_snapshots(recording, &mut delivery),
                Source::Heat(heat) => self.send_heat(args, path, &**heat, &mut delivery),
                Source::Kit(kit) => kit::send(kit, &mut delivery, &self.host, self.shift_ns),
            }
            .with_context(|| format!("sending {}", path.display()))?;
            total.add(delivery.delivered);
        }
        Ok((credential.host_id, total))
    }

    /// The same recording at the same times to the same host is the same stream.
    fn stream_id(&self, credential: &Credential, path: &Path, source: &Source) -> [u8; 16] {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let times = match source {
            Source::Snapshots(recording) => {
                let first_ns = recording.samples.first().map_or(0, |sample| sample.end_wall_ns);
                format!("{first_ns}\n{}\n{}", recording.samples.len(), self.shift_ns)
            }
            Source::Heat(heat) => format!("{}\n{}", heat.intervals(), self.heat_end_ns),
            Source::Kit(kit) => {
                let manifest = &kit.manifest;
                format!(
                    "{}\n{}\n{}",
                    manifest.began_wall_ns,
                    kit.batches.len(),
                    self.shift_ns
                )
            }
        };
        let digest = Sha256::digest(format!("replay\n{}\n{name}\n{times}", credential.host_id));
        std::array::from_fn(|index| digest[index])
    }

    fn send_snapshots(&self, recording: &Recording, delivery: &mut Delivery<'_>) -> Result<()> {
        let mut layouts = LayoutCache::default();
        let counters: Vec<CounterRow> = recording
            .samples
            .iter()
            .map(|sample| {
                let row = CounterRow::new(sample, &mut layouts);
                CounterRow {
                    end_wall_ns: row.end_wall_ns + self.shift_ns,
                    ..row
                }
            })
            .collect();
        let boot_id = recording
            .samples
            .first()
            .map_or_else(|| Arc::from(""), |sample| Arc::clone(&sample.boot_id));
        let inventory = Inventory {
            hostname: self.host.clone(),
            ..recording.inventory.clone()
        };
        delivery.send(
            Content {
                inventory: Some(inventory),
                counters,
                ..Content::default()
            },
            &boot_id,
        )
    }

    fn send_heat(
        &self,
        args: &ReplayArgs,
        path: &Path,
        heat: &dyn HeatSource,
        delivery: &mut Delivery<'_>,
    ) -> Result<()> {
        let service = service_name(args.service.as_deref().unwrap_or_default());
        if !self
            .sources
            .iter()
            .any(|source| matches!(source, Source::Snapshots(_)))
        {
            let inventory = Some(inventory_of(&self.host, &service, heat.rule()));
            delivery.send(
                Content {
                    inventory,
                    ..Content::default()
                },
                "",
            )?;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let digest = Sha256::digest(format!("{}\n{service}\n{stem}\n{}", self.host, self.heat_end_ns));
        let identity = Identity {
            service,
            group: Arc::from(&*stem),
            epoch_seed: digest
                .iter()
                .take(8)
                .fold(0, |seed, byte| seed << 8 | u64::from(*byte)),
        };
        heat.fold(&identity, self.heat_end_ns, &mut |content| {
            delivery.send(content, "")
        })
    }

    fn summary(&self, host_id: Option<String>, delivered: Option<Delivered>) -> Summary {
        let recordings = self
            .paths
            .iter()
            .zip(&self.sources)
            .map(|(path, source)| match source {
                Source::Snapshots(recording) => {
                    let ends = recording.samples.first().zip(recording.samples.last());
                    let ends = ends
                        .map(|(first, last)| (first.end_wall_ns, last.end_wall_ns))
                        .unwrap_or_default();
                    RecordingSummary {
                        path: path.clone(),
                        kind: "snapshots",
                        samples: recording.samples.len(),
                        counters: recording.samples.iter().map(|sample| sample.values.len()).max(),
                        from: rfc3339(ends.0 + self.shift_ns),
                        to: rfc3339(ends.1 + self.shift_ns),
                        shift_seconds: Some(self.shift_ns as f64 / SECOND_NS as f64),
                        problems: recording.problems.clone(),
                        notes: Vec::new(),
                        working_sets: Vec::new(),
                    }
                }
                Source::Heat(heat) => RecordingSummary {
                    path: path.clone(),
                    kind: heat.kind(),
                    samples: heat.intervals() as usize,
                    counters: None,
                    from: rfc3339(self.heat_end_ns - heat.duration_ns()),
                    to: rfc3339(self.heat_end_ns),
                    shift_seconds: None,
                    problems: heat.problems(),
                    notes: heat.notes(),
                    working_sets: heat.working_sets(),
                },
                Source::Kit(kit) => self.summary_of_kit(path, kit),
            });
        Summary {
            host: self.host.clone(),
            host_id,
            recordings: recordings.collect(),
            delivered,
        }
    }

    fn summary_of_kit(&self, path: &Path, kit: &FieldKit) -> RecordingSummary {
        let manifest = &kit.manifest;
        RecordingSummary {
            path: path.to_owned(),
            kind: "field-kit",
            samples: kit.batches.len(),
            counters: None,
            from: rfc3339(manifest.began_wall_ns + self.shift_ns),
            to: rfc3339(manifest.ended_wall_ns + self.shift_ns),
            shift_seconds: Some(self.shift_ns as f64 / SECOND_NS as f64),
            problems: Vec::new(),
            notes: kit::notes(kit),
            working_sets: Vec::new(),
        }
    }
}

fn last_recorded_ns(source: &Source) -> Option<i64> {
    match source {
        Source::Snapshots(recording) => recording.samples.last().map(|sample| sample.end_wall_ns),
        Source::Heat(_) => None,
        Source::Kit(kit) => Some(kit.manifest.ended_wall_ns),
    }
}

fn inventory_of(host: &str, service: &str, rule: &str) -> Inventory {
    let (namespace, name) = service.split_once('/').unwrap_or(("", service));
    let service = Service {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        rule: rule.to_owned(),
        processes: 1,
        heat_measured: true,
        heat_reason: String::new(),
    };
    Inventory {
        hostname: host.to_owned(),
        services: vec![service],
        ..Inventory::default()
    }
}

/// The kept credential, or a new one; it is kept if there is a place for it.
fn obtain_credential(args: &ReplayArgs, client: &Client, host: &str) -> Result<Credential> {
    let in_state_dir = args
        .state_dir
        .as_ref()
        .map(|directory| directory.join("credential.json"));
    let path = args.credential_file.clone().or(in_state_dir);
    if let Some(path) = &path
        && let Some(credential) = credential::load(path)?
    {
        return Ok(credential);
    }
    let Some(token_file) = &args.join_token_file else {
        bail!(
            "this host is new: make a token with `tierscope token join` and name its file with --join-token-file"
        );
    };
    let join_token = credential::read_join_token(token_file)?;
    let mut labels = BTreeMap::new();
    for label in &args.labels {
        let Some((key, value)) = label.split_once('=') else {
            bail!("--label {label:?} is not of the form KEY=VALUE");
        };
        labels.insert(key.to_owned(), value.to_owned());
    }
    let introduction = Introduction {
        hostname: host,
        labels: &labels,
        origin: "import",
    };
    match path {
        Some(path) => credential::enrol_and_save(client, &join_token, &introduction, &path),
        None => Ok(credential::enrol(client, &join_token, &introduction)?),
    }
}
