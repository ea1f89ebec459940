//! The sampling thread: waits for the rings, empties them, rotates the core groups, answers the sampler.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::error::PerfError;
use crate::groups::{PeriodJitter, Rotation};
use crate::options::SamplerOptions;
use crate::stats::{EventStats, IntervalStats};
use crate::stream::{Opened, Stream};
use crate::table::SampleTable;
use crate::tally::Tally;

const SECOND_NS: u64 = 1_000_000_000;

/// What the sampler asks of its thread.
#[derive(Debug)]
pub(crate) enum Command {
    /// End the interval.
    Swap {
        /// The next table.
        table: SampleTable,
        /// Where the full one goes.
        answer: SyncSender<(SampleTable, IntervalStats)>,
    },
    /// Keep samples of these processes; `None` of all.
    Follow(Option<Vec<u32>>),
    /// Stop all events, or let them go on.
    Pause(bool),
    /// End.
    Stop,
}

/// The thread's state.
pub(crate) struct Worker {
    options: SamplerOptions,
    opened: Opened,
    tally: Tally,
    rotation: Rotation,
    jitter: PeriodJitter,
    commands: Receiver<Command>,
    wake: Arc<OwnedFd>,
    paused: bool,
    /// Rings whose owner has ended: they say "ready" all the time, and are looked at by the clock.
    ended: Vec<bool>,
    interval_began_ns: u64,
    cpu_before_ns: u64,
    bytes: Vec<u8>,
}

impl Worker {
    pub(crate) fn new(
        options: SamplerOptions,
        opened: Opened,
        jitter: PeriodJitter,
        wake: Arc<OwnedFd>,
        commands: Receiver<Command>,
    ) -> Result<Self, PerfError> {
        let events = &options.events.events;
        let table = SampleTable::new(options.max_pages);
        let mut tally = Tally::new(opened.shape.layout(), events.len(), table);
        for (id, event) in &opened.ids {
            tally.add_source(*id, *event, events[*event].meaning);
        }
        let now_ns = clock_ns(ClockId::Monotonic);
        let mini_interval_ns = options.mini_interval.as_nanos() as u64;
        let mut worker = Self {
            ended: vec![false; opened.rings.len()],
            rotation: Rotation::new(mini_interval_ns, now_ns),
            options,
            opened,
            tally,
            jitter,
            commands,
            wake,
            paused: false,
            interval_began_ns: now_ns,
            cpu_before_ns: 0,
            bytes: Vec::new(),
        };
        worker.apply(now_ns)?;
        Ok(worker)
    }

    /// Runs until it is told to stop, or the sampler is gone.
    pub(crate) fn run(mut self) -> Result<(), PerfError> {
        self.cpu_before_ns = clock_ns(ClockId::ThreadCPUTime);
        loop {
            self.wait()?;
            self.drain();
            let now_ns = clock_ns(ClockId::Monotonic);
            if self.rotation.advance(now_ns) && !self.paused {
                self.apply(now_ns)?;
            }
            loop {
                match self.commands.try_recv() {
                    Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Ok(()),
                    Ok(command) => self.obey(command)?,
                    Err(TryRecvError::Empty) => break,
                }
            }
        }
    }

    fn obey(&mut self, command: Command) -> Result<(), PerfError> {
        let now_ns = clock_ns(ClockId::Monotonic);
        match command {
            Command::Swap { mut table, answer } => {
                self.opened.streams.iter().for_each(Stream::flush);
                self.drain();
                table.clear();
                let stats = self.end_interval(now_ns);
                let full = std::mem::replace(&mut self.tally.table, table);
                // The sampler may have given up.
                let _sent = answer.send((full, stats));
            }
            Command::Follow(pids) => self.tally.follow(pids.as_deref()),
            Command::Pause(paused) => {
                self.paused = paused;
                self.apply(now_ns)?;
            }
            Command::Stop => {}
        }
        Ok(())
    }

