//! The collecting loop: one round at the end of each interval, within the bounds that settings, plan, guard and budget
//! set.

use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use anyhow::Result;
use tierscope_clock::{SECOND_NS, boottime_ns, rfc3339, wall_ns};
use tierscope_heat::order::{HeatCost, HeatOrder, Order};
use tierscope_sample::fold::IntervalEnd;
use tierscope_upload::Plan;

use crate::bounds::Bounds;
use crate::bounds::budget::Usage;
use crate::bounds::guard::GuardCount;
use crate::config::{Config, is_interval};
use crate::metrics::Shown;
use crate::source::{Collection, Source};
use crate::status::{BudgetStatus, Status};
use crate::uplink::queue::{Queue, Standing};
use crate::uplink::sending::{Sending, spread_hash};
use crate::uplink::{Shared, Signal, lock};

/// A collection this near to the interval's end stands for that end.
const ON_TIME_NS: i64 = SECOND_NS / 2;
/// The kill switch is looked at this often.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The loop and what it needs.
pub(crate) struct Rounds<'a> {
    config: &'a Config,
    shared: &'a Shared,
    signals: &'a SyncSender<Signal>,
    stop: &'a Receiver<()>,
    queue: Queue,
    sending: Sending,
    bounds: Bounds,
    /// Where `/metrics` finds its figures; `None` where nobody asks for them.
    shown: Option<Shown>,
    guard_count: GuardCount,
    /// Whether the collectors have been told to rest.
    resting: bool,
}

impl<'a> Rounds<'a> {
    /// A loop that has not begun.
    pub(crate) fn new(
        config: &'a Config,
        shared: &'a Shared,
        signals: &'a SyncSender<Signal>,
        stop: &'a Receiver<()>,
        bounds: Bounds,
        shown: Option<Shown>,
    ) -> Self {
        let stream_id = lock(&shared.spool).stream_id();
        Self {
            config,
            shared,
            signals,
            stop,
            queue: Queue::default(),
            sending: Sending::new(spread_hash(shared.credential.host_id())),
            bounds,
            shown,
            guard_count: GuardCount::open(&config.state_dir, stream_id),
            resting: false,
        }
    }

    /// Collects once now, so that there is something to see, then at the end of each interval until it is told to stop.
    pub(crate) fn run(mut self, source: &mut dyn Source) {
        self.round(source, wall_ns());
        loop {
            let interval_ns = i64::from(self.interval_seconds()) * SECOND_NS;
            let due_ns = next_end(wall_ns(), interval_ns);
            if !self.wait_until(due_ns, interval_ns, source) {
                self.seal_held();
                return;
            }
            self.round(source, stamp(wall_ns(), due_ns));
        }
    }

    /// Waits, and obeys the kill switch meanwhile. `false` when the process is to end.
    fn wait_until(&mut self, due_ns: i64, interval_ns: i64, source: &mut dyn Source) -> bool {
        loop {
            let Some(left) = time_left(wall_ns(), due_ns, interval_ns) else {
                return true;
            };
            match self.stop.recv_timeout(left.min(LOOK_EVERY)) {
                Err(RecvTimeoutError::Timeout) if left <= LOOK_EVERY => return true,
                Err(RecvTimeoutError::Timeout) => self.look(source),
                _ => return false,
            }
        }
    }

    /// What changes between two rounds: the kill switch, and a plan by which what is held has to go sooner.
    fn look(&mut self, source: &mut dyn Source) {
        if self.rest_if_paused(source) {
            return;
        }
        source.look();
        if self.sending.is_shortened(self.shared.send_minutes()) {
            self.seal_held();
        }
    }

    /// Lets the collectors rest while the kill switch says so. Says whether it does.
    fn rest_if_paused(&mut self, source: &mut dyn Source) -> bool {
        let paused = self.shared.paused();
        if let Some(reason) = &paused
            && !self.resting
        {
            source.rest();
            self.seal_held();
            if let Some(shown) = &self.shown {
                shown.clear();
            }
            self.shared.status.update(|status| {
                status.state = "paused";
                status.paused_by = Some(reason.clone());
                status.heat_rung = None;
            });
        }
        self.resting = paused.is_some();
        self.resting
    }

    /// The host's own setting wins over the service's wish.
    fn interval_seconds(&self) -> u32 {
        let wished = lock(&self.shared.plan).interval_seconds;
        let wished = if is_interval(wished) {
            wished
        } else {
            Plan::default().interval_seconds
        };
        self.config.interval_seconds.unwrap_or(wished)
    }

    fn round(&mut self, source: &mut dyn Source, end_wall_ns: i64) {
        let interval_seconds = self.interval_seconds();
        if self.rest_if_paused(source) {
            return;
        }
        if !self.bounds.is_counting(end_wall_ns, interval_seconds) {
            self.bounds.measure(&HeatCost::default(), 0);
            return;
        }
        let plan = lock(&self.shared.plan).clone();
        let end = IntervalEnd {
            wall_ns: end_wall_ns,
            boottime_ns: Some(boottime_ns()),
        };
        let order = Order {
            interval_seconds,
            heat: self.bounds.order(&plan),
        };
        let collection = source.collect(end, &order);
        if matches!(order.heat, HeatOrder::Miss(_)) && collection.heat_cost.listed {
            self.guard_count.add();
        }
        self.keep(collection, end_wall_ns, interval_seconds);
    }

