//! The back ends behind one face: pages leave memory, come back, and become stale on the device.

use crate::block::BlockSwap;
use crate::compressed::Pool;
use crate::outcome::Counts;
use crate::params::{Backend, Flash, SwapError};
use crate::zoned::{Writer, ZonedSwap};

pub(crate) enum Store {
    Block(BlockSwap),
    Zoned(ZonedSwap),
    Zram(Pool),
    Zswap(Pool, BlockSwap),
}

impl Store {
    /// `writers`: CPUs, and tenants.
    pub(crate) fn new(
        flash: Flash,
        backend: Backend,
        [cpus, tenants]: [u32; 2],
        pages: usize,
        seed: u64,
    ) -> Self {
        match backend {
            Backend::Block(block) => Self::Block(BlockSwap::new(flash, block, pages, cpus)),
            Backend::Zoned(zoned) => {
                Self::Zoned(ZonedSwap::new(flash, zoned, pages, cpus, tenants))
            }
            Backend::Zram(compression) => Self::Zram(Pool::new(compression, pages, seed)),
            Backend::Zswap(compression, block) => Self::Zswap(
                Pool::new(compression, pages, seed),
                BlockSwap::new(flash, block, pages, cpus),
            ),
        }
    }

    /// Whether a page may leave memory without being written.
    pub(crate) fn has_copy(&self, page: u32) -> bool {
        match self {
            Self::Block(block) => block.has_copy(page),
            Self::Zoned(zoned) => zoned.has_copy(page),
            Self::Zram(pool) => pool.holds(page),
            Self::Zswap(pool, block) => pool.holds(page) || block.has_copy(page),
        }
    }

    /// How long who has a page to write waits for room in a buffer or queue.
    pub(crate) fn wait_for_room(&mut self, now_ns: u64) -> u64 {
        match self {
            Self::Block(block) => block.dies.wait_for_room(now_ns),
            Self::Zoned(zoned) => zoned.dies.wait_for_room(now_ns),
            Self::Zram(pool) => pool.wait_for_room(now_ns),
            Self::Zswap(pool, block) => pool
                .wait_for_room(now_ns)
                .max(block.dies.wait_for_room(now_ns)),
        }
    }

    /// A clean page with a copy leaves memory.
    pub(crate) fn drop_from_memory(&mut self, page: u32) {
        if let Self::Zoned(zoned) = self {
            zoned.drop_from_memory(page);
        }
    }

    /// Writes a page that leaves memory. Returns the time that its writer spends on reclaim.
    pub(crate) fn write(
        &mut self,
        page: u32,
        writer: Writer,
        now_ns: u64,
        counts: &mut Counts,
    ) -> Result<u64, SwapError> {
        match self {
            Self::Block(block) => block.write(page, writer.cpu, now_ns, counts).map(|()| 0),
            Self::Zoned(zoned) => zoned.write(page, writer, now_ns, counts),
            Self::Zram(pool) => {
                pool.store(page, now_ns);
                Ok(0)
            }
            Self::Zswap(pool, block) => {
                if !pool.store(page, now_ns) {
                    block.write(page, writer.cpu, now_ns, counts)?;
                }
                while let Some(oldest) = pool.next_written_back() {
                    block.write(oldest, writer.cpu, now_ns, counts)?;
                    pool.remove(oldest);
                }
                Ok(0)
            }
        }
    }

    /// When a page that was asked for is in memory.
    pub(crate) fn read(&mut self, page: u32, now_ns: u64, counts: &mut Counts) -> u64 {
        match self {
            Self::Zoned(zoned) => zoned.read(page, now_ns),
            Self::Zram(pool) => now_ns + pool.load(page),
            Self::Zswap(pool, _) if pool.holds(page) => now_ns + pool.load(page),
            Self::Block(block) | Self::Zswap(_, block) => block.read(page, now_ns, counts),
        }
    }

    /// The copy of a page is stale, or not wanted any more.
    pub(crate) fn release(&mut self, page: u32, now_ns: u64, counts: &mut Counts) {
        match self {
            Self::Block(block) => block.release(page, now_ns, counts),
            Self::Zswap(pool, block) => {
                pool.remove(page);
                block.release(page, now_ns, counts);
            }
            Self::Zoned(zoned) => zoned.release(page),
            Self::Zram(pool) => pool.remove(page),
        }
    }

    pub(crate) fn used_ratio(&self) -> f64 {
        match self {
            Self::Block(block) | Self::Zswap(_, block) => block.used_ratio(),
            Self::Zoned(zoned) => zoned.used_ratio(),
            Self::Zram(_) => 0.0,
        }
    }

    pub(crate) fn physical_slots(&self) -> Option<u64> {
        match self {
            Self::Block(block) | Self::Zswap(_, block) => Some(block.physical_slots()),
            Self::Zoned(zoned) => Some(zoned.physical_slots()),
            Self::Zram(_) => None,
        }
    }

    pub(crate) fn busy_ns(&self) -> u64 {
        match self {
            Self::Block(block) | Self::Zswap(_, block) => block.dies.busy_ns(),
            Self::Zoned(zoned) => zoned.dies.busy_ns(),
            Self::Zram(_) => 0,
        }
    }

    pub(crate) fn pool(&self) -> Option<&Pool> {
        match self {
            Self::Zram(pool) | Self::Zswap(pool, _) => Some(pool),
            Self::Block(_) | Self::Zoned(_) => None,
        }
    }
}
