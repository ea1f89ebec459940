//! Heat and gap rows as blocks of columns.

use tierscope_sample::heat::{
    Backend, GapRow, Granularity, HeatRow, OVERLAP_LAGS, PageKind, Samples, WINDOWS,
};

use crate::columns::{check_length, push_i64s, read_optional_rows, read_rows};
use crate::strings::{StringTable, Texts};
use crate::{WireError, proto};

/// Lags of the hot-set overlap.
const LAGS: usize = OVERLAP_LAGS.len();
/// Windows of active bytes and distinct pages.
const SPANS: usize = WINDOWS.len();

pub(crate) fn kind_to(kind: PageKind) -> i32 {
    (match kind {
        PageKind::Anon => proto::PageKind::Anon,
        PageKind::File => proto::PageKind::File,
        PageKind::Tmpfs => proto::PageKind::Tmpfs,
    }) as i32
}

pub(crate) fn kind_from(value: i32) -> Result<PageKind, WireError> {
    match proto::PageKind::try_from(value) {
        Ok(proto::PageKind::Anon) => Ok(PageKind::Anon),
        Ok(proto::PageKind::File) => Ok(PageKind::File),
        Ok(proto::PageKind::Tmpfs) => Ok(PageKind::Tmpfs),
        _ => Err(WireError::Invalid(format!("unknown page kind {value}"))),
    }
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

pub(crate) fn backend_from(value: i32) -> Result<Backend, WireError> {
    match proto::HeatBackend::try_from(value) {
        Ok(proto::HeatBackend::Pebs) => Ok(Backend::Pebs),
        Ok(proto::HeatBackend::Ibs) => Ok(Backend::Ibs),
        Ok(proto::HeatBackend::Spe) => Ok(Backend::Spe),
        Ok(proto::HeatBackend::AbitWalk) => Ok(Backend::AbitWalk),
        Ok(proto::HeatBackend::IdlePage) => Ok(Backend::IdlePage),
        Ok(proto::HeatBackend::DamonPages) => Ok(Backend::DamonPages),
        Ok(proto::HeatBackend::DamonRegions) => Ok(Backend::DamonRegions),
        Ok(proto::HeatBackend::Referenced) => Ok(Backend::Referenced),
        Ok(proto::HeatBackend::Trace) => Ok(Backend::Trace),
        _ => Err(WireError::Invalid(format!("unknown heat backend {value}"))),
    }
}

pub(crate) fn granularity_to(granularity: Granularity) -> i32 {
    (match granularity {
        Granularity::Page => proto::Granularity::Page,
        Granularity::Region => proto::Granularity::Region,
        Granularity::Vma => proto::Granularity::Vma,
    }) as i32
}

pub(crate) fn granularity_from(value: i32) -> Result<Granularity, WireError> {
    match proto::Granularity::try_from(value) {
        Ok(proto::Granularity::Page) => Ok(Granularity::Page),
        Ok(proto::Granularity::Region) => Ok(Granularity::Region),
        Ok(proto::Granularity::Vma) => Ok(Granularity::Vma),
        _ => Err(WireError::Invalid(format!("unknown granularity {value}"))),
    }
}

/// Whether two rows share what a block states once, and have the same optional columns.
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
        && a.hot_overlap_bytes.is_some() == b.hot_overlap_bytes.is_some()
        && a.bits_per_interval == b.bits_per_interval
        && a.sampled_pages.is_some() == b.sampled_pages.is_some()
        && a.written_bytes.is_some() == b.written_bytes.is_some()
        && a.subpage_active_bytes.is_some() == b.subpage_active_bytes.is_some()
}

