//! Cuts the mappings of a process group in rows, and activity in cells of one byte.
//!
//! Rules: docs/method/heat.md, "Tiles".

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::heat::PageKind;
use crate::tiles::{MAX_ROWS, TileRow};

/// Most mappings with rows of their own; the others of a kind share the row [`OTHER_MAPPINGS`].
const MAX_MAPPINGS: usize = MAX_ROWS / 2;
/// Mapping name of the row of all mappings of a kind that are too many to have their own.
pub const OTHER_MAPPINGS: &str = "other";
/// Share of the bytes that has to change before the rows are cut anew.
pub const EPOCH_CHANGE_RATIO: f64 = 0.05;

/// A stretch of a mapping that rows have to cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Page kind.
    pub kind: PageKind,
    /// Mapping name.
    pub mapping: Arc<str>,
    /// Offset within the mapping, not negative.
    pub offset_bytes: i64,
    /// Length, not negative.
    pub size_bytes: i64,
    /// Resident bytes; the mappings with most of them get rows of their own.
    pub resident_bytes: i64,
}

/// Where the rows of a mapping are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Own(Range<usize>),
    Other(usize),
}

/// The rows of an epoch, and the way from a mapping to its rows.
#[derive(Debug, Clone)]
pub struct Grid {
    region_bytes: i64,
    rows: Vec<TileRow>,
    places: HashMap<(PageKind, Arc<str>), Place>,
}

/// A mapping with all its stretches, merged and in order.
struct Mapping {
    kind: PageKind,
    name: Arc<str>,
    stretches: Vec<Range<i64>>,
    resident_bytes: i64,
}

