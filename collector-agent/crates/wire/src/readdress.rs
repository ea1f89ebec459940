//! Batches that were kept in a file instead of being sent: what they say in words, and sending them later.

use std::collections::BTreeSet;

use prost::Message as _;

use crate::batch::deflate;
use crate::{WireError, inflate, proto};

/// To whom a kept batch belongs when it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Given at enrolment.
    pub host_id: String,
    /// Name under which the host is shown.
    pub hostname: String,
    /// Of the stream that the batches make together; each keeps its number.
    pub stream_id: [u8; 16],
    /// Added to all times, nanoseconds.
    pub shift_ns: i64,
    /// `CLOCK_REALTIME` of the sending.
    pub sealed_wall_ns: i64,
}

/// Every text in a compressed batch, each once: names in its table of strings, names of counters, and the texts of its
/// inventory that name something of the owner's.
///
/// # Errors
/// Where the bytes are no batch.
pub fn texts(body: &[u8]) -> Result<BTreeSet<String>, WireError> {
    let batch = decode(body)?;
    let layouts = batch.layouts.into_iter().flat_map(|layout| layout.keys);
    let mut texts: BTreeSet<String> = batch.strings.into_iter().chain(layouts).collect();
    if let Some(inventory) = batch.inventory {
        texts.insert(inventory.hostname);
        for service in inventory.services {
            texts.extend([service.namespace, service.name]);
        }
    }
    texts.remove("");
    Ok(texts)
}

/// The same batch as an imported one of another host, at other times.
///
/// # Errors
/// Where the bytes are no batch.
pub fn readdress(body: &[u8], address: &Address) -> Result<Vec<u8>, WireError> {
    let mut batch = decode(body)?;
    address.host_id.clone_into(&mut batch.host_id);
    batch.stream_id = address.stream_id.to_vec();
    batch.set_origin(proto::Origin::Import);
    batch.sealed_wall_ns = address.sealed_wall_ns;
    // The recorded kernel's clock does not run here.
    batch.sealed_boottime_ns = 0;
    if let Some(inventory) = &mut batch.inventory {
        address.hostname.clone_into(&mut inventory.hostname);
    }
    shift(&mut batch, address.shift_ns);
    deflate(&batch.encode_to_vec()).map_err(WireError::Deflate)
}

fn shift(batch: &mut proto::Batch, by_ns: i64) {
    let rows = batch.counters.iter_mut().map(|block| &mut block.end_wall_ns);
    let rows = rows.chain(batch.heat.iter_mut().map(|block| &mut block.end_wall_ns));
    let rows = rows.chain(batch.page_samples.iter_mut().map(|block| &mut block.end_wall_ns));
    rows.flatten()
        .for_each(|time_ns| *time_ns = time_ns.saturating_add(by_ns));
    let single = batch.gaps.iter_mut().map(|block| &mut block.end_wall_ns);
    let single = single.chain(batch.tile_epochs.iter_mut().map(|epoch| &mut epoch.start_wall_ns));
    let single = single.chain(
        batch
            .tile_columns
            .iter_mut()
            .map(|column| &mut column.end_wall_ns),
    );
    let single = single.chain(batch.self_.iter_mut().map(|report| &mut report.end_wall_ns));
    single.for_each(|time_ns| *time_ns = time_ns.saturating_add(by_ns));
}

