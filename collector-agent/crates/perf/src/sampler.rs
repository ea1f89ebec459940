//! Samples memory accesses of processes in a thread of its own.
//!
//! The thread moves samples from the rings into a table; [`Sampler::swap`] exchanges it for an empty one at the end of an
//! interval, so that nothing is lost while the full one is processed. Dropping the sampler ends the thread and closes all
//! events.

use std::ops::RangeInclusive;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tierscope_rootfs::Root;

use crate::catalogue::EventSet;
use crate::error::PerfError;
use crate::groups::{GroupPlan, PeriodJitter};
use crate::stats::IntervalStats;
use crate::stream::{Opened, online_cpus};
use crate::table::SampleTable;
use crate::worker::{Command, Worker};

/// Memory of all rings together, as far as their smallest and largest sizes allow. A ring of 1 MiB holds half a second of
/// 50,000 samples/s.
const RINGS_BYTES: usize = 8 << 20;
const RING_BYTES: RangeInclusive<usize> = 64 << 10..=1 << 20;
/// Pages of a table: about 60 MiB when full.
pub const DEFAULT_MAX_PAGES: usize = 2 << 20;
/// Time between rotations of core groups.
pub const MINI_INTERVAL: Duration = Duration::from_secs(5);
/// Periods vary by this share to both sides.
pub const PERIOD_JITTER: f64 = 0.05;
/// Longest time that samples stay in a ring.
const DRAIN_INTERVAL: Duration = Duration::from_millis(100);
/// How long the sampling thread may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whose accesses are sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Those of all processes: one event for each CPU. Needs `CAP_PERFMON`. [`Sampler::follow`] chooses what is kept.
    System,
    /// Those of these processes: one event for each of their threads and each CPU. For users without privilege, and
    /// small processes.
    Processes(Vec<u32>),
}

/// How to sample.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplerOptions {
    /// The events.
    pub events: EventSet,
    /// Whose accesses.
    pub scope: Scope,
    /// On which CPUs.
    pub cpus: Vec<u32>,
    /// Which events are on, where, and when.
    pub plan: GroupPlan,
    /// Time between rotations.
    pub mini_interval: Duration,
    /// Size of each CPU's ring, a power of two of pages.
    pub ring_bytes: usize,
    /// Most pages of an interval.
    pub max_pages: usize,
    /// Share by which periods vary to both sides.
    pub period_jitter: f64,
    /// Longest time that samples stay in a ring; shorter where it fills faster.
    pub drain_interval: Duration,
    /// For the random periods.
    pub seed: u64,
}

impl SamplerOptions {
    /// All events on all online CPUs, all the time.
    pub fn new(root: &Root, events: EventSet, scope: Scope) -> Result<Self, PerfError> {
        let cpus = online_cpus(root)?;
        Ok(Self {
            plan: GroupPlan::always(events.events.len()),
            ring_bytes: ring_bytes(cpus.len()),
            cpus,
            events,
            scope,
            mini_interval: MINI_INTERVAL,
            max_pages: DEFAULT_MAX_PAGES,
            period_jitter: PERIOD_JITTER,
            drain_interval: DRAIN_INTERVAL,
            seed: 0,
        })
    }

    fn check(&self) -> Result<(), PerfError> {
        let page_bytes = rustix::param::page_size();
        let ring_pages = self.ring_bytes / page_bytes;
        let problem = if let Some(problem) = self.plan.problem(self.events.events.len()) {
            problem
        } else if self.cpus.is_empty() {
            "no CPU to sample on".to_owned()
        } else if !ring_pages.is_power_of_two() || !self.ring_bytes.is_multiple_of(page_bytes) {
            format!(
                "a ring of {} bytes is not a power of two of pages of {page_bytes} bytes",
                self.ring_bytes
            )
        } else {
            return Ok(());
        };
        Err(PerfError::Option(problem))
    }
}

/// Size of each ring where there are `cpus`: a power of two.
fn ring_bytes(cpus: usize) -> usize {
    let share = (RINGS_BYTES / cpus.max(1)).max(1);
    (1 << share.ilog2()).clamp(*RING_BYTES.start(), *RING_BYTES.end())
}

/// A running sampler.
#[derive(Debug)]
pub struct Sampler {
    commands: mpsc::Sender<Command>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<Result<(), PerfError>>>,
    max_pages: usize,
}

impl Sampler {
    /// Opens the events and begins to sample.
    pub fn start(options: SamplerOptions) -> Result<Self, PerfError> {
        options.check()?;
        let mut jitter = PeriodJitter::new(options.seed, options.period_jitter);
        let opened = Opened::open(&options, &mut jitter)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| PerfError::from_errno("a wake-up descriptor", errno))?;
        let wake = Arc::new(wake);
        let max_pages = options.max_pages;
        let (commands, received) = mpsc::channel();
        let worker = Worker::new(options, opened, jitter, Arc::clone(&wake), received)?;
        let thread = std::thread::Builder::new()
            .name("perf".to_owned())
            .spawn(move || worker.run())
            .map_err(|error| PerfError::System {
                event: "the sampling thread".to_owned(),
                problem: error.to_string(),
            })?;
        Ok(Self {
            commands,
            wake,
            thread: Some(thread),
            max_pages,
        })
    }

    /// An empty table of the size that this sampler fills.
    pub fn new_table(&self) -> SampleTable {
        SampleTable::new(self.max_pages)
    }

    /// Keeps samples of these processes alone, and of those that they make from now on; `None` keeps all.
    pub fn follow(&mut self, pids: Option<Vec<u32>>) -> Result<(), PerfError> {
        self.send(Command::Follow(pids))
    }

    /// Stops all events, or lets them go on.
    pub fn pause(&mut self, paused: bool) -> Result<(), PerfError> {
        self.send(Command::Pause(paused))
    }

    /// Ends an interval: empties all rings, and exchanges the full table for `table`, which is emptied first.
    pub fn swap(&mut self, table: &mut SampleTable) -> Result<IntervalStats, PerfError> {
        let empty = std::mem::replace(table, SampleTable::new(0));
        let (answer, answered) = mpsc::sync_channel(1);
        self.send(Command::Swap { table: empty, answer })?;
        match answered.recv_timeout(PATIENCE) {
            Ok((full, stats)) => {
                *table = full;
                Ok(stats)
            }
            Err(_) => Err(self.ended()),
        }
    }

    fn send(&mut self, command: Command) -> Result<(), PerfError> {
        if self.commands.send(command).is_err() {
            return Err(self.ended());
        }
        // A full counter wakes all the same.
        let _woken = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
        Ok(())
    }

    /// Why the thread no longer answers.
    fn ended(&mut self) -> PerfError {
        let reason = match self
            .thread
            .take_if(|thread| thread.is_finished())
            .map(JoinHandle::join)
        {
            Some(Ok(Err(error))) => error.to_string(),
            Some(_) => "without a reason".to_owned(),
            None => "it does not answer".to_owned(),
        };
        PerfError::Ended(reason)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let _sent = self.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_share_their_memory_among_cpus() {
        let sizes = [1, 2, 8, 9, 64, 500].map(|cpus| ring_bytes(cpus) >> 10);
        assert_eq!(sizes, [1024, 1024, 1024, 512, 128, 64]);
    }
}
