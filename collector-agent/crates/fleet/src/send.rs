//! Sends the hosts of the twin over the true wire, enrolment included, marked as simulated.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use tierscope_host::state_dir;
use tierscope_twin::laws::Laws;
use tierscope_upload::credential;
use tierscope_upload::{Client, Settings};

use crate::host::SimHost;
use crate::progress::Progress;
use crate::report::Report;
use crate::saved::Saved;
use crate::stage::Stage;
use crate::turns::Until;
use crate::twin::{TruthRecorder, TwinFleet, TwinHost, View};
use crate::{enrol, seeds, turns, twin};

/// What a page of the twin stands for under load: a minute of a host then costs the generator little beside what it
/// costs the service.
const LOAD_UNIT_BYTES: u64 = 512 << 20;

/// Sends the hosts of the twin as a simulated fleet.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Base address of the service.
    #[arg(long, default_value = "http://127.0.0.1:8480")]
    server: String,
    /// File that holds a join token with at least as many uses as there are hosts.
    #[arg(long)]
    join_token_file: PathBuf,
    /// Laws of the twin (TOML); those that come with it by default. All hosts that they name are sent.
    #[arg(long)]
    laws: Option<PathBuf>,
    /// A workload of a paper on three hosts more, such as `ycsb-a`. May be repeated.
    #[arg(long, conflicts_with = "hosts")]
    workload: Vec<String>,
    /// For load: so many hosts, the kinds of the laws in turn, in larger pages, without incidents, tiles and page samples.
    #[arg(long, conflicts_with = "truth", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    hosts: Option<u32>,
    /// For load: services on each host, at least.
    #[arg(long, default_value_t = 1, requires = "hosts")]
    services: u32,
    /// Of the twin's pages, one in so many is looked at.
    #[arg(long, default_value_t = 4, conflicts_with = "hosts", value_parser = clap::value_parser!(u64).range(1..))]
    panel_every: u64,
    /// Where to write the truth of what was sent in detail, as `tierscope-fleet truth` does.
    #[arg(long, requires = "minutes")]
    truth: Option<PathBuf>,
    /// Where the fleet remembers its hosts, so that a later run goes on with them; without it, it forgets.
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// Hours of history to load at once; 0 for none. More than 160 need a service that takes points of more than 7 days
    /// ago (`late_days`).
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=1440))]
    hours: u32,
    /// Days of history before that: counters by the hour, without heat.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=365))]
    older_days: u32,
    /// Minutes to send live after that; without it, until ended.
    #[arg(long)]
    minutes: Option<u32>,
    /// For load: minutes of each live batch; without it, as the plan of each host says.
    #[arg(long, requires = "hosts", value_parser = clap::value_parser!(u32).range(1..=10))]
    send_minutes: Option<u32>,
    /// Same seed, same fleet.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Connections to the service.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    connections: u32,
    /// Prints a report as JSON at the end.
    #[arg(long)]
    json: bool,
    /// Allows a service on another machine.
    #[arg(long)]
    allow_remote: bool,
}

/// Runs the fleet until its minutes are over.
pub(crate) fn run(args: &SendArgs) -> anyhow::Result<()> {
    let settings = connection(args)?;
    let progress = Progress::new();
    if let Some(directory) = &args.state_dir {
        state_dir::open(directory).with_context(|| format!("{} cannot be made", directory.display()))?;
    }
    let laws = laws(args)?;
    let recorder = args
        .truth
        .as_ref()
        .map(|_| Arc::new(TruthRecorder::new(laws.clone(), args.seed)));
    let mut hosts = twins(args, &laws, recorder.as_ref());
    progress.say(&format!("warming up the twin of {} hosts", hosts.len()));
    let now = turns::this_minute()?;
    let saved = gather(args, &settings, &mut hosts, now)?;
    note_experiments(args, &laws, saved.detailed_from())?;
    progress.say(&format!("{} simulated hosts enrolled", hosts.len()));
    let stage = Stage {
        settings,
        connections: args.connections as usize,
        send_minutes: match args.hosts {
            // The demonstration is looked at.
            None => Some(1),
            Some(_) => args.send_minutes,
        },
        report: Report::new(hosts.len() as u32),
        progress,
        saved,
    };
    match args.minutes {
        None => drop(turns::send(&stage, hosts, Until::Ended)?),
        Some(minutes) => send_for(&stage, hosts, now, minutes)?,
    }
    stage.saved.flush()?;
    if let (Some(path), Some(recorder)) = (&args.truth, &recorder) {
        recorder.write(path)?;
    }
    stage.report.finish(args.json)
}

