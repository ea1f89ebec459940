//! What the agent knows of the host that it runs on: its services and their processes, how their names may leave it, and
//! what each collector sees of it.

pub mod collectors;
#[cfg(test)]
#[path = "../../../testing/fake_root.rs"]
mod fake_root;
pub mod names;
pub mod services;
