//! `clear_refs`: the one way from outside to clear the accessed bits of a process.

use std::fs::OpenOptions;
use std::io::Write as _;

use tierscope_sample::vma_fold::ProcessKey;

use crate::process::{ProcessFiles, Unmeasured};

/// Clears the accessed bits of all pages of a process, and their referenced marks for reclaim.
///
/// The kernel does not drop the translations that processors cache: a page whose translation stays cached until the
/// next reading shows no access. Cached translations number some thousands and go with context switches.
pub(crate) fn clear_accessed_bits(files: &mut ProcessFiles, process: ProcessKey) -> Result<(), Unmeasured> {
    let mut file = files.open(process, "clear_refs", OpenOptions::new().write(true))?;
    file.write_all(b"1")
        .map_err(|error| files.unmeasured_io(process, &error))
}