impl Grid {
    /// Cuts `extents` in regions of one power of two, the smallest from `smallest_region_bytes` on that needs no more
    /// than [`MAX_ROWS`] rows. Rows are in order of kind, name and offset; numbers in names count as numbers.
    pub fn cut(extents: &[Extent], smallest_region_bytes: i64) -> Self {
        let mut mappings = mappings_of(extents);
        let rest = if mappings.len() > MAX_MAPPINGS {
            mappings.sort_by_key(|mapping| -mapping.resident_bytes);
            mappings.split_off(MAX_MAPPINGS)
        } else {
            Vec::new()
        };
        mappings.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| by_name(&a.name, &b.name)));
        let room = MAX_ROWS - 3;
        let mut region_bytes = smallest_region_bytes
            .max(1)
            .unsigned_abs()
            .next_power_of_two()
            .cast_signed();
        while mappings
            .iter()
            .map(|mapping| count_regions(mapping, region_bytes))
            .sum::<usize>()
            > room
        {
            region_bytes *= 2;
        }
        let mut grid = Self {
            region_bytes,
            rows: Vec::new(),
            places: HashMap::new(),
        };
        for mapping in &mappings {
            let first = grid.rows.len();
            grid.push_rows(mapping);
            let place = Place::Own(first..grid.rows.len());
            grid.places
                .insert((mapping.kind, Arc::clone(&mapping.name)), place);
        }
        grid.push_rest(&rest);
        grid
    }

    /// The region size in force.
    pub fn region_bytes(&self) -> i64 {
        self.region_bytes
    }

    /// The rows.
    pub fn rows(&self) -> &[TileRow] {
        &self.rows
    }

    /// The row that holds a byte of a mapping.
    pub fn row_at(&self, kind: PageKind, mapping: &Arc<str>, offset_bytes: i64) -> Option<usize> {
        self.covering(kind, mapping, offset_bytes..offset_bytes + 1)
            .next()
            .map(|(row, _)| row)
    }

    /// The row that holds the byte at `offset_bytes` of a mapping, if any, and the offset up to which the answer is the
    /// same.
    pub fn row_until(&self, kind: PageKind, mapping: &Arc<str>, offset_bytes: i64) -> (Option<usize>, i64) {
        let own = match self.places.get(&(kind, Arc::clone(mapping))) {
            Some(Place::Own(rows)) => rows.clone(),
            Some(Place::Other(row)) => return (Some(*row), i64::MAX),
            None => return (None, i64::MAX),
        };
        let rows = &self.rows[own.clone()];
        let at = rows.partition_point(|row| row.offset_bytes + row.size_bytes <= offset_bytes);
        match rows.get(at) {
            Some(row) if row.offset_bytes <= offset_bytes => {
                (Some(own.start + at), row.offset_bytes + row.size_bytes)
            }
            Some(row) => (None, row.offset_bytes),
            None => (None, i64::MAX),
        }
    }

    /// The rows that a stretch of a mapping lies in, with the bytes of the stretch in each. What lies in no row is
    /// left out.
    pub fn covering(
        &self,
        kind: PageKind,
        mapping: &Arc<str>,
        stretch: Range<i64>,
    ) -> impl Iterator<Item = (usize, i64)> {
        let (own, other) = match self.places.get(&(kind, Arc::clone(mapping))) {
            Some(Place::Own(rows)) => (rows.clone(), None),
            Some(Place::Other(row)) => (0..0, Some((*row, stretch.end - stretch.start))),
            None => (0..0, None),
        };
        let skip =
            self.rows[own.clone()].partition_point(|row| row.offset_bytes + row.size_bytes <= stretch.start);
        let rows = self.rows[own.clone()].iter().enumerate().skip(skip);
        let inside = rows.map_while(move |(index, row)| {
            let overlap =
                stretch.end.min(row.offset_bytes + row.size_bytes) - stretch.start.max(row.offset_bytes);
            (overlap > 0).then_some((own.start + index, overlap))
        });
        inside.chain(other)
    }

    fn push_rows(&mut self, mapping: &Mapping) {
        let region = self.region_bytes;
        let mut last_region = None;
        for stretch in &mapping.stretches {
            for index in stretch.start / region..=(stretch.end - 1) / region {
                let end = stretch.end.min((index + 1) * region);
                if last_region == Some(index) {
                    // A second stretch in the same region lengthens its row.
                    if let Some(row) = self.rows.last_mut() {
                        row.size_bytes = end - row.offset_bytes;
                    }
                    continue;
                }
                last_region = Some(index);
                let offset_bytes = stretch.start.max(index * region);
                self.rows.push(TileRow {
                    kind: mapping.kind,
                    mapping: Arc::clone(&mapping.name),
                    offset_bytes,
                    size_bytes: end - offset_bytes,
                });
            }
        }
    }

    /// One row per kind for the mappings that are too many.
    fn push_rest(&mut self, rest: &[Mapping]) {
        for kind in [PageKind::Anon, PageKind::File, PageKind::Tmpfs] {
            let of_kind: Vec<_> = rest.iter().filter(|mapping| mapping.kind == kind).collect();
            let bytes = of_kind
                .iter()
                .flat_map(|mapping| &mapping.stretches)
                .map(|part| part.end - part.start)
                .sum();
            if bytes == 0 {
                continue;
            }
            for mapping in of_kind {
                self.places
                    .insert((kind, Arc::clone(&mapping.name)), Place::Other(self.rows.len()));
            }
            self.rows.push(TileRow {
                kind,
                mapping: Arc::from(OTHER_MAPPINGS),
                offset_bytes: 0,
                size_bytes: bytes,
            });
        }
    }
}

fn mappings_of(extents: &[Extent]) -> Vec<Mapping> {
    let mut by_key: HashMap<(PageKind, &Arc<str>), Mapping> = HashMap::new();
    for extent in extents.iter().filter(|extent| extent.size_bytes > 0) {
        let mapping = by_key
            .entry((extent.kind, &extent.mapping))
            .or_insert_with(|| Mapping {
                kind: extent.kind,
                name: Arc::clone(&extent.mapping),
                stretches: Vec::new(),
                resident_bytes: 0,
            });
        mapping
            .stretches
            .push(extent.offset_bytes..extent.offset_bytes + extent.size_bytes);
        mapping.resident_bytes += extent.resident_bytes;
    }
    let mut mappings: Vec<_> = by_key.into_values().collect();
    for mapping in &mut mappings {
        merge(&mut mapping.stretches);
    }
    mappings.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| by_name(&a.name, &b.name)));
    mappings
}

