//! What a fleet's run cost: latency, errors, bytes.

use std::io::Write as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::Serialize;
use tierscope_upload::Receipt;
use tierscope_wire::Sealed;

const DAY_MINUTES: f64 = 1440.0;

/// Counts over all connections.
#[derive(Debug)]
pub(crate) struct Report {
    hosts: u32,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    attempt_ms: Vec<f64>,
    lag_s: Vec<f64>,
    batches: u64,
    host_minutes: u64,
    retries: u64,
    retries_429: u64,
    retries_503: u64,
    errors: u64,
    first_error: Option<String>,
    duplicates: u64,
    too_late: u64,
    set_aside: u64,
    sent_bytes: u64,
    inflated_bytes: u64,
    live_since: Option<Instant>,
}

#[derive(Debug, Serialize)]
struct Printed {
    schema: &'static str,
    hosts: u32,
    batches: u64,
    /// Minutes of hosts that the service has taken.
    host_minutes: u64,
    retries: u64,
    /// Of the retries: answered with 429, the host sends too much.
    retries_429: u64,
    /// Of the retries: answered with 503, the service is full or away.
    retries_503: u64,
    /// Batches that were given up.
    errors: u64,
    first_error: Option<String>,
    duplicates: u64,
    too_late_points: u64,
    set_aside_points: u64,
    sent_bytes: u64,
    inflated_bytes: u64,
    /// Null when nothing was sent live.
    live_seconds: Option<f64>,
    sent_bytes_per_host_day: Option<f64>,
    request_ms: Option<Quantiles>,
    /// From the moment at which a batch was due to be sent to its sending: how far this program fell behind.
    lag_s: Option<Quantiles>,
}

#[derive(Debug, Serialize, PartialEq)]
struct Quantiles {
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

impl Report {
    /// An empty report of a fleet.
    pub(crate) fn new(hosts: u32) -> Self {
        Self {
            hosts,
            counts: Mutex::default(),
        }
    }

    fn with(&self, change: impl FnOnce(&mut Counts)) {
        // A poisoned lock means that a sending thread panicked; its join raises that panic again.
        if let Ok(mut counts) = self.counts.lock() {
            change(&mut counts);
        }
    }

    /// From here on batches count as live; what the history took is forgotten.
    pub(crate) fn start_live(&self) {
        self.with(|counts| {
            *counts = Counts {
                live_since: Some(Instant::now()),
                ..Counts::default()
            };
        });
    }

    pub(crate) fn count_attempt(&self, took: Duration) {
        self.with(|counts| counts.attempt_ms.push(took.as_secs_f64() * 1e3));
    }

    pub(crate) fn count_lag(&self, lag: Duration) {
        self.with(|counts| counts.lag_s.push(lag.as_secs_f64()));
    }

    /// An attempt that failed for now; the service's problem begins with its status.
    pub(crate) fn count_retry(&self, cause: &str) {
        self.with(|counts| {
            counts.retries += 1;
            counts.retries_429 += u64::from(cause.starts_with("status 429"));
            counts.retries_503 += u64::from(cause.starts_with("status 503"));
        });
    }

    pub(crate) fn count_error(&self, error: &anyhow::Error) {
        self.with(|counts| {
            counts.errors += 1;
            counts.first_error.get_or_insert_with(|| format!("{error:#}"));
        });
    }

    pub(crate) fn count_batch(&self, sealed: &Sealed, receipt: &Receipt) {
        self.with(|counts| {
            counts.batches += 1;
            counts.duplicates += u64::from(receipt.result == "duplicate");
            counts.too_late += receipt.too_late;
            counts.set_aside += receipt.set_aside;
            counts.sent_bytes += sealed.body.len() as u64;
            counts.inflated_bytes += sealed.inflated_bytes as u64;
        });
    }

    /// Minutes of a host that were all taken.
    pub(crate) fn count_minutes(&self, minutes: u64) {
        self.with(|counts| counts.host_minutes += minutes);
    }

    /// Prints the report, as JSON when asked for.
    pub(crate) fn finish(&self, json: bool) -> anyhow::Result<()> {
        if !json {
            return Ok(());
        }
        let mut text = String::new();
        self.with(|counts| {
            text = serde_json::to_string_pretty(&print(self.hosts, counts)).unwrap_or_default();
        });
        writeln!(std::io::stdout(), "{text}")?;
        Ok(())
    }
}

fn print(hosts: u32, counts: &mut Counts) -> Printed {
    let live_seconds = counts.live_since.map(|since| since.elapsed().as_secs_f64());
    let host_days = counts.host_minutes as f64 / DAY_MINUTES;
    Printed {
        schema: "tierscope.fleet-report/2",
        hosts,
        batches: counts.batches,
        host_minutes: counts.host_minutes,
        retries: counts.retries,
        retries_429: counts.retries_429,
        retries_503: counts.retries_503,
        errors: counts.errors,
        first_error: counts.first_error.clone(),
        duplicates: counts.duplicates,
        too_late_points: counts.too_late,
        set_aside_points: counts.set_aside,
        sent_bytes: counts.sent_bytes,
        inflated_bytes: counts.inflated_bytes,
        live_seconds,
        sent_bytes_per_host_day: (host_days > 0.0).then(|| counts.sent_bytes as f64 / host_days),
        request_ms: quantiles(&mut counts.attempt_ms),
        lag_s: quantiles(&mut counts.lag_s),
    }
}

/// Nearest-rank quantiles; `None` without values.
fn quantiles(values: &mut [f64]) -> Option<Quantiles> {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| {
        values[((values.len() as f64 * share).ceil() as usize)
            .saturating_sub(1)
            .min(last)]
    };
    Some(Quantiles {
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        max: values[last],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let expected = Quantiles {
            p50: 50.0,
            p95: 95.0,
            p99: 99.0,
            max: 100.0,
        };
        assert_eq!(quantiles(&mut values), Some(expected));
        assert_eq!(quantiles(&mut []), None);
    }
}
