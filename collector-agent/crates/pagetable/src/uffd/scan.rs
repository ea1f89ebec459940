//! `PAGEMAP_SCAN`: the pages of a process that are of certain categories, as ranges (Linux 6.7).

use std::io;
use std::ops::Range;

use tierscope_rootfs::Root;

use super::sys;
pub use super::sys::Region;
use crate::own_memory::OwnMemory;
use crate::pagemap::{Pagemap, PagemapReader};
use crate::process::{Unmeasured, process_key};

/// Categories of pages: bits of a query and of a [`Region`].
pub mod category {
    /// Its writes can be tracked. Without it, `WRITTEN` says nothing: kernels before 7.3 set it for every page.
    pub const WRITE_TRACKED: u64 = 1;
    /// It was written since it was marked.
    pub const WRITTEN: u64 = 1 << 1;
    /// A page of a file or of shared memory.
    pub const FILE: u64 = 1 << 2;
    /// In memory.
    pub const PRESENT: u64 = 1 << 3;
    /// The shared page of zeros.
    pub const ZERO: u64 = 1 << 5;
    /// Part of a huge page.
    pub const HUGE: u64 = 1 << 6;
    /// It was read or written since it was marked (Linux 7.3, with read tracking).
    pub const ACCESSED: u64 = 1 << 9;
}

/// Marks the pages found as unwritten, in the same step.
const MARK_FOUND: u64 = 1;
/// Refuses where writes are not tracked.
const ONLY_TRACKED: u64 = 2;
/// Regions taken at once: 96 KiB.
const REGIONS: usize = 4096;
/// Pages of the probes.
const PAGES: usize = 256;
/// One page in this many is touched by the probes.
const TOUCHED_EVERY: usize = 3;

/// Why a scan or a probe of it fails.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The kernel lacks it.
    #[error("{missing} is not supported: it needs Linux {since} or later")]
    NotSupported {
        /// What.
        missing: &'static str,
        /// The first version that has it.
        since: &'static str,
    },
    /// The kernel refuses.
    #[error("{step} was refused: {error}")]
    Refused {
        /// What was tried.
        step: &'static str,
        /// Its error.
        error: io::Error,
    },
    /// A file of the process cannot be used.
    #[error(transparent)]
    Process(#[from] Unmeasured),
    /// The answer does not follow the accesses.
    #[error("{what} does not follow accesses: {wrong_pages} of {pages} pages are wrong")]
    NotFollowing {
        /// What was tried.
        what: &'static str,
        /// Pages that were tried.
        pages: usize,
        /// Pages with the wrong answer.
        wrong_pages: usize,
    },
}

impl ScanError {
    pub(super) fn refused(step: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Refused { step, error }
    }
}

/// Which pages to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Query {
    /// Categories that a page must have, all of them.
    pub required: u64,
    /// Categories that a page must not have, none of them.
    pub excluded: u64,
    /// Categories to tell of each page found.
    pub returned: u64,
    /// Whether to mark the pages found as unwritten again.
    pub mark_found: bool,
}

/// Lists pages, with one buffer that is used again and again.
#[derive(Debug)]
pub struct Scanner {
    regions: Vec<Region>,
}

impl Default for Scanner {
    fn default() -> Self {
        Self {
            regions: vec![Region::default(); REGIONS],
        }
    }
}

impl Scanner {
    /// Hands out the pages of a range of addresses that match the query, by address.
    pub fn scan(
        &mut self,
        pagemap: &Pagemap,
        range: Range<u64>,
        query: Query,
        mut each: impl FnMut(Region),
    ) -> Result<(), ScanError> {
        let mut start = range.start;
        while start < range.end {
            let mut request = sys::ScanRequest {
                flags: if query.mark_found {
                    MARK_FOUND | ONLY_TRACKED
                } else {
                    0
                },
                start,
                end: range.end,
                required: query.required | query.excluded,
                inverted: query.excluded,
                returned: query.returned,
                ..sys::ScanRequest::default()
            };
            let found = sys::scan(pagemap, &mut request, &mut self.regions);
            let found = found.map_err(scan_error)?;
            self.regions[..found].iter().copied().for_each(&mut each);
            if request.walk_end <= start {
                break;
            }
            start = request.walk_end;
        }
        Ok(())
    }
}

fn scan_error(error: io::Error) -> ScanError {
    match error.raw_os_error() {
        Some(libc::ENOTTY | libc::EINVAL) => ScanError::NotSupported {
            missing: "PAGEMAP_SCAN with these categories",
            since: "6.7",
        },
        _ => ScanError::Refused {
            step: "PAGEMAP_SCAN",
            error,
        },
    }
}

