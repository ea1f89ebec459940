//! The heat source that every kernel has: clear the accessed bits of a process, wait, and sum them per mapping.
//!
//! Writing 1 to `/proc/<pid>/clear_refs` clears the accessed bits of all its pages; `Referenced` in smaps then counts
//! the bytes whose bit was set again. The write also ages the pages for reclaim, and the process pays about 0.6 us at
//! the next touch of each page. Rules: docs/method/heat.md, "Mappings".

use tierscope_rootfs::Root;
use tierscope_sample::vma_fold::{ProcessKey, VmaReading};

use crate::clear::Clearer;
use crate::process::ProcessFiles;
pub use crate::process::Unmeasured;
use crate::smaps::{Namer, SmapsParser};

/// Reads and clears accessed bits of processes beneath one root.
pub struct ReferencedReader {
    files: ProcessFiles,
    clearer: Clearer,
    page_bytes: u64,
    rss_limit_bytes: u64,
    namer: Box<Namer>,
}

impl ReferencedReader {
    /// Processes above `rss_limit_bytes` are left alone; `namer` names files.
    pub fn new(root: Root, rss_limit_bytes: u64, namer: Box<Namer>) -> Self {
        Self {
            clearer: Clearer::new(&root),
            page_bytes: root.page_bytes(),
            files: ProcessFiles::new(root),
            rss_limit_bytes,
            namer,
        }
    }

    /// Bytes read from `/proc` so far.
    pub fn bytes_read(&self) -> u64 {
        self.files.bytes_read()
    }

    /// The mappings of a process, by address, with the bytes accessed since the last [`ReferencedReader::clear`].
    pub fn read(&mut self, process: ProcessKey) -> Result<Vec<VmaReading>, Unmeasured> {
        self.files.check_identity(process)?;
        self.files.check_size(process, self.rss_limit_bytes)?;
        let mut parser = SmapsParser::new(&*self.namer, self.page_bytes);
        self.files.each_line(process, "smaps", |line| parser.line(line))?;
        Ok(parser.finish())
    }

    /// Clears the accessed bits of a process: its next interval begins.
    pub fn clear(&mut self, process: ProcessKey) -> Result<(), Unmeasured> {
        self.clearer.clear(&mut self.files, process)
    }
}
