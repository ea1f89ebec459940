//! What a back end lists: mappings, and the state of pages.

use std::sync::Arc;

use crate::heat::PageKind;
use crate::page_size;

/// Pages of 4 KiB are the unit in which places are counted.
pub(super) const UNIT_SHIFT: u32 = page_size::MODEL_BYTES.trailing_zeros();
/// A mapping of a process, or a stretch of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMapping {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// Page kind of what is mapped.
    pub kind: PageKind,
    /// Name as it may leave the host; "" for unnamed memory.
    pub name: Arc<str>,
    /// Device number of the file, 0 without one.
    pub device: u64,
    /// Inode of the file, 0 without one: such memory belongs to its process alone.
    pub inode: u64,
    /// Offset of `start` in the file; 0 for memory without one.
    pub offset_bytes: u64,
}

/// Index into [`super::PageGroupOptions::tiers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TierIndex(pub u8);

/// The size of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PageSize {
    /// 4 KiB.
    Small4K,
    /// 16 KiB, a base page of arm64.
    Small16K,
    /// 64 KiB, a base page of arm64 and POWER.
    Small64K,
    /// 2 MiB.
    Huge2M,
    /// 32 MiB, of arm64 with base pages of 16 KiB.
    Huge32M,
    /// 512 MiB, of arm64 with base pages of 64 KiB.
    Huge512M,
    /// 1 GiB.
    Giant1G,
}

impl PageSize {
    /// All of them, from the smallest to the largest.
    pub const ALL: [Self; 7] = [
        Self::Small4K,
        Self::Small16K,
        Self::Small64K,
        Self::Huge2M,
        Self::Huge32M,
        Self::Huge512M,
        Self::Giant1G,
    ];

    /// Its bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Small4K => page_size::MODEL_BYTES as u32,
            Self::Small16K => 1 << 14,
            Self::Small64K => page_size::LARGEST_BYTES as u32,
            Self::Huge2M => 1 << 21,
            Self::Huge32M => 1 << 25,
            Self::Huge512M => 1 << 29,
            Self::Giant1G => 1 << 30,
        }
    }

    /// The largest that so many bytes hold.
    pub fn of_bytes(bytes: u64) -> Self {
        let mut held = Self::ALL.into_iter().rev();
        held.find(|size| u64::from(size.bytes()) <= bytes)
            .unwrap_or(Self::Small4K)
    }
}

/// What a back end says of one page in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageState {
    /// An address in the page. A back end that samples addresses gives those; several in one page are summed.
    pub address: u64,
    /// Its size.
    pub size: PageSize,
    /// Not a page of the file (pagemap bit 61 clear): a page of anonymous memory, or the private copy of a file page.
    pub anon: bool,
    /// Where it is, `None` where unknown.
    pub tier: Option<TierIndex>,
    /// Active in the interval. Pages with samples are.
    pub active: bool,
    /// Loads seen; for a back end that grades activity, the grade.
    pub loads: u32,
    /// Stores seen.
    pub stores: u32,
}

/// Which pages a back end lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Census {
    /// Every resident page, each interval. One that is not listed is freed.
    #[default]
    Full,
    /// Pages with samples only. The rest of the resident bytes was never seen; pages that were idle for the whole
    /// history are forgotten.
    Seen,
    /// Pages with accesses only, every access there is, and nothing else: a page is resident from its first access on,
    /// and for good. This is what a page trace says.
    Touched,
    /// A random panel of pages, each interval; rows are scaled up to the resident bytes of their kind. A page that is
    /// not listed has left the panel.
    Sample,
}
