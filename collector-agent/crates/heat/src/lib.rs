//! Heat of the listed processes: the back ends that can measure it, the fallback chain over them, and the collector that
//! measures as it is told.
//!
//! The first candidate of the chain that works on this host measures, in the order of the owner's settings; if it visits
//! every page, processes that are too large for that are measured by the first one that samples. Each one folds what it
//! saw once per interval.

mod abit_walk;
pub mod backend;
pub mod candidates;
mod chain;
pub mod collector;
mod consent;
pub mod damon_guard;
mod damon_pages;
mod damon_regions;
#[cfg(test)]
#[path = "../../../testing/fake_root.rs"]
mod fake_root;
mod huge_pages;
mod idle_page;
pub mod order;
pub mod page_follow;
mod page_groups;
mod page_walk;
mod plain_names;
pub mod programs;
mod referenced;
mod resident;
mod sampler;
pub mod settings;
mod targets;
mod tiers;
#[cfg(test)]
mod touched_quarter;
#[cfg(test)]
#[path = "../../../testing/waiting.rs"]
mod waiting;
pub mod write_tracking;
