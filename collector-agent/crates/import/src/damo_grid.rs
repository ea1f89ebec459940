//! The heat of a record over time and address, as `damo report heatmap` draws it.

use std::ops::Range;

use crate::damo_record::{DamoRecord, DamoRegion};

const SECOND_NS: f64 = 1e9;

/// A grid of equal cells over time and address. Cells are whole nanoseconds and bytes, as those of damo are; what
/// remains at the end of a range, less than one unit per cell, lies in no cell.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatGrid {
    /// From the earliest time that the record tells of to its end.
    pub time_ns: Range<i64>,
    /// All addresses of the first snapshot.
    pub addresses: Range<u64>,
    /// Nanoseconds of a cell.
    pub time_step_ns: i64,
    /// Bytes of a cell.
    pub address_step_bytes: u64,
    /// Cells along addresses.
    pub columns: usize,
    /// Mean accesses by (time, address): per second where the record knows its intervals, else checks with an access
    /// per aggregation. Weighted by time and bytes; zero where nothing was recorded.
    pub cells: Vec<f64>,
}

/// Time from which a record tells: its start, less the age of the oldest region of the first snapshot.
pub fn earliest_ns(record: &DamoRecord) -> i64 {
    let Some(first) = record.snapshots.first() else {
        return 0;
    };
    let oldest = first.regions.iter().filter_map(|region| region.age).max();
    let before_ns = match (oldest, record.intervals) {
        (Some(age), Some(known)) => u64::from(age).saturating_mul(known.aggregation_ns),
        _ => 0,
    };
    first.start_ns.saturating_sub_unsigned(before_ns)
}

/// The grid of a record with `rows` cells along time and `columns` along addresses, neither zero. `None` for a record
/// without regions in its first snapshot.
pub fn heat_grid(record: &DamoRecord, rows: usize, columns: usize) -> Option<HeatGrid> {
    let (first, last) = (record.snapshots.first()?, record.snapshots.last()?);
    let addresses = first.regions.first()?.start..first.regions.last()?.end;
    let time_ns = earliest_ns(record)..last.end_ns;
    let time_step_ns = ((time_ns.end - time_ns.start) / i64::try_from(rows).ok()?).max(1);
    let address_step_bytes = ((addresses.end - addresses.start) / columns as u64).max(1);
    let scale = Scale {
        time: Axis::new(time_ns.start as f64, time_step_ns as f64, rows),
        address: Axis::new(addresses.start as f64, address_step_bytes as f64, columns),
    };
    let aggregations_per_s = record
        .intervals
        .map_or(1.0, |known| SECOND_NS / known.aggregation_ns as f64);
    let mut cells = vec![0.0; rows * columns];
    for snapshot in &record.snapshots {
        for (row, time_share) in scale
            .time
            .shares(snapshot.start_ns as f64, snapshot.end_ns as f64)
        {
            let line = &mut cells[row * columns..(row + 1) * columns];
            for region in snapshot.regions.iter().filter(|region| region.accesses > 0) {
                scale.add(region, time_share * aggregations_per_s, line);
            }
        }
    }
    Some(HeatGrid {
        time_ns,
        addresses,
        time_step_ns,
        address_step_bytes,
        columns,
        cells,
    })
}

struct Scale {
    time: Axis,
    address: Axis,
}

impl Scale {
    fn add(&self, region: &DamoRegion, weight: f64, line: &mut [f64]) {
        for (column, share) in self.address.shares(region.start as f64, region.end as f64) {
            line[column] += f64::from(region.accesses) * weight * share;
        }
    }
}

/// A range cut in equal steps.
struct Axis {
    start: f64,
    step: f64,
    steps: usize,
}

impl Axis {
    fn new(start: f64, step: f64, steps: usize) -> Self {
        Self { start, step, steps }
    }

    /// The steps that a stretch lies in, with the share of each that it covers.
    fn shares(&self, from: f64, to: f64) -> impl Iterator<Item = (usize, f64)> {
        let place = |value: f64| ((value - self.start) / self.step).clamp(0.0, self.steps as f64);
        let (from, to) = (place(from), place(to));
        (from as usize..to.ceil() as usize).map(move |step| {
            let share = to.min(step as f64 + 1.0) - from.max(step as f64);
            (step, share.max(0.0))
        })
    }
}
