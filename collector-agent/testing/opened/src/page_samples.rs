//! Samples of pages.

use tierscope_sample::page_sample::{PageSample, SampleRow, SampledPage};
use tierscope_wire::proto;

use crate::columns::{check_length, read_i64s};
use crate::enums::{backend_from, granularity_from, kind_from};
use crate::error::OpenError;
use crate::texts::Texts;

pub(crate) fn decode(block: &proto::PageSampleBlock, texts: &Texts) -> Result<PageSample, OpenError> {
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

fn decode_pages(block: &proto::PageSampleBlock) -> Result<Vec<SampledPage>, OpenError> {
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

fn decode_rows(block: &proto::PageSampleBlock) -> Result<Vec<SampleRow>, OpenError> {
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
        Err(OpenError::Invalid(
            "a row of a page sample names an interval or page that it does not list".to_owned(),
        ))
    }
}
