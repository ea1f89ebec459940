//! What is simulated: flash, the back end on it, tenants, and how long. Errors name the setting.

use thiserror::Error;

/// Bytes of a page and of a slot.
pub const PAGE_BYTES: u32 = 4096;

/// Slots of a cluster (`SWAPFILE_CLUSTER` with huge pages), and of one coarse TRIM.
pub const CLUSTER_SLOTS: u32 = 512;
/// Segments that stay erased on a block device: collection starts when no more are left, and needs at most one itself.
pub(crate) const RESERVE: usize = 2;
/// Segments that are written to on a block device: what the host sends, and what is collected.
pub(crate) const BLOCK_STREAMS: u32 = 2;
/// Segments beside the spare ones, so that a small model of a device has the spare flash of a large one.
const EXTRA_SEGMENTS: u32 = RESERVE as u32 + BLOCK_STREAMS;

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SwapError {
    /// A setting that cannot be.
    #[error("{setting}: {cause}")]
    Setting {
        /// Which one.
        setting: &'static str,
        /// What it has to be.
        cause: &'static str,
    },
    /// No free slot.
    #[error("the swap area is full: lower the utilisation or the share of memory that is swapped")]
    NoSlot,
    /// No erased flash, and nothing to gain by reclaim.
    #[error(
        "the flash is full and reclaim gains nothing: lower the utilisation or raise the spare flash"
    )]
    NoFlash,
}

/// A flash device: the geometry of one that is smaller than real ones by a factor, and the times of its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flash {
    /// Slots that the host sees.
    pub slots: u32,
    /// Flash beyond these, as a share of them (over-provisioning; on a zoned device the host has it).
    pub spare_ratio: f64,
    /// Dies that work at the same time.
    pub dies: u32,
    /// Slots that one program operation writes, over all planes of a die.
    pub slots_per_page: u32,
    /// Program operations until an erase block is full.
    pub pages_per_block: u32,
    /// Time to read from flash.
    pub read_ns: u64,
    /// Time to move one slot to the host, with the command.
    pub transfer_ns: u64,
    /// Time of a program operation.
    pub program_ns: u64,
    /// Time of an erase.
    pub erase_ns: u64,
    /// Slots that the write buffer takes before writers wait.
    pub write_buffer_slots: u32,
}

impl Flash {
    /// Slots of a superblock or zone: one erase block of every die.
    pub fn segment_slots(&self) -> u32 {
        self.dies * self.slots_per_page * self.pages_per_block
    }

    /// Superblocks or zones of the device.
    pub fn segments(&self) -> u32 {
        let exported = f64::from(self.slots) / f64::from(self.segment_slots());
        (exported * (1.0 + self.spare_ratio)).ceil() as u32 + EXTRA_SEGMENTS
    }
}

/// What the device is told of freed slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    /// Nothing.
    Off,
    /// Eight slots at once, where all of an aligned group are free.
    Fine,
    /// A cluster of 512, where all of it is free, as Linux does.
    Coarse,
}

/// A block device with a flash translation layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// TRIM.
    pub trim: Trim,
    /// Time that one TRIM command costs the device.
    pub trim_ns: u64,
    /// Use of the swap area above which a slot is freed when its page is read (Linux: 0.5).
    pub cutoff_ratio: f64,
}

/// Who shares a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZonePolicy {
    /// All.
    Single,
    /// Writers on one CPU.
    PerCore,
    /// Pages that are rewritten sooner than the mean, and the others.
    HotCold,
    /// Pages of one process or cgroup.
    PerTenant,
}

/// A zoned device under a host that reclaims zones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zoned {
    /// Which pages share a zone.
    pub policy: ZonePolicy,
    /// Zones that may be open at once.
    pub open_zones: u32,
    /// The host's time to copy one slot.
    pub copy_ns: u64,
}

/// How pages compress, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compression {
    /// Size of a page over its compressed size, of the median page.
    pub median_ratio: f64,
    /// Standard deviation of the logarithm of that ratio.
    pub ratio_log_sd: f64,
    /// Share of pages that repeat one word: kept without storage.
    pub same_filled_ratio: f64,
    /// CPU time to compress a page.
    pub compress_ns: u64,
    /// CPU time to decompress one.
    pub decompress_ns: u64,
    /// CPU time to copy one that did not compress.
    pub copy_ns: u64,
    /// CPU time to check or fill one that repeats one word.
    pub same_filled_ns: u64,
    /// Bytes from which the pool writes pages back; no limit for zram.
    pub pool_bytes: u64,
    /// Whether pages that do not compress go past the pool.
    pub refuses_incompressible: bool,
}

/// Where pages go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Backend {
    /// A block SSD.
    Block(Block),
    /// A zoned SSD.
    Zoned(Zoned),
    /// Compressed in DRAM.
    Zram(Compression),
    /// Compressed in DRAM, before a block SSD.
    Zswap(Compression, Block),
}

