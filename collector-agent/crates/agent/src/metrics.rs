//! `/metrics` for Prometheus, on loopback alone: the agent's own health, and the raw counters of tier moves.

mod http;
mod page;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use tierscope_sample::counters::{CounterSample, Key};

use crate::status::StatusFile;
use crate::threads::spawn;
use page::SOURCE;

/// Beginnings of the names that tell of tier moves, in `/proc/vmstat` and its twins per node.
const LEDGER_NAMES: [&str; 6] = [
    "pgpromote_",
    "pgdemote_",
    "pgmigrate_",
    "numa_",
    "pswp",
    "promote_",
];

/// The newest counters of tier moves, shared between the collecting loop and the server.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Vec<(Key, i64)>>>);

impl Ledger {
    /// Takes the counters of a collection.
    pub(crate) fn keep(&self, sample: &CounterSample) {
        let values = sample.values.iter().filter_map(|(key, value)| {
            let (_, source, name) = key.parts();
            let belongs = source == SOURCE && LEDGER_NAMES.iter().any(|start| name.starts_with(start));
            belongs.then_some((key.clone(), (*value)?))
        });
        *self.lock() = values.collect();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Key, i64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens at `address`, which must be on loopback, and answers from a thread of its own until the process ends.
pub(crate) fn serve(address: SocketAddr, status: StatusFile, ledger: Ledger) -> Result<SocketAddr> {
    ensure!(
        address.ip().is_loopback(),
        "`metrics_listen`: {address} can be reached from other hosts; use 127.0.0.1 or [::1]"
    );
    let listener = TcpListener::bind(address)
        .with_context(|| format!("`metrics_listen`: {address} cannot be listened at; choose another port"))?;
    let bound = listener.local_addr()?;
    let render = move || page::render(&status.snapshot(), &ledger.lock());
    spawn("metrics", move || http::serve(&listener, &render))?;
    Ok(bound)
}
