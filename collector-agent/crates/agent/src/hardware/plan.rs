//! Which counters of the hardware are opened.

/// A counter to be opened: which event of which unit, where, and what one count adds to which value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Planned {
    pub(super) unit: String,
    pub(super) event: String,
    pub(super) cpu: u32,
    /// Key of the value that it adds to.
    pub(super) key: String,
    /// What one count is worth in the unit of the value: bytes, or 1 for plain events.
    pub(super) factor: f64,
}

/// What a host offers of one collector: counters to open, or why there are none.
pub(super) type Plan = Result<Vec<Planned>, String>;
