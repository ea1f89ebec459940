//! Heat and gap rows.

use tierscope_sample::heat::{GapRow, HeatRow, OVERLAP_LAGS, Samples, WINDOWS};
use tierscope_wire::proto;

use crate::_generated::heat_columns;
use crate::columns::{check_length, read_optional_rows, read_rows};
use crate::enums::{backend_from, granularity_from, kind_from};
use crate::error::OpenError;
use crate::texts::Texts;

/// Lags of the hot-set overlap.
const LAGS: usize = OVERLAP_LAGS.len();
/// Windows of active bytes and distinct pages.
const SPANS: usize = WINDOWS.len();

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
}

impl WideColumns {
    fn read(block: &proto::HeatBlock) -> Result<Self, OpenError> {
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
        })
    }

    fn overlap(&self, row: usize) -> Option<[(i64, i64); LAGS]> {
        let (intersection, union) = (self.intersection.as_ref()?, self.union.as_ref()?);
        Some(std::array::from_fn(|lag| {
            (intersection[row][lag], union[row][lag])
        }))
    }
}

pub(crate) fn decode(block: &proto::HeatBlock, texts: &Texts) -> Result<Vec<HeatRow>, OpenError> {
    check_narrow_columns(block)?;
    let wide = WideColumns::read(block)?;
    let beside = heat_columns::read(block, block.end_wall_ns.len())?;
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
            beside: beside[i],
        });
    }
    Ok(rows)
}

fn check_narrow_columns(block: &proto::HeatBlock) -> Result<(), OpenError> {
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
    check_length("load_samples", block.load_samples.len(), sampled)?;
    check_length("store_samples", block.store_samples.len(), sampled)
}

pub(crate) fn decode_gaps(block: &proto::GapBlock, texts: &Texts) -> Result<Vec<GapRow>, OpenError> {
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
