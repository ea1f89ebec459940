//! Which pages reclaim takes first.

use crate::draws::Draws;
use crate::kind::Place;
use crate::population::Population;

/// What reclaim goes by.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Pages whose last touches are less apart than this are taken in any order.
    pub resolution_s: f64,
    /// `vm.swappiness`: ages of anonymous pages count this many hundredths, those of file pages the rest of two.
    pub swappiness: f64,
    /// Whether pages of swap-backed kinds can go anywhere.
    pub takes_swap_backed: bool,
}

/// Pages of one node, the ones to be taken first at the end.
///
/// Both of the kernel's algorithms (active and inactive lists, and generations) look at accessed bits now and then, and so
/// know ages no finer than the time between two looks; pages of one age are in the order of their addresses, which is any.
#[derive(Debug)]
pub struct Victims {
    pages: Vec<(u64, u32, u32)>,
}

impl Victims {
    /// The `most` pages at `place` that come first. Pages allocated in this `step` are no victims.
    pub fn choose(
        populations: &[Population],
        place: Place,
        order: &Order,
        (step, draws): (u32, Draws),
        most: usize,
    ) -> Self {
        let mut pages = Vec::new();
        for (index, population) in populations.iter().enumerate() {
            let backed = population.kind.is_swap_backed();
            if backed && (!order.takes_swap_backed || order.swappiness <= 0.0) {
                continue;
            }
            let weight = if backed {
                order.swappiness
            } else {
                200.0 - order.swappiness
            } / 100.0;
            let draws = draws.branch(index as u64);
            for unit in population
                .at(place)
                .filter(|unit| population.history(*unit).1 != step)
            {
                let looks = (f64::from(population.idle_s(unit)) / order.resolution_s).floor();
                let key = (((looks * weight * 16.0) as u64) << 32) | (draws.bits(unit as u64) >> 32);
                pages.push((key, index as u32, unit as u32));
            }
        }
        if pages.len() > most {
            let kept = pages.len() - most;
            pages.select_nth_unstable(kept);
            pages.drain(..kept);
        }
        pages.sort_unstable();
        Self { pages }
    }

    /// The next victim: population and page.
    pub fn take(&mut self) -> Option<(usize, usize)> {
        self.pages
            .pop()
            .map(|(_, population, unit)| (population as usize, unit as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;
    use crate::popularity::SLOTS;
    use crate::population::Touching;

    fn populations() -> Vec<Population> {
        [Kind::Anon, Kind::File]
            .into_iter()
            .map(|kind| {
                let mut population = Population::new(kind, 0, Draws::new(1));
                for _ in 0..8 {
                    let unit = population.allocate(0, None);
                    population.put(unit, Place::Dram);
                }
                let rates = vec![0.0; SLOTS];
                let touching = Touching {
                    step: 1,
                    interval_s: 60.0,
                    rates: &rates,
                    rank_offset: 0,
                    scan: None,
                    scans_dram: false,
                };
                population.touch(&touching);
                population
            })
            .collect()
    }

    fn kinds(order: &Order) -> Vec<usize> {
        let mut victims = Victims::choose(&populations(), Place::Dram, order, (2, Draws::new(2)), 100);
        std::iter::from_fn(|| victims.take())
            .map(|(population, _)| population)
            .collect()
    }

    #[test]
    fn files_go_first_at_low_swappiness_and_anonymous_pages_not_at_all_without_a_place_to_go() {
        let order = Order {
            resolution_s: 10.0,
            swappiness: 60.0,
            takes_swap_backed: true,
        };
        assert_eq!(kinds(&order), [[1; 8], [0; 8]].concat());
        assert_eq!(
            kinds(&Order {
                swappiness: 140.0,
                ..order
            }),
            [[0; 8], [1; 8]].concat()
        );
        assert_eq!(
            kinds(&Order {
                takes_swap_backed: false,
                ..order
            }),
            [1; 8]
        );
    }

    #[test]
    fn pages_of_this_step_are_no_victims() {
        let order = Order {
            resolution_s: 10.0,
            swappiness: 60.0,
            takes_swap_backed: true,
        };
        let mut victims = Victims::choose(&populations(), Place::Dram, &order, (0, Draws::new(2)), 100);
        assert_eq!(victims.take(), None);
    }
}
