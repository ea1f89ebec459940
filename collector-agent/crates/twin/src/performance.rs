//! What slow memory costs a service: loaded latencies, stalls, throughput and the time of an operation.

use crate::laws::{MemoryLaw, PAGE_BYTES, ServiceLaw};

/// Bytes of a line: what one access moves.
const LINE_BYTES: f64 = 64.0;
/// Queues are no longer told apart above this share of the capacity.
const FULL: f64 = 0.98;

/// Bytes per second on one node.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Demand {
    /// Services.
    pub access_bytes_per_s: f64,
    /// The kernel, which copies pages.
    pub move_bytes_per_s: f64,
}

impl Demand {
    /// Adds accesses, of which `write_share` write: a written line is read before and written back later.
    pub fn add_accesses(&mut self, accesses_per_s: f64, write_share: f64) {
        self.access_bytes_per_s += accesses_per_s * LINE_BYTES * (1.0 + write_share);
    }

    /// Adds moved pages: each is read on one node and written on the other.
    pub fn add_moves(&mut self, pages_per_s: f64) {
        self.move_bytes_per_s += pages_per_s * PAGE_BYTES as f64;
    }

    /// All of it.
    pub fn bytes_per_s(&self) -> f64 {
        self.access_bytes_per_s + self.move_bytes_per_s
    }
}

/// How a node answers to its demand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loaded {
    /// Latency.
    pub latency_ns: f64,
    /// Share of the demand that can be served, at most 1.
    pub served_share: f64,
    /// Share of the bandwidth in use.
    pub utilisation: f64,
}

impl Loaded {
    /// A node of a kind of memory under a demand; factors of a degraded link on latency and bandwidth.
    pub fn new(memory: &MemoryLaw, demand: &Demand, latency_factor: f64, bandwidth_factor: f64) -> Self {
        let utilisation = demand.bytes_per_s() / (memory.bandwidth_gb_per_s * 1e9 * bandwidth_factor);
        Self {
            latency_ns: memory.latency_ns * latency_factor * interpolate(&memory.loaded, utilisation),
            served_share: (1.0 / utilisation.max(1e-9)).min(1.0),
            utilisation,
        }
    }
}

/// Straight between the points of a curve, flat outside.
fn interpolate(curve: &[(f64, f64)], x: f64) -> f64 {
    let after = curve.iter().position(|(at, _)| *at >= x);
    match after {
        Some(0) | None => curve
            .last()
            .filter(|_| after.is_none())
            .or(curve.first())
            .map_or(1.0, |point| point.1),
        Some(index) => {
            let ((x0, y0), (x1, y1)) = (curve[index - 1], curve[index]);
            y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        }
    }
}

/// What a service meets in one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circumstances {
    /// Share of accesses served by the slow node.
    pub slow_share: f64,
    /// DRAM as it answers.
    pub dram: Loaded,
    /// The slow node as it answers; of no account without slow accesses.
    pub slow: Option<Loaded>,
    /// Latency of idle DRAM.
    pub idle_dram_ns: f64,
    /// Time for major faults, as a share of the time of the service's work.
    pub fault_share: f64,
    /// Processor time that the kernel takes for hint faults and moves, as a share of the host's.
    pub kernel_share: f64,
}

impl Circumstances {
    /// The same with all memory in DRAM, which answers so, and nothing to do for the kernel.
    #[must_use]
    pub fn all_in_dram(self, dram: Loaded) -> Self {
        Self {
            slow_share: 0.0,
            dram,
            slow: None,
            fault_share: 0.0,
            kernel_share: 0.0,
            ..self
        }
    }
}

/// Time lost for each time worked on an all-DRAM host without load.
///
/// `exposure ((1 - h) (L_dram / L_idle - 1) + h^b (L_slow / L_idle - 1))`, the physical form of docs/method/ratio.md with
/// an exponent for overlap, plus faults and the kernel's work.
pub fn slowdown_odds(law: &ServiceLaw, met: &Circumstances) -> f64 {
    let over = |latency_ns: f64| latency_ns / met.idle_dram_ns - 1.0;
    let dram = (1.0 - met.slow_share) * over(met.dram.latency_ns);
    let slow = met.slow.map_or(0.0, |slow| {
        met.slow_share.powf(law.slow_exponent) * over(slow.latency_ns)
    });
    law.memory_exposure * (dram + slow) + met.fault_share + met.kernel_share
}

