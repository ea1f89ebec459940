//! `clear_refs`: the one way from outside to clear the accessed bits of a process.
//!
//! The kernel clears the bits in the page tables and leaves the translations that processors cache. A page whose
//! translation stays cached is used without its bit being set, so the hottest pages of all may look idle. Clearing the
//! soft-dirty marks drops the cached translations; where the kernel keeps no such marks, that is all that it does, and
//! it costs some 0.6 ms per GiB. Where it keeps them, every page would be write-protected, so it is left out.

use std::fs::OpenOptions;
use std::io::Write as _;

use tierscope_rootfs::Root;
use tierscope_sample::vma_fold::ProcessKey;

use crate::maps::MapsLine;
use crate::process::{ProcessFiles, Unmeasured};
use crate::soft_dirty::{SoftDirtyError, probe_soft_dirty};

const ACCESSED: &[u8] = b"1";
const SOFT_DIRTY: &[u8] = b"4";
/// Memory that a virtual machine monitor shares with KVM.
const KVM_PREFIX: &str = "anon_inode:kvm-";

/// Clears accessed bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clearer {
    drops_translations: bool,
}

impl Clearer {
    /// Finds out by doing whether cached translations can be dropped without harm.
    pub(crate) fn new(root: &Root) -> Self {
        let drops_translations =
            root.is_live() && probe_soft_dirty(root) == Err(SoftDirtyError::NotSupported);
        Self { drops_translations }
    }

    /// Clears the accessed bits of all pages of a process, and their referenced marks for reclaim.
    pub(crate) fn clear(self, files: &mut ProcessFiles, process: ProcessKey) -> Result<(), Unmeasured> {
        let drops = self.drops_translations && !runs_virtual_machine(files, process)?;
        let mut file = files.open(process, "clear_refs", OpenOptions::new().write(true))?;
        let cleared = file.write_all(ACCESSED);
        let dropped = cleared.and_then(|()| if drops { file.write_all(SOFT_DIRTY) } else { Ok(()) });
        dropped.map_err(|error| files.unmeasured_io(process, &error))
    }
}

/// Whether dropping translations would take from a virtual machine all of its memory, to be mapped again page by page.
fn runs_virtual_machine(files: &mut ProcessFiles, process: ProcessKey) -> Result<bool, Unmeasured> {
    let mut found = false;
    files.each_line(process, "maps", |line| {
        found |= MapsLine::parse(line).is_some_and(|line| line.name.starts_with(KVM_PREFIX));
    })?;
    Ok(found)
}
