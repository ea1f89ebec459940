//! `tierscope-agent run`: collect at the end of each interval, queue, deliver.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tierscope_clock::wall_ns;
use tierscope_host::state_dir;
use tierscope_rootfs::Root;
use tierscope_spool::{Limits, OsDisk, Spool};
use tierscope_upload::credential::{self, Credential, CredentialStore, Introduction};
use tierscope_upload::{Backoff, Client, Plan, Settings};

use crate::bounds::Bounds;
use crate::bounds::allowance::Allowance;
use crate::bounds::pause::Pause;
use crate::bounds::priority;
use crate::config::Config;
use crate::doctor::leftovers;
use crate::host_cgroups;
use crate::live::LiveSource;
use crate::machine;
use crate::metrics::{self, Shown};
use crate::rounds::Rounds;
use crate::status::StatusFile;
use crate::threads::spawn;
use crate::uplink::layouts::LayoutStore;
use crate::uplink::sending::spread_hash;
use crate::uplink::{Shared, Signal, Uplink};

/// Longest time for each step of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Measures this host and sends what it finds.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Settings (TOML); options override them.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Base address of the service, such as `https://tierscope.example`.
    #[arg(long)]
    server: Option<String>,
    /// Certificates (PEM) of a private authority that signed the service's certificate.
    #[arg(long)]
    ca_file: Option<PathBuf>,
    /// Where spool, credential and status live.
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// Host id and credential; written at enrolment.
    #[arg(long)]
    credential_file: Option<PathBuf>,
    /// File with a join token, read once, at enrolment.
    #[arg(long)]
    join_token_file: Option<PathBuf>,
    /// Name under which the host is shown.
    #[arg(long)]
    hostname: Option<String>,
    /// Seconds between collections; without it the service decides.
    #[arg(long, alias = "interval-seconds")]
    interval: Option<u32>,
    /// Seconds over which uploads of a fleet are spread.
    #[arg(long, alias = "upload-spread-seconds")]
    upload_spread: Option<u32>,
    /// File with the processes whose heat is measured, one `pid [start_time [service]]` a line.
    #[arg(long)]
    heat_pids_file: Option<PathBuf>,
    /// Back ends of heat in the order in which they are tried, such as `damon_pages,referenced`.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    heat_backends: Option<Vec<String>>,
    /// Checks the settings and the files that they name, and ends.
    #[arg(long)]
    check_config: bool,
    /// Label of the host, KEY=VALUE; may be repeated.
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
}

impl RunArgs {
    /// The settings in force.
    fn settings(self) -> Result<Config> {
        let mut config = Config::read_named(self.config.as_deref())?;
        config.server = self.server.or(config.server);
        config.ca_file = self.ca_file.or(config.ca_file);
        config.state_dir = self.state_dir.unwrap_or(config.state_dir);
        config.credential_file = self.credential_file.or(config.credential_file);
        config.join_token_file = self.join_token_file.or(config.join_token_file);
        config.hostname = self.hostname.or(config.hostname);
        config.interval_seconds = self.interval.or(config.interval_seconds);
        config.upload_spread_seconds = self.upload_spread.unwrap_or(config.upload_spread_seconds);
        config.heat.pids_file = self.heat_pids_file.or(config.heat.pids_file);
        config.heat.backends = self.heat_backends.or(config.heat.backends);
        for label in &self.labels {
            let Some((key, value)) = label.split_once('=') else {
                bail!("--label {label:?} is not of the form KEY=VALUE");
            };
            config.labels.insert(key.to_owned(), value.to_owned());
        }
        config.check().map_err(|mistake| anyhow::anyhow!("{mistake}"))?;
        Ok(config)
    }
}

/// Runs until SIGTERM or SIGINT.
pub(crate) fn run(args: RunArgs) -> Result<()> {
    let check_only = args.check_config;
    let config = args.settings()?;
    let Some(server) = config.server.clone() else {
        bail!("no service is named: give --server, or `server` in the file of --config");
    };
    let client = Client::new(&Settings {
        server,
        ca_file: config.ca_file.clone(),
        allow_http: config.allow_http,
        agent_version: crate::VERSION.to_owned(),
        timeout: REQUEST_TIMEOUT,
    })?;
    let mut source = LiveSource::new(&config)?;
    if check_only {
        return Ok(());
    }
    host_cgroups::enter();
    leftovers::clean_at_start();
    priority::lower(config.nice);
    state_dir::open(&config.state_dir).with_context(|| {
        format!(
            "state directory {} cannot be made; choose another with --state-dir",
            config.state_dir.display()
        )
    })?;
    let stop = stop_on_signals()?;
    let status = StatusFile::new(&config.state_dir, config.server.as_deref());
    status.update(|_| {});
    let Some(credential) = obtain_credential(&config, &client, &stop, &status)? else {
        return Ok(());
    };
    let shared = Arc::new(open_shared(&config, credential, status)?);
    let (signals, uplink) = start_uplink(&config, client, Arc::clone(&shared))?;
    let shown = serve_metrics(&config, &shared)?;
    let bounds = Bounds::new(&config, Root::live());
    Rounds::new(&config, &shared, &signals, &stop, bounds, shown).run(&mut source);
    // Whatever measures ends before anybody hears that it has.
    drop(source);
    shared.status.update(|status| status.state = "stopped");
    // Without waiting: a request that is under way ends with the process, and its batch stays queued.
    let _ = signals.try_send(Signal::Stop);
    drop(uplink);
    Ok(())
}