/// Tries the listing of pages in memory, on memory of this process.
pub fn probe_present(root: &Root) -> Result<(), ScanError> {
    let mut memory = OwnMemory::new(PAGES).map_err(ScanError::refused("taking memory"))?;
    let query = Query {
        required: category::PRESENT,
        returned: category::PRESENT,
        ..Query::default()
    };
    compare(
        root,
        &mut memory,
        query,
        "the listing of pages in memory",
        OwnMemory::write,
    )
}

/// Tries write tracking on memory of this process: it registers the memory by itself.
pub fn probe_written(root: &Root) -> Result<(), ScanError> {
    let mut memory = OwnMemory::new(PAGES).map_err(ScanError::refused("taking memory"))?;
    (0..PAGES).for_each(|page| memory.write(page));
    let uffd = open(
        sys::FEATURE_WP_ASYNC | sys::FEATURE_WP_UNPOPULATED,
        "write tracking",
        "6.7",
    )?;
    let range = memory.addresses();
    let registered = sys::register(&uffd, range.start, range.end - range.start, sys::MODE_WP);
    registered.map_err(ScanError::refused("registering memory"))?;
    let query = Query {
        required: category::WRITE_TRACKED | category::WRITTEN,
        returned: category::WRITTEN,
        mark_found: true,
        ..Query::default()
    };
    let this = process_key(root, std::process::id())?;
    let pagemap = PagemapReader::new(root.clone()).open(this)?;
    Scanner::default().scan(&pagemap, range, query, |_| {})?;
    compare(root, &mut memory, query, "write tracking", OwnMemory::write)
}

/// Tries read tracking on memory of this process: kernels from 7.3 on have it.
pub fn probe_accessed(root: &Root) -> Result<(), ScanError> {
    let mut memory = OwnMemory::new(PAGES).map_err(ScanError::refused("taking memory"))?;
    (0..PAGES).for_each(|page| memory.write(page));
    let uffd = open(sys::FEATURE_RWP | sys::FEATURE_RWP_ASYNC, "read tracking", "7.3")?;
    let (start, bytes) = (
        memory.addresses().start,
        memory.addresses().end - memory.addresses().start,
    );
    sys::register(&uffd, start, bytes, sys::MODE_RWP).map_err(ScanError::refused("registering memory"))?;
    sys::protect_from_reads(&uffd, start, bytes).map_err(ScanError::refused("marking memory"))?;
    let query = Query {
        required: category::ACCESSED,
        returned: category::ACCESSED,
        ..Query::default()
    };
    compare(root, &mut memory, query, "read tracking", |memory, page| {
        memory.read(page);
    })
}

/// A userfaultfd of this process with features.
fn open(
    features: u64,
    missing: &'static str,
    since: &'static str,
) -> Result<std::os::fd::OwnedFd, ScanError> {
    let uffd = sys::userfaultfd().map_err(|error| match error.raw_os_error() {
        Some(libc::ENOSYS) => ScanError::NotSupported {
            missing: "userfaultfd",
            since: "4.11",
        },
        _ => ScanError::Refused {
            step: "opening a userfaultfd",
            error,
        },
    })?;
    sys::request_features(&uffd, features).map_err(|_| ScanError::NotSupported { missing, since })?;
    Ok(uffd)
}

/// Touches one page in three, and compares what the query finds.
fn compare(
    root: &Root,
    memory: &mut OwnMemory,
    query: Query,
    what: &'static str,
    touch: impl Fn(&mut OwnMemory, usize),
) -> Result<(), ScanError> {
    (0..PAGES)
        .step_by(TOUCHED_EVERY)
        .for_each(|page| touch(memory, page));
    let this = process_key(root, std::process::id())?;
    let pagemap = PagemapReader::new(root.clone()).open(this)?;
    let mut found = [false; PAGES];
    Scanner::default().scan(&pagemap, memory.addresses(), query, |region| {
        for address in (region.start..region.end).step_by(root.page_bytes() as usize) {
            if let Some(page) = memory.page_of(address) {
                found[page] = true;
            }
        }
    })?;
    let wrong = |(page, found): &(usize, &bool)| **found != page.is_multiple_of(TOUCHED_EVERY);
    match found.iter().enumerate().filter(wrong).count() {
        0 => Ok(()),
        wrong_pages => Err(ScanError::NotFollowing {
            what,
            pages: PAGES,
            wrong_pages,
        }),
    }
}
