//! Heat and gap rows as blocks of columns.

use tierscope_sample::heat::{Backend, Beside, GapRow, Granularity, HeatRow, PageKind};

use crate::_generated::heat_columns;
use crate::columns::push_i64s;
use crate::proto;
use crate::strings::StringTable;

pub(crate) fn kind_to(kind: PageKind) -> i32 {
    (match kind {
        PageKind::Anon => proto::PageKind::Anon,
        PageKind::File => proto::PageKind::File,
        PageKind::Tmpfs => proto::PageKind::Tmpfs,
    }) as i32
}

pub(crate) fn backend_to(backend: Backend) -> i32 {
    (match backend {
        Backend::Pebs => proto::HeatBackend::Pebs,
        Backend::Ibs => proto::HeatBackend::Ibs,
        Backend::Spe => proto::HeatBackend::Spe,
        Backend::AbitWalk => proto::HeatBackend::AbitWalk,
        Backend::IdlePage => proto::HeatBackend::IdlePage,
        Backend::DamonPages => proto::HeatBackend::DamonPages,
        Backend::DamonRegions => proto::HeatBackend::DamonRegions,
        Backend::Referenced => proto::HeatBackend::Referenced,
        Backend::Trace => proto::HeatBackend::Trace,
    }) as i32
}

pub(crate) fn granularity_to(granularity: Granularity) -> i32 {
    (match granularity {
        Granularity::Page => proto::Granularity::Page,
        Granularity::Region => proto::Granularity::Region,
        Granularity::Vma => proto::Granularity::Vma,
    }) as i32
}

/// Whether two rows share what a block states once, and have the same columns of those that a block has for all rows.
fn same_block(a: &HeatRow, b: &HeatRow) -> bool {
    a.backend == b.backend
        && a.granularity == b.granularity
        && a.interval_ns == b.interval_ns
        && a.period_events == b.period_events
        && a.duty_ratio == b.duty_ratio
        && a.end_boottime_ns.is_some() == b.end_boottime_ns.is_some()
        && a.samples.is_some() == b.samples.is_some()
        && a.distinct_pages.is_some() == b.distinct_pages.is_some()
        && a.f1_pages.is_some() == b.f1_pages.is_some()
        && a.f2_pages.is_some() == b.f2_pages.is_some()
        && a.bits_per_interval == b.bits_per_interval
}

/// Writes rows in as few blocks as their common properties allow; rows of a block keep their order.
///
/// An interval of a service that falls into two blocks is stored as two, of which readers keep one.
pub(crate) fn encode(rows: &[HeatRow], strings: &mut StringTable) -> Vec<proto::HeatBlock> {
    let mut blocks: Vec<(proto::HeatBlock, Vec<&HeatRow>)> = Vec::new();
    for row in rows {
        let index = blocks
            .iter()
            .position(|(_, rows)| same_block(rows[0], row))
            .unwrap_or_else(|| {
                blocks.push((empty_block(row), Vec::new()));
                blocks.len() - 1
            });
        let (block, rows) = &mut blocks[index];
        push_row(block, row, strings);
        rows.push(row);
    }
    let complete = |(mut block, rows): (proto::HeatBlock, Vec<&HeatRow>)| {
        push_overlaps(&mut block, &rows);
        let beside: Vec<Beside> = rows.iter().map(|row| row.beside).collect();
        heat_columns::push(&mut block, &beside);
        block
    };
    blocks.into_iter().map(complete).collect()
}

/// Adds the overlaps of all rows of a block: (0, 0) is no ratio. Empty where no row has any.
fn push_overlaps(block: &mut proto::HeatBlock, rows: &[&HeatRow]) {
    if rows.iter().all(|row| row.hot_overlap_bytes.is_none()) {
        return;
    }
    for (intersection, union) in rows
        .iter()
        .flat_map(|row| row.hot_overlap_bytes.unwrap_or_default())
    {
        push_i64s(&mut block.hot_intersection_bytes, &[intersection]);
        push_i64s(&mut block.hot_union_bytes, &[union]);
    }
}

fn empty_block(row: &HeatRow) -> proto::HeatBlock {
    proto::HeatBlock {
        backend: backend_to(row.backend),
        granularity: granularity_to(row.granularity),
        interval_ns: row.interval_ns,
        samples_known: row.samples.is_some(),
        period_events: row.period_events.unwrap_or(0.0),
        duty_ratio: row.duty_ratio.unwrap_or(0.0),
        bits_per_interval: u32::from(row.bits_per_interval),
        ..proto::HeatBlock::default()
    }
}