/// How a service did in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Performance {
    /// What it was asked for.
    pub offered_ops_per_s: f64,
    /// What it can do.
    pub capacity_ops_per_s: f64,
    /// What it did.
    pub throughput_ops_per_s: f64,
    /// Median time of an operation.
    pub p50_us: f64,
    /// Its 99th percentile.
    pub p99_us: f64,
    /// Share of processor time that waits for memory.
    pub stall_share: f64,
}

impl Performance {
    /// How a service does with a capacity of `idle_ops_per_s` on idle DRAM.
    pub fn new(law: &ServiceLaw, met: &Circumstances, idle_ops_per_s: f64, offered_ops_per_s: f64) -> Self {
        let odds = slowdown_odds(law, met);
        let slow_served = met.slow.map_or(1.0, |slow| slow.served_share);
        let served = if met.slow_share > 0.0 {
            met.dram.served_share.min(slow_served)
        } else {
            met.dram.served_share
        };
        let by_time = idle_ops_per_s / (1.0 + odds);
        // Where a node is asked for more than its bandwidth, that is what limits.
        let capacity_ops_per_s = if served < 1.0 {
            by_time.min(offered_ops_per_s * served)
        } else {
            by_time
        };
        let load = (offered_ops_per_s / capacity_ops_per_s).min(FULL);
        let p50_us = law.op_us * (1.0 + odds) * (1.0 + 0.5 * load.powi(4) / (1.0 - load));
        let exposed = law.memory_exposure + odds;
        Self {
            offered_ops_per_s,
            capacity_ops_per_s,
            throughput_ops_per_s: offered_ops_per_s.min(capacity_ops_per_s),
            p50_us,
            p99_us: p50_us * law.tail_ratio * (1.0 + load.powi(8) / (1.0 - load)),
            stall_share: exposed / (1.0 + odds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::Laws;

    fn met(laws: &Laws, slow_share: f64) -> Circumstances {
        let idle = |name: &str| Loaded::new(&laws.memory[name], &Demand::default(), 1.0, 1.0);
        Circumstances {
            slow_share,
            dram: idle("dram"),
            slow: Some(idle("cxl")),
            idle_dram_ns: 100.0,
            fault_share: 0.0,
            kernel_share: 0.0,
        }
    }

    #[test]
    fn slow_accesses_cost_what_the_law_says() {
        let laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
        let redis = laws.service("redis").expect("a service of the default laws");
        let performance = |share: f64| Performance::new(redis, &met(&laws, share), 1000.0, 500.0);
        assert!((performance(0.0).capacity_ops_per_s - 1000.0).abs() < 1e-9);
        // Exposure 0.45, 230 ns against 100 ns, exponent 1: odds 0.2 x 0.45 x 1.3.
        let loss = 1.0 - performance(0.2).capacity_ops_per_s / performance(0.0).capacity_ops_per_s;
        assert!((loss - 0.117 / 1.117).abs() < 1e-9, "{loss}");
        assert!(performance(0.2).p99_us > performance(0.0).p99_us);
    }

    #[test]
    fn latency_rises_with_the_demand_and_a_full_node_limits() {
        let laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
        let loaded = |gb_per_s: f64| {
            let demand = Demand {
                access_bytes_per_s: gb_per_s * 1e9,
                move_bytes_per_s: 0.0,
            };
            Loaded::new(&laws.memory["cxl"], &demand, 1.0, 1.0)
        };
        assert!((loaded(0.0).latency_ns - 230.0).abs() < 1e-9);
        assert!((loaded(56.0 * 0.7).latency_ns - 230.0 * 1.5).abs() < 1e-6);
        assert!((loaded(112.0).served_share - 0.5).abs() < 1e-9);
        assert!((loaded(112.0).latency_ns - 920.0).abs() < 1e-9);
        let search = laws.service("search").expect("a service of the default laws");
        let full = Circumstances {
            slow: Some(loaded(112.0)),
            ..met(&laws, 0.5)
        };
        assert!((Performance::new(search, &full, 1000.0, 800.0).throughput_ops_per_s - 400.0).abs() < 1e-6);
    }
}
