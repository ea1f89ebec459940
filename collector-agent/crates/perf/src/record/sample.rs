//! The fields of a sample. Their order is fixed by the kernel and is not that of the bits.

use super::fields::Fields;
use super::layout::Layout;

/// Bits of `sample_type`, by the names that follow `PERF_SAMPLE_` in the kernel.
pub mod sample_type {
    #![allow(missing_docs, reason = "the kernel's names")]
    pub const IP: u64 = 1;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const WEIGHT: u64 = 1 << 14;
    pub const DATA_SRC: u64 = 1 << 15;
    pub const IDENTIFIER: u64 = 1 << 16;
    pub const TRANSACTION: u64 = 1 << 17;
    pub const REGS_INTR: u64 = 1 << 18;
    pub const PHYS_ADDR: u64 = 1 << 19;
    pub const AUX: u64 = 1 << 20;
    pub const CGROUP: u64 = 1 << 21;
    pub const DATA_PAGE_SIZE: u64 = 1 << 22;
    pub const CODE_PAGE_SIZE: u64 = 1 << 23;
    pub const WEIGHT_STRUCT: u64 = 1 << 24;
}

mod read_format {
    pub(super) const TIME_ENABLED: u64 = 1;
    pub(super) const TIME_RUNNING: u64 = 1 << 1;
    pub(super) const ID: u64 = 1 << 2;
    pub(super) const GROUP: u64 = 1 << 3;
    pub(super) const LOST: u64 = 1 << 4;
}

/// `PERF_SAMPLE_BRANCH_HW_INDEX` and `_COUNTERS`: what a branch stack carries beside its entries.
const BRANCH_HW_INDEX: u64 = 1 << 17;
const BRANCH_COUNTERS: u64 = 1 << 19;
const BRANCH_ENTRY_BYTES: u64 = 24;

/// One sample. A field that its layout lacks is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample<'a> {
    /// The event's id, from IDENTIFIER or ID.
    pub id: Option<u64>,
    /// Instruction.
    pub ip: Option<u64>,
    /// Process.
    pub pid: Option<u32>,
    /// Thread.
    pub tid: Option<u32>,
    /// The event's clock, nanoseconds.
    pub time_ns: Option<u64>,
    /// Virtual address of the access; 0 where the processor had none.
    pub address: Option<u64>,
    /// CPU.
    pub cpu: Option<u32>,
    /// Events that this sample stands for.
    pub period: Option<u64>,
    /// The event's own payload, such as the registers of IBS.
    pub raw: Option<&'a [u8]>,
    /// Latency in cycles, or the three weights of `WEIGHT_STRUCT`.
    pub weight: Option<u64>,
    /// `perf_mem_data_src`.
    pub data_src: Option<u64>,
    /// Physical address; 0 where the page was not mapped.
    pub physical_address: Option<u64>,
    /// Size of the page at `address`; 0 where it was not mapped.
    pub page_size_bytes: Option<u64>,
}

impl<'a> Sample<'a> {
    pub(super) fn read(fields: &mut Fields<'a>, layout: &Layout) -> Option<Self> {
        let mut sample = Self::default();
        sample.read_identity(fields, layout)?;
        if layout.sample_type & (sample_type::READ | sample_type::CALLCHAIN) != 0 {
            skip_values(fields, layout)?;
        }
        if layout.sample_type & sample_type::RAW != 0 {
            let length = fields.u32()?;
            sample.raw = Some(fields.bytes(u64::from(length))?);
        }
        skip_stacks(fields, layout)?;
        sample.read_memory(fields, layout)?;
        Some(sample)
    }

