//! Threads of the agent.

use std::thread::JoinHandle;

use anyhow::{Context as _, Result};

/// Stack of the helper threads; the default of 2 MiB is never used.
const STACK_BYTES: usize = 256 << 10;

/// Starts a thread with a small stack.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let builder = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES);
    builder
        .spawn(work)
        .with_context(|| format!("thread {name} cannot be started"))
}
