//! Page samples as blocks of columns.

use tierscope_sample::page_sample::PageSample;

use crate::heat::{backend_to, granularity_to, kind_to};
use crate::proto;
use crate::strings::StringTable;

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
