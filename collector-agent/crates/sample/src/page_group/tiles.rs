//! Tiles of a group: rows over its mappings, and the activity of the pages in each.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::classes::{kind_of_class, size_of_class};
use super::keyed_space::{KeyedSpace, SpaceKey};
use super::listed::{Census, PageMapping, UNIT_SHIFT};
use super::process::Process;
use crate::fold::{Folded, Measured};
use crate::tile_grid::{CellScale, EPOCH_CHANGE_RATIO, EpochIds, Extent, Grid};
use crate::tiles::{CELL_NOT_COLLECTED, CELL_NOT_RESIDENT, CELL_UNSAMPLED, TileColumn, TileEpoch};
use crate::vma::ProcessKey;

/// Smallest rows that are cut.
const SMALLEST_REGION_BYTES: i64 = 4096;
/// Resident pages that are no farther apart share a stretch of rows.
const STRETCH_GAP_BYTES: i64 = 2 << 20;

type Processes = HashMap<ProcessKey, Process>;

/// Counts of one page in the running interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub(super) space: usize,
    pub(super) number: u64,
    pub(super) class: u16,
    pub(super) count: u32,
}

/// What goes with a column that is not in the tiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct TileContext<'a> {
    pub(super) measured: &'a Measured,
    pub(super) census: Census,
    pub(super) end_wall_ns: i64,
    /// Counts per page, for a back end that counts, and what one count stands for.
    pub(super) touches: Option<(&'a [Touch], f64)>,
    /// The interval was observed for at least one process.
    pub(super) observed: bool,
    /// The bits of a history that the newest interval takes.
    pub(super) newest_bits: u64,
}

/// Memory of a process that belongs to no file, and its name in an epoch. Offsets are from `base`.
#[derive(Debug)]
struct Anchor {
    start: u64,
    end: u64,
    base: u64,
    name: Arc<str>,
}

#[derive(Debug)]
struct Epoch {
    id: u64,
    grid: Grid,
    scale: CellScale,
    anchors: HashMap<ProcessKey, Vec<Anchor>>,
    /// Resident bytes of each row when the epoch began.
    resident_bytes: Vec<f64>,
}

/// Bytes and counts of one row in one interval.
#[derive(Debug, Clone, Copy, Default)]
struct RowBytes {
    active: f64,
    observed: f64,
    resident: f64,
    count: f64,
}

#[derive(Debug)]
pub(super) struct PageTiles {
    ids: EpochIds,
    epoch: Option<Epoch>,
}

impl PageTiles {
    pub(super) fn new(epoch_seed: u64) -> Self {
        Self {
            ids: EpochIds::new(epoch_seed),
            epoch: None,
        }
    }

    /// Adds the column of an interval, with a new epoch before it where the rows no longer fit.
    pub(super) fn column(
        &mut self,
        spaces: &[KeyedSpace],
        processes: &Processes,
        context: TileContext,
        folded: &mut Folded,
    ) {
        let mut rows = None;
        if let Some(epoch) = &mut self.epoch {
            epoch.follow(processes);
            let (now, outside_bytes) = epoch.spread(spaces, context);
            rows = epoch.fits(&now, outside_bytes, context.census).then_some(now);
        }
        let mut rows = rows.unwrap_or_else(|| {
            self.epoch = Epoch::begin(&mut self.ids, spaces, processes, context);
            let Some(epoch) = &mut self.epoch else {
                return Vec::new();
            };
            let (now, _) = epoch.spread(spaces, context);
            epoch.resident_bytes = now.iter().map(|row| row.resident).collect();
            folded.tile_epochs.push(epoch.describe(context));
            now
        });
        let Some(epoch) = &self.epoch else { return };
        epoch.count(&mut rows, spaces, context);
        let cells = epoch.grid.rows().iter().zip(&rows);
        let cells = cells
            .map(|(row, bytes)| bytes.cell(epoch.scale, row.size_bytes, context))
            .collect();
        folded.tile_columns.push(TileColumn {
            epoch_id: epoch.id,
            end_wall_ns: context.end_wall_ns,
            cells,
        });
    }
}