fn push_row(block: &mut proto::HeatBlock, row: &HeatRow, strings: &mut StringTable) {
    block.end_wall_ns.push(row.end_wall_ns);
    block.end_boottime_ns.extend(row.end_boottime_ns);
    block.service_ref.push(strings.refer(&row.service));
    block.group_ref.push(strings.refer(&row.group));
    block.kind.push(kind_to(row.kind));
    block.page_size_bytes.push(row.page_size_bytes);
    block
        .tier_ref
        .push(row.tier.as_ref().map_or(0, |tier| strings.refer(tier)));
    block.validity.push(row.validity);
    block.resident_bytes.push(row.resident_bytes);
    push_i64s(&mut block.age_bytes, &row.age_bytes);
    push_i64s(&mut block.never_bytes, &row.never_bytes);
    push_i64s(&mut block.active_count_bytes, &row.active_count_bytes);
    push_i64s(&mut block.active_lo_bytes, &row.active_lo_bytes);
    push_i64s(&mut block.active_hi_bytes, &row.active_hi_bytes);
    if let Some(samples) = row.samples {
        block.load_samples.push(samples.loads);
        block.store_samples.push(samples.stores);
    }
    for (column, values) in [
        (&mut block.distinct_pages, &row.distinct_pages),
        (&mut block.f1_pages, &row.f1_pages),
        (&mut block.f2_pages, &row.f2_pages),
    ] {
        push_i64s(column, values.as_ref().map_or(&[], |values| values.as_slice()));
    }
}

fn same_gap_block(a: &proto::GapBlock, row: &GapRow) -> bool {
    a.backend == backend_to(row.backend)
        && a.granularity == granularity_to(row.granularity)
        && a.interval_ns == row.interval_ns
        && a.end_wall_ns == row.end_wall_ns
        && a.intervals == row.intervals
}

/// Writes gap rows, one block per (backend, granularity, interval, end, length).
pub(crate) fn encode_gaps(rows: &[GapRow], strings: &mut StringTable) -> Vec<proto::GapBlock> {
    let mut blocks: Vec<proto::GapBlock> = Vec::new();
    for row in rows {
        let index = blocks
            .iter()
            .position(|block| same_gap_block(block, row))
            .unwrap_or_else(|| {
                blocks.push(proto::GapBlock {
                    backend: backend_to(row.backend),
                    granularity: granularity_to(row.granularity),
                    interval_ns: row.interval_ns,
                    end_wall_ns: row.end_wall_ns,
                    intervals: row.intervals,
                    ..proto::GapBlock::default()
                });
                blocks.len() - 1
            });
        let block = &mut blocks[index];
        block.service_ref.push(strings.refer(&row.service));
        block.group_ref.push(strings.refer(&row.group));
        block.kind.push(kind_to(row.kind));
        push_i64s(&mut block.closed_bytes, &row.closed_bytes);
        push_i64s(&mut block.freed_bytes, &row.freed_bytes);
        push_i64s(&mut block.open_bytes, &row.open_bytes);
        push_i64s(&mut block.censored_bytes, &row.censored_bytes);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn row(page_size_bytes: u32, beside: Beside) -> HeatRow {
        HeatRow {
            backend: Backend::Pebs,
            granularity: Granularity::Page,
            interval_ns: 60,
            end_wall_ns: 60,
            end_boottime_ns: None,
            service: Arc::from("host/db"),
            group: Arc::from("db"),
            kind: PageKind::Anon,
            page_size_bytes,
            tier: None,
            validity: 1,
            resident_bytes: 8,
            age_bytes: [0; 9],
            never_bytes: [0; 9],
            active_count_bytes: [0; 11],
            active_lo_bytes: [0; 4],
            active_hi_bytes: [0; 4],
            samples: None,
            period_events: None,
            duty_ratio: None,
            distinct_pages: None,
            f1_pages: None,
            f2_pages: None,
            hot_overlap_bytes: None,
            bits_per_interval: 1,
            beside,
        }
    }

    #[test]
    fn rows_that_lack_a_column_stay_in_the_block_of_those_that_have_it() {
        let huge = Beside {
            subpage_active_bytes: Some(4096),
            written_bytes: Some([0, 1, 2, 3]),
            ..Beside::default()
        };
        let rows = [row(4096, Beside::default()), row(2 << 20, huge)];
        let blocks = encode(&rows, &mut StringTable::new());
        assert_eq!(blocks.len(), 1);
        let block = &blocks[0];
        assert_eq!(block.subpage_active_bytes, [-1, 4096]);
        let mut written = Vec::new();
        push_i64s(&mut written, &[-1, -1, -1, -1, 0, 1, 2, 3]);
        assert_eq!(block.written_bytes, written);
        assert!(block.sampled_pages.is_empty(), "no row has it");
    }

    #[test]
    fn rows_of_a_new_group_stay_in_the_block_of_those_that_know_their_overlap() {
        let known = HeatRow {
            hot_overlap_bytes: Some([(1, 2), (3, 4), (0, 0)]),
            ..row(4096, Beside::default())
        };
        let rows = [row(4096, Beside::default()), known];
        let blocks = encode(&rows, &mut StringTable::new());
        assert_eq!(blocks.len(), 1);
        let mut unions = Vec::new();
        push_i64s(&mut unions, &[0, 0, 0, 2, 4, 0]);
        assert_eq!(blocks[0].hot_union_bytes, unions);
    }
}
