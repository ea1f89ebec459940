//! A page: what it holds, where it lies, and what is remembered of it in a word.

/// What a page holds. The numbers are those of page traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Heap, stack and other anonymous memory.
    Anon = 0,
    /// Page cache.
    File = 1,
    /// Shared memory and tmpfs; swappable as anon is, placed as files are by type-aware allocation.
    Tmpfs = 2,
}

/// Number of kinds.
pub(crate) const KINDS: usize = 3;

/// Where a page lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Tier {
    Dram = 0,
    Slow = 1,
    /// Written to the swap device.
    Swap = 2,
    /// A file page dropped: its next access reads it again.
    Dropped = 3,
    /// Born, and no memory was left for it.
    Nowhere = 4,
    /// Not born yet, or gone.
    Absent = 5,
}

/// Tiers that hold pages in memory.
pub(crate) const MEMORY_TIERS: usize = 2;
/// Intervals without a touch after which a page counts as inactive.
pub(crate) const INACTIVE_AFTER: u32 = 10;
/// When pages were demoted that never were, or whose demotion was counted.
pub(crate) const NEVER: u32 = u32::MAX;

/// One page: a word of the interval of its last touch or birth, its tier, flags, history and kind. When it was demoted is
/// kept apart, for few steps ask for it (`State::demoted`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page(u64);

/// On the active list when it was last looked at.
pub(crate) const ACTIVE: u8 = 1;
/// A slot on the swap device holds its content.
pub(crate) const SLOT: u8 = 2;
/// Promoted in this interval.
pub(crate) const PROMOTED: u8 = 4;
/// Went to swap, and has not been written to since.
pub(crate) const COPIED: u8 = 8;

const TIER_SHIFT: u32 = 32;
const FLAGS_SHIFT: u32 = 40;
const HISTORY_SHIFT: u32 = 48;
const KIND_SHIFT: u32 = 56;
/// One of the bytes above the interval.
const BYTE: u64 = 0xff;
/// Bits of the tier that none has that holds pages in memory.
const NOT_IN_MEMORY: u64 = (BYTE ^ (MEMORY_TIERS as u64 - 1)) << TIER_SHIFT;
const TIERS: [Tier; 8] = [
    Tier::Dram,
    Tier::Slow,
    Tier::Swap,
    Tier::Dropped,
    Tier::Nowhere,
    Tier::Absent,
    Tier::Absent,
    Tier::Absent,
];

impl Page {
    /// A page before its first interval; `kind` as a number of `Kind`.
    pub(crate) const fn unborn(kind: u8) -> Self {
        Self((Tier::Absent as u64) << TIER_SHIFT | (kind as u64) << KIND_SHIFT)
    }

    /// The same, anonymous, but that it lies on a tier.
    pub(crate) fn on(tier: Tier) -> Self {
        let mut page = Self::unborn(Kind::Anon as u8);
        page.set_tier(tier);
        page
    }

    /// All of it: victims are compared by it.
    pub(crate) fn marks(self) -> u64 {
        self.0
    }

    /// The bits of `marks` that say when it was touched last, where it lies, and these flags.
    pub(crate) fn which_marks(flags: u8) -> u64 {
        u64::from(u32::MAX) | BYTE << TIER_SHIFT | u64::from(flags) << FLAGS_SHIFT
    }

    /// Interval of its last touch, or of its birth.
    pub(crate) fn last(self) -> u32 {
        self.0 as u32
    }

    pub(crate) fn set_last(&mut self, interval: u32) {
        self.0 = self.0 & !u64::from(u32::MAX) | u64::from(interval);
    }

    pub(crate) fn tier(self) -> Tier {
        TIERS[(self.0 >> TIER_SHIFT) as usize % TIERS.len()]
    }

    pub(crate) fn set_tier(&mut self, tier: Tier) {
        self.0 = self.0 & !(BYTE << TIER_SHIFT) | (tier as u64) << TIER_SHIFT;
    }

    /// Its tier, of one that is in memory: as a number, and without a look at a table.
    pub(crate) fn memory_tier(self) -> usize {
        (self.0 >> TIER_SHIFT) as usize % MEMORY_TIERS
    }

    /// What it holds, as a number of `Kind`.
    pub(crate) fn kind(self) -> usize {
        (self.0 >> KIND_SHIFT) as usize
    }

    /// Bit i: touched i intervals before its last touch.
    pub(crate) fn history(self) -> u8 {
        (self.0 >> HISTORY_SHIFT) as u8
    }

    pub(crate) fn is(self, flags: u8) -> bool {
        self.0 & u64::from(flags) << FLAGS_SHIFT != 0
    }

    pub(crate) fn set(&mut self, flags: u8) {
        self.0 |= u64::from(flags) << FLAGS_SHIFT;
    }

    pub(crate) fn clear(&mut self, flags: u8) {
        self.0 &= !(u64::from(flags) << FLAGS_SHIFT);
    }

    /// Whether it is active now: what is not touched for ten intervals no longer is.
    pub(crate) fn is_active(self, now: u32) -> bool {
        self.is(ACTIVE) && now - self.last() < INACTIVE_AFTER
    }

    /// Whether it was touched in an interval after its first.
    pub(crate) fn is_used_again(self) -> bool {
        self.is(ACTIVE) || self.history() > 1
    }

    /// Whether the scanner, which came in that interval, left it armed: it was neither used nor, since `demoted`, moved.
    pub(crate) fn is_armed(self, demoted: u32, scanned: u32) -> bool {
        scanned != NEVER && scanned > self.last() && (demoted == NEVER || scanned > demoted)
    }

    pub(crate) fn is_in_memory(self) -> bool {
        self.0 & NOT_IN_MEMORY == 0
    }

    /// Whether a touch changes more than what is remembered of it: it is not in memory, or a store makes its copy stale.
    pub(crate) fn asks_for_more(self, is_written: bool) -> bool {
        let stale = if is_written { SLOT | COPIED } else { 0 };
        self.0 & (NOT_IN_MEMORY | u64::from(stale) << FLAGS_SHIFT) != 0
    }

    /// Remembers a touch: a page touched in a later interval than the one before turns active.
    ///
    /// A page that idled past the limit starts over as inactive does: this touch activates it again.
    pub(crate) fn touch(&mut self, now: u32) {
        let gap = now - self.last();
        let activated = u64::from(ACTIVE) * u64::from(gap > 0);
        let history = u64::from(self.history()) << gap.min(8) & BYTE | 1;
        let kept = self.0 & (BYTE << TIER_SHIFT | BYTE << FLAGS_SHIFT | BYTE << KIND_SHIFT);
        self.0 = kept | u64::from(now) | activated << FLAGS_SHIFT | history << HISTORY_SHIFT;
    }
}
