//! The truth of one service on one host in one window.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::host::{Host, HostInterval, ServiceInterval};
use crate::kind::{KINDS, Kind, Place};
use crate::laws::{Laws, PAGE_BYTES};
use crate::population::{GAPS, Heat};
use crate::promotion::MODE_TIERING;
use crate::state::{Facts, State};
use crate::tally::Tally;

/// One row. Shares of accesses and capacities are means over the window's intervals, amounts of memory those at its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WindowTruth {
    /// Host.
    pub host: String,
    /// Service.
    pub service: String,
    /// End, seconds since the Unix epoch by a right clock.
    pub end_unix_s: f64,
    /// What the kernel did with its memory.
    pub state: State,
    /// Share of accesses served by the slow node; null without accesses.
    pub slow_access_share: Option<f64>,
    /// Share of accesses that found their page in no memory.
    pub out_access_share: Option<f64>,
    /// Share of its capacity that was lost against all DRAM.
    pub loss_ratio: f64,
    /// The same with all anonymous memory on CXL memory and the rest in DRAM; null without such accesses.
    pub anon_off_dram_loss_ratio: Option<f64>,
    /// The same with all file memory and tmpfs there.
    pub file_off_dram_loss_ratio: Option<f64>,
    /// Operations asked for.
    pub offered_ops_per_s: f64,
    /// Operations done.
    pub throughput_ops_per_s: f64,
    /// 99th percentile of an operation's time.
    pub p99_us: f64,
    /// Passes of the scanner over its memory.
    pub scan_passes: f64,
    /// What moved.
    pub moved_bytes: MovedBytes,
    /// By kind of memory.
    pub kinds: BTreeMap<Kind, KindTruth>,
}

/// Bytes that moved, or did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the fields of Tally")]
pub struct MovedBytes {
    pub promoted: u64,
    pub demoted: u64,
    pub returned: u64,
    pub candidates: u64,
    pub limited: u64,
    pub refused: u64,
    pub failed: u64,
    pub missed: u64,
    pub swapped_out: u64,
    pub swapped_in: u64,
}

/// Memory of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KindTruth {
    /// Where it lies.
    pub placed_bytes: PlacedBytes,
    /// How hot it is: `hot`, `warm` and `cold` in memory, each with its part on the slow node.
    pub hot: HeatBytes,
    /// Touched in the last ten intervals, but not in the last two.
    pub warm: HeatBytes,
    /// Not touched for ten intervals or longer.
    pub cold: HeatBytes,
    /// Bytes touched, summed over the window's intervals: as many gaps begin.
    pub touched_bytes: u64,
    /// Bytes touched again in this window, by gap since the touch before: index i for i + 1 intervals, zeros at the end cut.
    pub closed_gap_bytes: Vec<u64>,
    /// Bytes not touched at the window's end, by intervals since their last touch, likewise.
    pub open_gap_bytes: Vec<u64>,
}

/// Bytes by place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PlacedBytes {
    /// In DRAM.
    pub dram: u64,
    /// On the slow node.
    pub slow: u64,
    /// On swap, or in a file alone.
    pub out: u64,
}

/// Bytes of one class of heat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct HeatBytes {
    /// In DRAM.
    pub dram: u64,
    /// On the slow node.
    pub slow: u64,
}

/// Gathers the intervals of a window of one host.
#[derive(Debug)]
pub struct Windows {
    intervals: u32,
    services: Vec<Sums>,
}

#[derive(Debug, Clone)]
struct Sums {
    before: Tally,
    accesses: [f64; 3],
    capacity: f64,
    all_dram_capacity: f64,
    off_dram_capacity: [Option<f64>; 2],
    offered: f64,
    throughput: f64,
    p99_us: f64,
    scan_passes: f64,
    gap_pages: Vec<[u64; GAPS]>,
    touched_pages: [u64; KINDS],
}

impl Sums {
    fn new(before: &Tally) -> Self {
        Self {
            before: *before,
            accesses: [0.0; 3],
            capacity: 0.0,
            all_dram_capacity: 0.0,
            off_dram_capacity: [Some(0.0); 2],
            offered: 0.0,
            throughput: 0.0,
            p99_us: 0.0,
            scan_passes: 0.0,
            gap_pages: vec![[0; GAPS]; KINDS],
            touched_pages: [0; KINDS],
        }
    }

    fn add(&mut self, interval: &ServiceInterval) {
        for by_place in &interval.accesses {
            for (sum, accesses) in self.accesses.iter_mut().zip(by_place) {
                *sum += accesses;
            }
        }
        self.capacity += interval.performance.capacity_ops_per_s;
        self.all_dram_capacity += interval.all_dram.capacity_ops_per_s;
        for (sum, own) in self.off_dram_capacity.iter_mut().zip(interval.off_dram_ops_per_s) {
            *sum = sum.zip(own).map(|(sum, own)| sum + own);
        }
        self.offered += interval.performance.offered_ops_per_s;
        self.throughput += interval.performance.throughput_ops_per_s;
        self.p99_us += interval.performance.p99_us;
        self.scan_passes += interval.scan_passes;
        for (sum, pages) in self.touched_pages.iter_mut().zip(interval.touched_pages) {
            *sum += pages;
        }
        for (sums, gaps) in self.gap_pages.iter_mut().zip(&interval.gap_pages) {
            for (sum, pages) in sums.iter_mut().zip(gaps) {
                *sum += pages;
            }
        }
    }
}

impl Windows {
    /// Begins with the next interval of a host.
    pub fn new(host: &Host) -> Self {
        Self {
            intervals: 0,
            services: host.tallies.iter().map(Sums::new).collect(),
        }
    }

