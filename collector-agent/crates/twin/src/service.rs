//! A service on a host: its load, and how much memory it wants.

use std::sync::Arc;

use crate::conditions::ServiceConditions;
use crate::draws::Draws;
use crate::kind::Kind;
use crate::laws::{GIB, NoiseLaw, PopulationLaw, ServiceLaw};
use crate::popularity::Popularity;

const DAY_S: f64 = 86_400.0;
const HOUR_S: f64 = 3600.0;

/// A service on a host.
#[derive(Debug, Clone)]
pub struct HostService {
    /// Its law.
    pub law: ServiceLaw,
    /// Memory at level 1.
    pub level_bytes: f64,
    /// Operations per second with all memory in idle DRAM, on this very host.
    pub idle_ops_per_s: f64,
    popularities: Arc<[Popularity]>,
    draws: Draws,
}

/// How busy the pages of a population are in one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Activity {
    /// Base pages allocated.
    pub pages: f64,
    /// Load of the service as a share of its capacity.
    pub load: f64,
    /// When the step begins, seconds after the start of the twin.
    pub now_s: f64,
    /// Its length.
    pub interval_s: f64,
    /// Accesses spread over this share of the pages.
    pub hot_share: Option<f64>,
}

impl HostService {
    /// A service that fills `level_bytes`, with the popularities of its populations; `luck` is the logarithm of its host's
    /// factor on the capacity.
    pub fn new(
        law: &ServiceLaw,
        popularities: Arc<[Popularity]>,
        level_bytes: f64,
        luck: f64,
        draws: Draws,
    ) -> Self {
        Self {
            popularities,
            idle_ops_per_s: law.capacity_ops_per_s_per_gib * level_bytes / GIB * luck.exp(),
            law: law.clone(),
            level_bytes,
            draws,
        }
    }

    /// Offered load as a share of the capacity, at a time (seconds since the Unix epoch, UTC).
    pub fn load(&self, unix_s: f64, noise: &NoiseLaw) -> f64 {
        let hour = unix_s.rem_euclid(DAY_S) / HOUR_S;
        let day = (std::f64::consts::TAU * (hour - self.law.peak_hour) / 24.0).cos();
        // 1 January 1970 was a Thursday.
        let weekday = ((unix_s / DAY_S).floor() as i64 + 3).rem_euclid(7);
        let week = if weekday >= 5 {
            self.law.weekend_factor
        } else {
            1.0
        };
        let wobble = noise.load_sd * self.smooth(unix_s / noise.correlation_s);
        self.law.load_share * (1.0 + self.law.daily_amplitude * day) * week * wobble.exp()
    }

    /// Noise of mean 0 and deviation about 1 that changes over a time of 1.
    fn smooth(&self, time: f64) -> f64 {
        let draws = self.draws.named("load");
        let (whole, part) = (time.floor(), time.rem_euclid(1.0));
        let (from, to) = (draws.normal(whole as u64), draws.normal(whole as u64 + 1));
        let blend = part * part * (3.0 - 2.0 * part);
        // Between two independent values the deviation would be smaller.
        (from * (1.0 - blend) + to * blend) / (blend.powi(2) + (1.0 - blend).powi(2)).sqrt()
    }

    /// When its processes last started, hours after the start of the twin; `None` for long ago.
    pub fn started_h(&self, hours: f64, conditions: &ServiceConditions) -> Option<f64> {
        let every = self.law.restart_every_h;
        let regular = (every > 0.0).then(|| {
            let phase = every * self.draws.named("restart").uniform(0);
            ((hours - phase) / every).floor() * every + phase
        });
        match (regular, conditions.deployed_h) {
            (Some(regular), Some(deployed)) => Some(regular.max(deployed)),
            (regular, deployed) => regular.or(deployed),
        }
    }

    /// Bytes that a population wants.
    pub fn wanted_bytes(
        &self,
        population: &PopulationLaw,
        hours: f64,
        conditions: &ServiceConditions,
        started_h: Option<f64>,
    ) -> f64 {
        let grown = (1.0 + self.law.growth_per_day).powf(hours / 24.0);
        let anon = if population.kind == Kind::Anon {
            conditions.anon_level
        } else {
            1.0
        };
        let filled = started_h.map_or(1.0, |started| {
            let age_s = ((hours - started) * HOUR_S).max(0.0);
            1.0 - (1.0 - population.start_share) * (-age_s / self.law.warm_up_s).exp()
        });
        self.level_bytes * population.memory_share * conditions.level * anon * grown * filled
    }

    /// Touches per second of base pages of its population with this index, by slot, and how far ranks have moved on.
    pub fn rates(&self, index: usize, activity: &Activity) -> (Vec<f32>, u16) {
        let law = &self.law.populations[index];
        let Activity { pages, load, .. } = *activity;
        let accesses_per_s = load * self.idle_ops_per_s * self.law.accesses_per_op * law.access_share;
        let time = (activity.now_s, activity.interval_s);
        let rates = match activity.hot_share {
            Some(share) => Popularity::flat(law, share).rates(accesses_per_s, pages, load, time),
            None => self.popularities[index].rates(accesses_per_s, pages, load, time),
        };
        let phases = if law.phase_s > 0.0 {
            (activity.now_s / law.phase_s).floor()
        } else {
            0.0
        };
        let moved_on = (phases * law.phase_step).rem_euclid(1.0);
        (rates, (moved_on * f64::from(u16::MAX)) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::Laws;

    fn web() -> (Laws, HostService) {
        let laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
        let law = laws
            .service("web")
            .expect("a service of the default laws")
            .clone();
        let popularities = law.populations.iter().map(Popularity::new).collect();
        let web = HostService::new(&law, popularities, 100.0 * GIB, 0.0, Draws::new(1));
        (laws, web)
    }

    #[test]
    fn load_has_its_day_and_its_week() {
        let (laws, web) = web();
        let noise = NoiseLaw {
            load_sd: 0.0,
            ..laws.noise.clone()
        };
        let monday = laws.clock.start_unix_s as f64;
        let at = |day: f64, hour: f64| web.load(monday + day * DAY_S + hour * HOUR_S, &noise);
        assert!((at(0.0, 19.0) - 0.55 * 1.35).abs() < 1e-9);
        assert!((at(0.0, 7.0) - 0.55 * 0.65).abs() < 1e-9);
        assert!((at(5.0, 19.0) / at(4.0, 19.0) - 0.9).abs() < 1e-9, "Saturday");
        assert!((at(7.0, 19.0) / at(0.0, 19.0) - 1.0).abs() < 1e-9, "Monday again");
    }

    #[test]
    fn anonymous_memory_grows_after_a_start_and_file_memory_shrinks() {
        let (_, web) = web();
        let normal = ServiceConditions::default();
        let wanted = |index: usize, hours: f64| {
            web.wanted_bytes(&web.law.populations[index], hours, &normal, Some(0.0)) / GIB
        };
        assert!((wanted(0, 0.0) - 62.0 * 0.25).abs() < 1e-9);
        assert!(wanted(0, 5.0) > 61.9);
        assert!(wanted(1, 0.0) > 1.4 * wanted(1, 5.0));
    }
}
