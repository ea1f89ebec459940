//! The pages of a process and which of them it touched: its mappings, joined with the walk of its page tables.

use tierscope_rootfs::{Reader, Root};
use tierscope_sample::heat::PageKind;
use tierscope_sample::page_group::{PageMapping, PageSize, PageState};
use tierscope_sample::vma_fold::ProcessKey;

use crate::PAGE_BYTES;
use crate::clear::Clearer;
use crate::mappings::{Mapping, MapsReader, Namer};
use crate::pagemap::{PageEntry, Pagemap, PagemapReader};
use crate::placement::Placement;
use crate::process::{ProcessFiles, Unmeasured};
use crate::rivals::{Rival, who_clears_accessed_bits};
use crate::walk_error::WalkError;
use crate::walker::{Leaf, PageTableWalker};

/// Most pages handed out at once, and the most addresses that they span: bounds what pagemap is read for.
const CHUNK_PAGES: usize = 4096;
const CHUNK_SPAN_BYTES: u64 = 64 << 20;

/// Reads and clears accessed bits page by page.
pub struct AbitReader {
    files: ProcessFiles,
    clearer: Clearer,
    sysfs: Reader,
    maps: MapsReader,
    pagemap: PagemapReader,
    walker: PageTableWalker,
    placement: Placement,
    rss_limit_bytes: u64,
    chunk: Vec<PageState>,
}

impl AbitReader {
    /// Processes above `rss_limit_bytes` are left alone; `namer` names files; `placement` says which tier a page
    /// frame is in.
    pub fn new(
        root: &Root,
        rss_limit_bytes: u64,
        namer: Box<Namer>,
        placement: Placement,
    ) -> Result<Self, WalkError> {
        Ok(Self {
            files: ProcessFiles::new(root.clone()),
            clearer: Clearer::new(root),
            sysfs: Reader::new(root.clone()),
            maps: MapsReader::new(root.clone(), namer),
            pagemap: PagemapReader::new(root.clone()),
            walker: PageTableWalker::new(root)?,
            placement,
            rss_limit_bytes,
            chunk: Vec::with_capacity(CHUNK_PAGES),
        })
    }

    /// Takes what is known now of where memory lies.
    pub fn set_placement(&mut self, placement: Placement) {
        self.placement = placement;
    }

    /// Bytes read from `/proc` so far.
    pub fn bytes_read(&self) -> u64 {
        self.files.bytes_read() + self.maps.bytes_read() + self.pagemap.bytes_read()
    }

    /// Who else clears accessed bits now; while somebody does, pages that were touched may show none.
    pub fn rival(&mut self) -> Option<Rival> {
        who_clears_accessed_bits(&mut self.sysfs)
    }

    /// Clears the accessed bits of a process: its next interval begins. Processes above the limit are refused.
    pub fn clear(&mut self, process: ProcessKey) -> Result<(), Unmeasured> {
        self.maps.check_size(process, self.rss_limit_bytes)?;
        self.clearer.clear(&mut self.files, process)
    }

    /// Hands out the resident pages of each mapping of a process in chunks, by address. A page is active if it was
    /// touched since the last [`AbitReader::clear`]; loads and stores are not counted. What was handed out before an
    /// error was true when it was read.
    pub fn read(
        &mut self,
        process: ProcessKey,
        mut each: impl FnMut(&PageMapping, &[PageState]),
    ) -> Result<(), Unmeasured> {
        self.maps.check_size(process, self.rss_limit_bytes)?;
        let mappings = self.maps.read(process)?;
        let pagemap = self.pagemap.open(process)?;
        self.chunk.clear();
        let mut join = Join {
            mappings: &mappings,
            chunk: &mut self.chunk,
            reader: &mut self.pagemap,
            pagemap: &pagemap,
            each: &mut each,
            failed: None,
        };
        let (mask, placement) = (self.walker.address_mask(), &self.placement);
        let walked = self.walker.walk(process.pid, |leaf| {
            let (pfn, size) = (
                leaf.entry.pfn(mask & !(leaf.size_bytes - 1)),
                PageSize::of_bytes(leaf.size_bytes),
            );
            join.page(&leaf, |anon| PageState {
                address: leaf.address,
                size,
                anon,
                tier: placement.tier_of(pfn),
                active: leaf.entry.is_accessed(),
                loads: 0,
                stores: 0,
            });
        });
        join.hand_out();
        if let Some(failed) = join.failed {
            return Err(failed);
        }
        walked?;
        self.files.check_identity(process)
    }
}

/// Sorts pages into mappings; both come by address.
struct Join<'a, F> {
    /// Those that are not passed yet.
    mappings: &'a [Mapping],
    chunk: &'a mut Vec<PageState>,
    reader: &'a mut PagemapReader,
    pagemap: &'a Pagemap,
    each: &'a mut F,
    failed: Option<Unmeasured>,
}

impl<F: FnMut(&PageMapping, &[PageState])> Join<'_, F> {
    /// Takes the next page. Pages of mappings that came after the list was read are left out.
    fn page(&mut self, leaf: &Leaf, state: impl FnOnce(bool) -> PageState) {
        while let [first, rest @ ..] = self.mappings
            && first.page_mapping.end <= leaf.address
        {
            self.hand_out();
            self.mappings = rest;
        }
        let Some(mapping) = self.mappings.first() else {
            return;
        };
        if leaf.address < mapping.page_mapping.start {
            return;
        }
        let spanned = self.chunk.first().map_or(0, |page| leaf.address - page.address);
        if self.chunk.len() == CHUNK_PAGES || spanned >= CHUNK_SPAN_BYTES {
            self.hand_out();
        }
        self.chunk
            .push(state(mapping.page_mapping.kind == PageKind::Anon));
    }

    /// Ends the chunk. In a mapping with pages of two kinds, pagemap tells which is which.
    fn hand_out(&mut self) {
        let (Some(mapping), [first, .., last] | [first @ last]) = (self.mappings.first(), &self.chunk[..])
        else {
            return;
        };
        if mapping.is_mixed() {
            let range = first.address..last.address + PAGE_BYTES;
            let mut pages = self.chunk.iter_mut().peekable();
            let told = self
                .reader
                .each(self.pagemap, [range], |address, entry: PageEntry| {
                    if let Some(page) = pages.next_if(|page| page.address == address) {
                        page.anon = entry.is_present() && !entry.is_file_or_shmem();
                    }
                });
            drop(pages);
            if let Err(failed) = told {
                self.failed.get_or_insert(failed);
            }
        }
        (self.each)(&mapping.page_mapping, self.chunk);
        self.chunk.clear();
    }
}