impl RowBytes {
    fn cell(&self, scale: CellScale, size_bytes: i64, context: TileContext) -> u8 {
        if !context.observed {
            CELL_NOT_COLLECTED
        } else if let Some((_, weight)) = context.touches.filter(|_| self.count > 0.0) {
            scale.cell(self.count * weight / size_bytes as f64)
        } else if self.resident <= 0.0 && matches!(context.census, Census::Full | Census::Touched) {
            CELL_NOT_RESIDENT
        } else if self.resident <= 0.0 {
            CELL_UNSAMPLED
        } else if self.observed <= 0.0 {
            CELL_NOT_COLLECTED
        } else if context.touches.is_some() {
            0
        } else {
            scale.cell(self.active / self.observed)
        }
    }
}

impl Epoch {
    /// Cuts rows over what is mapped; `None` while nothing is.
    fn begin(
        ids: &mut EpochIds,
        spaces: &[KeyedSpace],
        processes: &Processes,
        context: TileContext,
    ) -> Option<Self> {
        let anchors: HashMap<_, _> = processes
            .iter()
            .map(|(key, process)| (*key, anchors_of(process)))
            .collect();
        let mut extents = Vec::new();
        for keyed in spaces {
            stretches(keyed, &anchors, &mut extents);
        }
        if context.census != Census::Full {
            for (key, process) in processes {
                let mapped = process.mappings.iter();
                extents.extend(mapped.filter_map(|mapping| extent_of(mapping, &anchors[key])));
            }
        }
        if extents.is_empty() {
            return None;
        }
        let grid = Grid::cut(&extents, SMALLEST_REGION_BYTES);
        let scale = match context.touches {
            Some(_) => CellScale::accesses_per_byte(grid.region_bytes()),
            None => CellScale::shares(),
        };
        Some(Self {
            id: ids.next_id(),
            grid,
            scale,
            anchors,
            resident_bytes: Vec::new(),
        })
    }

    /// Lets names follow mappings that grow, shrink or move an end; those that came since have none.
    fn follow(&mut self, processes: &Processes) {
        self.anchors.retain(|key, _| processes.contains_key(key));
        for (key, anchors) in &mut self.anchors {
            let mappings = processes
                .get(key)
                .map(|process| process.mappings.as_slice())
                .unwrap_or_default();
            for anchor in anchors.iter_mut() {
                let first = mappings.partition_point(|mapping| mapping.end <= anchor.start);
                let common = mappings[first..]
                    .iter()
                    .take_while(|mapping| mapping.start < anchor.end);
                let overlap =
                    |mapping: &&PageMapping| mapping.end.min(anchor.end) - mapping.start.max(anchor.start);
                let same = common.filter(|mapping| mapping.inode == 0).max_by_key(overlap);
                if let Some((start, end)) = same.map(|mapping| (mapping.start, mapping.end)) {
                    (anchor.start, anchor.end) = (start, end);
                }
            }
            anchors.dedup_by(|next, kept| next.start < kept.end);
        }
    }

    /// Spreads the pages over the rows; also gives the resident bytes that lie in none.
    fn spread(&self, spaces: &[KeyedSpace], context: TileContext) -> (Vec<RowBytes>, f64) {
        let mut rows = vec![RowBytes::default(); self.grid.rows().len()];
        let mut outside_bytes = 0.0;
        for keyed in spaces {
            let mut places = Places::new(&keyed.key, &self.anchors);
            let mut row_until = (None, i64::MIN);
            for (number, page) in keyed.space.pages() {
                let class = page.marks.class();
                let size = i64::from(size_of_class(class).bytes());
                let Some((name, offset)) = places.find(number, &mut row_until.1) else {
                    outside_bytes += size as f64;
                    continue;
                };
                let mut add = |row: usize, bytes: f64| {
                    let sum = &mut rows[row];
                    sum.resident += bytes;
                    if page.history.validity & 1 != 0 {
                        sum.observed += bytes;
                        sum.active +=
                            bytes * f64::from(u8::from(page.history.activity & context.newest_bits != 0));
                    }
                };
                let kind = kind_of_class(class);
                if offset >= row_until.1 {
                    row_until = self.grid.row_until(kind, name, offset);
                }
                if offset.saturating_add(size) <= row_until.1 {
                    match row_until.0 {
                        Some(row) => add(row, size as f64),
                        None => outside_bytes += size as f64,
                    }
                    continue;
                }
                // A huge page may lie in many rows.
                let mut inside = 0;
                for (row, overlap) in self.grid.covering(kind, name, offset..offset + size) {
                    add(row, overlap as f64);
                    inside += overlap;
                }
                outside_bytes += (size - inside) as f64;
            }
        }
        (rows, outside_bytes)
    }

