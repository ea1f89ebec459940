//! From the bytes of a ring to counts by page. Pure: what the kernel wrote goes in, the table and the figures change.

use std::hash::BuildHasherDefault;

use hashbrown::{HashMap, HashSet};

use crate::catalogue::Meaning;
use crate::ibs;
use crate::record::{Layout, Record, Records, Sample, parse};
use crate::served::Served;
use crate::spe::Operations;
use crate::stats::IntervalStats;
use crate::table::{Access, MixHasher, SampleTable};

/// Addresses from here on are the kernel's.
const KERNEL_BEGIN: u64 = 1 << 63;
/// `PERF_AUX_FLAG_TRUNCATED`: packets found no room.
const AUX_TRUNCATED: u64 = 1;

type Map<K, V> = HashMap<K, V, BuildHasherDefault<MixHasher>>;
type Set<K> = HashSet<K, BuildHasherDefault<MixHasher>>;

/// What samples of an id are, and how many came.
#[derive(Debug, Clone, Copy)]
struct Source {
    event: usize,
    meaning: Meaning,
}

/// Counts samples.
#[derive(Debug)]
pub(crate) struct Tally {
    layout: Layout,
    sources: Map<u64, Source>,
    /// What samples of an unknown id are: where there is one event, they are its. When a page fault is sampled by
    /// several programs, the kernel gives all of them the id of the first (seen in Linux 6.18).
    only_source: Option<Source>,
    /// Processes whose samples are kept; `None` for all.
    followed: Option<Set<u32>>,
    /// Events that the kernel has stopped, and since when.
    throttled: Map<u64, u64>,
    pub(crate) table: SampleTable,
    pub(crate) stats: IntervalStats,
    /// Samples in the table, by event.
    pub(crate) samples: Vec<u64>,
    /// Time that the kernel kept events stopped, by event.
    pub(crate) throttled_ns: Vec<u64>,
}

impl Tally {
    /// For `events` events whose samples have one layout.
    pub(crate) fn new(layout: Layout, events: usize, table: SampleTable) -> Self {
        Self {
            layout,
            sources: Map::default(),
            only_source: None,
            followed: None,
            throttled: Map::default(),
            table,
            stats: IntervalStats::default(),
            samples: vec![0; events],
            throttled_ns: vec![0; events],
        }
    }

    pub(crate) fn add_source(&mut self, id: u64, event: usize, meaning: Meaning) {
        let source = Source { event, meaning };
        self.only_source = (self.samples.len() == 1).then_some(source);
        self.sources.insert(id, source);
    }

    /// Keeps samples of these processes alone, and of those that they make; `None` keeps all.
    pub(crate) fn follow(&mut self, pids: Option<&[u32]>) {
        self.followed = pids.map(|pids| pids.iter().copied().collect());
    }

    /// Counts the records of a ring.
    pub(crate) fn records(&mut self, bytes: &[u8]) {
        for raw in Records::new(bytes) {
            let Ok(raw) = raw else {
                self.stats.malformed_records += 1;
                return;
            };
            match parse(&raw, &self.layout) {
                Ok(Record::Sample(sample)) => self.sample(&sample),
                Ok(record) => self.event(&record),
                Err(_) => self.stats.malformed_records += 1,
            }
        }
    }

