//! One source: its text, and what the settings make of it.

use std::time::Duration;

use super::config::ServiceMetricsConfig;
use super::exposition::{self, Sample, Selector};
use super::fetch::{Fetched, Fetcher};
use super::latency::Histogram;

/// Names of the values of a service, in the order of [`Reading::values`].
pub(super) const NAMES: [&str; 6] = [
    "age_s",
    "latency_p50_ns",
    "latency_p99_ns",
    "load_milli",
    "throughput_milli_per_s",
    "throughput_total_milli",
];

/// What a source said. Absent is what is not configured, not there, or not a number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reading {
    age_s: Option<i64>,
    latency_p50_ns: Option<i64>,
    latency_p99_ns: Option<i64>,
    load_milli: Option<i64>,
    throughput_milli_per_s: Option<i64>,
    throughput_total_milli: Option<i64>,
    /// A configured metric that is not there, or a text that could not be understood in part.
    pub(super) problem: Option<String>,
}

impl Reading {
    /// The values, in the order of [`NAMES`].
    pub(super) fn values(&self) -> [Option<i64>; 6] {
        [
            self.age_s,
            self.latency_p50_ns,
            self.latency_p99_ns,
            self.load_milli,
            self.throughput_milli_per_s,
            self.throughput_total_milli,
        ]
    }
}

/// A source with its memory: latency is that of the requests since the last reading.
pub(super) struct Source {
    config: ServiceMetricsConfig,
    /// The histogram of the last reading.
    before: Histogram,
}

impl Source {
    pub(super) fn new(config: ServiceMetricsConfig) -> Self {
        Self {
            config,
            before: Histogram::default(),
        }
    }

    /// Asks the source, within `left`. The text says what is wrong.
    pub(super) fn read(&mut self, fetcher: &Fetcher, left: Duration) -> Result<Reading, String> {
        let answer = match (&self.config.url, &self.config.file) {
            (Some(url), _) => fetcher.url(url, Duration::from_millis(self.config.timeout_ms).min(left)),
            (None, Some(file)) => Fetcher::file(file),
            (None, None) => Err("it has neither `url` nor `file`".to_owned()),
        };
        if answer.is_err() {
            // Requests of an unknown time are no latency of the next interval.
            self.before = Histogram::default();
        }
        Ok(self.understand(&answer?))
    }

    fn understand(&mut self, fetched: &Fetched) -> Reading {
        let mut found = MetricValues::default();
        let outcome = exposition::parse(&fetched.text, |sample| found.take(&self.config, sample));
        let scale = self.config.latency_unit.nanoseconds();
        let quantile_ns = |quantile: f64| {
            let latency = if found.histogram.is_empty() {
                found.quantile(quantile)
            } else {
                found.histogram.quantile_since(&self.before, quantile)
            };
            whole(latency? * scale)
        };
        let milli = |sum: Option<f64>| sum.and_then(|sum| whole(sum * 1000.0));
        let reading = Reading {
            age_s: fetched.age_s,
            latency_p50_ns: quantile_ns(0.5),
            latency_p99_ns: quantile_ns(0.99),
            load_milli: milli(found.load),
            throughput_milli_per_s: milli(found.throughput_per_s),
            throughput_total_milli: milli(found.throughput),
            problem: found.missing(&self.config).or(outcome.err()),
        };
        self.before = found.histogram;
        reading
    }
}

/// A whole number; `None` for what is none, or does not fit.
fn whole(value: f64) -> Option<i64> {
    // 2^62 is far above any figure, and exact as a float.
    (value.is_finite() && value.abs() < 4.6e18).then(|| value.round() as i64)
}

/// What the text holds of the configured metrics.
#[derive(Debug, Default)]
struct MetricValues {
    throughput: Option<f64>,
    throughput_per_s: Option<f64>,
    load: Option<f64>,
    histogram: Histogram,
    /// Quantiles of a summary with their values.
    quantiles: Vec<(f64, f64)>,
}

impl MetricValues {
    fn take(&mut self, config: &ServiceMetricsConfig, sample: &Sample<'_>) {
        let sums = [
            (&config.throughput, &mut self.throughput),
            (&config.throughput_per_s, &mut self.throughput_per_s),
            (&config.load, &mut self.load),
        ];
        for (selector, sum) in sums {
            if selector
                .as_ref()
                .is_some_and(|selector| selector.fits(sample, ""))
            {
                *sum = Some(sum.unwrap_or(0.0) + sample.value);
            }
        }
        let Some(latency) = &config.latency else { return };
        let number = |label: &str| sample.label(label).and_then(|text| text.parse::<f64>().ok());
        if latency.fits(sample, "_bucket") {
            if let Some(bound) = number("le") {
                self.histogram.add(bound, sample.value);
            }
        } else if latency.fits(sample, "")
            && let Some(quantile) = number("quantile")
        {
            self.quantiles.push((quantile, sample.value));
        }
    }

    /// A quantile of a summary. Quantiles of several series cannot be put together, so that several have none.
    fn quantile(&self, quantile: f64) -> Option<f64> {
        let mut fitting = self
            .quantiles
            .iter()
            .filter(|(own, _)| (own - quantile).abs() < 1e-9);
        let (_, value) = fitting.next()?;
        fitting.next().is_none().then_some(*value)
    }

    /// The first configured metric that the text does not have.
    fn missing(&self, config: &ServiceMetricsConfig) -> Option<String> {
        let has_latency = !self.histogram.is_empty() || !self.quantiles.is_empty();
        let parts: [(&Option<Selector>, bool); 4] = [
            (&config.throughput, self.throughput.is_some()),
            (&config.throughput_per_s, self.throughput_per_s.is_some()),
            (&config.load, self.load.is_some()),
            (&config.latency, has_latency),
        ];
        let (selector, _) = parts
            .into_iter()
            .find(|(selector, is_there)| selector.is_some() && !is_there)?;
        let name = selector.as_ref().map(Selector::name).unwrap_or_default();
        Some(format!(
            "it has no metric `{name}` with the labels of the settings"
        ))
    }
}
