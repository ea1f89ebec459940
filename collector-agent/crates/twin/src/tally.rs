//! Counts of what a kernel did, in base pages unless said otherwise. They only ever grow.

use crate::kind::KINDS;

macro_rules! tally {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// Counts of one service on one host since the start. Arrays are by [`Kind`](crate::kind::Kind).
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Tally {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Tally {
            /// What was counted since `before`.
            #[must_use]
            pub fn since(&self, before: &Self) -> Self {
                Self { $($name: Count::since(self.$name, before.$name),)* }
            }

            /// Both together.
            #[must_use]
            pub fn plus(&self, other: &Self) -> Self {
                Self { $($name: Count::plus(self.$name, other.$name),)* }
            }

            /// Whether nothing in it is below what it was `before`.
            pub fn has_not_fallen(&self, before: &Self) -> bool {
                true $(&& Count::has_not_fallen(self.$name, before.$name))*
            }
        }
    };
}

tally! {
    /// Allocated for the first time.
    born: [u64; KINDS],
    /// Freed by the service, in memory or out of it.
    freed: [u64; KINDS],
    /// Of the freed ones: those that were in memory.
    freed_resident: [u64; KINDS],
    /// Moved from the slow node to DRAM.
    promoted: [u64; KINDS],
    /// Of the promoted ones: those that `pgpromote_success` of this kernel counts.
    promoted_counted: u64,
    /// Moved from DRAM to the slow node by kswapd.
    demoted_kswapd: [u64; KINDS],
    /// Moved from DRAM to the slow node by a task that allocates.
    demoted_direct: [u64; KINDS],
    /// Dropped or swapped out by kswapd.
    evicted_kswapd: [u64; KINDS],
    /// Dropped or swapped out by a task that allocates.
    evicted_direct: [u64; KINDS],
    /// Of those that kswapd evicted: from the slow node.
    evicted_slow_kswapd: [u64; KINDS],
    /// Of those that allocating tasks evicted: from the slow node.
    evicted_slow_direct: [u64; KINDS],
    /// Touched while out of memory, and brought back.
    refaulted: [u64; KINDS],
    /// Of the refaulted ones: brought to the slow node.
    refaulted_slow: [u64; KINDS],
    /// Allocated on the slow node although DRAM was wanted.
    missed: u64,
    /// Allocated in DRAM, moves included.
    allocated_dram: u64,
    /// Allocated on the slow node, moves included.
    allocated_slow: u64,
    /// Wanted, but no memory was left anywhere.
    alloc_failed: u64,
    /// Hot by the threshold, counted before the limiter.
    candidates: u64,
    /// Taken because DRAM had plenty free.
    candidates_free: u64,
    /// Held back by the rate limit.
    limited: u64,
    /// Not promoted because DRAM was too full.
    refused: u64,
    /// Decided, tried, and failed.
    failed: u64,
    /// Promoted within ten minutes of their demotion.
    returned: u64,
    /// Marked by the scanner.
    marked: u64,
    /// Faults on marks (events; one for each base page here).
    hint_faults: u64,
    /// Of them: on the node of the processor.
    hint_faults_local: u64,
    /// Looked at by kswapd.
    scanned_kswapd: u64,
    /// Of them: on the slow node.
    scanned_slow_kswapd: u64,
    /// Looked at by tasks that allocate.
    scanned_direct: u64,
    /// Of them: on the slow node.
    scanned_slow_direct: u64,
}

trait Count: Copy {
    fn since(self, before: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn has_not_fallen(self, before: Self) -> bool;
}

impl Count for u64 {
    fn since(self, before: Self) -> Self {
        self - before
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn has_not_fallen(self, before: Self) -> bool {
        self >= before
    }
}

impl Count for [u64; KINDS] {
    fn since(self, before: Self) -> Self {
        std::array::from_fn(|kind| self[kind] - before[kind])
    }

    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|kind| self[kind] + other[kind])
    }

    fn has_not_fallen(self, before: Self) -> bool {
        self.iter().zip(before).all(|(now, before)| *now >= before)
    }
}

impl Tally {
    /// Demoted pages, by whomever.
    pub fn demoted(&self) -> u64 {
        self.demoted_kswapd.iter().chain(&self.demoted_direct).sum()
    }

    /// Promoted pages.
    pub fn promoted_pages(&self) -> u64 {
        self.promoted.iter().sum()
    }

    /// Swapped out pages: what reclaim takes of anonymous memory and tmpfs.
    pub fn swapped_out(&self) -> u64 {
        [0, 2]
            .into_iter()
            .map(|kind: usize| self.evicted_kswapd[kind] + self.evicted_direct[kind])
            .sum()
    }

    /// Swapped in pages.
    pub fn swapped_in(&self) -> u64 {
        self.refaulted[0] + self.refaulted[2]
    }
}
