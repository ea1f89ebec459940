//! Throughput, load and latency as services tell them: from a Prometheus endpoint, or from a file in its text format.
//!
//! Sources are asked in a thread of their own, so that a service that hangs does not stop the agent. A source that fails
//! has no values for that interval, and its failure is in the report of the agent; it is never a zero.

mod config;
mod exposition;
mod fetch;
mod latency;
mod reading;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use tierscope_sample::counters::Key;
use tierscope_sample::service::ServiceId;
use tierscope_wire::CollectorCost;

pub(crate) use config::{ServiceMetricsConfig, check};
use fetch::Fetcher;
use reading::{NAMES, Reading, Source};

/// Stack of the thread; a request needs little.
const STACK_BYTES: usize = 256 << 10;
/// How long sources may take.
#[derive(Clone, Copy)]
struct Limits {
    /// All sources of one interval.
    round: Duration,
    /// A collection, which waits for them: a look-up of a name has no limit of its own.
    patience: Duration,
}

const LIMITS: Limits = Limits {
    round: Duration::from_secs(3),
    patience: Duration::from_secs(4),
};
/// Name in the inventory and in the report of the agent.
pub(crate) const COLLECTOR: &str = "service_metrics";

/// What one round over all sources gave, in their order.
struct Round {
    readings: Vec<Result<Reading, String>>,
    cpu_ns: i64,
}

/// Asks the sources of the settings, once per interval.
pub(crate) struct ServiceMetrics {
    orders: SyncSender<()>,
    rounds: Receiver<Round>,
    /// Scopes of the sources, `service:namespace/name`.
    scopes: Vec<Arc<str>>,
    /// Keys of all values, in the order of sources and names.
    keys: Vec<Key>,
    limits: Limits,
    is_asked: bool,
}

impl ServiceMetrics {
    /// Starts the thread; `None` where no source is configured, or no thread can be had.
    pub(crate) fn start(configs: &[ServiceMetricsConfig]) -> Option<Self> {
        Self::start_within(LIMITS, configs)
    }

    fn start_within(limits: Limits, configs: &[ServiceMetricsConfig]) -> Option<Self> {
        if configs.is_empty() {
            return None;
        }
        let scopes: Vec<Arc<str>> = configs.iter().map(|config| scope(&config.service)).collect();
        let key = |scope: &Arc<str>, name: &str| Key::from_text(&format!("{scope}|metrics|{name}"));
        let keys = scopes
            .iter()
            .flat_map(|scope| NAMES.iter().map(move |name| key(scope, name)))
            .collect();
        let (orders, ordered) = sync_channel(1);
        let (finished, rounds) = sync_channel(1);
        let sources = configs.iter().cloned().map(Source::new).collect();
        std::thread::Builder::new()
            .name("service-metrics".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || serve(limits, sources, &ordered, &finished))
            .ok()?;
        Some(Self {
            orders,
            rounds,
            scopes,
            keys,
            limits,
            is_asked: false,
        })
    }

    /// Asks all sources; [`Self::finish`] waits for what they say.
    pub(crate) fn begin(&mut self) {
        // A round that came too late belongs to an interval that is gone.
        if self.is_asked && matches!(self.rounds.try_recv(), Err(TryRecvError::Empty)) {
            return;
        }
        self.is_asked = self.orders.try_send(()).is_ok();
    }

    /// Values of all sources, sorted by key, and what asking cost.
    pub(crate) fn finish(&mut self) -> (Vec<(Key, Option<i64>)>, CollectorCost) {
        let round = if self.is_asked {
            self.rounds.recv_timeout(self.limits.patience).ok()
        } else {
            None
        };
        self.is_asked &= round.is_none();
        let round = round.unwrap_or_else(|| Round {
            readings: vec![Err("it did not answer in time".to_owned()); self.scopes.len()],
            cpu_ns: 0,
        });
        let mut failures = 0;
        let mut last_error = String::new();
        let mut values = Vec::with_capacity(self.keys.len());
        let keys = self.keys.chunks(NAMES.len());
        for ((reading, scope), keys) in round.readings.into_iter().zip(&self.scopes).zip(keys) {
            let reading = reading.unwrap_or_else(|error| {
                failures += 1;
                last_error = format!("{scope}: {error}");
                Reading::default()
            });
            // A part that could not be understood does not take the rest away, and is told.
            if let Some(problem) = &reading.problem {
                failures += 1;
                last_error = format!("{scope}: {problem}");
            }
            values.extend(keys.iter().cloned().zip(reading.values()));
        }
        values.sort_by(|a, b| a.0.cmp(&b.0));
        values.dedup_by(|a, b| a.0 == b.0);
        let cost = CollectorCost {
            name: COLLECTOR.to_owned(),
            cpu_ns: round.cpu_ns,
            runs: 1,
            failures,
            last_error,
        };
        (values, cost)
    }
}

fn scope(service: &str) -> Arc<str> {
    let (namespace, name) = service.split_once('/').unwrap_or(("host", service));
    format!("service:{}", ServiceId::new(namespace, name)).into()
}

/// Works on orders until nobody can give any.
fn serve(limits: Limits, mut sources: Vec<Source>, orders: &Receiver<()>, finished: &SyncSender<Round>) {
    let fetcher = Fetcher::new();
    while orders.recv().is_ok() {
        let cpu_before_ns = tierscope_clock::thread_cpu_ns();
        let started = Instant::now();
        let readings = sources
            .iter_mut()
            .map(|source| {
                let left = limits.round.saturating_sub(started.elapsed());
                if left.is_zero() {
                    return Err("it was not asked, because sources before it took too long".to_owned());
                }
                source.read(&fetcher, left)
            })
            .collect();
        let round = Round {
            readings,
            cpu_ns: tierscope_clock::thread_cpu_ns() - cpu_before_ns,
        };
        if finished.send(round).is_err() {
            return;
        }
    }
}

/// Puts sorted values among sorted values.
pub(crate) fn merge(values: &mut Vec<(Key, Option<i64>)>, more: Vec<(Key, Option<i64>)>) {
    if more.is_empty() {
        return;
    }
    values.extend(more);
    // Two sorted runs: next to a merge.
    values.sort_by(|a, b| a.0.cmp(&b.0));
}

#[cfg(test)]
mod tests;
