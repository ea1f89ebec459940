//! Rows of kernel counters from samples: one row per scrape, a counter by column, as the integers that the kernel printed.

use std::collections::HashMap;

use crate::body::Sample;

/// The value by which Prometheus says that a series ended: a NaN of its own.
pub const STALE_BITS: u64 = 0x7ff0_0000_0000_0002;

/// Where the samples of a series go. A series may fill several columns.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Id of the series.
    pub series: i64,
    /// The column.
    pub column: usize,
    /// A value times this is the counter.
    pub scale: f64,
    /// How long a value stands, in milliseconds, where its series is scraped at times of its own; 0: it belongs to the
    /// row of its scrape. All series of a column are of one of the two sorts.
    pub held_ms: i64,
}

/// n rows of k columns; `values` [n * k] is 0 where not `present`.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Milliseconds since 1970, ascending.
    pub times_ms: Vec<i64>,
    /// Row by row.
    pub values: Vec<i64>,
    /// Which were there.
    pub present: Vec<bool>,
}

impl Rows {
    /// Adds to each row the newest value of a series that stands at its time. `run` is in order of time.
    fn hold(&mut self, run: &[Sample], place: &Place, columns: usize) {
        for (row, at_ms) in self.times_ms.iter().enumerate() {
            let until = run.partition_point(|sample| sample.at_ms <= *at_ms);
            let newest = run[..until].last();
            let standing =
                newest.filter(|sample| at_ms.saturating_sub(sample.at_ms) < place.held_ms);
            if let Some(value) = standing.and_then(|sample| whole(sample.value, place.scale)) {
                let cell = row * columns + place.column;
                self.values[cell] = self.values[cell].saturating_add(value);
                self.present[cell] = true;
            }
        }
    }
}

/// Sums by time and column as they grow, and how many series went into each.
struct Growing {
    times_ms: Vec<i64>,
    columns: usize,
    sums: Vec<i64>,
    counts: Vec<u32>,
    /// By column: how many series have a value anywhere.
    parts: Vec<u32>,
}

impl Growing {
    fn new(times_ms: Vec<i64>, columns: usize) -> Self {
        let cells = times_ms.len() * columns;
        Self {
            times_ms,
            columns,
            sums: vec![0; cells],
            counts: vec![0; cells],
            parts: vec![0; columns],
        }
    }

    /// Adds a series: `run` is in order of time, and so are the rows.
    fn add(&mut self, run: &[Sample], place: &Place) {
        let (mut row, mut any) = (0, false);
        for sample in run {
            while self
                .times_ms
                .get(row)
                .is_some_and(|at_ms| *at_ms < sample.at_ms)
            {
                row += 1;
            }
            if let Some(value) = whole(sample.value, place.scale) {
                let cell = row * self.columns + place.column;
                self.sums[cell] = self.sums[cell].saturating_add(value);
                self.counts[cell] += 1;
                any = true;
            }
        }
        self.parts[place.column] += u32::from(any);
    }

    fn gather(&self) -> Rows {
        let width = self.columns.max(1);
        let filled = |row: &[u32]| row.iter().filter(|count| **count > 0).count();
        let fullest = self.counts.chunks(width).map(filled).max().unwrap_or(0);
        let mut rows = Rows::default();
        let (mut carried, mut have) = (vec![0_i64; self.columns], vec![false; self.columns]);
        let cells = self.sums.chunks(width).zip(self.counts.chunks(width));
        for (at_ms, (sums, counts)) in self.times_ms.iter().zip(cells) {
            for column in 0..self.columns {
                if counts[column] > 0 && counts[column] == self.parts[column] {
                    carried[column] = sums[column];
                    have[column] = true;
                }
            }
            if filled(counts) * 2 > fullest {
                rows.times_ms.push(*at_ms);
                rows.values.extend_from_slice(&carried);
                rows.present.extend_from_slice(&have);
                carried.fill(0);
                have.fill(false);
            }
        }
        rows
    }
}

/// Makes rows of tidy samples over `columns` columns. Every place names a column below `columns`.
///
/// Of series whose values stand for a while (`held_ms`), a row sums the newest values; these series make no rows.
///
/// A row stands at each time at which more than half as many counters came as at the fullest one; other exporters of a
/// host are scraped at other times, and theirs go into the next row, the newest since the row before. Series that share
/// a column add up, and it is missing from rows where one of them is: a sum with a hole in it is not a sum. Values that
/// are no number, and markers of ended series, are missing.
pub fn rows(samples: &[Sample], places: &[Place], columns: usize) -> Rows {
    let mut of_series: HashMap<i64, Vec<Place>> = HashMap::new();
    for place in places.iter().filter(|place| place.column < columns) {
        of_series.entry(place.series).or_default().push(*place);
    }
    let runs: Vec<(&[Sample], &Vec<Place>)> = samples
        .chunk_by(|a, b| a.series == b.series)
        .filter_map(|run| Some((run, of_series.get(&run[0].series)?)))
        .collect();
    let mut times_ms: Vec<i64> = runs
        .iter()
        .filter(|(_, places)| places.iter().any(|place| place.held_ms == 0))
        .flat_map(|(run, _)| run.iter().map(|sample| sample.at_ms))
        .collect();
    times_ms.sort_unstable();
    times_ms.dedup();
    let mut growing = Growing::new(times_ms, columns);
    for (run, places) in &runs {
        for place in places.iter().filter(|place| place.held_ms == 0) {
            growing.add(run, place);
        }
    }
    let mut rows = growing.gather();
    for (run, places) in &runs {
        for place in places.iter().filter(|place| place.held_ms > 0) {
            rows.hold(run, place, columns);
        }
    }
    rows
}

fn whole(value: f64, scale: f64) -> Option<i64> {
    let scaled = (value * scale).round();
    // Below 2^62, so that sums of a few stay within 64 bits.
    (scaled.abs() < 4_611_686_018_427_387_904.0).then_some(scaled as i64)
}
