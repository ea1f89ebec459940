//! The numbers of a file.

/// Names with their values, in the order of the file.
pub type Values = Vec<(&'static str, u64)>;