    /// Sleeps until a ring is half full, a command comes, or it is time to look.
    fn wait(&mut self) -> Result<(), PerfError> {
        let now_ns = clock_ns(ClockId::Monotonic);
        let until_step = Duration::from_nanos(self.rotation.next_ns().saturating_sub(now_ns));
        let longest = self.options.drain_interval.min(until_step);
        let timeout = Timespec {
            tv_sec: longest.as_secs().cast_signed(),
            tv_nsec: longest.subsec_nanos().into(),
        };
        let mut waited = vec![PollFd::new(&*self.wake, PollFlags::IN)];
        let mut rings = Vec::with_capacity(self.opened.rings.len());
        for (index, ring) in self.opened.rings.iter().enumerate() {
            if let Some(owner) = ring.owner(&self.opened.streams)
                && !self.ended[index]
            {
                waited.push(PollFd::from_borrowed_fd(owner.as_fd(), PollFlags::IN));
                rings.push(index);
            }
        }
        match poll(&mut waited, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(PerfError::from_errno("waiting for samples", errno)),
        }
        let is_awake = waited[0].revents().contains(PollFlags::IN);
        for (poll, index) in waited[1..].iter().zip(rings) {
            self.ended[index] = poll.revents().intersects(PollFlags::HUP | PollFlags::ERR);
        }
        if is_awake {
            // Nothing to do when another call has emptied it.
            let _emptied = rustix::io::read(&*self.wake, &mut [0; 8]);
        }
        Ok(())
    }

    fn drain(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        for ring in &self.opened.rings {
            ring.ring.take(&mut bytes);
            self.tally.records(&bytes);
            if let Some(aux) = &ring.aux {
                aux.take(&ring.ring, &mut bytes);
                self.tally.packets(&bytes, 0);
            }
        }
        self.bytes = bytes;
    }

    /// Enables and disables streams as the step in force wants it. Those that go on get a new period, too.
    fn apply(&mut self, now_ns: u64) -> Result<(), PerfError> {
        let (plan, step) = (&self.options.plan, self.rotation.step());
        for stream in &mut self.opened.streams {
            let event = &self.options.events.events[stream.event];
            let done = if !self.paused && plan.is_on(step, stream.group, stream.event) {
                let period = self.jitter.draw(event.period, event.period_step);
                stream.begin(now_ns, period)
            } else {
                stream.end(now_ns)
            };
            done.map_err(|errno| PerfError::from_errno(&event.name, errno))?;
        }
        Ok(())
    }

    fn end_interval(&mut self, now_ns: u64) -> IntervalStats {
        let elapsed_ns = now_ns.saturating_sub(self.interval_began_ns).max(1);
        self.interval_began_ns = now_ns;
        let events = self.options.events.events.len();
        let (mut on_ns, mut weights, mut streams) = (vec![0.0; events], vec![0.0; events], vec![0; events]);
        for stream in &mut self.opened.streams {
            let (stream_on_ns, weight) = stream.take_on_time(now_ns);
            on_ns[stream.event] += stream_on_ns;
            weights[stream.event] += weight;
            streams[stream.event] += 1;
        }
        let samples = std::mem::replace(&mut self.tally.samples, vec![0; events]);
        let throttled_ns = std::mem::replace(&mut self.tally.throttled_ns, vec![0; events]);
        let mut stats = std::mem::take(&mut self.tally.stats);
        for (index, event) in self.options.events.events.iter().enumerate() {
            let possible_ns = elapsed_ns as f64 * f64::from(streams[index]);
            let observed_ns = (on_ns[index] - throttled_ns[index] as f64).max(0.0);
            stats.events.push(EventStats {
                name: event.name.clone(),
                meaning: event.meaning,
                samples: samples[index],
                duty_ratio: (observed_ns / possible_ns.max(1.0)).min(1.0),
                period_events: (weights[index] > 0.0).then(|| on_ns[index] / weights[index]),
            });
        }
        let cpu_ns = clock_ns(ClockId::ThreadCPUTime);
        stats.elapsed_ns = elapsed_ns;
        stats.cpu_ns = cpu_ns - std::mem::replace(&mut self.cpu_before_ns, cpu_ns);
        stats
    }
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.cast_unsigned() * SECOND_NS + time.tv_nsec.cast_unsigned()
}
