//! The host agent: reads what the kernel shows of its memory tiers, folds it, and hands it to the service.
//!
//! The crate is a library with a small binary on top, so that tests drive the same code as the commands.

pub mod assess;
mod bench_command;
mod bounds;
pub mod cli;
pub mod collect;
mod config;
pub mod doctor;
pub mod explain;
#[cfg(test)]
#[path = "../../../testing/fake_root.rs"]
mod fake_root;
mod fieldkit;
mod hardware;
mod host_cgroups;
pub mod inventory;
mod kubernetes;
mod live;
mod machine;
mod metrics;
pub mod once;
mod recording;
mod replay;
mod rounds;
mod run;
mod served_loads;
mod service_metrics;
mod source;
mod status;
mod threads;
mod uplink;

/// Version of this agent, as it travels.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Checks the text of a settings file. The error names the line and the fix.
pub fn check_settings(text: &str) -> anyhow::Result<()> {
    config::Config::parse(text).map(drop)
}