fn decode(body: &[u8]) -> Result<proto::Batch, WireError> {
    Ok(proto::Batch::decode(inflate(body)?.as_slice())?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const SHIFT_NS: i64 = 1_000_000_007;

    fn contract() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../contract")
    }

    /// The golden batches of the contract.
    fn examples() -> Vec<proto::Batch> {
        let entries = std::fs::read_dir(contract().join("examples/batch")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let binary = paths.filter(|path| path.extension().is_some_and(|extension| extension == "pb"));
        binary
            .map(|path| proto::Batch::decode(std::fs::read(path).unwrap().as_slice()).unwrap())
            .collect()
    }

    fn address(shift_ns: i64) -> Address {
        Address {
            host_id: "h-import".to_owned(),
            hostname: "lab-7".to_owned(),
            stream_id: [7; 16],
            shift_ns,
            sealed_wall_ns: 99,
        }
    }

    fn moved(batch: &proto::Batch, shift_ns: i64) -> proto::Batch {
        let body = deflate(&batch.encode_to_vec()).unwrap();
        decode(&readdress(&body, &address(shift_ns)).unwrap()).unwrap()
    }

    /// Every time that is shifted.
    fn times(batch: &proto::Batch) -> Vec<i64> {
        let mut times = Vec::new();
        times.extend(batch.counters.iter().flat_map(|block| &block.end_wall_ns));
        times.extend(batch.heat.iter().flat_map(|block| &block.end_wall_ns));
        times.extend(batch.page_samples.iter().flat_map(|block| &block.end_wall_ns));
        times.extend(batch.gaps.iter().map(|block| block.end_wall_ns));
        times.extend(batch.tile_epochs.iter().map(|epoch| epoch.start_wall_ns));
        times.extend(batch.tile_columns.iter().map(|column| column.end_wall_ns));
        times.extend(batch.self_.iter().map(|report| report.end_wall_ns));
        times
    }

    #[test]
    fn a_batch_belongs_to_another_host_at_another_time_and_is_the_same_otherwise() {
        let mut kinds = [false; 6];
        for batch in examples() {
            let there = moved(&batch, SHIFT_NS);
            let shifted: Vec<i64> = times(&batch).iter().map(|time_ns| time_ns + SHIFT_NS).collect();
            assert_eq!(times(&there), shifted);
            assert_eq!((there.host_id.as_str(), there.seq), ("h-import", batch.seq));
            assert_eq!(there.origin(), proto::Origin::Import);
            assert_eq!(
                there.inventory.as_ref().map(|it| it.hostname.as_str()),
                batch.inventory.as_ref().map(|_| "lab-7")
            );
            let mut back = moved(&there, -SHIFT_NS);
            back.host_id.clone_from(&batch.host_id);
            back.stream_id.clone_from(&batch.stream_id);
            back.origin = batch.origin;
            back.sealed_wall_ns = batch.sealed_wall_ns;
            back.sealed_boottime_ns = batch.sealed_boottime_ns;
            if let (Some(back), Some(inventory)) = (&mut back.inventory, &batch.inventory) {
                back.hostname.clone_from(&inventory.hostname);
            }
            assert_eq!(back, batch);
            let has = [
                !batch.counters.is_empty(),
                !batch.heat.is_empty(),
                !batch.gaps.is_empty(),
                !batch.tile_columns.is_empty(),
                !batch.page_samples.is_empty(),
                batch.self_.is_some(),
            ];
            kinds.iter_mut().zip(has).for_each(|(kind, has)| *kind |= has);
        }
        assert_eq!(kinds, [true; 6], "the examples have every kind");
    }

    #[test]
    fn every_time_of_the_contract_is_known() {
        let mut found = Vec::new();
        for file in ["batch", "counters", "heat", "inventory", "tiles", "traces"] {
            let text =
                std::fs::read_to_string(contract().join(format!("proto/tierscope/v1/{file}.proto"))).unwrap();
            let fields = text
                .lines()
                .filter_map(|line| line.split('=').next()?.split_whitespace().next_back());
            let fields = fields.filter(|field| field.ends_with("wall_ns"));
            found.extend(fields.map(|field| format!("{file}.{field}")));
        }
        let known = [
            "batch.sealed_wall_ns",
            "batch.end_wall_ns",
            "counters.end_wall_ns",
            "heat.end_wall_ns",
            "heat.end_wall_ns",
            // When a measurement of the hardware was made, which is no time of the recording.
            "inventory.measured_wall_ns",
            "tiles.start_wall_ns",
            "tiles.end_wall_ns",
            "traces.end_wall_ns",
        ];
        assert_eq!(found, known);
    }

    #[test]
    fn texts_are_all_names_and_no_others() {
        for batch in examples() {
            let found = texts(&deflate(&batch.encode_to_vec()).unwrap()).unwrap();
            assert!(
                batch
                    .strings
                    .iter()
                    .filter(|text| !text.is_empty())
                    .all(|text| found.contains(text))
            );
            let keys = batch.layouts.iter().flat_map(|layout| &layout.keys);
            assert!(keys.clone().all(|key| found.contains(key)));
            assert!(!found.contains(""));
        }
        assert!(texts(b"no batch").is_err());
    }
}
