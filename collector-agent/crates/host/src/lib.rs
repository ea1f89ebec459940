//! What the agent knows of the host that it runs on: its services and their processes, how their names may leave it,
//! what each collector sees of it, and the directory in which the agent keeps its state.

pub mod collectors;
#[cfg(test)]
#[path = "../../../testing/fake_root.rs"]
mod fake_root;
pub mod names;
pub mod pods;
pub mod services;
pub mod state_dir;
