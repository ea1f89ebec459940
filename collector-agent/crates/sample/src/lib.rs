//! The types that flow through the agent, and the pure rules over them. No I/O, no clock.
//!
//! Readers (`procfs`, `sysfs`, `pagetable`, `import`) produce these types, `wire` encodes them. A value that the
//! kernel does not offer is `None`, never zero.

pub mod counters;
pub mod heat;
pub mod inventory;
pub mod service;
pub mod tiles;
