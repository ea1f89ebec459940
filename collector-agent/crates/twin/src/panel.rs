//! A sample of pages with their touches in an interval, as a page sampler of an agent would see them.

use crate::draws::Draws;
use crate::host::Host;
use crate::kind::{Kind, Place};

/// One page of the sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampledPage {
    /// Index of the service on its host.
    pub service: usize,
    /// The page, from its allocation to its end.
    pub id: u64,
    /// Its kind.
    pub kind: Kind,
    /// Where it lies.
    pub place: Place,
    /// Touches of one base page of it in the last interval.
    pub touches: u32,
}

/// The pages in memory that a hash selects, about one in `one_in` of the twin's; the same ones in every interval. Each
/// stands for `one_in` pages of the twin.
pub fn sample(host: &Host, one_in: u64, interval_s: f64) -> Vec<SampledPage> {
    let mut pages = Vec::new();
    let last_step = u64::from(host.steps.saturating_sub(1));
    for (index, population) in host.populations.iter().enumerate() {
        let chosen = host.draws().named("panel").branch(index as u64);
        let counts = chosen.named("touches").branch(last_step);
        for place in [Place::Dram, Place::Slow] {
            for unit in population.at(place) {
                let (history, born_step) = population.history(unit);
                let id = chosen.branch(unit as u64).bits(u64::from(born_step));
                if !id.is_multiple_of(one_in.max(1)) {
                    continue;
                }
                let mean = f64::from(host.rate_per_s(index, unit)) * interval_s;
                let touches = if history & 1 == 1 {
                    touches(mean, counts, unit as u64)
                } else {
                    0
                };
                pages.push(SampledPage {
                    service: population.service,
                    id,
                    kind: population.kind,
                    place,
                    touches,
                });
            }
        }
    }
    pages
}

/// Above this mean a Poisson number is as good as a normal one.
const MANY: f64 = 50.0;

/// A Poisson number with a mean, given that it is at least 1.
fn touches(mean: f64, draws: Draws, index: u64) -> u32 {
    if mean > MANY {
        return (mean + mean.sqrt() * draws.normal(index)).round().max(1.0) as u32;
    }
    // Inverts the distribution function, beginning above its value at 0.
    let none = (-mean).exp();
    let wanted = none + (1.0 - none) * draws.uniform(index);
    let (mut count, mut probability, mut below) = (0_u32, none, none);
    while below < wanted && f64::from(count) < 4.0 * MANY {
        count += 1;
        probability *= mean / f64::from(count);
        below += probability;
    }
    count.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet;
    use crate::laws::Laws;

    #[test]
    fn touches_are_poisson_given_at_least_one() {
        for mean in [0.01, 1.0, 20.0, 400.0] {
            let draws = Draws::new(5);
            let sum: f64 = (0..20_000)
                .map(|index| f64::from(touches(mean, draws, index)))
                .sum();
            let expected = mean / (1.0 - f64::exp(-mean));
            assert!((sum / 20_000.0 / expected - 1.0).abs() < 0.02, "{mean}: {sum}");
        }
    }

    #[test]
    fn a_sample_has_the_placement_and_the_accesses_of_its_host() {
        let mut laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
        laws.clock.warm_up_intervals = 30;
        let index = laws
            .hosts
            .iter()
            .position(|host| host.name == "web-3")
            .expect("a host of the default laws");
        let mut last = 0.0;
        let host = fleet::run_host(&laws, index, 1, 1, |_, interval| {
            last = interval.services[0].accesses.iter().flatten().sum::<f64>();
        });
        let pages = sample(&host, 1, laws.clock.interval_s);
        let resident: usize = host
            .populations
            .iter()
            .map(crate::population::Population::resident)
            .sum();
        assert_eq!(pages.len(), resident);
        let touches: f64 = pages.iter().map(|page| f64::from(page.touches)).sum();
        assert!(
            (touches * host.memory.unit as f64 / last - 1.0).abs() < 0.05,
            "{touches}"
        );
        let some = sample(&host, 8, laws.clock.interval_s);
        assert!(some.iter().all(|page| pages.contains(page)));
        assert!(
            (some.len() as f64 * 8.0 / resident as f64 - 1.0).abs() < 0.25,
            "{}",
            some.len()
        );
    }
}
