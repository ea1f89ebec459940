//! DAMON, the kernel's access monitor, through its files in sysfs.
//!
//! One host has one configuration: it is taken only when nobody has it ([`session`]), and given back whatever happens
//! ([`leftover`], [`watchdog`]). A plan says what is watched ([`plan`]); a window is one aggregation of it ([`window`]).
//! Rules: docs/method/damon.md.

mod driver;
mod error;
pub mod leftover;
mod marker;
pub mod memory;
pub mod plan;
pub mod session;
#[cfg(test)]
mod simulated;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
mod tree;
pub mod watchdog;
pub mod window;

pub use driver::Region;
pub use error::DamonError;
