//! What a run says: counts, and the times of swap-ins.

/// Events of the measured part of a run, in slots where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages written to swap because they left memory (`pswpout`), or because zswap wrote them back.
    pub swap_writes: u64,
    /// Writes that the device was sent: those, and what the host copied to reclaim zones.
    pub device_writes: u64,
    /// Writes to flash: those, and what the device copied to collect garbage.
    pub flash_writes: u64,
    /// Copied by the host to reclaim zones.
    pub host_copies: u64,
    /// Copied by the device to collect garbage.
    pub device_copies: u64,
    /// Copies of clean pages in memory that zone reclaim dropped.
    pub dropped_copies: u64,
    /// TRIM commands.
    pub trims: u64,
    /// Slots that these named.
    pub trimmed_slots: u64,
    /// Superblocks or zones erased.
    pub erases: u64,
}

/// What one tenant saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TenantOutcome {
    /// Accesses to pages.
    pub accesses: u64,
    /// Swap-ins.
    pub swap_ins: u64,
    /// Pages that left memory, written or not.
    pub evictions: u64,
    /// Of those, pages that had to be written.
    pub swap_outs: u64,
    /// Nanoseconds from fault to page, sorted: the wait for a free frame and the read.
    pub swap_in_ns: Vec<u64>,
}

impl TenantOutcome {
    /// The time that a share of swap-ins does not exceed; None without swap-ins.
    pub fn swap_in_quantile_ns(&self, quantile: f64) -> Option<u64> {
        let count = self.swap_in_ns.len();
        let rank = (quantile * count as f64).ceil() as usize;
        self.swap_in_ns.get(rank.max(1) - 1).copied()
    }
}

/// A measured run, after its warm-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Simulated time.
    pub elapsed_ns: u64,
    /// Events.
    pub counts: Counts,
    /// By tenant, in the order given.
    pub tenants: Vec<TenantOutcome>,
    /// Slots in use over slots of the swap area, at the end.
    pub used_ratio: f64,
    /// Share of their time for which the dies of the device are busy; None without flash.
    pub busy_ratio: Option<f64>,
    /// Bytes of compressed pages in DRAM at the end; None without a pool.
    pub pool_bytes: Option<u64>,
    /// Pages in that pool.
    pub pool_pages: Option<u64>,
}

impl Outcome {
    /// Slots sent to the device for each page written to swap; None where none was.
    pub fn host_amplification(&self) -> Option<f64> {
        ratio(self.counts.device_writes, self.counts.swap_writes)
    }

    /// Slots written to flash for each one sent to the device; None where none was.
    pub fn device_amplification(&self) -> Option<f64> {
        ratio(self.counts.flash_writes, self.counts.device_writes)
    }

    /// Slots written to flash for each page written to swap; None where none was.
    pub fn write_amplification(&self) -> Option<f64> {
        ratio(self.counts.flash_writes, self.counts.swap_writes)
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
