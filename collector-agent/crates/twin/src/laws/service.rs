//! Laws of services: load, memory, and how much slow memory costs them.

use serde::Deserialize;

use super::problem::LawError;
use crate::kind::Kind;

/// A service.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceLaw {
    /// Name, unique.
    pub name: String,
    /// Namespace, as in `namespace/name`.
    pub namespace: String,
    /// Executable.
    pub executable: String,
    /// Operations per second that it can do for each GiB of its memory, with all of it in idle DRAM.
    pub capacity_ops_per_s_per_gib: f64,
    /// Memory accesses (loads and stores that miss all caches) of one operation.
    pub accesses_per_op: f64,
    /// Time of one operation on an idle host, all in DRAM.
    pub op_us: f64,
    /// p99 over median of an operation's time, unloaded.
    pub tail_ratio: f64,
    /// Share of the time of an operation that waits for memory in DRAM (exposed stalls).
    pub memory_exposure: f64,
    /// Exponent of the slow share: 1 where all accesses wait alike, above it where slow ones overlap at first.
    pub slow_exponent: f64,
    /// Share of accesses that write.
    pub write_share: f64,
    /// Offered load at its mean, as a share of the capacity.
    pub load_share: f64,
    /// Amplitude of the day, as a share of the mean.
    pub daily_amplitude: f64,
    /// Hour (UTC) of the day's peak.
    pub peak_hour: f64,
    /// Factor on the load on Saturdays and Sundays.
    pub weekend_factor: f64,
    /// Growth of memory, per day.
    #[serde(default)]
    pub growth_per_day: f64,
    /// Hours between restarts of its processes; 0 for never.
    #[serde(default)]
    pub restart_every_h: f64,
    /// Time constant of filling memory after a start.
    pub warm_up_s: f64,
    /// Its kinds of memory.
    #[serde(rename = "population")]
    pub populations: Vec<PopulationLaw>,
}

/// One kind of memory of a service.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PopulationLaw {
    /// Kind of its pages.
    pub kind: Kind,
    /// Share of the service's memory.
    pub memory_share: f64,
    /// Share of the service's accesses.
    pub access_share: f64,
    /// Share of its pages that share those accesses; the others are touched now and then.
    pub active_share: f64,
    /// Zipf exponent over the active pages: the page at share x of them has (x + `flat_top`)^-`skew`.
    pub skew: f64,
    /// Width of the flat top of popularity, as a share of the active pages, above 0.
    pub flat_top: f64,
    /// Mean times between touches of the other pages: the shortest and the longest, spread evenly in their logarithm.
    pub idle_revisit_s: (f64, f64),
    /// Share of pages that swap their popularity with others, per hour.
    #[serde(default)]
    pub drift_per_hour: f64,
    /// Period of phases: each time the popularity moves on by `phase_step`; 0 for none.
    #[serde(default)]
    pub phase_s: f64,
    /// Share of the pages by which a phase moves the popularity.
    #[serde(default)]
    pub phase_step: f64,
    /// Share of pages freed and allocated anew, per hour.
    #[serde(default)]
    pub turnover_per_hour: f64,
    /// Share of pages read by passes from end to end (merges, batch scans), in place of the least active ones.
    #[serde(default)]
    pub pass_share: f64,
    /// Time of one pass.
    #[serde(default)]
    pub pass_s: f64,
    /// Memory right after a start, as a share of its level: below 1 it grows, above 1 it shrinks.
    pub start_share: f64,
}

impl ServiceLaw {
    pub(super) fn check(&self) -> Result<(), LawError> {
        let place = || format!("service {}", self.name);
        let sums = |share: fn(&PopulationLaw) -> f64| self.populations.iter().map(share).sum::<f64>();
        if (sums(|population| population.memory_share) - 1.0).abs() > 1e-6 {
            return Err(LawError::wrong(
                place(),
                "memory_share of its populations must sum to 1",
            ));
        }
        if (sums(|population| population.access_share) - 1.0).abs() > 1e-6 {
            return Err(LawError::wrong(
                place(),
                "access_share of its populations must sum to 1",
            ));
        }
        if self.warm_up_s <= 0.0 || self.capacity_ops_per_s_per_gib <= 0.0 || self.op_us <= 0.0 {
            return Err(LawError::wrong(
                place(),
                "warm_up_s, capacity and op_us must be above 0",
            ));
        }
        self.populations
            .iter()
            .try_for_each(|population| population.check(&place()))
    }
}

impl PopulationLaw {
    fn check(&self, service: &str) -> Result<(), LawError> {
        let place = || format!("{service}, {:?}", self.kind);
        if !(0.0..=1.0).contains(&(self.active_share + self.pass_share)) || self.active_share <= 0.0 {
            return Err(LawError::wrong(
                place(),
                "active_share must be above 0, with pass_share at most 1",
            ));
        }
        let (shortest, longest) = self.idle_revisit_s;
        if shortest <= 0.0 || longest < shortest || self.flat_top <= 0.0 {
            return Err(LawError::wrong(
                place(),
                "idle_revisit_s must rise, flat_top must be above 0",
            ));
        }
        if (self.pass_share > 0.0) != (self.pass_s > 0.0) {
            return Err(LawError::wrong(place(), "pass_share and pass_s go together"));
        }
        Ok(())
    }
}