/// Writes rows in as few blocks as their common properties allow; rows of a block keep their order.
pub(crate) fn encode(rows: &[HeatRow], strings: &mut StringTable) -> Vec<proto::HeatBlock> {
    let mut blocks: Vec<(&HeatRow, proto::HeatBlock)> = Vec::new();
    for row in rows {
        let index = blocks
            .iter()
            .position(|(first, _)| same_block(first, row))
            .unwrap_or_else(|| {
                blocks.push((row, empty_block(row)));
                blocks.len() - 1
            });
        push_row(&mut blocks[index].1, row, strings);
    }
    blocks.into_iter().map(|(_, block)| block).collect()
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
        (&mut block.written_bytes, &row.written_bytes),
    ] {
        push_i64s(column, values.as_ref().map_or(&[], |values| values.as_slice()));
    }
    for (intersection, union) in row.hot_overlap_bytes.iter().flatten() {
        push_i64s(&mut block.hot_intersection_bytes, &[*intersection]);
        push_i64s(&mut block.hot_union_bytes, &[*union]);
    }
    block
        .sampled_pages
        .extend(row.sampled_pages.map(i64::cast_unsigned));
    block.subpage_active_bytes.extend(row.subpage_active_bytes);
}

/// The columns of a block that are not plain repeated fields.
struct WideColumns {
    age: Vec<[i64; 9]>,
    never: Vec<[i64; 9]>,
    active_count: Vec<[i64; 11]>,
    active_lo: Vec<[i64; SPANS]>,
    active_hi: Vec<[i64; SPANS]>,
    distinct: Option<Vec<[i64; SPANS]>>,
    f1: Option<Vec<[i64; SPANS]>>,
    f2: Option<Vec<[i64; SPANS]>>,
    intersection: Option<Vec<[i64; LAGS]>>,
    union: Option<Vec<[i64; LAGS]>>,
    written: Option<Vec<[i64; SPANS]>>,
}

impl WideColumns {
    fn read(block: &proto::HeatBlock) -> Result<Self, WireError> {
        let n = block.end_wall_ns.len();
        Ok(Self {
            age: read_rows("age_bytes", &block.age_bytes, n)?,
            never: read_rows("never_bytes", &block.never_bytes, n)?,
            active_count: read_rows("active_count_bytes", &block.active_count_bytes, n)?,
            active_lo: read_rows("active_lo_bytes", &block.active_lo_bytes, n)?,
            active_hi: read_rows("active_hi_bytes", &block.active_hi_bytes, n)?,
            distinct: read_optional_rows("distinct_pages", &block.distinct_pages, n)?,
            f1: read_optional_rows("f1_pages", &block.f1_pages, n)?,
            f2: read_optional_rows("f2_pages", &block.f2_pages, n)?,
            intersection: read_optional_rows("hot_intersection_bytes", &block.hot_intersection_bytes, n)?,
            union: read_optional_rows("hot_union_bytes", &block.hot_union_bytes, n)?,
            written: read_optional_rows("written_bytes", &block.written_bytes, n)?,
        })
    }

    fn overlap(&self, row: usize) -> Option<[(i64, i64); LAGS]> {
        let (intersection, union) = (self.intersection.as_ref()?, self.union.as_ref()?);
        Some(std::array::from_fn(|lag| {
            (intersection[row][lag], union[row][lag])
        }))
    }
}

