//! `tierscope-agent exporter`: figures for Prometheus from one program, without a service, a state directory or root.
//!
//! One thread reads the host. Counters are read when they are asked for, at most once in [`FRESH_NS`] however many ask;
//! heat is measured at the end of each interval, where the settings name whose. Who asks during a long measurement gets
//! the figures before it.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tierscope_clock::{SECOND_NS, boottime_ns, wall_ns};
use tierscope_heat::order::{HeatCost, HeatOrder, Order};
use tierscope_rootfs::Root;
use tierscope_sample::fold::IntervalEnd;
use tierscope_upload::Plan;

use crate::bounds::Bounds;
use crate::bounds::budget::Level;
use crate::bounds::pause::Pause;
use crate::bounds::priority;
use crate::config::Config;
use crate::doctor::leftovers;
use crate::host_cgroups;
use crate::live::LiveSource;
use crate::machine;
use crate::rounds::{LOOK_EVERY, next_end, stamp, time_left};
use crate::run::stop_on_signals;
use crate::source::Source as _;
use crate::status::{BudgetStatus, StatusFile};
use crate::threads::spawn;

use super::http::HostNames;
use super::{Shown, serve_page};

/// Counters that were read within this time are not read again.
const FRESH_NS: i64 = 5 * SECOND_NS;
/// Scrapes that may wait for one reading; others get the page before.
const MOST_WISHES: usize = 8;
/// Longest wait of a scrape for counters that are read for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves this host's figures to Prometheus, without a service: memory by node and tier, tier moves, pressure, and heat
/// where the settings name whose. Works for any user; what that user may not read is named in the page.
#[derive(Debug, Args)]
pub(crate) struct ExporterArgs {
    /// Where to listen. An address of this host's network answers every host there, without a password.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9465")]
    listen: SocketAddr,
    /// A name of this host by which scrapers ask, beside addresses and the host's own name; may be repeated.
    #[arg(long = "host-name", value_name = "NAME")]
    host_names: Vec<String>,
    /// Name of this host, or of the Kubernetes node that it is; the host's own unless given.
    #[arg(long)]
    hostname: Option<String>,
    /// Settings (TOML), as for `run`; those of delivery are passed over.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Prints one page and ends, such as for a textfile collector.
    #[arg(long)]
    once: bool,
    /// What stands for `/`: the running host, or a snapshot of one.
    #[arg(long, value_name = "TREE", default_value = "/")]
    root: PathBuf,
}

/// Serves until SIGTERM or SIGINT; with `--once` prints a page to `out`.
pub(crate) fn run(args: &ExporterArgs, out: &mut impl Write) -> Result<()> {
    let mut config = Config::read_named(args.config.as_deref())?;
    config.hostname = args.hostname.clone().or(config.hostname);
    let root = Root::named(&args.root).map_err(anyhow::Error::msg)?;
    host_cgroups::enter();
    if args.once {
        let mut exporter = Exporter::new(&config, &root)?;
        exporter.round(&mut Bounds::new(&config, root), wall_ns());
        out.write_all(exporter.page().as_bytes())?;
        return Ok(());
    }
    leftovers::clean_at_start();
    priority::lower(config.nice);
    let stop = stop_on_signals()?;
    let mut exporter = Exporter::new(&config, &root)?;
    let mut bounds = Bounds::new(&config, root);
    exporter.round(&mut bounds, wall_ns());
    let (wishes, inbox) = sync_channel(MOST_WISHES);
    let stopping = wishes.clone();
    spawn("stop", move || {
        // Either way the process is to end.
        let _ = stop.recv();
        let _ = stopping.send(Wish::Stop);
    })?;
    let (shown, status) = (exporter.shown.clone(), exporter.status.clone());
    let bound = serve_page(args.listen, args.names(), move || {
        wait_for_reading(&wishes);
        shown.render(&status.snapshot())
    })?;
    // A log that is gone ends nothing.
    let _ = writeln!(
        std::io::stderr(),
        "tierscope-agent: figures are at http://{bound}/metrics"
    );
    exporter.run(&mut bounds, &inbox);
    Ok(())
}

impl ExporterArgs {
    fn names(&self) -> HostNames {
        if self.listen.ip().is_loopback() {
            return HostNames::loopback();
        }
        let own = std::iter::once(machine::hostname());
        HostNames::of_network(self.host_names.iter().cloned().chain(own).collect())
    }
}