/// Sends the history, then whole minutes live from the next one on; what hosts would have sent between is left out.
fn send_for(stage: &Stage, hosts: Vec<SimHost>, now: i64, minutes: u32) -> anyhow::Result<()> {
    let mut hosts = turns::send(stage, hosts, Until::History(now))?;
    stage.saved.flush()?;
    if minutes > 0 {
        let first = turns::this_minute()? + 1;
        for host in &mut hosts {
            host.skip_to(first);
        }
        turns::await_minute(first)?;
        stage.report.start_live();
        turns::send(stage, hosts, Until::Minute(first + i64::from(minutes)))?;
    }
    Ok(())
}

/// The laws of the hosts to send.
fn laws(args: &SendArgs) -> anyhow::Result<Laws> {
    let mut laws = Laws::load(args.laws.as_deref())?;
    laws.add_workloads(&args.workload)?;
    twin::check(&laws)?;
    Ok(match args.hosts {
        None => laws,
        Some(hosts) => laws.repeated(hosts as usize, args.services as usize, LOAD_UNIT_BYTES),
    })
}

/// The hosts of the laws, each with a seed of its own for what it says of itself.
fn twins(args: &SendArgs, laws: &Laws, recorder: Option<&Arc<TruthRecorder>>) -> Vec<SimHost> {
    let view = match args.hosts {
        None => View::Whole {
            panel_every: args.panel_every,
        },
        Some(_) => View::Load,
    };
    let fleet = TwinFleet::new(laws, args.seed, view, recorder);
    (0..laws.hosts.len())
        .map(|index| {
            let twin = TwinHost::new(laws.of_host(index), &fleet);
            SimHost::new(twin, seeds::mix(args.seed, index as u64))
        })
        .collect()
}

/// Writes down what was tried on the hosts of the laws, for who enters it as its owners would.
fn note_experiments(args: &SendArgs, laws: &Laws, detailed_from: i64) -> anyhow::Result<()> {
    let Some(directory) = args.state_dir.as_ref().filter(|_| args.hosts.is_none()) else {
        return Ok(());
    };
    let path = directory.join("experiments.json");
    twin::experiments::write(&path, laws, twin::start_unix_s(detailed_from))
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// Goes on with the hosts of an earlier run, else enrols new ones whose history begins `--hours` ago.
fn gather(args: &SendArgs, settings: &Settings, hosts: &mut [SimHost], now: i64) -> anyhow::Result<Saved> {
    let path = args.state_dir.as_ref().map(|dir| dir.join("fleet.json"));
    if let Some(path) = &path
        && let Some(saved) = Saved::resume(path, args.seed, hosts)?
    {
        // What is older than the history that was asked for stays a gap: the demo was off.
        let earliest = now - older_minutes(args) - i64::from(args.hours) * 60;
        for host in hosts {
            host.skip_to(earliest);
        }
        return Ok(saved);
    }
    let token = credential::read_join_token(&args.join_token_file)?;
    enrol::enrol(settings, &token, hosts, args.connections as usize)?;
    let detailed_from = detailed_from(args, now);
    let first_minute = detailed_from - older_minutes(args);
    for host in &mut *hosts {
        host.start_at(first_minute, detailed_from);
    }
    Saved::new(path, args.seed, (first_minute, detailed_from), hosts)
}

fn older_minutes(args: &SendArgs) -> i64 {
    i64::from(args.older_days) * 24 * 60
}

/// The first minute of the history in detail. It is the first of an hour, so that windows of the truth are those in which
/// the service counts: the history is up to an hour longer. A load is as long as was asked for.
fn detailed_from(args: &SendArgs, now: i64) -> i64 {
    let first = now - i64::from(args.hours) * 60;
    match args.hosts {
        None => (first - 1).div_euclid(60) * 60 + 1,
        Some(_) => first,
    }
}

fn connection(args: &SendArgs) -> anyhow::Result<Settings> {
    let settings = Settings {
        server: args.server.clone(),
        ca_file: None,
        allow_http: false,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        timeout: Duration::from_secs(60),
    };
    if !Client::new(&settings)?.is_loopback() && !args.allow_remote {
        bail!(
            "{} is another machine: a simulated fleet is sent to loopback only; \
             give --allow-remote if that service is yours to load",
            args.server
        );
    }
    Ok(settings)
}
