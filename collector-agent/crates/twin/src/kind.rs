//! What pages are, and where they may lie.

use serde::{Deserialize, Serialize};

/// Number of kinds.
pub const KINDS: usize = 3;

/// Kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Anonymous memory: heap, stack.
    Anon,
    /// Page cache of files; clean here, so reclaim may drop it.
    File,
    /// shmem and tmpfs: named like files, reclaimed like anonymous memory (kernel-wide it counts to both).
    Tmpfs,
}

impl Kind {
    /// All kinds, in order of their index.
    pub const ALL: [Self; KINDS] = [Self::Anon, Self::File, Self::Tmpfs];

    /// Index into arrays by kind.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether it lies on the kernel's anonymous LRU lists, and leaves memory only through swap.
    pub fn is_swap_backed(self) -> bool {
        self != Self::File
    }
}

/// Where a page lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Place {
    /// Not allocated.
    Absent,
    /// The node with the processors of the service.
    Dram,
    /// The second node: CXL memory, or DRAM of the other socket.
    Slow,
    /// In no memory: on swap (anonymous, tmpfs) or in its file alone.
    Out,
}

impl Place {
    /// The places that hold a page's content, by index.
    pub const ALL: [Self; 3] = [Self::Dram, Self::Slow, Self::Out];

    /// Index into arrays by place; `None` for [`Place::Absent`].
    #[inline]
    pub fn index(self) -> Option<usize> {
        match self {
            Self::Absent => None,
            Self::Dram => Some(0),
            Self::Slow => Some(1),
            Self::Out => Some(2),
        }
    }
}