/// Reads a block.
pub(crate) fn decode(block: &proto::HeatBlock, texts: &Texts) -> Result<Vec<HeatRow>, WireError> {
    check_narrow_columns(block)?;
    let wide = WideColumns::read(block)?;
    let (backend, granularity) = (backend_from(block.backend)?, granularity_from(block.granularity)?);
    let mut rows = Vec::with_capacity(block.end_wall_ns.len());
    for i in 0..block.end_wall_ns.len() {
        let samples = || Samples {
            loads: block.load_samples[i],
            stores: block.store_samples[i],
        };
        rows.push(HeatRow {
            backend,
            granularity,
            interval_ns: block.interval_ns,
            end_wall_ns: block.end_wall_ns[i],
            end_boottime_ns: block.end_boottime_ns.get(i).copied(),
            service: texts.get(block.service_ref[i])?,
            group: texts.get(block.group_ref[i])?,
            kind: kind_from(block.kind[i])?,
            page_size_bytes: block.page_size_bytes[i],
            tier: Some(texts.get(block.tier_ref[i])?).filter(|tier| !tier.is_empty()),
            validity: block.validity[i],
            resident_bytes: block.resident_bytes[i],
            age_bytes: wide.age[i],
            never_bytes: wide.never[i],
            active_count_bytes: wide.active_count[i],
            active_lo_bytes: wide.active_lo[i],
            active_hi_bytes: wide.active_hi[i],
            samples: block.samples_known.then(samples),
            period_events: Some(block.period_events).filter(|period| *period > 0.0),
            duty_ratio: Some(block.duty_ratio).filter(|duty| *duty > 0.0),
            distinct_pages: wide.distinct.as_ref().map(|column| column[i]),
            f1_pages: wide.f1.as_ref().map(|column| column[i]),
            f2_pages: wide.f2.as_ref().map(|column| column[i]),
            hot_overlap_bytes: wide.overlap(i),
            bits_per_interval: block.bits_per_interval.max(1) as u8,
            sampled_pages: block.sampled_pages.get(i).map(|pages| pages.cast_signed()),
            written_bytes: wide.written.as_ref().map(|column| column[i]),
            subpage_active_bytes: block.subpage_active_bytes.get(i).copied(),
        });
    }
    Ok(rows)
}

fn check_narrow_columns(block: &proto::HeatBlock) -> Result<(), WireError> {
    let n = block.end_wall_ns.len();
    let boottimes = block.end_boottime_ns.len();
    check_length("end_boottime_ns", boottimes, if boottimes == 0 { 0 } else { n })?;
    check_length("service_ref", block.service_ref.len(), n)?;
    check_length("group_ref", block.group_ref.len(), n)?;
    check_length("kind", block.kind.len(), n)?;
    check_length("page_size_bytes", block.page_size_bytes.len(), n)?;
    check_length("tier_ref", block.tier_ref.len(), n)?;
    check_length("validity", block.validity.len(), n)?;
    check_length("resident_bytes", block.resident_bytes.len(), n)?;
    let sampled = if block.samples_known { n } else { 0 };
    let optional = |length: usize| if length == 0 { 0 } else { n };
    check_length(
        "sampled_pages",
        block.sampled_pages.len(),
        optional(block.sampled_pages.len()),
    )?;
    check_length(
        "subpage_active_bytes",
        block.subpage_active_bytes.len(),
        optional(block.subpage_active_bytes.len()),
    )?;
    check_length("load_samples", block.load_samples.len(), sampled)?;
    check_length("store_samples", block.store_samples.len(), sampled)
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

/// Reads a gap block.
pub(crate) fn decode_gaps(block: &proto::GapBlock, texts: &Texts) -> Result<Vec<GapRow>, WireError> {
    let n = block.service_ref.len();
    check_length("group_ref", block.group_ref.len(), n)?;
    check_length("kind", block.kind.len(), n)?;
    let closed = read_rows("closed_bytes", &block.closed_bytes, n)?;
    let freed = read_rows("freed_bytes", &block.freed_bytes, n)?;
    let open = read_rows("open_bytes", &block.open_bytes, n)?;
    let censored = read_rows("censored_bytes", &block.censored_bytes, n)?;
    let mut rows = Vec::with_capacity(n);
    for i in 0..n {
        rows.push(GapRow {
            backend: backend_from(block.backend)?,
            granularity: granularity_from(block.granularity)?,
            interval_ns: block.interval_ns,
            end_wall_ns: block.end_wall_ns,
            intervals: block.intervals,
            service: texts.get(block.service_ref[i])?,
            group: texts.get(block.group_ref[i])?,
            kind: kind_from(block.kind[i])?,
            closed_bytes: closed[i],
            freed_bytes: freed[i],
            open_bytes: open[i],
            censored_bytes: censored[i],
        });
    }
    Ok(rows)
}
