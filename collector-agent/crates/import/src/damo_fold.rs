//! Folds a record of damo to rows of heat and tiles, by the fold of live mappings.
//!
//! A record knows addresses and nothing of processes, mappings or kinds. The addresses it covers are cut in strips; each
//! is folded as one mapping of which a number of bytes was active. Rules: docs/method/damon.md, "Records".

use std::ops::Range;
use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Beside, Granularity, PageKind};
use tierscope_sample::page_size;
use tierscope_sample::tiles::TileEpoch;
use tierscope_sample::vma_fold::{ProcessKey, VmaFolder, VmaReading};

use crate::damo_record::{DamoRecord, DamoSnapshot};
use crate::damo_wss::EXCLUDED_SNAPSHOTS;

const SECOND_NS: i64 = 1_000_000_000;
/// Records from this length on are folded by the minute, shorter ones by the second.
const LONG_NS: i64 = 30 * 60 * SECOND_NS;
/// Most strips; as many rows fit in the tiles.
const MAX_STRIPS: u64 = 512;
const SMALLEST_STRIP_BYTES: u64 = 4096;
/// Intervals that a history reaches back.
const HISTORY_INTERVALS: i64 = 64;
/// Name of the mapping that stands for all addresses of a record.
const MAPPING: &str = "monitored";
/// A record has no processes; all its strips belong to this one.
const NO_PROCESS: ProcessKey = ProcessKey {
    pid: 0,
    start_time_ticks: 0,
};

/// What a record stands for when it is folded.
#[derive(Debug, Clone)]
pub struct DamoIdentity {
    /// `namespace/name`.
    pub service: Arc<str>,
    /// Executable.
    pub group: Arc<str>,
    /// Random; ids of tile epochs come from it.
    pub epoch_seed: u64,
}

/// The intervals of a record: whole and of one length, the last one ending with the record.
#[derive(Debug)]
pub struct DamoIntervalPlan<'a> {
    snapshots: &'a [DamoSnapshot],
    record: &'a DamoRecord,
    /// Length of an interval.
    pub interval_ns: i64,
    /// How many there are.
    pub intervals: i64,
}

impl<'a> DamoIntervalPlan<'a> {
    /// Plans the intervals of a record. The first [`EXCLUDED_SNAPSHOTS`] are left out where others remain.
    pub fn new(record: &'a DamoRecord) -> Self {
        let settled = record.snapshots.get(EXCLUDED_SNAPSHOTS..).unwrap_or_default();
        let snapshots = if settled.is_empty() {
            record.snapshots.as_slice()
        } else {
            settled
        };
        let ends = snapshots.first().zip(snapshots.last());
        let length_ns = ends.map_or(1, |(first, last)| (last.end_ns - first.start_ns).max(1));
        let window_ns = length_ns / (snapshots.len() as i64).max(1);
        let nominal_ns = if length_ns >= LONG_NS {
            60 * SECOND_NS
        } else {
            SECOND_NS
        };
        // Two windows at least: their lengths vary, and an interval without any would count as missing.
        let seconds = (2 * window_ns + SECOND_NS - 1) / SECOND_NS;
        let interval_ns = nominal_ns.max(seconds * SECOND_NS).min(length_ns);
        Self {
            snapshots,
            record,
            interval_ns,
            intervals: length_ns / interval_ns,
        }
    }

    /// Folds the intervals so that the last one ends at `last_ns`, and hands over what each gives.
    pub fn fold<E>(
        &self,
        identity: &DamoIdentity,
        last_ns: i64,
        mut emit: impl FnMut(Folded) -> Result<(), E>,
    ) -> Result<(), E> {
        let measured = Measured {
            backend: Backend::DamonRegions,
            granularity: Granularity::Region,
            interval_ns: self.interval_ns,
            service: Arc::clone(&identity.service),
            group: Arc::clone(&identity.group),
        };
        let mut folder = VmaFolder::new(measured, None, identity.epoch_seed);
        let Some(last) = self.snapshots.last() else {
            return Ok(());
        };
        let strips = Strips::cover(self.snapshots);
        let end_of = |wall_ns| IntervalEnd {
            wall_ns,
            boottime_ns: None,
        };
        let first_ns = last_ns - self.intervals * self.interval_ns;
        let mut past_epochs = self.fold_past(&strips, &mut folder, end_of(first_ns));
        let begin_ns = last.end_ns - self.intervals * self.interval_ns;
        let mut rest = &self.snapshots[self
            .snapshots
            .partition_point(|snapshot| snapshot.end_ns <= begin_ns)..];
        for index in 1..=self.intervals {
            let until_ns = begin_ns + index * self.interval_ns;
            let (bundle, later) = rest.split_at(rest.partition_point(|snapshot| snapshot.end_ns <= until_ns));
            rest = later;
            if bundle.is_empty() {
                folder.miss();
                continue;
            }
            folder.observe(NO_PROCESS, true, strips.readings(bundle));
            let mut interval = folder.finish(end_of(first_ns + index * self.interval_ns));
            past_epochs.append(&mut interval.tile_epochs);
            interval.tile_epochs = std::mem::take(&mut past_epochs);
            emit(interval)?;
        }
        Ok(())
    }

