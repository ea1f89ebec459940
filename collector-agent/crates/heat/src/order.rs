//! What is to be done about heat at the end of an interval, and what it took.

use crate::backend::Sampling;

/// What measuring heat took in this interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeatCost {
    /// The back end that measures; `None` while none does.
    pub backend: Option<&'static str>,
    /// Samples of a hardware sampler.
    pub sampling: Sampling,
    /// Processor time of kernel threads that work for it, such as kdamond.
    pub kernel_cpu_ns: i64,
    /// Whether a cheaper back end could take over.
    pub has_cheaper: bool,
    /// Whether there is anybody to measure.
    pub listed: bool,
}

/// What the loop asks for at the end of an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Nominal length of the interval.
    pub interval_seconds: u32,
    /// What is to be done about heat.
    pub heat: HeatOrder,
}

/// What is to be done about heat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeatOrder {
    /// Measure.
    Measure(HeatScope),
    /// Let the interval pass for this reason: it is missing, not idle.
    Miss(String),
    /// End measuring for this reason, and leave nothing in the kernel.
    Stop(String),
}

/// How much of the heat that the owner's settings allow is measured. All of it by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeatScope {
    /// Services to measure, as `namespace/name`; `None` for all that are listed.
    pub services: Option<Vec<String>>,
    /// Services whose page samples are sent; `None` for all that are measured.
    pub sample_services: Option<Vec<String>>,
    /// Heat is measured over so many intervals at a time.
    pub every: u32,
    /// Whether a cheaper back end than the best one is to be used.
    pub degraded: bool,
}

impl Default for HeatScope {
    fn default() -> Self {
        Self {
            services: None,
            sample_services: None,
            every: 1,
            degraded: false,
        }
    }
}
