//! Open events and their rings: one ring for each CPU, shared by all events on it.

use rustix::io::Errno;

use crate::attr::{self, SampleShape};
use crate::catalogue::{EventSet, EventSpec, Meaning, SamplerKind};
use crate::error::PerfError;
use crate::groups::{OnTime, PeriodJitter};
use crate::options::{SamplerOptions, Scope};
use crate::ring::{AuxBuffer, Ring};
use crate::sys::{Descriptor, Reading, Target};

/// One event on one CPU: one descriptor for the whole host, or one for each thread.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) event: usize,
    /// Its core group.
    pub(crate) group: usize,
    descriptors: Vec<Descriptor>,
    /// Leaders of their groups, which count as long as they are open; empty where they need none.
    _leaders: Vec<Descriptor>,
    /// Whether it watches all that runs on its CPU, by one descriptor.
    whole_cpu: bool,
    on: OnTime,
    period: u64,
    read_before: Reading,
}

/// The ring of one CPU, and what writes into it beside the samples.
#[derive(Debug)]
pub(crate) struct CpuRing {
    pub(crate) ring: Ring,
    pub(crate) aux: Option<AuxBuffer>,
    /// Side-band events; the first one owns the ring unless an SPE event does.
    side_band: Vec<Descriptor>,
    /// Where the owner is: among the side band, or the descriptor of a stream.
    owner: Owner,
}

#[derive(Debug, Clone, Copy)]
enum Owner {
    SideBand,
    Stream(usize),
}

#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) shape: SampleShape,
    pub(crate) rings: Vec<CpuRing>,
    pub(crate) streams: Vec<Stream>,
    /// Id in samples and number of the event.
    pub(crate) ids: Vec<(u64, usize)>,
}

impl Stream {
    /// Lets it take samples, with `period`.
    pub(crate) fn begin(&mut self, now_ns: u64, period: u64) -> Result<(), Errno> {
        if period != self.period {
            for descriptor in &self.descriptors {
                descriptor.set_period(period)?;
            }
            self.on.end(now_ns, self.period);
            self.period = period;
        }
        if !self.on.is_on() {
            for descriptor in &self.descriptors {
                descriptor.enable()?;
            }
            self.on.begin(now_ns);
        }
        Ok(())
    }

    /// Lets the kernel write into the ring what the processor keeps of its samples: reading an event of PEBS empties the
    /// buffer of its CPU (`intel_pmu_read_event` in `arch/x86/events/intel/core.c`). The events of a thread are
    /// emptied whenever it leaves its CPU.
    pub(crate) fn flush(&self) {
        if self.whole_cpu && self.on.is_on() {
            // The reading itself is of no use here.
            let _reading = self.descriptors[0].read();
        }
    }

    pub(crate) fn end(&mut self, now_ns: u64) -> Result<(), Errno> {
        if self.on.is_on() {
            for descriptor in &self.descriptors {
                descriptor.disable()?;
            }
            self.on.end(now_ns, self.period);
        }
        Ok(())
    }

    /// Time on since the last call, less the time in which others had its counter; and that time over the periods.
    pub(crate) fn take_on_time(&mut self, now_ns: u64) -> (f64, f64) {
        let share = self.counter_share();
        let (on_ns, weight) = self.on.take(now_ns, self.period);
        (on_ns as f64 * share, weight * share)
    }
}

impl Stream {
    /// Share of its time that the event had a counter of the processor, since the last call. An event of a thread is
    /// without one on the CPUs where the thread does not run, so that its times do not tell: 1 is assumed.
    fn counter_share(&mut self) -> f64 {
        let Some(Ok(reading)) = self.whole_cpu.then(|| self.descriptors[0].read()) else {
            return 1.0;
        };
        let before = std::mem::replace(&mut self.read_before, reading);
        let enabled_ns = reading.enabled_ns.saturating_sub(before.enabled_ns);
        let running_ns = reading.running_ns.saturating_sub(before.running_ns);
        if enabled_ns == 0 {
            return 1.0;
        }
        (running_ns as f64 / enabled_ns as f64).min(1.0)
    }
}