    fn read_identity(&mut self, fields: &mut Fields<'a>, layout: &Layout) -> Option<()> {
        let has = |bit: u64| layout.sample_type & bit != 0;
        if has(sample_type::IDENTIFIER) {
            self.id = Some(fields.u64()?);
        }
        if has(sample_type::IP) {
            self.ip = Some(fields.u64()?);
        }
        if has(sample_type::TID) {
            (self.pid, self.tid) = (Some(fields.u32()?), Some(fields.u32()?));
        }
        if has(sample_type::TIME) {
            self.time_ns = Some(fields.u64()?);
        }
        if has(sample_type::ADDR) {
            self.address = Some(fields.u64()?);
        }
        if has(sample_type::ID) {
            let id = fields.u64()?;
            self.id = self.id.or(Some(id));
        }
        if has(sample_type::STREAM_ID) {
            fields.u64()?;
        }
        if has(sample_type::CPU) {
            self.cpu = Some(fields.u32()?);
            fields.u32()?;
        }
        if has(sample_type::PERIOD) {
            self.period = Some(fields.u64()?);
        }
        Some(())
    }

    fn read_memory(&mut self, fields: &mut Fields<'a>, layout: &Layout) -> Option<()> {
        let has = |bit: u64| layout.sample_type & bit != 0;
        if has(sample_type::WEIGHT | sample_type::WEIGHT_STRUCT) {
            self.weight = Some(fields.u64()?);
        }
        if has(sample_type::DATA_SRC) {
            self.data_src = Some(fields.u64()?);
        }
        if has(sample_type::TRANSACTION) {
            fields.u64()?;
        }
        if has(sample_type::REGS_INTR) {
            skip_registers(fields, layout.interrupt_registers)?;
        }
        if has(sample_type::PHYS_ADDR) {
            self.physical_address = Some(fields.u64()?);
        }
        if has(sample_type::CGROUP) {
            fields.u64()?;
        }
        if has(sample_type::DATA_PAGE_SIZE) {
            self.page_size_bytes = Some(fields.u64()?);
        }
        Some(())
    }
}

fn skip_values(fields: &mut Fields<'_>, layout: &Layout) -> Option<()> {
    let has = |bit: u64| layout.read_format & bit != 0;
    let per_value = 1 + u64::from(has(read_format::ID)) + u64::from(has(read_format::LOST));
    let times = u64::from(has(read_format::TIME_ENABLED)) + u64::from(has(read_format::TIME_RUNNING));
    if layout.sample_type & sample_type::READ != 0 {
        if has(read_format::GROUP) {
            let events = fields.u64()?;
            fields.skip(times, 8)?;
            fields.skip(events, 8 * per_value)?;
        } else {
            fields.skip(times + per_value, 8)?;
        }
    }
    if layout.sample_type & sample_type::CALLCHAIN != 0 {
        let callers = fields.u64()?;
        fields.skip(callers, 8)?;
    }
    Some(())
}

/// `BRANCH_STACK`, `REGS_USER` and `STACK_USER`.
fn skip_stacks(fields: &mut Fields<'_>, layout: &Layout) -> Option<()> {
    let has = |bit: u64| layout.sample_type & bit != 0;
    if has(sample_type::BRANCH_STACK) {
        let entries = fields.u64()?;
        if layout.branch_sample_type & BRANCH_HW_INDEX != 0 {
            fields.u64()?;
        }
        fields.skip(entries, BRANCH_ENTRY_BYTES)?;
        if layout.branch_sample_type & BRANCH_COUNTERS != 0 {
            fields.skip(entries, 8)?;
        }
    }
    if has(sample_type::REGS_USER) {
        skip_registers(fields, layout.user_registers)?;
    }
    if has(sample_type::STACK_USER) {
        let size_bytes = fields.u64()?;
        if size_bytes > 0 {
            fields.skip(size_bytes, 1)?;
            fields.u64()?;
        }
    }
    Some(())
}

/// The ABI, and the registers unless it is "none".
fn skip_registers(fields: &mut Fields<'_>, mask: u64) -> Option<()> {
    let abi = fields.u64()?;
    if abi != 0 {
        fields.skip(u64::from(mask.count_ones()), 8)?;
    }
    Some(())
}