/// Sorts stretches and joins those that touch or overlap.
fn merge(stretches: &mut Vec<Range<i64>>) {
    stretches.sort_by_key(|stretch| stretch.start);
    stretches.dedup_by(|next, kept| {
        let joined = next.start <= kept.end;
        if joined {
            kept.end = kept.end.max(next.end);
        }
        joined
    });
}

/// Regions of a power of two that a mapping lies in.
fn count_regions(mapping: &Mapping, region_bytes: i64) -> usize {
    let mut count = 0;
    let mut last_region = -1;
    for stretch in &mapping.stretches {
        let first = (stretch.start / region_bytes).max(last_region + 1);
        last_region = (stretch.end - 1) / region_bytes;
        count += (last_region + 1 - first).max(0) as usize;
    }
    count
}

/// Order of names in which `anon-2` comes before `anon-10`.
fn by_name(a: &str, b: &str) -> Ordering {
    let split = |name: &str| {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = name.split_at(name.len() - digits);
        (stem.to_owned(), number.parse::<u64>().ok())
    };
    split(a).cmp(&split(b)).then_with(|| a.cmp(b))
}

/// The scale of cells: value v in 1..=250 stands for `base^(v - 1) * unit`, 0 for no activity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellScale {
    /// Ratio of neighbouring values.
    pub base: f64,
    /// Activity that the value 1 stands for.
    pub unit: f64,
}

/// Highest value of a cell that is a level of activity.
pub const CELL_HIGHEST: u8 = 250;

impl CellScale {
    /// The scale for accesses per byte in regions of `region_bytes`: 1 is one access to a region, and 250 about
    /// 2.3 thousand million. Neighbouring values differ by 9 %.
    pub fn accesses_per_byte(region_bytes: i64) -> Self {
        Self {
            base: 0.125_f64.exp2(),
            unit: 1.0 / region_bytes as f64,
        }
    }

    /// The scale for shares: 250 is all of it, 1 is 0.002 %. Neighbouring values differ by 4 %.
    pub fn shares() -> Self {
        Self {
            base: 0.0625_f64.exp2(),
            unit: (-f64::from(CELL_HIGHEST - 1) / 16.0).exp2(),
        }
    }

    /// The cell of an activity; any activity at all is at least 1.
    pub fn cell(&self, activity: f64) -> u8 {
        if activity <= 0.0 {
            return 0;
        }
        let value = (activity / self.unit).log2() / self.base.log2();
        value.round().clamp(0.0, f64::from(CELL_HIGHEST - 1)) as u8 + 1
    }

    /// The activity that a cell stands for; `None` for codes that are no activity.
    pub fn activity(&self, cell: u8) -> Option<f64> {
        match cell {
            0 => Some(0.0),
            1..=CELL_HIGHEST => Some(self.base.powi(i32::from(cell) - 1) * self.unit),
            _ => None,
        }
    }
}

/// Ids of epochs: a sequence without repeats that a random seed starts.
#[derive(Debug, Clone)]
pub struct EpochIds(u64);