    /// Takes a collection, and seals a batch where one is due. Gives the bytes that were queued.
    fn queue(&mut self, collection: Collection, end_wall_ns: i64) -> Result<i64> {
        let may_hold = self.queue.hold(collection);
        if self.sending.is_due(end_wall_ns, self.shared.send_minutes()) || !may_hold {
            self.queue_held()
        } else {
            Ok(0)
        }
    }

    /// Seals what is held into the queue on disk, to be sent.
    fn queue_held(&mut self) -> Result<i64> {
        let queued = self.queue.seal_held(self.shared, self.standing());
        let _ = self.signals.try_send(Signal::Queued);
        queued
    }

    /// The same before its time: at the end, with a pause, and where the service wants it sooner.
    fn seal_held(&mut self) {
        if !self.queue.is_holding() {
            return;
        }
        if let Err(error) = self.queue_held() {
            self.shared
                .status
                .update(|status| status.collection_error = Some(format!("{error:#}")));
        }
    }

    /// Queues what was collected and says how it went.
    fn keep(&mut self, collection: Collection, end_wall_ns: i64, interval_seconds: u32) {
        let (counters, heat_rows) = (collection.sample.values.len(), collection.heat.rows.len());
        let failures = collection.failures();
        let heat_cost = collection.heat_cost.clone();
        let (services, warnings) = (collection.heat_services.clone(), collection.warnings.clone());
        self.warn(&warnings);
        if let Some(shown) = &self.shown {
            shown.keep(&collection);
        }
        let queued = self.queue(collection, end_wall_ns);
        let usage = self.bounds.measure(&heat_cost, *queued.as_ref().unwrap_or(&0));
        let error = queued.err().map(|error| format!("{error:#}"));
        let error = error.or(failures);
        let bounds = self.bounds_status(usage);
        self.shared.status.update(|status| {
            status.state = "running";
            status.paused_by = None;
            status.interval_seconds = interval_seconds;
            status.last_collected_at = Some(rfc3339(end_wall_ns));
            status.last_collected_wall_ns = Some(end_wall_ns);
            status.counters = counters;
            status.heat_rows = heat_rows;
            status.heat_rung = heat_cost.backend;
            status.heat_services = services;
            status.heat_warnings = warnings;
            status.collection_error = error;
            bounds(status);
        });
    }

    /// Writes warnings that were not there before to the log.
    fn warn(&self, warnings: &[String]) {
        let known = self.shared.status.snapshot().heat_warnings;
        for warning in warnings.iter().filter(|warning| !known.contains(warning)) {
            // A log that is gone ends nothing.
            let _ = writeln!(std::io::stderr(), "tierscope-agent: warning: {warning}");
        }
    }

    fn standing(&self) -> Standing {
        let (level, reason) = self.bounds.standing();
        Standing {
            budget_state: level.name(),
            budget_reason: reason.to_owned(),
            guard_paused_intervals: self.guard_count.intervals(),
        }
    }

    /// What the status says of guard and budget.
    fn bounds_status(&self, usage: Usage) -> impl FnOnce(&mut Status) + use<> {
        let guard_paused = self.bounds.busy().map(str::to_owned);
        let intervals = self.guard_count.intervals();
        let budget = BudgetStatus::of(&self.bounds, usage);
        move |status| {
            status.guard_paused = guard_paused;
            status.guard_paused_intervals = intervals;
            status.budget = budget;
        }
    }
}

/// How long until `due_ns`; `None` where the clock was set back, so that the wait would be longer than any interval: an
/// hour without samples would follow from an hour of correction.
pub(crate) fn time_left(now_ns: i64, due_ns: i64, interval_ns: i64) -> Option<Duration> {
    let left_ns = (due_ns - now_ns).max(0);
    (left_ns <= interval_ns).then(|| Duration::from_nanos(left_ns as u64))
}

/// The end of the interval in which `now_ns` is.
pub(crate) fn next_end(now_ns: i64, interval_ns: i64) -> i64 {
    (now_ns / interval_ns + 1) * interval_ns
}

