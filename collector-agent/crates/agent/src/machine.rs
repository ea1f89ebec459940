//! Which machine this is, as far as a copied disk can tell.

use std::fs;

use sha2::{Digest, Sha256};

/// A hash that changes when the disk is put into another machine or the machine id is made anew. It stays on the host.
pub(crate) fn identity() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let machine_id = read("/etc/machine-id");
    // For root only; an agent that changes its user starts a new stream, which does no harm.
    let product = read("/sys/class/dmi/id/product_uuid");
    let digest = Sha256::digest(format!(
        "tierscope stream\n{}\n{}",
        machine_id.trim(),
        product.trim()
    ));
    let mut short = [0_u8; 16];
    short.copy_from_slice(&digest[..16]);
    format!("{:032x}", u128::from_be_bytes(short))
}

/// The host's name, for display.
pub(crate) fn hostname() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() {
        "unnamed-host".to_owned()
    } else {
        name.to_owned()
    }
}
