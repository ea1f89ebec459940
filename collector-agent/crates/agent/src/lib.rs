//! The host agent: reads what the kernel shows of its memory tiers, folds it, and hands it to the service.
//!
//! The crate is a library with a small binary on top, so that tests drive the same code as the commands.

pub mod collect;
#[cfg(test)]
mod fake_root;
pub mod names;
pub mod services;
