//! A field kit: batches that an agent sealed for a file, sent as those of an imported host.

use std::path::Path;

use anyhow::{Context as _, Result};
use tierscope_clock::wall_ns;
use tierscope_import::tree::field_kit::{self, FieldKit};
use tierscope_wire::{Address, readdress};

use super::deliver::Delivery;

/// Opens a kit; `None` for anything else.
pub(crate) fn open_kit(path: &Path) -> Result<Option<FieldKit>> {
    // Cheaper than reading a whole archive that is none.
    let is_archive = path.is_file() && path.extension().is_some_and(|extension| extension == "zst");
    if !is_archive {
        return Ok(None);
    }
    Ok(field_kit::open(path)?)
}

/// Sends the batches of a kit as those of `hostname`, with their times shifted by `shift_ns`.
pub(crate) fn send(kit: &FieldKit, delivery: &mut Delivery<'_>, hostname: &str, shift_ns: i64) -> Result<()> {
    let address = Address {
        host_id: delivery.host_id().to_owned(),
        hostname: hostname.to_owned(),
        stream_id: delivery.stream_id(),
        shift_ns,
        sealed_wall_ns: wall_ns(),
    };
    for (number, body) in kit.batches.iter().enumerate() {
        let body = readdress(body, &address).with_context(|| format!("batch {number} of the kit"))?;
        delivery.send_sealed(&body)?;
    }
    Ok(())
}

/// What a kit says that it lacks, in words.
pub(crate) fn notes(kit: &FieldKit) -> Vec<String> {
    let missing = kit.manifest.missing.iter();
    missing
        .map(|missing| format!("the kit has no {}: {}", missing.what, missing.reason))
        .collect()
}
