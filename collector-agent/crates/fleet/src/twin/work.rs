//! What the processors and memory controllers of a host of the twin count since it booted.

use tierscope_twin::host::{Host, HostInterval};
use tierscope_twin::laws::Laws;
use tierscope_twin::performance::Loaded;

/// Share of its processors that a service keeps busy at its capacity, as the laws define capacities.
const BUSY_AT_CAPACITY: f64 = 0.95;

/// Sums over intervals.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Time of all processors together.
    pub(super) processor_s: f64,
    /// Processor time of each service.
    pub(super) busy_s: Vec<f64>,
    /// Processor time that waits for memory.
    pub(super) stalled_s: f64,
    /// Bytes read from and written to each node.
    pub(super) node_bytes: Vec<[f64; 2]>,
}

impl Work {
    /// Adds an interval. Processors are divided between services as memory is.
    pub(super) fn add(&mut self, laws: &Laws, host: &Host, interval: &HostInterval) {
        let seconds = f64::from(host.law.cpus) * laws.clock.interval_s;
        let shares: f64 = host.law.services.iter().map(|service| service.share).sum();
        self.processor_s += seconds;
        self.busy_s.resize(interval.services.len(), 0.0);
        let services = interval.services.iter().zip(&host.law.services);
        let (mut writes, mut accesses) = (0.0, 0.0);
        for (((own, law), service), busy_s) in services.zip(&host.services).zip(&mut self.busy_s) {
            let done = &own.performance;
            let load = done.throughput_ops_per_s / done.capacity_ops_per_s.max(1e-9);
            let busy = seconds * law.share / shares * (BUSY_AT_CAPACITY * load).min(1.0);
            *busy_s += busy;
            self.stalled_s += busy * done.stall_share;
            let touches: f64 = own.accesses.iter().flatten().sum();
            accesses += touches;
            writes += touches * service.law.write_share;
        }
        // A written line is read before.
        let write_share = if accesses > 0.0 { writes / accesses } else { 0.0 };
        let nodes = std::iter::once((&laws.memory["dram"], interval.dram)).chain(
            host.law
                .slow
                .as_ref()
                .and_then(|slow| Some((&laws.memory[&slow.memory], interval.slow?))),
        );
        let moved: Vec<f64> = nodes
            .map(|(memory, Loaded { utilisation, .. })| {
                utilisation.min(1.0) * memory.bandwidth_gb_per_s * 1e9 * laws.clock.interval_s
            })
            .collect();
        self.node_bytes.resize(moved.len(), [0.0; 2]);
        for ([read, written], bytes) in self.node_bytes.iter_mut().zip(moved) {
            *written += bytes * write_share / (1.0 + write_share);
            *read += bytes / (1.0 + write_share);
        }
    }
}
