//! Samples memory accesses of processes in a thread of its own.
//!
//! The thread moves samples from the rings into a table; [`Sampler::swap`] exchanges it for an empty one at the end of an
//! interval, so that nothing is lost while the full one is processed. Dropping the sampler ends the thread and closes all
//! events.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::catalogue::Meaning;
use crate::error::PerfError;
use crate::groups::PeriodJitter;
pub use crate::options::{DEFAULT_MAX_PAGES, MINI_INTERVAL, PERIOD_JITTER, SamplerOptions, Scope};
use crate::stats::IntervalStats;
use crate::stream::Opened;
use crate::table::SampleTable;
use crate::worker::{Command, Worker};

/// How long the sampling thread may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running sampler.
#[derive(Debug)]
pub struct Sampler {
    commands: mpsc::Sender<Command>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<Result<(), PerfError>>>,
    max_pages: usize,
    tells_served: bool,
}

impl Sampler {
    /// Opens the events and begins to sample.
    pub fn start(options: SamplerOptions) -> Result<Self, PerfError> {
        options.check()?;
        let mut jitter = PeriodJitter::new(options.seed, options.period_jitter);
        let opened = Opened::open(&options, &mut jitter)?;
        let says = |event: usize| {
            matches!(
                options.events.events[event].meaning,
                Meaning::Served | Meaning::IbsOp
            )
        };
        let tells_served = opened.streams.iter().any(|stream| says(stream.event));
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
            tells_served,
        })
    }

    /// Whether its samples say what served them: [`SampleTable::served_of`] is a measurement only then.
    pub fn tells_served(&self) -> bool {
        self.tells_served
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
