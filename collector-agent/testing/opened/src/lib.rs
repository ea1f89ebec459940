//! Batches read again, for tests and for the examples of the contract: the inverse of `tierscope_wire::Sealer`. The product
//! itself writes batches and never reads one.

mod _generated {
    pub(crate) mod heat_columns;
}
mod columns;
mod counters;
mod enums;
mod error;
mod heat;
mod inventory;
mod page_samples;
mod texts;
mod tiles;

use std::sync::Arc;

use prost::Message as _;
use tierscope_wire::{
    CollectorCost, Content, Header, Layout, Origin, SCHEMA_VERSION, SelfReport, inflate, proto,
};

pub use error::OpenError;
use texts::Texts;

/// A batch that was read again.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// Identity and clocks.
    pub header: Header,
    /// The data; `layouts` holds the layouts that the batch carried.
    pub content: Content,
}

/// Reads a compressed batch. `known` are layouts that earlier batches of the stream carried.
pub fn open(body: &[u8], known: &[Arc<Layout>]) -> Result<Opened, OpenError> {
    open_inflated(&inflate(body)?, known)
}

/// Reads a batch before compression.
pub fn open_inflated(message: &[u8], known: &[Arc<Layout>]) -> Result<Opened, OpenError> {
    let batch = proto::Batch::decode(message)?;
    if batch.schema_version != SCHEMA_VERSION {
        return Err(OpenError::Version(batch.schema_version));
    }
    let header = decode_header(&batch)?;
    let content = decode_content(batch, &header, known)?;
    Ok(Opened { header, content })
}

fn decode_header(batch: &proto::Batch) -> Result<Header, OpenError> {
    let stream_id = batch.stream_id.as_slice().try_into();
    Ok(Header {
        host_id: batch.host_id.clone(),
        stream_id: stream_id.map_err(|_| OpenError::Invalid("stream_id must have 16 bytes".to_owned()))?,
        seq: batch.seq,
        boot_id: batch.boot_id.clone(),
        agent_version: batch.agent_version.clone(),
        origin: match batch.origin() {
            proto::Origin::Live => Origin::Live,
            proto::Origin::Import => Origin::Import,
            proto::Origin::Simulated => Origin::Simulated,
            proto::Origin::Unspecified => {
                return Err(OpenError::Invalid(
                    "the batch does not state its origin".to_owned(),
                ));
            }
        },
        sealed_wall_ns: batch.sealed_wall_ns,
        sealed_boottime_ns: Some(batch.sealed_boottime_ns).filter(|ns| *ns != 0),
    })
}

fn decode_content(batch: proto::Batch, header: &Header, known: &[Arc<Layout>]) -> Result<Content, OpenError> {
    let texts = Texts::new(&batch.strings);
    let mut layouts = Vec::with_capacity(batch.layouts.len());
    for layout in batch.layouts {
        let hash = layout.hash;
        let layout = Layout::new(layout.keys.into_iter().map(String::into_boxed_str).collect());
        if layout.hash()[..] != hash {
            return Err(OpenError::Invalid(format!(
                "the hash of layout {} is wrong",
                layout.hash_hex()
            )));
        }
        layouts.push(Arc::new(layout));
    }
    let readable: Vec<_> = layouts.iter().chain(known).cloned().collect();
    let boot_id = Arc::from(header.boot_id.as_str());
    let mut content = Content {
        layouts,
        ..Content::default()
    };
    for block in &batch.counters {
        content
            .counters
            .extend(counters::decode(block, &readable, &boot_id)?);
    }
    for block in &batch.heat {
        content.heat.extend(heat::decode(block, &texts)?);
    }
    for block in &batch.gaps {
        content.gaps.extend(heat::decode_gaps(block, &texts)?);
    }
    for epoch in &batch.tile_epochs {
        content.tile_epochs.push(tiles::decode_epoch(epoch, &texts)?);
    }
    for block in &batch.page_samples {
        content.page_samples.push(page_samples::decode(block, &texts)?);
    }
    content.tile_columns = batch.tile_columns.into_iter().map(tiles::decode_column).collect();
    content.inventory = batch.inventory.map(inventory::decode);
    content.self_report = batch.self_.map(self_report);
    Ok(content)
}

fn self_report(report: proto::SelfReport) -> SelfReport {
    let cost = |cost: proto::CollectorCost| CollectorCost {
        name: cost.name,
        cpu_ns: cost.cpu_ns,
        runs: cost.runs,
        failures: cost.failures,
        last_error: cost.last_error,
    };
    SelfReport {
        end_wall_ns: report.end_wall_ns,
        window_ns: report.window_ns,
        cpu_ns: report.cpu_ns,
        rss_bytes: report.rss_bytes,
        spool_bytes: report.spool_bytes,
        spool_batches: report.spool_batches,
        dropped_batches: report.dropped_batches,
        sent_bytes: report.sent_bytes,
        counters_dropped: report.counters_dropped,
        services_dropped: report.services_dropped,
        collectors: report.collectors.into_iter().map(cost).collect(),
        budget_state: report.budget_state,
        heat_rung: report.heat_rung,
        budget_reason: report.budget_reason,
        guard_paused_intervals: report.guard_paused_intervals,
        samples_taken: report.samples_taken,
        samples_lost: report.samples_lost,
        throttles: report.throttles,
    }
}
