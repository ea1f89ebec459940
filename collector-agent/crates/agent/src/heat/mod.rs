//! Heat of the listed processes: the back ends that can measure it, and what they share.
//!
//! One back end measures at a time: the best one that the host allows and the owner's settings name
//! ([`chain`]). Each one folds what it saw once per interval.

pub(crate) mod abit_walk;
pub(crate) mod backend;
pub(crate) mod candidates;
pub(crate) mod chain;
pub(crate) mod collector;
pub(crate) mod damon_pages;
mod damon_panel;
pub(crate) mod damon_regions;
pub(crate) mod idle_page;
pub(crate) mod page_groups;
pub(crate) mod referenced;
pub(crate) mod sampler;
pub(crate) mod settings;
pub(crate) mod targets;
pub(crate) mod tiers;
#[cfg(test)]
pub(crate) mod touched_quarter;
pub(crate) mod write_tracking;
