//! The memory of a host: nodes with their watermarks, and swap. Amounts are base pages.

use crate::laws::{GIB, HostLaw, PAGE_BYTES};

/// What khugepaged raises the reserve to, at most a twentieth of the memory: 11 blocks of 512 pages for each of four zones
/// (`mm/khugepaged.c`, `set_recommended_min_free_kbytes`; distributions have huge pages on or on request).
const RECOMMENDED_BY_HUGE_PAGES: u64 = 11 * 512 * 4;

/// Watermarks of a node's zone (`mm/page_alloc.c`, `__setup_per_zone_wmarks`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// Reserve for emergencies.
    pub min: u64,
    /// kswapd wakes below it.
    pub low: u64,
    /// kswapd sleeps above it, without tiering.
    pub high: u64,
    /// kswapd sleeps above it, with tiering.
    pub promo: u64,
}

impl Watermarks {
    /// The marks of a zone of `managed` pages with the reserve `min` and `vm.watermark_scale_factor`.
    pub fn new(managed: u64, min: u64, scale_factor: u64) -> Self {
        let step = (min / 4).max(managed * scale_factor / 10_000);
        Self {
            min,
            low: min + step,
            high: min + 2 * step,
            promo: min + 3 * step,
        }
    }
}

/// One node with one zone: `Normal` on DRAM, `Movable` on the slow node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Pages that its allocator owns.
    pub managed: u64,
    /// Pages of the kernel itself, and those reserved for others.
    pub kernel: u64,
    /// Pages of services.
    pub used: u64,
    /// Whether it holds movable memory alone.
    pub is_movable: bool,
    /// The marks as they stand.
    pub watermarks: Watermarks,
}

impl Node {
    fn new(gib: f64, is_movable: bool) -> Self {
        let managed = (gib * GIB) as u64 / PAGE_BYTES;
        let watermarks = Watermarks::new(managed, 0, 0);
        Self {
            managed,
            kernel: 0,
            used: 0,
            is_movable,
            watermarks,
        }
    }

    /// Free pages.
    pub fn free(&self) -> u64 {
        self.managed - self.kernel - self.used
    }

    /// Sets the marks for a scale factor. `min_free_kbytes` is the kernel's own choice.
    pub fn set_watermarks(&mut self, scale_factor: u64) {
        let min = if self.is_movable {
            (self.managed / 1024).clamp(32, 128)
        } else {
            let lowmem_kib = (self.managed * PAGE_BYTES / 1024) as f64;
            // 4 sqrt(kB), from 128 KiB to 256 MiB (`mm/page_alloc.c`, init_per_zone_wmark_min), in pages.
            let plain = (4.0 * lowmem_kib.sqrt()).clamp(128.0, 262_144.0) * 1024.0 / PAGE_BYTES as f64;
            (plain as u64).max(RECOMMENDED_BY_HUGE_PAGES.min(self.managed / 20))
        };
        self.watermarks = Watermarks::new(self.managed, min, scale_factor);
    }
}

/// All memory of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The node with the processors.
    pub dram: Node,
    /// The second node.
    pub slow: Option<Node>,
    /// Pages of swap.
    pub swap: u64,
    /// Of them: in use.
    pub swap_used: u64,
    /// Base pages that a page of the twin stands for.
    pub unit: u64,
}

impl Memory {
    /// The empty memory of a host.
    pub fn new(host: &HostLaw, kernel_share: f64, unit: u64) -> Self {
        let mut dram = Node::new(host.dram_gib, false);
        let slow = host.slow.as_ref().map(|slow| Node::new(slow.gib, true));
        // 64 bytes for each page of any node, and what the kernel itself takes; both lie in DRAM.
        let descriptors = (dram.managed + slow.map_or(0, |slow| slow.managed)) / 64;
        let reserved = (host.reserved_gib * GIB) as u64 / PAGE_BYTES;
        let own = (dram.managed as f64 * kernel_share) as u64;
        dram.kernel = (descriptors + own + reserved).min(dram.managed);
        Self {
            dram,
            slow,
            swap: (host.swap_gib * GIB) as u64 / PAGE_BYTES,
            swap_used: 0,
            unit,
        }
    }

    /// Pages of all nodes.
    pub fn managed(&self) -> u64 {
        self.dram.managed + self.slow.map_or(0, |slow| slow.managed)
    }

    /// Whether DRAM keeps `mark` pages free after another page of the twin.
    pub fn dram_has_room(&self, mark: u64) -> bool {
        self.dram.free() >= mark + self.unit
    }

    /// Whether the slow node keeps its low watermark free after another page of the twin.
    pub fn slow_has_room(&self) -> bool {
        self.slow
            .is_some_and(|slow| slow.free() >= slow.watermarks.low + self.unit)
    }

    /// Whether swap has room for another page of the twin.
    pub fn swap_has_room(&self) -> bool {
        self.swap - self.swap_used >= self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watermarks_are_those_that_a_kernel_printed() {
        // /proc/zoneinfo of a 6.18 machine: min 12920 and the factor 10 on 2,523,000 pages, where min / 4 wins.
        let marks = Watermarks::new(2_523_000, 12_920, 10);
        assert_eq!((marks.low, marks.high, marks.promo), (16_150, 19_380, 22_610));
    }
}
