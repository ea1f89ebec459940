//! Folds the mappings of the processes of one group to rows of heat, where pages are not told apart.
//!
//! Rules: docs/method/heat.md, "Mappings". There are no reuse gaps at this granularity.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::fold::{Folded, IntervalEnd, Measured};
use crate::heat::{HeatRow, PageKind};
use crate::page_size;
use crate::vma::Vma;
pub use crate::vma::{ProcessKey, VmaReading};
use crate::vma_history::{VmaHistory, VmaSums};
use crate::vma_tiles::VmaTiles;

/// Mappings of the processes of one (service, group), and the statistics over them.
#[derive(Debug)]
pub struct VmaFolder {
    measured: Measured,
    tier: Option<Arc<str>>,
    processes: HashMap<ProcessKey, Vec<Vma>>,
    /// Processes read in the interval that is being folded.
    read: HashMap<ProcessKey, Vec<Vma>>,
    tiles: VmaTiles,
}

impl VmaFolder {
    /// A folder without processes. `tier` is the label of the one tier of the host, `None` where it has several.
    pub fn new(measured: Measured, tier: Option<Arc<str>>, epoch_seed: u64) -> Self {
        let tiles = VmaTiles::new(epoch_seed);
        Self {
            measured,
            tier,
            processes: HashMap::new(),
            read: HashMap::new(),
            tiles,
        }
    }

    /// Takes the mappings of a process for the interval being folded, sorted by address. `observed` says whether
    /// their activity is that of this interval.
    pub fn observe(&mut self, process: ProcessKey, observed: bool, readings: Vec<VmaReading>) {
        let mut past = self.processes.remove(&process).unwrap_or_default();
        let now = carry_over(&mut past, readings);
        self.read.insert(process, now);
        for vma in self.read.get_mut(&process).into_iter().flatten() {
            // Accessed bits of hugetlb mappings are not summed by the kernel.
            let shown = observed && u64::from(vma.reading.page_size_bytes) <= page_size::LARGEST_BYTES;
            vma.history.push(shown.then_some(vma.reading.referenced_bytes));
        }
    }

    /// Ends the interval. Processes that were not read in it are forgotten.
    pub fn finish(&mut self, end: IntervalEnd) -> Folded {
        self.processes = std::mem::take(&mut self.read);
        let mut sums: Vec<((PageKind, u32), VmaSums)> = Vec::new();
        for vma in self.processes.values().flatten() {
            let reading = &vma.reading;
            let key = (reading.kind, reading.page_size_bytes);
            let known = sums.iter().position(|(other, _)| *other == key);
            let index = known.unwrap_or_else(|| {
                sums.push((key, VmaSums::default()));
                sums.len() - 1
            });
            let sums = &mut sums[index].1;
            vma.history.add_to(reading.resident_bytes, sums);
            if reading.resident_bytes > 0 {
                let before = sums.beside.map(|sum| sum.plus(reading.beside));
                sums.beside = before.or(Some(reading.beside));
            }
        }
        sums.sort_by_key(|(key, _)| *key);
        let resident = sums.iter().filter(|(_, sums)| sums.resident_bytes > 0);
        let rows = resident.map(|(key, sums)| self.row(end, *key, sums)).collect();
        let mut folded = Folded {
            rows,
            ..Folded::default()
        };
        self.tiles
            .column(&mut self.processes, &self.measured, end.wall_ns, &mut folded);
        folded
    }

    /// Notes an interval that was not observed. It gives no rows: what was resident in it is unknown.
    pub fn miss(&mut self) {
        self.read.clear();
        for vma in self.processes.values_mut().flatten() {
            vma.history.push(None);
        }
    }

    /// Whether any process was read in the last interval.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    fn row(&self, end: IntervalEnd, (kind, page_size_bytes): (PageKind, u32), sums: &VmaSums) -> HeatRow {
        HeatRow {
            backend: self.measured.backend,
            granularity: self.measured.granularity,
            interval_ns: self.measured.interval_ns,
            end_wall_ns: end.wall_ns,
            end_boottime_ns: end.boottime_ns,
            service: Arc::clone(&self.measured.service),
            group: Arc::clone(&self.measured.group),
            kind,
            page_size_bytes,
            tier: self.tier.clone(),
            validity: sums.validity,
            resident_bytes: sums.resident_bytes,
            age_bytes: sums.age_bytes,
            never_bytes: sums.never_bytes,
            active_count_bytes: sums.active_count_bytes,
            active_lo_bytes: sums.active_lo_bytes,
            active_hi_bytes: sums.active_hi_bytes,
            samples: None,
            period_events: None,
            duty_ratio: None,
            distinct_pages: None,
            f1_pages: None,
            f2_pages: None,
            hot_overlap_bytes: None,
            bits_per_interval: 1,
            beside: sums.beside.unwrap_or_default(),
        }
    }
}

/// Gives each mapping the past of the one that it grew, shrank or split from: the same name, and the largest overlap
/// of addresses first. A past goes to one mapping only; the others begin anew.
fn carry_over(past: &mut [Vma], readings: Vec<VmaReading>) -> Vec<Vma> {
    let mut now: Vec<Vma> = readings
        .into_iter()
        .map(|reading| Vma {
            reading,
            history: VmaHistory::default(),
            tile_name: None,
        })
        .collect();
    let mut pairs = overlaps(past, &now);
    pairs.sort_by_key(|pair| Reverse(pair.bytes));
    let (mut given, mut taken) = (vec![false; past.len()], vec![false; now.len()]);
    for pair in pairs {
        if !given[pair.past] && !taken[pair.now] {
            (given[pair.past], taken[pair.now]) = (true, true);
            now[pair.now].history = std::mem::take(&mut past[pair.past].history);
            now[pair.now].tile_name = past[pair.past].tile_name.take();
        }
    }
    now
}

/// A mapping of the last reading and one of this reading with the same name and common addresses.
struct Overlap {
    bytes: u64,
    past: usize,
    now: usize,
}

/// All overlaps, in one walk over both lists, which are sorted by address.
fn overlaps(past: &[Vma], now: &[Vma]) -> Vec<Overlap> {
    let mut pairs = Vec::new();
    let mut first = 0;
    for (index, vma) in now.iter().enumerate() {
        let reading = &vma.reading;
        while first < past.len() && past[first].reading.end <= reading.start {
            first += 1;
        }
        let common = past[first..]
            .iter()
            .take_while(|old| old.reading.start < reading.end);
        for (old_index, old) in (first..).zip(common) {
            if old.reading.mapping == reading.mapping {
                let bytes = old.reading.end.min(reading.end) - old.reading.start.max(reading.start);
                pairs.push(Overlap {
                    bytes,
                    past: old_index,
                    now: index,
                });
            }
        }
    }
    pairs
}