impl CpuRing {
    /// The event whose readiness stands for the ring.
    pub(crate) fn owner<'a>(&'a self, streams: &'a [Stream]) -> Option<&'a Descriptor> {
        match self.owner {
            Owner::SideBand => self.side_band.first(),
            Owner::Stream(index) => streams.get(index)?.descriptors.first(),
        }
    }
}

impl Opened {
    /// Opens all events, disabled.
    ///
    /// The page size of an access is asked of IBS alone, which interrupts for each sample anyway; where the kernel does
    /// not know it, it is left out. What the kernel or the processor refuses to say of what served loads is left out too.
    pub(crate) fn open(options: &SamplerOptions, jitter: &mut PeriodJitter) -> Result<Self, PerfError> {
        let raw = options
            .events
            .events
            .iter()
            .any(|event| event.meaning == Meaning::IbsOp);
        let without_size = SampleShape {
            page_size: false,
            raw,
        };
        if options.events.kind != SamplerKind::Ibs {
            return Opening::new(options, without_size).run(jitter);
        }
        let with_size = SampleShape { page_size: true, raw };
        match Opening::new(options, with_size).run(jitter) {
            Err(PerfError::Invalid { .. }) => Opening::new(options, without_size).run(jitter),
            other => other,
        }
    }
}

/// The threads of a process; empty when it has ended.
fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.collect()
}

struct Opening<'a> {
    options: &'a SamplerOptions,
    events: &'a EventSet,
    shape: SampleShape,
    /// `None` stands for all threads of the host.
    threads: Vec<Option<u32>>,
    opened: Opened,
}

impl<'a> Opening<'a> {
    fn new(options: &'a SamplerOptions, shape: SampleShape) -> Self {
        let threads = match &options.scope {
            Scope::System => vec![None],
            Scope::Processes(pids) => pids.iter().flat_map(|pid| threads(*pid)).map(Some).collect(),
        };
        Self {
            options,
            events: &options.events,
            shape,
            threads,
            opened: Opened {
                shape,
                rings: Vec::new(),
                streams: Vec::new(),
                ids: Vec::new(),
            },
        }
    }

    fn run(mut self, jitter: &mut PeriodJitter) -> Result<Opened, PerfError> {
        if self.threads.is_empty() {
            return Err(PerfError::Option(
                "none of the processes to sample runs".to_owned(),
            ));
        }
        for (index, cpu) in self.options.cpus.iter().enumerate() {
            let group = self.options.plan.group_of(index);
            if self.events.kind == SamplerKind::Spe {
                self.open_spe(*cpu, group, jitter)?;
            } else {
                self.open_cpu(*cpu, group, jitter)?;
            }
        }
        Ok(self.opened)
    }

    fn open_cpu(&mut self, cpu: u32, group: usize, jitter: &mut PeriodJitter) -> Result<(), PerfError> {
        let wakeup_bytes = (self.options.ring_bytes / 2) as u32;
        let band = attr::side_band(self.shape, self.inherits(), wakeup_bytes);
        let side_band = self.open_each("the side band", &band, cpu)?;
        let owner = &side_band[0];
        let ring = self.ring(owner)?;
        for descriptor in &side_band[1..] {
            send(descriptor, owner, "the side band")?;
        }
        for (index, event) in self.events_on(cpu) {
            let period = jitter.draw(event.period, event.period_step);
            let attr = attr::sampling(event, self.shape, period, self.inherits());
            let leaders = match event.leader {
                Some(config) => {
                    let leader = attr::leader(event, config, self.inherits());
                    self.open_each(&event.name, &leader, cpu)
                }
                None => Ok(Vec::new()),
            };
            let opened = leaders.and_then(|leaders| {
                let members = self.open_group(&event.name, &attr, cpu, &leaders)?;
                Ok((leaders, members))
            });
            let (leaders, descriptors) = match opened {
                // Heat is measured all the same.
                Err(_) if event.meaning == Meaning::Served => continue,
                other => other?,
            };
            for descriptor in &descriptors {
                send(descriptor, owner, &event.name)?;
            }
            self.add_stream(index, group, (leaders, descriptors), period)?;
        }
        self.opened.rings.push(CpuRing {
            ring,
            aux: None,
            side_band,
            owner: Owner::SideBand,
        });
        Ok(())
    }