impl EpochIds {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next id (`SplitMix64`).
    pub fn next_id(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(kind: PageKind, mapping: &str, stretch: Range<i64>) -> Extent {
        let size_bytes = stretch.end - stretch.start;
        let mapping = Arc::from(mapping);
        Extent {
            kind,
            mapping,
            offset_bytes: stretch.start,
            size_bytes,
            resident_bytes: size_bytes,
        }
    }

    #[test]
    fn regions_double_until_the_rows_fit() {
        let grid = Grid::cut(&[extent(PageKind::Anon, "anon-1", 0..4096 * 2048)], 4096);
        assert_eq!((grid.region_bytes(), grid.rows().len()), (16384, 512));
        let small = Grid::cut(&[extent(PageKind::Anon, "anon-1", 0..4096 * 1000)], 4096);
        assert_eq!((small.region_bytes(), small.rows().len()), (4096, 1000));
    }

    #[test]
    fn rows_are_ordered_by_kind_then_natural_name() {
        let names = ["anon-10", "anon-2", "heap"].map(|name| extent(PageKind::Anon, name, 0..4096));
        let file = extent(PageKind::File, "a.so", 0..4096);
        let grid = Grid::cut(&[vec![file], names.to_vec()].concat(), 4096);
        let order: Vec<_> = grid.rows().iter().map(|row| &*row.mapping).collect();
        assert_eq!(order, ["anon-2", "anon-10", "heap", "a.so"]);
    }

    #[test]
    fn a_stretch_is_spread_over_its_rows_and_the_rest_is_left_out() {
        let extents = [extent(PageKind::File, "f", 8192..8192 + 4096 * 1500)];
        let grid = Grid::cut(&extents, 4096);
        assert_eq!(grid.region_bytes(), 8192);
        let name: Arc<str> = Arc::from("f");
        let rows: Vec<_> = grid.covering(PageKind::File, &name, 12288..20480).collect();
        assert_eq!(rows, [(0, 4096), (1, 4096)]);
        assert_eq!(grid.covering(PageKind::File, &name, 0..8192).count(), 0);
        assert_eq!(grid.row_at(PageKind::File, &name, 16384), Some(1));
        assert_eq!(grid.row_at(PageKind::Anon, &name, 16384), None);
        let until = |offset| grid.row_until(PageKind::File, &name, offset);
        assert_eq!((until(0), until(8192)), ((None, 8192), (Some(0), 16384)));
        assert_eq!(until(16383), (Some(0), 16384));
        assert_eq!(until(8192 + 4096 * 1500), (None, i64::MAX));
        assert_eq!(grid.row_until(PageKind::Anon, &name, 0), (None, i64::MAX));
    }

    #[test]
    fn too_many_mappings_share_a_row_of_their_kind() {
        let mut extents: Vec<_> = (0..3000)
            .map(|n| extent(PageKind::Anon, &format!("anon-{n}"), 0..4096))
            .collect();
        extents[7].resident_bytes = 0;
        let grid = Grid::cut(&extents, 4096);
        assert_eq!(grid.rows().len(), MAX_MAPPINGS + 1);
        let other = grid.rows().last().expect("rows");
        assert_eq!(
            (&*other.mapping, other.size_bytes),
            (OTHER_MAPPINGS, 4096 * (3000 - MAX_MAPPINGS as i64))
        );
        assert_eq!(
            grid.row_at(PageKind::Anon, &Arc::from("anon-7"), 0),
            Some(MAX_MAPPINGS)
        );
        assert_eq!(grid.row_at(PageKind::Anon, &Arc::from("anon-9999"), 0), None);
    }

    #[test]
    fn cells_stand_for_activity_within_half_a_step() {
        for scale in [CellScale::accesses_per_byte(65536), CellScale::shares()] {
            assert_eq!(
                (scale.cell(0.0), scale.cell(scale.unit / 9.0), scale.cell(1e300)),
                (0, 1, 250)
            );
            for cell in 1..=CELL_HIGHEST {
                let activity = scale.activity(cell).expect("a level");
                assert_eq!(scale.cell(activity), cell);
                assert_eq!(scale.cell(activity * scale.base.powf(0.49)), cell);
            }
            assert_eq!(scale.activity(254), None);
        }
        assert_eq!(CellScale::shares().cell(1.0), CELL_HIGHEST);
    }
}
