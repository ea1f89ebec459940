//! How the samples of an event are laid out.

/// How the samples of an event are laid out: the fields of its `perf_event_attr` that decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// `sample_type`.
    pub sample_type: u64,
    /// `read_format`.
    pub read_format: u64,
    /// `branch_sample_type`.
    pub branch_sample_type: u64,
    /// `sample_regs_user`.
    pub user_registers: u64,
    /// `sample_regs_intr`.
    pub interrupt_registers: u64,
    /// `sample_id_all`: records that are no samples end with the identity of their event.
    pub trailer: bool,
}