    /// Folds the intervals before the first snapshot as far as the ages of all its regions reach; what they give is
    /// history, not rows. Returns the row lists of tiles that began there: later columns refer to them.
    fn fold_past(&self, strips: &Strips, folder: &mut VmaFolder, end: IntervalEnd) -> Vec<TileEpoch> {
        let mut epochs = Vec::new();
        let Some(first) = self.snapshots.first() else {
            return epochs;
        };
        let window_ns = first.end_ns - first.start_ns;
        let window_ns = self
            .record
            .intervals
            .map_or(window_ns, |known| known.aggregation_ns.cast_signed());
        let youngest = first.regions.iter().map(|region| region.age.unwrap_or(0)).min();
        let past_ns = i64::from(youngest.unwrap_or(0)).saturating_mul(window_ns);
        for _ in 0..(past_ns / self.interval_ns).min(HISTORY_INTERVALS) {
            folder.observe(NO_PROCESS, true, strips.readings(std::slice::from_ref(first)));
            epochs.append(&mut folder.finish(end).tile_epochs);
        }
        epochs
    }
}

/// The addresses of a record, cut at multiples of one power of two.
struct Strips {
    /// Covered addresses, merged and in order.
    covered: Vec<Range<u64>>,
    step: u64,
    mapping: Arc<str>,
}

impl Strips {
    fn cover(snapshots: &[DamoSnapshot]) -> Self {
        let mut covered = Vec::new();
        for snapshot in snapshots {
            covered.extend(merged(
                snapshot.regions.iter().map(|region| region.start..region.end),
            ));
            if covered.len() > 1 << 16 {
                covered = merged(covered.into_iter());
            }
        }
        let covered = merged(covered.into_iter());
        let count = |step: u64| {
            let of = |range: &Range<u64>| (range.end - 1) / step - range.start / step + 1;
            covered.iter().map(of).sum::<u64>()
        };
        let mut step = SMALLEST_STRIP_BYTES;
        // Ranges that lie far apart never share a strip; their number is the least that is possible.
        let most = MAX_STRIPS.max(2 * covered.len() as u64);
        while count(step) > most && step < 1 << 62 {
            step *= 2;
        }
        Self {
            covered,
            step,
            mapping: Arc::from(MAPPING),
        }
    }

    /// What a bundle of snapshots says about each strip: bytes monitored at its end, and bytes that lay in a region
    /// with accesses at any time.
    fn readings(&self, bundle: &[DamoSnapshot]) -> Vec<VmaReading> {
        let Some(last) = bundle.last() else {
            return Vec::new();
        };
        let monitored = merged(last.regions.iter().map(|region| region.start..region.end));
        let accessed = bundle.iter().flat_map(|snapshot| &snapshot.regions);
        let accessed = accessed.filter(|region| region.accesses > 0);
        let accessed = merged(accessed.map(|region| region.start..region.end));
        let strips = self.covered.iter().flat_map(|range| {
            let first = range.start / self.step;
            (first..=(range.end - 1) / self.step).map(|index| {
                let start = range.start.max(index * self.step);
                start..range.end.min((index * self.step).saturating_add(self.step))
            })
        });
        strips
            .map(|strip| {
                let resident = overlap(&monitored, &strip);
                VmaReading {
                    start: strip.start,
                    end: strip.end,
                    offset_bytes: strip.start.cast_signed(),
                    mapping: Arc::clone(&self.mapping),
                    kind: PageKind::Anon,
                    page_size_bytes: page_size::MODEL_BYTES as u32,
                    resident_bytes: resident.cast_signed(),
                    referenced_bytes: overlap(&accessed, &strip).min(resident).cast_signed(),
                    beside: Beside::default(),
                }
            })
            .collect()
    }
}

/// Sorts stretches and joins those that touch or overlap.
fn merged(stretches: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut stretches: Vec<_> = stretches.collect();
    stretches.sort_unstable_by_key(|stretch| stretch.start);
    stretches.dedup_by(|next, kept| {
        let joined = next.start <= kept.end;
        if joined {
            kept.end = kept.end.max(next.end);
        }
        joined
    });
    stretches
}

/// Bytes of `strip` that lie in one of the stretches, which are in order and do not overlap.
fn overlap(stretches: &[Range<u64>], strip: &Range<u64>) -> u64 {
    let first = stretches.partition_point(|stretch| stretch.end <= strip.start);
    let inside = stretches[first..]
        .iter()
        .take_while(|stretch| stretch.start < strip.end);
    inside
        .map(|stretch| stretch.end.min(strip.end) - stretch.start.max(strip.start))
        .sum()
}
