//! Counter rows as difference-coded blocks.

use std::sync::Arc;

use tierscope_sample::counters::CounterSample;

use crate::columns::BitmapWriter;
use crate::layout::{Layout, LayoutCache};
use crate::proto;

/// The counters of one moment, as values in the order of a layout.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterRow {
    /// Names of the values.
    pub layout: Arc<Layout>,
    /// `CLOCK_REALTIME` of the reading, nanoseconds since the Unix epoch.
    pub end_wall_ns: i64,
    /// `CLOCK_BOOTTIME` of the reading; `None` where unknown.
    pub end_boottime_ns: Option<i64>,
    /// The kernel's boot id, "" where unknown.
    pub boot_id: Arc<str>,
    /// One value per key of the layout; `None` where missing.
    pub values: Vec<Option<i64>>,
}

impl CounterRow {
    /// The value of a key; `None` where the layout has no such key, or the value is missing.
    pub fn value(&self, key: &str) -> Option<i64> {
        let keys = self.layout.keys();
        let index = keys.binary_search_by(|other| (**other).cmp(key)).ok()?;
        self.values[index]
    }

    /// The row of a sample, whose values must be sorted by key and free of repeats.
    pub fn new(sample: &CounterSample, layouts: &mut LayoutCache) -> Self {
        let layout = layouts.layout_of(sample);
        let values = sample.values.iter().map(|(_, value)| *value).collect();
        Self {
            layout,
            end_wall_ns: sample.end_wall_ns,
            end_boottime_ns: sample.end_boottime_ns,
            boot_id: Arc::clone(&sample.boot_id),
            values,
        }
    }

    /// Whether this row can stand in one block with `other`.
    fn joins(&self, other: &Self) -> bool {
        self.layout.hash() == other.layout.hash()
            && self.end_boottime_ns.is_some() == other.end_boottime_ns.is_some()
    }
}

/// Writes rows as blocks of neighbours that share a layout.
pub(crate) fn encode(rows: &[CounterRow], batch_boot_id: &str) -> Vec<proto::CounterBlock> {
    rows.chunk_by(CounterRow::joins)
        .map(|block| encode_block(block, batch_boot_id))
        .collect()
}

fn encode_block(rows: &[CounterRow], batch_boot_id: &str) -> proto::CounterBlock {
    let width = rows[0].values.len();
    let mut values = Vec::with_capacity(rows.len() * width * 8);
    let mut validity = BitmapWriter::default();
    let mut previous = vec![0_i64; width];
    for row in rows {
        for (value, before) in row.values.iter().zip(&mut previous) {
            let now = value.unwrap_or(0);
            values.extend_from_slice(&now.wrapping_sub(*before).to_le_bytes());
            *before = now;
            validity.push(value.is_some());
        }
    }
    let same_boot = rows.iter().all(|row| *row.boot_id == *batch_boot_id);
    let boot_ids = if same_boot {
        Vec::new()
    } else {
        rows.iter().map(|row| row.boot_id.to_string()).collect()
    };
    proto::CounterBlock {
        layout_hash: rows[0].layout.hash().to_vec(),
        end_wall_ns: rows.iter().map(|row| row.end_wall_ns).collect(),
        end_boottime_ns: rows.iter().filter_map(|row| row.end_boottime_ns).collect(),
        values,
        validity: validity.into_bytes(),
        boot_ids,
    }
}