    /// Adds an interval; gives the rows of a window that it ends.
    pub fn add(&mut self, laws: &Laws, host: &Host, interval: &HostInterval) -> Vec<WindowTruth> {
        self.intervals += 1;
        for (index, sums) in self.services.iter_mut().enumerate() {
            sums.add(&interval.services[index]);
        }
        if self.intervals < laws.clock.window_intervals {
            return Vec::new();
        }
        let rows = (0..self.services.len())
            .map(|index| self.row(laws, host, interval, index))
            .collect();
        *self = Self::new(host);
        rows
    }

    fn row(&self, laws: &Laws, host: &Host, interval: &HostInterval, index: usize) -> WindowTruth {
        let sums = &self.services[index];
        let done = host.tallies[index].since(&sums.before);
        let accesses: f64 = sums.accesses.iter().sum();
        let share = |place: usize| (accesses > 0.0).then(|| sums.accesses[place] / accesses);
        let mean = |sum: f64| sum / f64::from(self.intervals);
        let on_slow = pages_at(host, index, Place::Slow);
        let loss = |capacity: f64| 1.0 - capacity / sums.all_dram_capacity;
        let off_dram = sums.off_dram_capacity.map(|capacity| capacity.map(loss));
        let facts = Facts {
            slow_share: share(1).unwrap_or(0.0),
            resident: on_slow + pages_at(host, index, Place::Dram),
            on_slow,
            promoted: done.promoted_pages(),
            demoted: done.demoted(),
            returned: done.returned,
            candidates: done.candidates + done.candidates_free,
            limited: done.limited,
            refused: done.refused + done.failed,
            swapped: done.swapped_in() + done.swapped_out(),
            promotes: interval.conditions.settings.numa_balancing & MODE_TIERING != 0
                && host.has_lower_tier(),
        };
        WindowTruth {
            host: host.law.name.clone(),
            service: host.services[index].law.name.clone(),
            end_unix_s: laws.clock.start_unix_s as f64 + (interval.number + 1) as f64 * laws.clock.interval_s,
            state: State::of(&facts),
            slow_access_share: share(1),
            out_access_share: share(2),
            loss_ratio: loss(sums.capacity),
            anon_off_dram_loss_ratio: off_dram[0],
            file_off_dram_loss_ratio: off_dram[1],
            offered_ops_per_s: mean(sums.offered),
            throughput_ops_per_s: mean(sums.throughput),
            p99_us: mean(sums.p99_us),
            scan_passes: sums.scan_passes,
            moved_bytes: moved_bytes(&done),
            kinds: kinds(host, index, sums),
        }
    }
}

fn pages_at(host: &Host, service: usize, place: Place) -> u64 {
    let own = host
        .populations
        .iter()
        .filter(|population| population.service == service);
    let units: usize = own
        .filter_map(|population| place.index().map(|place| population.counts()[place]))
        .sum();
    units as u64 * host.memory.unit
}

fn moved_bytes(done: &Tally) -> MovedBytes {
    MovedBytes {
        promoted: done.promoted_pages() * PAGE_BYTES,
        demoted: done.demoted() * PAGE_BYTES,
        returned: done.returned * PAGE_BYTES,
        candidates: done.candidates * PAGE_BYTES,
        limited: done.limited * PAGE_BYTES,
        refused: done.refused * PAGE_BYTES,
        failed: done.failed * PAGE_BYTES,
        missed: done.missed * PAGE_BYTES,
        swapped_out: done.swapped_out() * PAGE_BYTES,
        swapped_in: done.swapped_in() * PAGE_BYTES,
    }
}

fn kinds(host: &Host, service: usize, sums: &Sums) -> BTreeMap<Kind, KindTruth> {
    let unit_bytes = host.memory.unit * PAGE_BYTES;
    let mut kinds: BTreeMap<Kind, KindTruth> = BTreeMap::new();
    for population in host
        .populations
        .iter()
        .filter(|population| population.service == service && !population.is_empty())
    {
        let truth = kinds.entry(population.kind).or_default();
        let [dram, slow, out] = population.counts().map(|units| units as u64 * unit_bytes);
        truth.placed_bytes.dram += dram;
        truth.placed_bytes.slow += slow;
        truth.placed_bytes.out += out;
        truth.open_gap_bytes.resize(GAPS, 0);
        for (place, is_slow) in [(Place::Dram, false), (Place::Slow, true)] {
            for unit in population.at(place) {
                let class = match population.heat(unit) {
                    Heat::Hot => &mut truth.hot,
                    Heat::Warm => &mut truth.warm,
                    Heat::Cold => &mut truth.cold,
                };
                *(if is_slow { &mut class.slow } else { &mut class.dram }) += unit_bytes;
                let lag = population.history(unit).0.trailing_zeros() as usize;
                if (1..=GAPS).contains(&lag) {
                    truth.open_gap_bytes[lag - 1] += unit_bytes;
                }
            }
        }
    }
    for (kind, truth) in &mut kinds {
        truth.touched_bytes = sums.touched_pages[kind.index()] * PAGE_BYTES;
        truth.closed_gap_bytes = sums.gap_pages[kind.index()]
            .iter()
            .map(|pages| pages * PAGE_BYTES)
            .collect();
        for bytes in [&mut truth.closed_gap_bytes, &mut truth.open_gap_bytes] {
            bytes.truncate(
                bytes
                    .iter()
                    .rposition(|bytes| *bytes > 0)
                    .map_or(0, |last| last + 1),
            );
        }
    }
    kinds
}