/// What the reading thread is asked for.
enum Wish {
    /// Counters of now, and a word when they are there.
    Counters(SyncSender<()>),
    Stop,
}

/// Waits until counters are fresh; not for long, and not where others wait already.
fn wait_for_reading(wishes: &SyncSender<Wish>) {
    let (done, read) = sync_channel(1);
    if wishes.try_send(Wish::Counters(done)).is_ok() {
        let _ = read.recv_timeout(PATIENCE);
    }
}

/// The host, and what it showed last.
struct Exporter {
    source: LiveSource,
    /// Boot-time clock at the last reading of counters.
    read_ns: Option<i64>,
    shown: Shown,
    status: StatusFile,
    pause: Pause,
    interval_seconds: u32,
}

impl Exporter {
    fn new(config: &Config, root: &Root) -> Result<Self> {
        Ok(Self {
            source: LiveSource::beneath(root, config)?,
            read_ns: None,
            shown: Shown::default(),
            status: StatusFile::in_memory(),
            pause: Pause::new(config),
            interval_seconds: config
                .interval_seconds
                .unwrap_or(Plan::default().interval_seconds),
        })
    }

    /// Measures at the end of each interval and reads counters when asked, until it is told to stop.
    fn run(&mut self, bounds: &mut Bounds, inbox: &Receiver<Wish>) {
        let interval_ns = i64::from(self.interval_seconds) * SECOND_NS;
        loop {
            let due_ns = next_end(wall_ns(), interval_ns);
            while let Some(left) = time_left(wall_ns(), due_ns, interval_ns).filter(|left| !left.is_zero()) {
                match inbox.recv_timeout(left.min(LOOK_EVERY)) {
                    Ok(Wish::Counters(done)) => {
                        self.refresh(bounds, boottime_ns());
                        // Who asked may be gone.
                        let _ = done.try_send(());
                    }
                    Err(RecvTimeoutError::Timeout) => drop(self.rest_if_paused()),
                    Ok(Wish::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            self.round(bounds, stamp(wall_ns(), due_ns));
        }
    }

    /// Lets everything rest while the kill switch says so. Says whether it does.
    fn rest_if_paused(&mut self) -> bool {
        let paused = self.pause.reason(&Plan::default());
        if paused.is_some() {
            self.source.rest();
            self.shown.clear();
        }
        self.status.update(|status| {
            status.state = if paused.is_some() { "paused" } else { "running" };
            if paused.is_some() {
                status.heat_rung = None;
            }
            status.paused_by.clone_from(&paused);
        });
        paused.is_some()
    }

    /// One whole collection.
    fn round(&mut self, bounds: &mut Bounds, end_wall_ns: i64) {
        if self.rest_if_paused() {
            return;
        }
        if !bounds.is_counting(end_wall_ns, self.interval_seconds) {
            bounds.measure(&HeatCost::default(), 0);
            return;
        }
        let order = Order {
            interval_seconds: self.interval_seconds,
            heat: bounds.order(&Plan::default()),
        };
        let collected_ns = boottime_ns();
        let end = IntervalEnd {
            wall_ns: end_wall_ns,
            boottime_ns: Some(collected_ns),
        };
        let collection = self.source.collect(end, &order);
        self.read_ns = Some(collected_ns);
        self.shown.keep(&collection);
        let usage = bounds.measure(&collection.heat_cost, 0);
        let missed = u64::from(matches!(order.heat, HeatOrder::Miss(_)) && collection.heat_cost.listed);
        self.status.update(|status| {
            status.last_collected_wall_ns = Some(end_wall_ns);
            status.counters = collection.sample.values.len();
            status.heat_rows = collection.heat.rows.len();
            status.heat_rung = collection.heat_cost.backend;
            status.collection_error = collection.failures();
            status.guard_paused = bounds.busy().map(str::to_owned);
            status.guard_paused_intervals += missed;
            status.budget = BudgetStatus::of(bounds, usage);
        });
    }

    /// Reads counters again where the last reading is old enough and the budget does not make readings rare: then those
    /// of [`Self::round`] have to do, however many ask.
    fn refresh(&mut self, bounds: &Bounds, now_ns: i64) {
        let is_fresh = self
            .read_ns
            .is_some_and(|read_ns| (0..FRESH_NS).contains(&(now_ns - read_ns)));
        if is_fresh || self.rest_if_paused() || bounds.standing().0 == Level::RareCounters {
            return;
        }
        let collected = self.source.counters_now();
        self.read_ns = Some(now_ns);
        self.shown.keep_counters(&collected.sample, &collected.gone);
    }

    fn page(&self) -> String {
        self.shown.render(&self.status.snapshot())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::tests::exhaust;
    use crate::fake_root::FakeRoot;

    fn host() -> FakeRoot {
        let root = FakeRoot::new();
        root.write("proc/vmstat", "pgpromote_success 1\npgdemote_kswapd 2\n");
        root.write("proc/stat", "cpu  1 0 0 100 0 0 0 0 0 0\n");
        root.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 900 kB\n");
        root.write("sys/devices/system/node/node0/cpulist", "0-1\n");
        root.write(
            "sys/devices/system/node/node0/meminfo",
            "Node 0 MemTotal: 1000 kB\n",
        );
        root
    }

    fn promoted(exporter: &Exporter) -> Option<String> {
        let page = exporter.page();
        let line = page
            .lines()
            .find(|line| line.starts_with("tierscope_vmstat_pgpromote_success_total{"))?;
        line.rsplit(' ').next().map(str::to_owned)
    }

    #[test]
    fn counters_are_read_again_only_when_they_are_old() {
        let root = host();
        let config = Config::default();
        let mut exporter = Exporter::new(&config, &root.root()).expect("an exporter");
        let mut bounds = Bounds::new(&config, root.root());
        exporter.round(&mut bounds, 0);
        assert_eq!(promoted(&exporter).as_deref(), Some("1"));
        root.write("proc/vmstat", "pgpromote_success 9\n");
        let read_ns = exporter.read_ns.expect("read");
        exporter.refresh(&bounds, read_ns + FRESH_NS - 1);
        assert_eq!(promoted(&exporter).as_deref(), Some("1"));
        exporter.refresh(&bounds, read_ns + FRESH_NS);
        assert_eq!(promoted(&exporter).as_deref(), Some("9"));
        let page = exporter.page();
        assert!(
            page.contains("tierscope_node_memory_size_bytes{node=\"0\",tier=\"dram\"} 1024000"),
            "{page}"
        );
        assert!(
            page.contains("path=\"/proc/pressure/memory\",reason=\"absent\""),
            "{page}"
        );
    }

    #[test]
    fn an_exhausted_budget_makes_readings_rare_however_many_ask() {
        let root = host();
        let config = Config::default();
        let mut exporter = Exporter::new(&config, &root.root()).expect("an exporter");
        let mut bounds = Bounds::new(&config, root.root());
        exhaust(&mut bounds);
        let interval_ns = i64::from(exporter.interval_seconds) * SECOND_NS;
        exporter.round(&mut bounds, 4 * interval_ns);
        let read_ns = exporter.read_ns.expect("read");
        root.write("proc/vmstat", "pgpromote_success 9\n");
        exporter.refresh(&bounds, read_ns + FRESH_NS);
        for number in 5..8 {
            exporter.round(&mut bounds, number * interval_ns);
            assert_eq!(promoted(&exporter).as_deref(), Some("1"), "{number}");
        }
        exporter.round(&mut bounds, 8 * interval_ns);
        assert_eq!(promoted(&exporter).as_deref(), Some("9"));
    }

    #[test]
    fn the_kill_switch_takes_the_figures_away() {
        let root = host();
        let state = tempfile::tempdir().expect("a directory");
        let config = Config {
            state_dir: state.path().to_owned(),
            ..Config::default()
        };
        let mut exporter = Exporter::new(&config, &root.root()).expect("an exporter");
        std::fs::write(config.pause_file(), "").expect("written");
        let mut bounds = Bounds::new(&config, root.root());
        exporter.round(&mut bounds, 0);
        exporter.refresh(&bounds, boottime_ns());
        let page = exporter.page();
        assert!(
            page.contains("tierscope_agent_state{state=\"paused\"} 1"),
            "{page}"
        );
        assert!(!page.contains("tierscope_vmstat"), "{page}");
        std::fs::remove_file(config.pause_file()).expect("removed");
        exporter.round(&mut Bounds::new(&config, root.root()), 0);
        assert_eq!(promoted(&exporter).as_deref(), Some("1"));
    }
}
