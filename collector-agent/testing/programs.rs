//! Programs that tests start from a place of their own.
//!
//! Tests of several crates include this file, because a crate of its own would be one more to publish and to order.

use std::path::Path;
use std::process::Command;

/// Copies a program that is to be started. Another process does it: a copy that this one held open for writing would be
/// passed on to whatever a test beside it starts meanwhile, and Linux runs no file that anybody has open for writing
/// (`ETXTBSY`, execve(2)).
pub(crate) fn copy_program(from: &str, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status();
    assert!(
        copied.is_ok_and(|status| status.success()),
        "{from} could not be copied"
    );
}