/// The time that a collection stands for: the end of its interval when it is on time, else the time that it is. After a
/// step of the clock an interval ends early or late and says so by its time.
pub(crate) fn stamp(now_ns: i64, due_ns: i64) -> i64 {
    let is_on_time = (now_ns - due_ns).abs() < ON_TIME_NS;
    if is_on_time { due_ns } else { now_ns }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use tierscope_opened::open;

    use super::*;
    use crate::fake_root::FakeRoot;
    use crate::live::LiveSource;
    use crate::uplink::tests::shared;

    #[test]
    fn a_pause_takes_the_shown_figures_away() {
        let root = FakeRoot::new();
        root.write("proc/vmstat", "pgpromote_success 1\n");
        let directory = tempfile::tempdir().expect("a directory");
        let config = Config {
            state_dir: directory.path().to_owned(),
            ..Config::default()
        };
        let shared = shared(directory.path());
        let (signals, _inbox) = sync_channel(4);
        let (_stopper, stop) = sync_channel(1);
        let shown = Shown::default();
        let bounds = Bounds::new(&config, root.root());
        let mut rounds = Rounds::new(&config, &shared, &signals, &stop, bounds, Some(shown.clone()));
        let mut source = LiveSource::beneath(&root.root(), &config).expect("a source");
        let has_figures = || {
            shown
                .render(&shared.status.snapshot())
                .contains("tierscope_vmstat")
        };
        rounds.round(&mut source, 0);
        assert!(has_figures());
        std::fs::write(config.pause_file(), "").expect("written");
        rounds.round(&mut source, 60 * SECOND_NS);
        assert!(!has_figures());
        std::fs::remove_file(config.pause_file()).expect("removed");
        rounds.round(&mut source, 120 * SECOND_NS);
        assert!(has_figures());
    }

    #[test]
    fn minutes_that_the_plan_holds_back_travel_in_one_batch() {
        let root = FakeRoot::new();
        root.write("proc/vmstat", "pgpromote_success 1\n");
        let directory = tempfile::tempdir().expect("a directory");
        let config = Config {
            state_dir: directory.path().to_owned(),
            ..Config::default()
        };
        let shared = shared(directory.path());
        let (signals, _inbox) = sync_channel(16);
        let (_stopper, stop) = sync_channel(1);
        let bounds = Bounds::new(&config, root.root());
        let mut rounds = Rounds::new(&config, &shared, &signals, &stop, bounds, None);
        let mut source = LiveSource::beneath(&root.root(), &config).expect("a source");
        rounds.sending = Sending::new(0);
        lock(&shared.plan).send_minutes = 5;
        // The minutes of each batch that is taken from the queue, and whether it reports on the agent.
        let taken = || {
            let mut spool = lock(&shared.spool);
            let mut batches = Vec::new();
            while let Some(record) = spool.peek().expect("readable") {
                let batch = open(&record.payload, &[])
                    .expect("a batch with its layout")
                    .content;
                let ends = batch
                    .counters
                    .iter()
                    .map(|row| row.end_wall_ns / (60 * SECOND_NS));
                batches.push((ends.collect::<Vec<_>>(), batch.self_report.is_some()));
                spool.acknowledge(&record).expect("acknowledged");
            }
            batches
        };
        rounds.round(&mut source, 0);
        assert_eq!(
            taken(),
            [(vec![0], true)],
            "the first at once, so that there is something to see"
        );
        // Each with a layout of its own, which its batch then carries.
        let collect = |rounds: &mut Rounds<'_>, source: &mut LiveSource, minute: i64| {
            root.write("proc/vmstat", &format!("pgpromote_success 1\nname_{minute} 1\n"));
            rounds.round(source, minute * 60 * SECOND_NS);
        };
        for minute in 1..=7 {
            collect(&mut rounds, &mut source, minute);
        }
        assert_eq!(taken(), [(vec![1, 2, 3, 4, 5], true)]);
        rounds.look(&mut source);
        assert!(taken().is_empty(), "nothing has changed");
        lock(&shared.plan).send_minutes = 1;
        rounds.look(&mut source);
        assert_eq!(taken(), [(vec![6, 7], true)], "the service wants it sooner");
        lock(&shared.plan).send_minutes = 5;
        collect(&mut rounds, &mut source, 11);
        collect(&mut rounds, &mut source, 12);
        taken();
        std::fs::write(config.pause_file(), "").expect("written");
        rounds.look(&mut source);
        assert_eq!(taken(), [(vec![12], true)], "a pause loses nothing");
    }

    #[test]
    fn a_clock_that_is_set_back_ends_the_wait() {
        let (due, interval) = (120 * SECOND_NS, 60 * SECOND_NS);
        let left = |now_ns| time_left(now_ns, due, interval);
        assert_eq!(left(due - interval), Some(Duration::from_secs(60)));
        assert_eq!(left(due + SECOND_NS), Some(Duration::ZERO));
        assert_eq!(left(due - interval - 1), None);
        assert_eq!(left(due - 3600 * SECOND_NS), None);
    }

    #[test]
    fn a_collection_on_time_stands_for_the_end_of_its_interval() {
        let due = 60 * SECOND_NS;
        assert_eq!(stamp(due + 3_000_000, due), due);
        assert_eq!(stamp(due - 1, due), due);
        assert_eq!(stamp(due + 5 * SECOND_NS, due), due + 5 * SECOND_NS);
        assert_eq!(stamp(due - 3600 * SECOND_NS, due), due - 3600 * SECOND_NS);
    }
}