/// A process or cgroup with a limit on its memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tenant {
    /// Pages of its working set.
    pub pages: u32,
    /// Pages that fit into its memory.
    pub frames: u32,
    /// Threads that access pages, one access at a time.
    pub threads: u32,
    /// Share of accesses that write.
    pub store_ratio: f64,
    /// Share of its pages that are hot.
    pub hot_pages_ratio: f64,
    /// Share of accesses that go to these.
    pub hot_accesses_ratio: f64,
    /// Time between two accesses of a thread.
    pub access_ns: u64,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The device; not used by zram.
    pub flash: Flash,
    /// What is on it.
    pub backend: Backend,
    /// Who swaps.
    pub tenants: Vec<Tenant>,
    /// CPUs that give out slots.
    pub cpus: u32,
    /// Warm-up: writes to flash over its size.
    pub warm_up_writes_ratio: f64,
    /// Measured: the same. Both parts also end after twice as many swap-ins, or 16 times as many accesses.
    pub measured_writes_ratio: f64,
    /// Which draw.
    pub seed: u64,
}

pub(crate) fn check(
    holds: bool,
    setting: &'static str,
    cause: &'static str,
) -> Result<(), SwapError> {
    if holds {
        Ok(())
    } else {
        Err(SwapError::Setting { setting, cause })
    }
}

fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

impl Params {
    /// Refuses what cannot be simulated.
    pub(crate) fn check(&self) -> Result<(), SwapError> {
        self.flash.check()?;
        check(self.cpus > 0 && self.cpus <= 1024, "cpus", "1 to 1024")?;
        check(
            !self.tenants.is_empty() && self.tenants.len() <= 64,
            "tenants",
            "1 to 64",
        )?;
        let writes = [self.warm_up_writes_ratio, self.measured_writes_ratio];
        let bounded = writes.iter().all(|ratio| *ratio > 0.0 && *ratio <= 100.0);
        check(bounded, "writes", "above 0, at most 100 times the flash")?;
        self.tenants.iter().try_for_each(Tenant::check)?;
        check_backend(self.backend)
    }
}

pub(crate) fn check_backend(backend: Backend) -> Result<(), SwapError> {
    match backend {
        Backend::Block(block) => block.check(),
        Backend::Zoned(zoned) => check(zoned.open_zones >= 2, "open_zones", "at least 2"),
        Backend::Zram(compression) => compression.check(),
        Backend::Zswap(compression, block) => compression.check().and(block.check()),
    }
}

impl Flash {
    pub(crate) fn check(&self) -> Result<(), SwapError> {
        let whole = self.slots >= 4 * CLUSTER_SLOTS && self.slots.is_multiple_of(CLUSTER_SLOTS);
        check(
            whole && self.slots <= 1 << 24,
            "slots",
            "whole clusters of 512, 2048 to 16777216",
        )?;
        check(
            (0.0..=4.0).contains(&self.spare_ratio),
            "spare_ratio",
            "0 to 4",
        )?;
        let parts = [self.dies, self.slots_per_page, self.pages_per_block];
        check(
            parts.iter().all(|part| (1..=1024).contains(part)),
            "dies",
            "each part of flash 1 to 1024",
        )?;
        check(
            u64::from(self.dies) * u64::from(self.slots_per_page) * u64::from(self.pages_per_block)
                <= u64::from(self.slots) / 4,
            "pages_per_block",
            "at least four superblocks fit into the slots",
        )?;
        let times = [self.read_ns, self.program_ns, self.erase_ns];
        check(
            times.iter().all(|time| (1..=1_000_000_000).contains(time)),
            "read_ns",
            "times of flash 1 ns to 1 s",
        )?;
        check(
            self.write_buffer_slots >= self.slots_per_page,
            "write_buffer_slots",
            "at least one flash page",
        )
    }
}

impl Block {
    fn check(&self) -> Result<(), SwapError> {
        check(is_share(self.cutoff_ratio), "cutoff_ratio", "0 to 1")
    }
}

impl Compression {
    fn check(&self) -> Result<(), SwapError> {
        let bounded = self.median_ratio >= 1.0 && self.median_ratio <= 1000.0;
        check(bounded, "median_ratio", "1 to 1000")?;
        check(
            (0.0..=3.0).contains(&self.ratio_log_sd),
            "ratio_log_sd",
            "0 to 3",
        )?;
        check(
            is_share(self.same_filled_ratio),
            "same_filled_ratio",
            "0 to 1",
        )
    }
}

impl Tenant {
    fn check(&self) -> Result<(), SwapError> {
        check(
            self.frames > 0 && self.frames < self.pages,
            "frames",
            "above 0 and below the pages of the tenant",
        )?;
        check(self.pages <= 1 << 26, "pages", "at most 67108864")?;
        check((1..=1024).contains(&self.threads), "threads", "1 to 1024")?;
        check(
            self.threads <= self.frames,
            "threads",
            "no more than frames",
        )?;
        check(is_share(self.store_ratio), "store_ratio", "0 to 1")?;
        check(
            self.hot_pages_ratio > 0.0 && self.hot_pages_ratio <= 1.0,
            "hot_pages_ratio",
            "above 0, at most 1",
        )?;
        check(
            is_share(self.hot_accesses_ratio),
            "hot_accesses_ratio",
            "0 to 1",
        )?;
        check(self.access_ns > 0, "access_ns", "above 0")
    }
}
