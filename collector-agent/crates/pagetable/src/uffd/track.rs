//! Which pages of a process were written, interval by interval.

use std::ops::Range;
use std::os::fd::OwnedFd;

use tierscope_rootfs::Root;
use tierscope_sample::heat::PageKind;
use tierscope_sample::page_group::{PageMapping, PageSize};
use tierscope_sample::vma_fold::ProcessKey;

use super::scan::{Query, Region, ScanError, Scanner, category};
use super::sys;
use crate::mappings::Mapping;
use crate::page_sizes::PageSizes;
use crate::pagemap::{Pagemap, PagemapReader};
use crate::process::process_key;

/// Tracks the writes of one process. When it is dropped, or this process ends, the kernel takes all marks away.
#[derive(Debug)]
pub struct WriteTracker {
    uffd: OwnedFd,
    pagemap: Pagemap,
    scanner: Scanner,
    sizes: PageSizes,
    covered: Vec<Covered>,
}

/// A mapping whose writes are tracked.
#[derive(Debug)]
struct Covered {
    mapping: PageMapping,
    shared: bool,
    /// Since before the interval that runs. Pages of a mapping that came later count as written when they are found
    /// first.
    marked: bool,
}

/// Adjacent pages that were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenPages {
    /// Their addresses.
    pub range: Range<u64>,
    /// What they are now: a written copy of a file page is anonymous.
    pub kind: PageKind,
    /// A base page, or a huge one for all or parts of it.
    pub page_size: PageSize,
}

impl WriteTracker {
    /// A tracker that covers no memory yet. `uffd` belongs to the memory of `process`, and no features were asked for.
    pub(super) fn new(root: &Root, process: ProcessKey, uffd: OwnedFd) -> Result<Self, ScanError> {
        let features = sys::FEATURE_WP_ASYNC | sys::FEATURE_WP_UNPOPULATED;
        sys::request_features(&uffd, features).map_err(|_| ScanError::NotSupported {
            missing: "write tracking",
            since: "6.7",
        })?;
        Ok(Self {
            uffd,
            pagemap: PagemapReader::new(root.clone()).open(process)?,
            scanner: Scanner::default(),
            sizes: PageSizes::of(root),
            covered: Vec::new(),
        })
    }

    /// A tracker of this process's own writes, for a program that registers itself.
    pub fn of_this_process() -> Result<Self, ScanError> {
        let root = Root::live();
        let this = process_key(&root, std::process::id())?;
        let uffd = sys::userfaultfd().map_err(ScanError::refused("opening a userfaultfd"))?;
        Self::new(&root, this, uffd)
    }

    /// Tracks the mappings given, the new ones from now on, and forgets all others. Mappings without write permission,
    /// and shared ones of files on disks, for which the kernel reports too much, are left out. Returns how many were
    /// refused, such as those that another userfaultfd has.
    pub fn cover(&mut self, mappings: &[Mapping]) -> usize {
        let mut before = std::mem::take(&mut self.covered).into_iter().peekable();
        let mut refused = 0;
        for mapping in mappings.iter().filter(|mapping| is_tracked(mapping)) {
            let place = &mapping.page_mapping;
            while before.next_if(|old| old.mapping.end <= place.start).is_some() {}
            // One that has grown is marked in part, and a mapping is all new or none of it.
            let marked = before
                .peek()
                .is_some_and(|old| old.mapping == *place && old.marked);
            if !marked
                && sys::register(&self.uffd, place.start, place.end - place.start, sys::MODE_WP).is_err()
            {
                refused += 1;
                continue;
            }
            self.covered.push(Covered {
                mapping: place.clone(),
                shared: mapping.shared,
                marked,
            });
        }
        refused
    }

    /// The mappings covered, by address.
    pub fn covered(&self) -> impl Iterator<Item = &PageMapping> {
        self.covered.iter().map(|covered| &covered.mapping)
    }

    /// Hands out the pages written since the call before, by address, and marks all as unwritten.
    /// What a mapping has when it is scanned first is handed out if `new_counts`: its pages were written in the
    /// interval, unless the tracking begins just now.
    pub fn written(
        &mut self,
        new_counts: bool,
        mut each: impl FnMut(&WrittenPages),
    ) -> Result<(), ScanError> {
        let (scanner, pagemap, sizes) = (&mut self.scanner, &self.pagemap, self.sizes);
        let mut failed = None;
        self.covered.retain_mut(|covered| {
            let place = &covered.mapping;
            let counts = covered.marked || new_counts;
            let found = |region: Region| {
                if counts {
                    each(&WrittenPages {
                        range: region.start..region.end,
                        kind: if covered.shared {
                            place.kind
                        } else {
                            PageKind::Anon
                        },
                        page_size: if region.categories & category::HUGE == 0 {
                            sizes.base
                        } else {
                            sizes.huge
                        },
                    });
                }
            };
            let result = scanner.scan(pagemap, place.start..place.end, query(covered.shared), found);
            covered.marked = true;
            match result {
                Ok(()) => true,
                // Another mapping took its place since the list was read.
                Err(ScanError::Refused { .. }) => false,
                Err(error) => {
                    failed.get_or_insert(error);
                    false
                }
            }
        });
        failed.map_or(Ok(()), Err)
    }
}

fn is_tracked(mapping: &Mapping) -> bool {
    mapping.writable && !(mapping.shared && mapping.page_mapping.kind == PageKind::File)
}

/// In a private mapping, pages of the file and the shared page of zeros are those that were not written.
fn query(shared: bool) -> Query {
    Query {
        required: category::WRITE_TRACKED | category::WRITTEN,
        excluded: if shared {
            0
        } else {
            category::FILE | category::ZERO
        },
        returned: category::HUGE,
        mark_found: true,
    }
}
