//! Popularity: how often pages are touched, by their rank.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::laws::{Laws, PopulationLaw, ServiceLaw};

/// Steps of rank that are told apart.
pub const SLOTS: usize = 4096;
/// Accesses of a pass to each base page: every line of 64 bytes once.
const PASS_ACCESSES: f32 = 64.0;

/// The popularities of all services of some laws, by name of the service and then in the order of its populations. Hosts
/// share them: each takes 32 KiB.
#[derive(Debug)]
pub struct Popularities(BTreeMap<String, Arc<[Popularity]>>);

impl Popularities {
    /// Those that the laws describe.
    pub fn new(laws: &Laws) -> Self {
        let of_service = |law: &ServiceLaw| {
            (
                law.name.clone(),
                law.populations.iter().map(Popularity::new).collect(),
            )
        };
        Self(laws.services.iter().map(of_service).collect())
    }

    /// Those of a service; `None` for one that is not in the laws.
    pub fn of(&self, service: &str) -> Option<Arc<[Popularity]>> {
        self.0.get(service).cloned()
    }
}

/// Touches of a base page by its rank.
///
/// The active ranks follow a zipf law with a flat top, scaled so that they average 1; what they are multiplied with is
/// the service's accesses per active page. Because it is a density over the *share* of pages, it does not depend on how
/// much memory a page of the twin stands for.
#[derive(Debug, Clone)]
pub struct Popularity {
    active: Vec<f32>,
    idle_per_s: Vec<f32>,
    active_share: f64,
    /// First and last slot of the passes, and their period.
    passes: Option<(usize, usize, f64)>,
}

impl Popularity {
    /// The popularity that a law describes.
    pub fn new(law: &PopulationLaw) -> Self {
        let idle_from = law.active_share + law.pass_share;
        let shape = |x: f64| integral(x, law.flat_top, law.skew);
        let whole = shape(1.0) - shape(0.0);
        let mut active = vec![0.0; SLOTS];
        let mut idle_per_s = vec![0.0; SLOTS];
        for slot in 0..SLOTS {
            let (begin, end) = (slot as f64 / SLOTS as f64, (slot + 1) as f64 / SLOTS as f64);
            let inside = |rank: f64| (rank / law.active_share).min(1.0);
            let mass = (shape(inside(end)) - shape(inside(begin))) / whole;
            active[slot] = (mass * law.active_share * SLOTS as f64) as f32;
            let middle = f64::midpoint(begin, end);
            if middle > idle_from {
                let (shortest, longest) = law.idle_revisit_s;
                let depth = (middle - idle_from) / (1.0 - idle_from);
                idle_per_s[slot] = (1.0 / (shortest * (longest / shortest).powf(depth))) as f32;
            }
        }
        let slot_at = |share: f64| (share * SLOTS as f64).round() as usize;
        let passes =
            (law.pass_share > 0.0).then(|| (slot_at(law.active_share), slot_at(idle_from), law.pass_s));
        Self {
            active,
            idle_per_s,
            active_share: law.active_share,
            passes,
        }
    }

    /// The popularity of a population whose accesses have spread evenly over `hot_share` of its pages.
    pub fn flat(law: &PopulationLaw, hot_share: f64) -> Self {
        Self::new(&PopulationLaw {
            active_share: hot_share.clamp(f64::MIN_POSITIVE, 1.0),
            skew: 0.0,
            pass_share: 0.0,
            pass_s: 0.0,
            ..law.clone()
        })
    }

    /// Touches per second of a base page by slot, while the active pages share `accesses_per_s` among them, of `pages` in
    /// all. Pages that are not active follow `load`, and the pass of the time from `now_s` on for `interval_s`.
    pub fn rates(
        &self,
        accesses_per_s: f64,
        pages: f64,
        load: f64,
        (now_s, interval_s): (f64, f64),
    ) -> Vec<f32> {
        let active_pages = (pages * self.active_share).max(1.0);
        let per_page = (accesses_per_s / active_pages) as f32;
        let load = load as f32;
        let mut rates: Vec<f32> = self
            .active
            .iter()
            .zip(&self.idle_per_s)
            .map(|(active, idle)| active * per_page + idle * load)
            .collect();
        if let Some((first, last, period_s)) = self.passes {
            let slots = (last - first) as f64;
            let from = now_s / period_s;
            let until = (now_s + interval_s) / period_s;
            for (index, rate) in rates[first..last].iter_mut().enumerate() {
                let place = index as f64 / slots;
                let times = (until - place).floor() - (from - place).floor();
                *rate += times as f32 * PASS_ACCESSES / interval_s as f32;
            }
        }
        rates
    }
}

/// Integral of `(x + top)^-skew` from 0 to `x`, but for a constant.
fn integral(x: f64, top: f64, skew: f64) -> f64 {
    let exponent = 1.0 - skew;
    if exponent.abs() < 1e-9 {
        (x + top).ln()
    } else {
        (x + top).powf(exponent) / exponent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    fn law() -> PopulationLaw {
        PopulationLaw {
            kind: Kind::Anon,
            memory_share: 1.0,
            access_share: 1.0,
            active_share: 0.25,
            skew: 0.99,
            flat_top: 0.01,
            idle_revisit_s: (100.0, 10_000.0),
            drift_per_hour: 0.0,
            phase_s: 0.0,
            phase_step: 0.0,
            turnover_per_hour: 0.0,
            pass_share: 0.0,
            pass_s: 0.0,
            start_share: 1.0,
        }
    }

    #[test]
    fn active_pages_share_the_accesses_and_the_others_come_back_in_their_own_time() {
        let popularity = Popularity::new(&law());
        let rates = popularity.rates(1e6, 4096.0, 0.0, (0.0, 60.0));
        let sum: f32 = rates.iter().sum();
        assert!((f64::from(sum) / 1e6 - 1.0).abs() < 1e-3, "{sum}");
        assert!(rates[..1024].windows(2).all(|pair| pair[0] >= pair[1]));
        let idle = popularity.rates(0.0, 4096.0, 1.0, (0.0, 60.0));
        assert!(idle[1000].abs() < 1e-9);
        assert!((idle[1024] - 0.01).abs() < 1e-3 && idle[4095] < 1.1e-4);
    }

    #[test]
    fn a_pass_reads_every_page_of_its_range_once_in_its_period() {
        let law = PopulationLaw {
            pass_share: 0.25,
            pass_s: 600.0,
            ..law()
        };
        let popularity = Popularity::new(&law);
        let mut seen = vec![0; SLOTS];
        for minute in 0..10 {
            let rates = popularity.rates(0.0, 4096.0, 0.0, (f64::from(minute) * 60.0, 60.0));
            for (count, rate) in seen.iter_mut().zip(&rates) {
                *count += u32::from(*rate > 0.0);
            }
        }
        assert!(seen[1024..2048].iter().all(|count| *count == 1));
        assert!(seen[..1024].iter().chain(&seen[2048..]).all(|count| *count == 0));
    }

    #[test]
    fn a_flat_popularity_is_even() {
        let rates = Popularity::flat(&law(), 1.0).rates(1e6, 4096.0, 0.0, (0.0, 60.0));
        assert!((rates[0] / rates[4095] - 1.0).abs() < 1e-3);
    }
}
