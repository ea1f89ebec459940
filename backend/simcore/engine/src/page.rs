//! A page: what it holds, where it lies, and what is remembered of it in 12 bytes.

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
/// `demoted` of pages that were never demoted, or whose demotion was counted.
pub(crate) const NEVER: u32 = u32::MAX;

/// One page.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Page {
    /// Interval of its last touch, or of its birth.
    pub last: u32,
    pub tier: Tier,
    pub flags: u8,
    /// Bit i: touched i intervals before `last`.
    pub history: u8,
    /// Always 0: with it, the marks of a page are one word of memory.
    pub spare: u8,
    /// Interval of its last demotion that no promotion followed yet.
    pub demoted: u32,
}

/// On the active list when it was last looked at.
pub(crate) const ACTIVE: u8 = 1;
/// A slot on the swap device holds its content.
pub(crate) const SLOT: u8 = 2;
/// Promoted in this interval.
pub(crate) const PROMOTED: u8 = 4;
/// Went to swap, and has not been written to since.
pub(crate) const COPIED: u8 = 8;

impl Page {
    /// A page before its first interval.
    pub(crate) const UNBORN: Self = Self {
        last: 0,
        demoted: NEVER,
        tier: Tier::Absent,
        history: 0,
        flags: 0,
        spare: 0,
    };

    /// All but its demotion, as one word: victims are compared by it.
    pub(crate) fn marks(&self) -> u64 {
        u64::from(self.last)
            | u64::from(self.tier as u8) << 32
            | u64::from(self.flags) << 40
            | u64::from(self.history) << 48
            | u64::from(self.spare) << 56
    }

    /// The bits of `marks` that say when it was touched last, where it lies, and these flags.
    pub(crate) fn which_marks(flags: u8) -> u64 {
        u64::from(u32::MAX) | u64::from(u8::MAX) << 32 | u64::from(flags) << 40
    }

    pub(crate) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether it is active now: what is not touched for ten intervals no longer is.
    pub(crate) fn is_active(&self, now: u32) -> bool {
        self.is(ACTIVE) && now - self.last < INACTIVE_AFTER
    }

    /// Whether it was touched in an interval after its first.
    pub(crate) fn is_used_again(&self) -> bool {
        self.is(ACTIVE) || self.history > 1
    }

    /// Whether the scanner, which came in that interval, left it armed: it was neither used nor moved since.
    pub(crate) fn is_armed(&self, scanned: u32) -> bool {
        scanned != NEVER && scanned > self.last && (self.demoted == NEVER || scanned > self.demoted)
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        (self.tier as usize) < MEMORY_TIERS
    }

    /// Remembers a touch: a page touched in a later interval than the one before turns active.
    ///
    /// A page that idled past the limit starts over as inactive does: this touch activates it again.
    pub(crate) fn touch(&mut self, now: u32) {
        let gap = now - self.last;
        self.flags |= ACTIVE * u8::from(gap > 0);
        self.history = (u32::from(self.history) << gap.min(8)) as u8 | 1;
        self.last = now;
    }
}