    /// The auxiliary buffer is that of the event's own ring, so that the side band is sent there.
    fn open_spe(&mut self, cpu: u32, group: usize, jitter: &mut PeriodJitter) -> Result<(), PerfError> {
        for (index, event) in self.events_on(cpu) {
            let period = jitter.draw(event.period, event.period_step);
            let attr = attr::sampling(event, self.shape, period, false);
            let mut descriptors = self.open_each(&event.name, &attr, cpu)?;
            // A buffer belongs to one descriptor, which watches the whole CPU.
            descriptors.truncate(1);
            let owner = &descriptors[0];
            let ring = self.ring(owner)?;
            let bytes = self.options.ring_bytes;
            let aux = AuxBuffer::new(&ring, owner, bytes).map_err(|_| PerfError::NoRing { bytes })?;
            let band = attr::side_band(self.shape, false, (bytes / 2) as u32);
            let side_band = self.open_each("the side band", &band, cpu)?;
            for descriptor in &side_band {
                send(descriptor, owner, "the side band")?;
            }
            let stream = self.opened.streams.len();
            self.add_stream(index, group, (Vec::new(), descriptors), period)?;
            self.opened.rings.push(CpuRing {
                ring,
                aux: Some(aux),
                side_band,
                owner: Owner::Stream(stream),
            });
        }
        Ok(())
    }

    fn events_on(&self, cpu: u32) -> Vec<(usize, &'a EventSpec)> {
        let has = |event: &EventSpec| event.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu));
        let events = self.events.events.iter().enumerate();
        events.filter(|(_, event)| has(event)).collect()
    }

    fn add_stream(
        &mut self,
        event: usize,
        group: usize,
        (leaders, descriptors): (Vec<Descriptor>, Vec<Descriptor>),
        period: u64,
    ) -> Result<(), PerfError> {
        let name = &self.events.events[event].name;
        for descriptor in &descriptors {
            let id = descriptor
                .id()
                .map_err(|errno| PerfError::from_errno(name, errno))?;
            self.opened.ids.push((id, event));
        }
        self.opened.streams.push(Stream {
            event,
            group,
            descriptors,
            _leaders: leaders,
            whole_cpu: self.options.scope == Scope::System,
            on: OnTime::default(),
            period,
            read_before: Reading::default(),
        });
        Ok(())
    }

    /// Threads made later are watched too; for all threads of the host there are none to inherit.
    fn inherits(&self) -> bool {
        matches!(self.options.scope, Scope::Processes(_))
    }

    /// Opens an event for each thread. Threads may end meanwhile; one at least must be left.
    fn open_each(
        &self,
        name: &str,
        attr: &perf_event_open_sys::bindings::perf_event_attr,
        cpu: u32,
    ) -> Result<Vec<Descriptor>, PerfError> {
        self.open_group(name, attr, cpu, &[])
    }

    /// The same, each in the group of the leader of its thread. Where a thread has ended since its leader was opened, the
    /// groups no longer fit, and the event is refused.
    fn open_group(
        &self,
        name: &str,
        attr: &perf_event_open_sys::bindings::perf_event_attr,
        cpu: u32,
        leaders: &[Descriptor],
    ) -> Result<Vec<Descriptor>, PerfError> {
        let mut descriptors = Vec::with_capacity(self.threads.len());
        let mut last = Errno::SRCH;
        for (index, thread) in self.threads.iter().enumerate() {
            let target = Target {
                thread: *thread,
                cpu: Some(cpu),
            };
            match Descriptor::open(attr, target, leaders.get(index)) {
                Ok(descriptor) => descriptors.push(descriptor),
                Err(Errno::SRCH) => {}
                Err(errno) => {
                    last = errno;
                    break;
                }
            }
        }
        if last != Errno::SRCH || descriptors.is_empty() {
            return Err(PerfError::from_errno(name, last));
        }
        Ok(descriptors)
    }

    fn ring(&self, owner: &Descriptor) -> Result<Ring, PerfError> {
        let bytes = self.options.ring_bytes;
        Ring::new(owner, bytes).map_err(|_| PerfError::NoRing { bytes })
    }
}

fn send(descriptor: &Descriptor, owner: &Descriptor, name: &str) -> Result<(), PerfError> {
    descriptor
        .send_to(owner)
        .map_err(|errno| PerfError::from_errno(name, errno))
}