    /// Adds the counts of the interval to the rows.
    fn count(&self, rows: &mut [RowBytes], spaces: &[KeyedSpace], context: TileContext) {
        let Some((touches, _)) = context.touches else {
            return;
        };
        let mut space = usize::MAX;
        let mut row_until = (None, i64::MIN);
        let mut last_number = 0;
        let mut places = None;
        for touch in touches {
            if touch.space != space || touch.number < last_number {
                space = touch.space;
                places = spaces
                    .get(space)
                    .map(|keyed| Places::new(&keyed.key, &self.anchors));
                row_until = (None, i64::MIN);
            }
            last_number = touch.number;
            let found = places
                .as_mut()
                .and_then(|places| places.find(touch.number, &mut row_until.1));
            let Some((name, offset)) = found else { continue };
            if offset >= row_until.1 {
                row_until = self
                    .grid
                    .row_until(kind_of_class(usize::from(touch.class)), name, offset);
            }
            if let Some(row) = row_until.0 {
                rows[row].count += f64::from(touch.count);
            }
        }
    }

    /// Whether no more than 5 % of the bytes lie outside of the rows or have gone from them.
    fn fits(&self, rows: &[RowBytes], outside_bytes: f64, census: Census) -> bool {
        let total: f64 = rows.iter().map(|row| row.resident).sum::<f64>() + outside_bytes;
        let before = self.resident_bytes.iter().zip(rows);
        let gone = before.filter(|(_, now)| now.resident <= 0.0 && census == Census::Full);
        let gone_bytes: f64 = gone.map(|(bytes, _)| bytes).sum();
        outside_bytes + gone_bytes <= EPOCH_CHANGE_RATIO * total
    }

    fn describe(&self, context: TileContext) -> TileEpoch {
        let measured = context.measured;
        TileEpoch {
            epoch_id: self.id,
            service: Arc::clone(&measured.service),
            group: Arc::clone(&measured.group),
            backend: measured.backend,
            granularity: measured.granularity,
            interval_ns: measured.interval_ns,
            region_bytes: self.grid.region_bytes(),
            cell_log2_base: self.scale.base,
            cell_unit: self.scale.unit,
            cell_measure: if context.touches.is_some() {
                "accesses_per_byte"
            } else {
                "active_share"
            },
            rows: self.grid.rows().to_vec(),
            start_wall_ns: context.end_wall_ns - measured.interval_ns,
        }
    }
}

/// Walks along the pages of one space, and says where each lies in its mapping.
struct Places<'a> {
    key: &'a SpaceKey,
    anchors: &'a [Anchor],
    /// The anchor that the last page was in.
    at: usize,
}

impl<'a> Places<'a> {
    fn new(key: &'a SpaceKey, anchors: &'a HashMap<ProcessKey, Vec<Anchor>>) -> Self {
        let of_process = key.process().and_then(|process| anchors.get(&process));
        let anchors = of_process.map(Vec::as_slice).unwrap_or_default();
        Self { key, anchors, at: 0 }
    }