/// A channel that says when the process is to end.
pub(crate) fn stop_on_signals() -> Result<Receiver<()>> {
    let (sender, receiver) = sync_channel(1);
    let mut signals = Signals::new([SIGTERM, SIGINT]).context("signals cannot be handled")?;
    spawn("signals", move || {
        for _ in signals.forever() {
            let _ = sender.try_send(());
        }
    })?;
    Ok(receiver)
}

/// Answers at `metrics_listen` where that is set.
fn serve_metrics(config: &Config, shared: &Shared) -> Result<Option<Shown>> {
    let Some(address) = config.metrics_listen else {
        return Ok(None);
    };
    let shown = Shown::default();
    let bound = metrics::serve(address, shared.status.clone(), shown.clone())?;
    shared
        .status
        .update(|status| status.metrics_listen = Some(bound.to_string()));
    Ok(Some(shown))
}

/// The kept credential, or a new one; `None` when the process is to end. Waits for a service that does not answer.
fn obtain_credential(
    config: &Config,
    client: &Client,
    stop: &Receiver<()>,
    status: &StatusFile,
) -> Result<Option<Credential>> {
    let path = config.credential_path();
    if let Some(credential) = credential::load(&path)? {
        return Ok(Some(credential));
    }
    let Some(token_file) = &config.join_token_file else {
        bail!(
            "{} does not exist and no join token is given: make one with `tierscope token join` and name its file \
             with --join-token-file",
            path.display()
        );
    };
    let hostname = config.hostname.clone().unwrap_or_else(machine::hostname);
    let introduction = Introduction {
        hostname: &hostname,
        labels: &config.labels,
        origin: "live",
    };
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30), seed());
    loop {
        let join_token = credential::read_join_token(token_file)?;
        match credential::enrol_and_save(client, &join_token, &introduction, &path) {
            Ok(credential) => return Ok(Some(credential)),
            Err(error) if error.downcast_ref().is_some_and(credential::is_temporary) => {
                status.update(|status| status.delivery_error = Some(format!("{error:#}")));
                match stop.recv_timeout(backoff.next_wait(None)) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return Ok(None),
                }
            }
            Err(error) => return Err(error.context("this host cannot enrol")),
        }
    }
}

/// A number that differs between processes; for jitter alone.
fn seed() -> u64 {
    wall_ns() as u64 ^ u64::from(std::process::id()) << 32
}

fn open_shared(config: &Config, credential: Credential, status: StatusFile) -> Result<Shared> {
    let limits = Limits::for_bytes(config.spool_max_mib << 20);
    let directory = config.state_dir.join("spool");
    let spool = Spool::open(Box::new(OsDisk), &directory, limits, &machine::identity())?;
    let layouts = LayoutStore::open(&config.state_dir.join("layouts"))?;
    status.update(|status| {
        status.state = "running";
        status.host_id = Some(credential.host_id.clone());
    });
    Ok(Shared {
        spool: Mutex::new(spool),
        layouts: Mutex::new(layouts),
        plan: Mutex::new(Plan::default()),
        most_send_minutes: config.send_minutes,
        credential: CredentialStore::new(config.credential_path(), credential),
        pause: Pause::new(config),
        status,
    })
}

/// Starts the delivering thread, which waits its own share of the spread before each upload.
fn start_uplink(
    config: &Config,
    client: Client,
    shared: Arc<Shared>,
) -> Result<(SyncSender<Signal>, JoinHandle<()>)> {
    let (sender, receiver) = sync_channel(4);
    // On this machine there is no fleet to spread.
    let spread_seconds = if client.is_loopback() {
        0
    } else {
        config.upload_spread_seconds
    };
    let host_hash = u64::from(spread_hash(shared.credential.host_id()));
    let spread = Duration::from_millis(host_hash % (u64::from(spread_seconds) * 1000 + 1));
    let allowance = Allowance::new(config.budget.upload_max_mib_per_hour << 20);
    let uplink = Uplink::new(shared, client, receiver, spread, allowance, seed());
    Ok((sender, spawn("uplink", move || uplink.run())?))
}
