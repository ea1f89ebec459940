//! The pages of a process and which of them were touched, by the idle marks of their page frames.

use std::collections::HashMap;
use std::io;

use tierscope_rootfs::Root;
use tierscope_sample::heat::PageKind;
use tierscope_sample::page_group::{PageMapping, PageSize, PageState};
use tierscope_sample::vma_fold::ProcessKey;

use super::{FrameFlags, IdleBitmap, IdleError};
use crate::mappings::{Mapping, MapsReader, Namer};
use crate::page_sizes::PageSizes;
use crate::pagemap::PagemapReader;
use crate::placement::Placement;
use crate::process::Unmeasured;

/// Pages looked at together: a chunk ends at a border of a huge page.
const CHUNK_PAGES: usize = 4096;

/// Reads and renews the idle marks of the pages of processes.
pub struct IdleReader {
    maps: MapsReader,
    pagemap: PagemapReader,
    frames: Frames,
    placement: Placement,
    rss_limit_bytes: u64,
}

/// The files of the host.
struct Frames {
    bitmap: IdleBitmap,
    flags: FrameFlags,
    sizes: PageSizes,
}

/// A page in memory.
#[derive(Debug, Clone, Copy)]
struct Resident {
    address: u64,
    frame: u64,
    anon: bool,
}

/// What is known of a page frame.
#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    flags: u64,
    /// The frame whose mark counts for it.
    head: u64,
}

impl IdleReader {
    /// Processes above `rss_limit_bytes` are left alone; `namer` names files; `placement` says which tier a page frame
    /// is in.
    pub fn new(
        root: &Root,
        rss_limit_bytes: u64,
        namer: Box<Namer>,
        placement: Placement,
    ) -> Result<Self, IdleError> {
        let frames = Frames {
            bitmap: IdleBitmap::open(root)?,
            flags: FrameFlags::open(root)?,
            sizes: PageSizes::of(root),
        };
        Ok(Self {
            maps: MapsReader::new(root.clone(), namer),
            pagemap: PagemapReader::new(root.clone()),
            frames,
            placement,
            rss_limit_bytes,
        })
    }

    /// Takes what is known now of where memory lies.
    pub fn set_placement(&mut self, placement: Placement) {
        self.placement = placement;
    }

    /// Bytes read from `/proc/<pid>` so far.
    pub fn bytes_read(&self) -> u64 {
        self.maps.bytes_read() + self.pagemap.bytes_read()
    }

    /// Hands out the resident pages of each mapping of a process in chunks, by address, and marks them idle for the
    /// next interval. A page is active unless it was marked by the call before and not touched since: one that is new,
    /// or that cannot be marked yet, was touched just now. Pages of hugetlb mappings cannot be marked and are left out.
    pub fn read_and_mark(
        &mut self,
        process: ProcessKey,
        mut each: impl FnMut(&PageMapping, &[PageState]),
    ) -> Result<(), Unmeasured> {
        self.maps.check_size(process, self.rss_limit_bytes)?;
        let mappings = self.maps.read(process)?;
        let pagemap = self.pagemap.open(process)?;
        let mut chunk: Vec<Resident> = Vec::with_capacity(CHUNK_PAGES);
        for mapping in &mappings {
            let place = &mapping.page_mapping;
            let mut failed = None;
            let frames = &self.frames;
            let huge_bytes = u64::from(frames.sizes.huge.bytes());
            let placement = &self.placement;
            let mut hand_out = |chunk: &mut Vec<Resident>| match frames.visit(chunk, placement) {
                Ok(pages) => each(place, &pages),
                Err(error) => failed = Some(error),
            };
            self.pagemap.each(
                &pagemap,
                std::iter::once(place.start..place.end),
                |address, entry| {
                    if chunk.len() >= CHUNK_PAGES && address.is_multiple_of(huge_bytes) {
                        hand_out(&mut chunk);
                        chunk.clear();
                    }
                    if let Some(frame) = entry.pfn() {
                        let anon = is_anon(mapping, entry.is_file_or_shmem());
                        chunk.push(Resident { address, frame, anon });
                    }
                },
            )?;
            hand_out(&mut chunk);
            chunk.clear();
            if let Some(error) = failed {
                return Err(Unmeasured::Unreadable(format!("idle marks: {error}")));
            }
        }
        self.pagemap.check_identity(&pagemap)
    }
}