    /// Counts the packets of an auxiliary buffer.
    pub(crate) fn packets(&mut self, bytes: &[u8], event: usize) {
        let mut operations = Operations::new(bytes);
        for operation in operations.by_ref() {
            self.stats.samples_taken += 1;
            let access = Access {
                pid: operation.context.unwrap_or(u32::MAX),
                address: operation.virtual_address.unwrap_or(0),
                loads: u32::from(!operation.store),
                stores: u32::from(operation.store),
                page_size_bytes: 0,
            };
            self.keep(event, &access);
        }
        self.stats.malformed_records += u64::from(operations.bad_bytes() > 0);
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        self.stats.samples_taken += 1;
        let named = sample.id.and_then(|id| self.sources.get(&id));
        let source = named.copied().or(self.only_source);
        let Some((Source { event, meaning }, pid)) = source.zip(sample.pid) else {
            self.stats.malformed_records += 1;
            return;
        };
        let mut access = Access {
            pid,
            address: sample.address.unwrap_or(0),
            loads: 0,
            stores: 0,
            page_size_bytes: sample.page_size_bytes.unwrap_or(0),
        };
        match meaning {
            Meaning::Load | Meaning::Fault => access.loads = 1,
            Meaning::Store => access.stores = 1,
            Meaning::SpePackets => return,
            Meaning::Served if !self.follows(pid) => {
                self.stats.samples_unfollowed += 1;
                return;
            }
            Meaning::Served => {
                self.samples[event] += 1;
                self.table
                    .add_served(pid, Served::of_data_src(sample.data_src.unwrap_or(0)));
                return;
            }
            Meaning::IbsOp => {
                let op = sample.raw.and_then(ibs::decode_op);
                // The unit samples the kernel's loads too.
                let is_users = op.is_some_and(|op| op.linear_address.is_some_and(|at| at < KERNEL_BEGIN));
                if let Some(op) = op.filter(|op| op.load && is_users && self.follows(pid)) {
                    // Kernels before 6.1 leave it empty.
                    let told = Served::of_data_src(sample.data_src.unwrap_or(0));
                    let is_told = told != Served::Unknown;
                    self.table
                        .add_served(pid, if is_told { told } else { Served::of_ibs(&op) });
                }
                access.address = op.and_then(|op| op.linear_address).unwrap_or(0);
                // An op that reads and writes is a store: it makes the page dirty.
                access.stores = u32::from(op.is_some_and(|op| op.store));
                access.loads = 1 - access.stores;
            }
        }
        self.keep(event, &access);
    }

    fn follows(&self, pid: u32) -> bool {
        self.followed
            .as_ref()
            .is_none_or(|followed| followed.contains(&pid))
    }

    fn keep(&mut self, event: usize, access: &Access) {
        if access.address == 0 || access.address >= KERNEL_BEGIN {
            self.stats.samples_without_address += 1;
        } else if !self.follows(access.pid) {
            self.stats.samples_unfollowed += 1;
        } else if self.table.add(access) {
            self.samples[event] += 1;
        } else {
            self.stats.samples_untabled += 1;
        }
    }

    fn event(&mut self, record: &Record<'_>) {
        match *record {
            Record::Lost { records } => self.stats.samples_lost += records,
            Record::LostSamples { samples } => self.stats.samples_lost += samples,
            Record::Throttle { stopped, time_ns, id } => self.throttle(stopped, time_ns, id),
            Record::Comm { pid, exec: true, .. } => self.table.forget_process(pid),
            Record::Fork { pid, parent_pid, .. } if pid != parent_pid => {
                // The number may have belonged to another process before.
                self.table.forget_process(pid);
                if let Some(followed) = &mut self.followed
                    && followed.contains(&parent_pid)
                {
                    followed.insert(pid);
                }
            }
            Record::Aux { flags, .. } if flags & AUX_TRUNCATED != 0 => self.stats.samples_lost += 1,
            Record::Sample(_)
            | Record::Mmap { .. }
            | Record::Comm { .. }
            | Record::Fork { .. }
            | Record::Exit { .. }
            | Record::Aux { .. }
            | Record::TraceStart { .. }
            | Record::Other => {}
        }
    }

    fn throttle(&mut self, stopped: bool, time_ns: u64, id: u64) {
        if stopped {
            self.stats.throttles += 1;
            self.throttled.insert(id, time_ns);
            return;
        }
        if let Some(since_ns) = self.throttled.remove(&id) {
            let stopped_ns = time_ns.saturating_sub(since_ns);
            self.stats.throttled_ns += stopped_ns;
            if let Some(source) = self.sources.get(&id) {
                self.throttled_ns[source.event] += stopped_ns;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
