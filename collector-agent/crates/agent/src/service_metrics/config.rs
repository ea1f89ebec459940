//! `[[service_metrics]]` of the agent's configuration.

use std::path::PathBuf;

use serde::Deserialize;

use super::exposition::Selector;

/// Most sources of one host.
const MAX_SOURCES: usize = 32;

/// Where a service tells its figures, and which of them mean what.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceMetricsConfig {
    /// `namespace/name` of the service, as the agent names it.
    pub(crate) service: String,
    /// Address of a Prometheus endpoint, `http://` alone. This or `file`.
    pub(crate) url: Option<String>,
    /// A file in the text format of Prometheus. This or `url`.
    pub(crate) file: Option<PathBuf>,
    /// Counter of work done, such as `requests_total{code="200"}`; series that fit are summed.
    pub(crate) throughput: Option<Selector>,
    /// Gauge of work per second, where the service has no counter.
    pub(crate) throughput_per_s: Option<Selector>,
    /// Gauge of load, such as connections or queue length.
    pub(crate) load: Option<Selector>,
    /// Histogram or summary of latency, by its name without `_bucket`.
    pub(crate) latency: Option<Selector>,
    /// Unit of the latency.
    #[serde(default)]
    pub(crate) latency_unit: LatencyUnit,
    /// Longest time for each step of asking, in milliseconds.
    #[serde(default = "default_timeout_ms")]
    pub(crate) timeout_ms: u64,
}

fn default_timeout_ms() -> u64 {
    400
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum LatencyUnit {
    /// Seconds, as Prometheus advises.
    #[default]
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl LatencyUnit {
    pub(super) fn nanoseconds(self) -> f64 {
        match self {
            Self::Seconds => 1e9,
            Self::Milliseconds => 1e6,
            Self::Microseconds => 1e3,
            Self::Nanoseconds => 1.0,
        }
    }
}

/// Checks what the types do not say; the text says what to write.
pub(crate) fn check(configs: &[ServiceMetricsConfig]) -> Result<(), &'static str> {
    if configs.len() > MAX_SOURCES {
        return Err("use at most 32 sources");
    }
    for config in configs {
        if config.service.trim().is_empty() || config.service.starts_with('/') {
            return Err("`service` is `namespace/name`, such as host/redis");
        }
        match (&config.url, &config.file) {
            (Some(url), None) if url.starts_with("http://") => {}
            (Some(_), None) => return Err("`url` begins with http://; there is no other scheme"),
            (None, Some(file)) if file.is_absolute() => {}
            (None, Some(_)) => return Err("`file` is an absolute path"),
            _ => return Err("give one of `url` and `file`"),
        }
        let mapped = [
            &config.throughput,
            &config.throughput_per_s,
            &config.load,
            &config.latency,
        ];
        if mapped.iter().all(|selector| selector.is_none()) {
            return Err("map at least one of `throughput`, `throughput_per_s`, `load` and `latency`");
        }
        if !(10..=2000).contains(&config.timeout_ms) {
            return Err("`timeout_ms` is 10 to 2000");
        }
        if configs
            .iter()
            .filter(|other| other.service == config.service)
            .count()
            > 1
        {
            return Err("each service has one source");
        }
    }
    Ok(())
}