fn is_anon(mapping: &Mapping, is_file_or_shmem: bool) -> bool {
    mapping.page_mapping.kind == PageKind::Anon || (mapping.is_mixed() && !is_file_or_shmem)
}

impl Frames {
    /// What the marks say of the pages, which are marked again.
    fn visit(&self, chunk: &[Resident], placement: &Placement) -> io::Result<Vec<PageState>> {
        let known = self.look_up(chunk)?;
        let mut heads: Vec<u64> = known.values().map(|frame| frame.head).collect();
        heads.sort_unstable();
        heads.dedup();
        let idle = self.bitmap.idle(&heads)?;
        let is_idle = |head: u64| heads.binary_search(&head).is_ok_and(|index| idle[index]);
        let mut pages = Vec::with_capacity(chunk.len());
        let mut rest = chunk;
        while let [page, ..] = rest {
            let frame = known.get(&page.frame).copied();
            let (size, taken) = size_at(self.sizes, rest, frame);
            if let Some(frame) = frame {
                pages.push(PageState {
                    address: page.address,
                    size,
                    anon: page.anon,
                    tier: placement.tier_of(Some(page.frame)),
                    active: !is_idle(frame.head),
                    loads: 0,
                    stores: 0,
                });
            }
            rest = &rest[taken..];
        }
        self.bitmap.mark(&heads)?;
        Ok(pages)
    }

    /// The frames of the pages that can be marked.
    fn look_up(&self, chunk: &[Resident]) -> io::Result<HashMap<u64, Frame>> {
        let mut frames: Vec<u64> = chunk.iter().map(|page| page.frame).collect();
        frames.sort_unstable();
        frames.dedup();
        let mut known = HashMap::with_capacity(frames.len());
        let mut tails = Vec::new();
        let mut head = None;
        self.flags.read(&frames, |frame, flags| {
            if flags & (FrameFlags::ZERO | FrameFlags::HUGETLB) != 0 {
                return;
            }
            let is_tail = flags & FrameFlags::TAIL != 0;
            // Tails follow their head without a gap.
            head = match head {
                Some((head, last)) if is_tail && last + 1 == frame => Some((head, frame)),
                _ if is_tail => None,
                _ => Some((frame, frame)),
            };
            match head {
                Some((head, _)) => drop(known.insert(frame, Frame { flags, head })),
                None => tails.push((frame, flags)),
            }
        })?;
        for (frame, flags) in tails {
            let head = self.flags.head_of(frame)?;
            known.insert(frame, Frame { flags, head });
        }
        Ok(known)
    }
}

/// The size of the page that a list of pages begins with, and how many of the list it takes: neighbours (512 of 4 KiB) that
/// are one huge page and lie as one are one.
fn size_at(sizes: PageSizes, pages: &[Resident], frame: Option<Frame>) -> (PageSize, usize) {
    let huge = FrameFlags::HEAD | FrameFlags::HUGE;
    let (page_bytes, huge_bytes) = (u64::from(sizes.base.bytes()), u64::from(sizes.huge.bytes()));
    let in_huge = huge_bytes / page_bytes;
    let (Some(first), Some(last)) = (pages.first(), pages.get(in_huge as usize - 1)) else {
        return (sizes.base, 1);
    };
    let is_head = frame.is_some_and(|frame| frame.flags & huge == huge);
    let is_whole = last.address == first.address + (huge_bytes - page_bytes)
        && last.frame == first.frame + (in_huge - 1);
    let is_aligned = first.address.is_multiple_of(huge_bytes) && first.frame.is_multiple_of(in_huge);
    if is_head && is_whole && is_aligned {
        (sizes.huge, in_huge as usize)
    } else {
        (sizes.base, 1)
    }
}
