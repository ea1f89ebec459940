//! The working-set size of a record, as `damo report wss` defines it.

use crate::damo_record::DamoRecord;

/// Snapshots at the beginning that damo leaves out unless told otherwise: the regions have not settled yet.
pub const EXCLUDED_SNAPSHOTS: usize = 20;

/// Bytes that were accessed, snapshot by snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingSet {
    /// By time, without the excluded snapshots; at least one.
    pub bytes: Vec<u64>,
}

impl WorkingSet {
    /// For each snapshot from the `excluded`-th on, the bytes of its regions with at least `threshold` accesses. `None`
    /// when no snapshot is left.
    pub fn of(record: &DamoRecord, threshold: u32, excluded: usize) -> Option<Self> {
        let snapshots = record.snapshots.get(excluded..)?;
        let size = |snapshot: &crate::damo_record::DamoSnapshot| {
            let regions = snapshot.as_damo_counts();
            let counted = regions.iter().filter(|region| region.accesses >= threshold);
            // These regions do not overlap, so their sum stays within the address space.
            counted.map(crate::damo_record::DamoRegion::bytes).sum()
        };
        let bytes: Vec<u64> = snapshots.iter().map(size).collect();
        (!bytes.is_empty()).then_some(Self { bytes })
    }

    /// Mean over the snapshots, rounded down.
    pub fn average_bytes(&self) -> u64 {
        let sum: u128 = self.bytes.iter().map(|bytes| u128::from(*bytes)).sum();
        (sum / self.bytes.len() as u128) as u64
    }

    /// Percentiles by size: at `percent` of the snapshots in order of their size.
    pub fn by_size(&self, percents: &[u32]) -> Vec<u64> {
        let mut sorted = self.bytes.clone();
        sorted.sort_unstable();
        pick(&sorted, percents)
    }

    /// Percentiles by time: at `percent` of the snapshots in order of time.
    pub fn by_time(&self, percents: &[u32]) -> Vec<u64> {
        pick(&self.bytes, percents)
    }
}

fn pick(values: &[u64], percents: &[u32]) -> Vec<u64> {
    // In floating point and in this order, as damo rounds: 29 % of 100 snapshots is the one at 28.
    let index =
        |percent: u32| ((f64::from(percent) / 100.0 * values.len() as f64) as usize).min(values.len() - 1);
    percents.iter().map(|percent| values[index(*percent)]).collect()
}
