//! Page samples as blocks of columns.

use tierscope_sample::page_sample::{PageSample, SampleRow, SampledPage};

use crate::columns::{check_length, read_i64s};
use crate::heat::{backend_from, backend_to, granularity_from, granularity_to, kind_from, kind_to};
use crate::strings::{StringTable, Texts};
use crate::{WireError, proto};

pub(crate) fn encode(sample: &PageSample, strings: &mut StringTable) -> proto::PageSampleBlock {
    let (pages, rows) = (&sample.pages, &sample.rows);
    proto::PageSampleBlock {
        backend: backend_to(sample.backend),
        granularity: granularity_to(sample.granularity),
        interval_ns: sample.interval_ns,
        service_ref: strings.refer(&sample.service),
        group_ref: strings.refer(&sample.group),
        sampled_ratio: sample.sampled_ratio,
        counts: sample.counts,
        period_events: sample.period_events.unwrap_or(0.0),
        duty_ratio: sample.duty_ratio.unwrap_or(0.0),
        end_wall_ns: sample.intervals.iter().map(|(end, _)| *end).collect(),
        observed: sample.intervals.iter().map(|(_, observed)| *observed).collect(),
        page_ids: pages.iter().flat_map(|page| page.id.to_le_bytes()).collect(),
        kind: pages.iter().map(|page| kind_to(page.kind)).collect(),
        page_size_bytes: pages.iter().map(|page| page.page_size_bytes).collect(),
        first_interval: pages.iter().map(|page| page.first_interval).collect(),
        last_interval: pages.iter().map(|page| page.last_interval).collect(),
        row_interval: rows.iter().map(|row| row.interval).collect(),
        row_page: rows.iter().map(|row| row.page).collect(),
        row_loads: rows.iter().map(|row| row.loads).collect(),
        row_stores: rows.iter().map(|row| row.stores).collect(),
    }
}

pub(crate) fn decode(block: &proto::PageSampleBlock, texts: &Texts) -> Result<PageSample, WireError> {
    check_length("observed", block.observed.len(), block.end_wall_ns.len())?;
    let intervals = block.end_wall_ns.iter().copied();
    Ok(PageSample {
        backend: backend_from(block.backend)?,
        granularity: granularity_from(block.granularity)?,
        interval_ns: block.interval_ns,
        service: texts.get(block.service_ref)?,
        group: texts.get(block.group_ref)?,
        sampled_ratio: block.sampled_ratio,
        counts: block.counts,
        period_events: Some(block.period_events).filter(|period| *period > 0.0),
        duty_ratio: Some(block.duty_ratio).filter(|duty| *duty > 0.0),
        intervals: intervals.zip(block.observed.iter().copied()).collect(),
        pages: decode_pages(block)?,
        rows: decode_rows(block)?,
    })
}

fn decode_pages(block: &proto::PageSampleBlock) -> Result<Vec<SampledPage>, WireError> {
    let count = block.kind.len();
    let ids = read_i64s("page_ids", &block.page_ids, count)?;
    check_length("page_size_bytes", block.page_size_bytes.len(), count)?;
    check_length("first_interval", block.first_interval.len(), count)?;
    check_length("last_interval", block.last_interval.len(), count)?;
    let page = |index: usize| {
        Ok(SampledPage {
            id: ids[index].cast_unsigned(),
            kind: kind_from(block.kind[index])?,
            page_size_bytes: block.page_size_bytes[index],
            first_interval: block.first_interval[index],
            last_interval: block.last_interval[index],
        })
    };
    (0..count).map(page).collect()
}

fn decode_rows(block: &proto::PageSampleBlock) -> Result<Vec<SampleRow>, WireError> {
    let count = block.row_interval.len();
    check_length("row_page", block.row_page.len(), count)?;
    check_length("row_loads", block.row_loads.len(), count)?;
    check_length("row_stores", block.row_stores.len(), count)?;
    let row = |index: usize| SampleRow {
        interval: block.row_interval[index],
        page: block.row_page[index],
        loads: block.row_loads[index],
        stores: block.row_stores[index],
    };
    let rows: Vec<SampleRow> = (0..count).map(row).collect();
    let (intervals, pages) = (block.end_wall_ns.len(), block.kind.len());
    let is_inside = |row: &SampleRow| (row.interval as usize) < intervals && (row.page as usize) < pages;
    if rows.iter().all(is_inside) {
        Ok(rows)
    } else {
        Err(WireError::Invalid(
            "a row of a page sample names an interval or page that it does not list".to_owned(),
        ))
    }
}
