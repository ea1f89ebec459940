//! The twin: a simulated fleet that is physically whole, and whose truth is kept.
//!
//! [`laws`] says what the fleet is; a [`host`] takes one step after the other: services touch pages of their
//! [`population`]s, [`placement`] does what the kernel does with them, [`performance`] says what it costs. [`counters`]
//! prints what the kernel would print, [`truth`] writes down what nobody on such a host could know. docs/twin.md says
//! what a page of the twin stands for, and what that keeps and loses.
//!
//! Nothing here is used by, or uses, what analyses real fleets.

pub mod conditions;
pub mod counters;
pub mod draws;
pub mod fleet;
pub mod host;
pub mod kind;
pub mod laws;
pub mod memory;
pub mod performance;
pub mod placement;
pub mod popularity;
pub mod population;
pub mod pressure;
pub mod promotion;
pub mod reclaim;
pub mod service;
pub mod state;
pub mod tally;
pub mod truth;