    /// Mapping name and offset of the page `number`; numbers ascend. `until` is put back when the mapping changes.
    fn find(&mut self, number: u64, until: &mut i64) -> Option<(&'a Arc<str>, i64)> {
        let place = number << UNIT_SHIFT;
        match self.key {
            SpaceKey::File(file) | SpaceKey::Copies(_, file) => Some((&file.name, place.cast_signed())),
            SpaceKey::Anon(_) => {
                while self
                    .anchors
                    .get(self.at)
                    .is_some_and(|anchor| anchor.end <= place)
                {
                    self.at += 1;
                    *until = i64::MIN;
                }
                let anchor = self.anchors.get(self.at).filter(|anchor| anchor.start <= place)?;
                let offset = place.cast_signed() - anchor.base.cast_signed();
                (offset >= 0).then_some((&anchor.name, offset))
            }
        }
    }
}

/// Stretches of tracked pages that lie close together.
fn stretches(keyed: &KeyedSpace, anchors: &HashMap<ProcessKey, Vec<Anchor>>, extents: &mut Vec<Extent>) {
    let mut places = Places::new(&keyed.key, anchors);
    let mut until = 0;
    let mut open: Option<Extent> = None;
    for (number, page) in keyed.space.pages() {
        let Some((name, offset_bytes)) = places.find(number, &mut until) else {
            continue;
        };
        let (class, kind) = (page.marks.class(), kind_of_class(page.marks.class()));
        let size_bytes = i64::from(size_of_class(class).bytes());
        if let Some(extent) = &mut open {
            let end = extent.offset_bytes + extent.size_bytes;
            let close = (end - STRETCH_GAP_BYTES..=end + STRETCH_GAP_BYTES).contains(&offset_bytes);
            if close
                && extent.kind == kind
                && Arc::ptr_eq(&extent.mapping, name)
                && offset_bytes >= extent.offset_bytes
            {
                extent.size_bytes = extent
                    .size_bytes
                    .max(offset_bytes + size_bytes - extent.offset_bytes);
                extent.resident_bytes += size_bytes;
                continue;
            }
        }
        extents.extend(open.replace(Extent {
            kind,
            mapping: Arc::clone(name),
            offset_bytes,
            size_bytes,
            resident_bytes: size_bytes,
        }));
    }
    extents.extend(open);
}

/// The whole of a mapping, for back ends that do not see every page of it.
fn extent_of(mapping: &PageMapping, anchors: &[Anchor]) -> Option<Extent> {
    let size_bytes = (mapping.end - mapping.start).cast_signed();
    let (name, offset_bytes) = if mapping.inode != 0 {
        (Arc::clone(&mapping.name), mapping.offset_bytes.cast_signed())
    } else {
        let anchor = anchors.iter().find(|anchor| anchor.start == mapping.start)?;
        (Arc::clone(&anchor.name), 0)
    };
    Some(Extent {
        kind: mapping.kind,
        mapping: name,
        offset_bytes,
        size_bytes,
        resident_bytes: size_bytes,
    })
}

/// The memory of a process that belongs to no file, by address. Unnamed memory is called `anon-1`, `anon-2` and so on,
/// from the largest size class (power of two) to the smallest, by address within a class.
fn anchors_of(process: &Process) -> Vec<Anchor> {
    let own = process.mappings.iter().filter(|mapping| mapping.inode == 0);
    let mut unnamed: Vec<&PageMapping> = own.clone().filter(|mapping| mapping.name.is_empty()).collect();
    unnamed.sort_by_key(|mapping| {
        (
            Reverse((mapping.end - mapping.start).checked_ilog2()),
            mapping.start,
        )
    });
    let number_of: HashMap<u64, usize> = unnamed
        .iter()
        .zip(1..)
        .map(|(mapping, number)| (mapping.start, number))
        .collect();
    own.map(|mapping| Anchor {
        start: mapping.start,
        end: mapping.end,
        base: mapping.start,
        name: match number_of.get(&mapping.start) {
            Some(number) => Arc::from(format!("anon-{number}")),
            None => Arc::clone(&mapping.name),
        },
    })
    .collect()
}
