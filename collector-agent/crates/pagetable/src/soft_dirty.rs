//! Soft-dirty marks: which pages were written since the marks were cleared. Stores only, never heat.
//!
//! Writing 4 to `clear_refs` clears the marks and write-protects the pages, so the process pays a fault at its next
//! write to each. A kernel without `CONFIG_MEM_SOFT_DIRTY` accepts the write and does nothing, which only trying shows.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::Range;

use tierscope_rootfs::Root;
use tierscope_sample::vma_fold::ProcessKey;

use crate::own_memory::OwnMemory;
use crate::pagemap::PagemapReader;
use crate::process::{ProcessFiles, Unmeasured, process_key};

/// Pages of the probe.
const PAGES: usize = 64;

/// Why soft-dirty marks cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SoftDirtyError {
    /// A step was refused.
    #[error(transparent)]
    Refused(#[from] Unmeasured),
    /// The kernel accepts the clearing and keeps no marks.
    #[error(
        "the kernel accepts the clearing of soft-dirty marks but does nothing: it was built without \
         CONFIG_MEM_SOFT_DIRTY"
    )]
    NotSupported,
    /// The marks do not follow the writes.
    #[error("soft-dirty marks do not follow writes: {wrong_pages} of {pages} pages are wrong")]
    NotFollowing {
        /// Pages that were tried.
        pages: usize,
        /// Pages whose mark was wrong.
        wrong_pages: usize,
    },
    /// The probe got no memory.
    #[error("no memory for the probe: {0}")]
    NoMemory(String),
}

/// Clears and reads the marks of processes beneath one root.
#[derive(Debug)]
pub struct SoftDirtyReader {
    files: ProcessFiles,
    pagemap: PagemapReader,
}

impl SoftDirtyReader {
    /// A reader that has read nothing yet.
    pub fn new(root: &Root) -> Self {
        Self {
            files: ProcessFiles::new(root.clone()),
            pagemap: PagemapReader::new(root.clone()),
        }
    }

    /// Bytes of a base page.
    pub fn page_bytes(&self) -> u64 {
        self.pagemap.page_bytes()
    }

    /// Clears the marks of all pages of a process.
    pub fn clear(&mut self, process: ProcessKey) -> Result<(), Unmeasured> {
        let mut file = self
            .files
            .open(process, "clear_refs", OpenOptions::new().write(true))?;
        file.write_all(b"4")
            .map_err(|error| self.files.unmeasured_io(process, &error))
    }

    /// Hands out the addresses of the pages in the ranges that were written since the clearing.
    pub fn read(
        &mut self,
        process: ProcessKey,
        ranges: impl IntoIterator<Item = Range<u64>>,
        mut each: impl FnMut(u64),
    ) -> Result<(), Unmeasured> {
        let pagemap = self.pagemap.open(process)?;
        self.pagemap.each(&pagemap, ranges, |address, entry| {
            if entry.is_soft_dirty() {
                each(address);
            }
        })?;
        self.pagemap.check_identity(&pagemap)
    }
}

/// Tries the marks on memory of this process. Affects no other process.
pub fn probe_soft_dirty(root: &Root) -> Result<(), SoftDirtyError> {
    let no_memory = |error: std::io::Error| SoftDirtyError::NoMemory(error.to_string());
    let mut memory = OwnMemory::new(PAGES).map_err(no_memory)?;
    (0..PAGES).for_each(|page| memory.write(page));
    let this = process_key(root, std::process::id())?;
    let mut reader = SoftDirtyReader::new(root);
    reader.clear(this)?;
    (0..PAGES / 2).for_each(|page| memory.write(page));
    let mut marked = 0;
    let mut wrong_pages = PAGES / 2;
    let range = memory.addresses();
    reader.read(this, [range], |address| {
        marked += 1;
        let written = memory.page_of(address).is_some_and(|page| page < PAGES / 2);
        wrong_pages = if written { wrong_pages - 1 } else { wrong_pages + 1 };
    })?;
    match (marked, wrong_pages) {
        (_, 0) => Ok(()),
        (0, _) => Err(SoftDirtyError::NotSupported),
        _ => Err(SoftDirtyError::NotFollowing {
            pages: PAGES,
            wrong_pages,
        }),
    }
}
