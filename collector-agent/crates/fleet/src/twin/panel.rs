//! A random panel of pages, as the host's source of heat sees it minute by minute: which of them were touched, or how
//! often sampled accesses hit them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Granularity, PageKind};
use tierscope_sample::page_group::{
    Census, PageGroup, PageGroupOptions, PageMapping, PageSize, PageState, TierIndex,
};
use tierscope_sample::page_sample::{MAX_SAMPLED_PAGES, PageSampleOptions};
use tierscope_sample::vma_fold::ProcessKey;
use tierscope_twin::draws::Draws;
use tierscope_twin::host::Host;
use tierscope_twin::kind::{Kind, Place};
use tierscope_twin::laws::{HeatLaw, Laws, MemoryLaw};
use tierscope_twin::population::Population;

use crate::seeds::mix;

/// Nanoseconds of a minute: the length of an interval.
pub(crate) const MINUTE_NS: i64 = 60_000_000_000;

/// What the agent of a host sees of its pages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum View {
    /// One page of the twin in so many, with tiles and page samples.
    Whole { panel_every: u64 },
    /// Every page of the twin, which stands for much, as heat and gaps alone.
    Load,
}

/// Addresses of populations are this far apart: no memory is as large.
const POPULATION_BYTES: u64 = 1 << 44;

/// The panels of all services of a host.
#[derive(Debug)]
pub(crate) struct Panels {
    services: Vec<PageGroup>,
    unit_bytes: u64,
    /// From the address of one page of the twin to that of the next.
    distance_bytes: u64,
    view: View,
    seed: u64,
    heat: HeatLaw,
    minute: u64,
}

/// What a source of heat is called in what is sent.
pub(super) fn backend(heat: HeatLaw) -> (Backend, &'static str) {
    match heat {
        HeatLaw::DamonPages => (Backend::DamonPages, "damon_pages"),
        HeatLaw::AbitWalk => (Backend::AbitWalk, "abit_walk"),
        HeatLaw::Pebs { .. } => (Backend::Pebs, "pebs"),
    }
}

/// What the memory of a second node is to its kernel.
pub(super) fn slow_class(memory: &MemoryLaw) -> &'static str {
    if memory.is_lower_tier { "cxl" } else { "dram" }
}

impl Panels {
    /// Panels of the pages that `view` shows.
    pub(crate) fn new(host: &Host, laws: &Laws, seed: u64, view: View) -> Self {
        let seed = host
            .law
            .name
            .bytes()
            .fold(seed, |hash, byte| mix(hash, u64::from(byte)));
        let group = |(number, service): (usize, &tierscope_twin::service::HostService)| {
            let measured = Measured {
                backend: backend(host.law.heat).0,
                granularity: Granularity::Page,
                interval_ns: MINUTE_NS,
                service: Arc::from(format!("{}/{}", service.law.namespace, service.law.name)),
                group: Arc::from(service.law.executable.as_str()),
            };
            let options = PageGroupOptions {
                epoch_seed: mix(seed, number as u64),
                tiers: tier_labels(host, laws),
                census: Census::Sample,
                page_sample: matches!(view, View::Whole { .. }).then(|| PageSampleOptions {
                    key: [mix(seed, 11), mix(seed, 12)],
                    sampled_ratio: 1.0,
                    max_pages: MAX_SAMPLED_PAGES,
                    first_block_ns: None,
                    block_origin_ns: 0,
                }),
                ..PageGroupOptions::default()
            };
            PageGroup::new(measured, options)
        };
        Self {
            services: host.services.iter().enumerate().map(group).collect(),
            unit_bytes: laws.page.unit_bytes,
            distance_bytes: match view {
                View::Whole { .. } => laws.page.unit_bytes,
                // Nothing that is sent tells addresses, and pages side by side take least memory.
                View::Load => u64::from(PageSize::Small4K.bytes()),
            },
            view,
            seed,
            heat: host.law.heat,
            minute: 0,
        }
    }

    /// Notes that a minute passes unobserved.
    pub(crate) fn miss(&mut self) {
        self.services.iter_mut().for_each(PageGroup::miss);
    }

    /// What the panels show at the end of a minute.
    pub(crate) fn look(&mut self, host: &Host, end: IntervalEnd) -> Vec<Folded> {
        self.minute += 1;
        let seeing = Seeing {
            every: match self.view {
                View::Whole { panel_every } => panel_every.max(1),
                View::Load => 1,
            },
            distance_bytes: self.distance_bytes,
            seed: self.seed,
            heat: self.heat,
            minute: self.minute,
        };
        let (unit_bytes, view) = (self.unit_bytes, self.view);
        let services = self.services.iter_mut().enumerate();
        services
            .map(|(number, group)| {
                let process = ProcessKey {
                    pid: 1000 + number as u32,
                    start_time_ticks: 1,
                };
                let mut reading = group.process(process, true);
                if let HeatLaw::Pebs {
                    period_accesses,
                    lost_ratio,
                } = seeing.heat
                {
                    reading.period(period_accesses);
                    reading.duty(1.0 - lost_ratio);
                }
                let mut resident: BTreeMap<Kind, u64> = BTreeMap::new();
                for (index, population) in host.populations.iter().enumerate() {
                    if population.service == number && population.resident() > 0 {
                        *resident.entry(population.kind).or_default() +=
                            population.resident() as u64 * unit_bytes;
                        let mapping = mapping(index, population, seeing.distance_bytes);
                        reading.mapping(&mapping, &seeing.pages(index, population, &mapping));
                    }
                }
                for (kind, bytes) in resident {
                    reading.resident(page_kind(kind), bytes as i64);
                }
                let mut folded = match view {
                    View::Whole { .. } => group.finish(end),
                    View::Load => group.finish_without_tiles(end),
                };
                seeing.say_share(unit_bytes, &mut folded);
                folded
            })
            .collect()
    }
}

/// How a host's source sees pages in one minute.
struct Seeing {
    /// One page of the twin in so many is in the panel.
    every: u64,
    distance_bytes: u64,
    seed: u64,
    heat: HeatLaw,
    minute: u64,
}

impl Seeing {
    fn pages(&self, index: usize, population: &Population, mapping: &PageMapping) -> Vec<PageState> {
        let draws = Draws::new(mix(self.seed, 13))
            .branch(index as u64)
            .branch(self.minute);
        (0..population.len())
            .filter(|unit| mix(self.seed ^ index as u64, *unit as u64).is_multiple_of(self.every))
            .filter_map(|unit| {
                let page = state(mapping, population, unit, self.distance_bytes)?;
                Some(seen(
                    page,
                    self.heat,
                    population.touches(unit),
                    draws.uniform(unit as u64),
                ))
            })
            .collect()
    }

    /// A monitor says what it looked at; of a processor's samples all pages are taken to be in sight.
    fn say_share(&self, unit_bytes: u64, folded: &mut Folded) {
        if matches!(self.heat, HeatLaw::Pebs { .. }) {
            let pages = unit_bytes / u64::from(PageSize::Small4K.bytes()) * self.every;
            for sample in &mut folded.page_samples {
                sample.sampled_ratio /= pages as f64;
            }
        }
    }
}

/// Where a population lies in the addresses of its service.
fn mapping(index: usize, population: &Population, distance_bytes: u64) -> PageMapping {
    let start = (index as u64 + 1) * POPULATION_BYTES;
    let named = population.kind != Kind::Anon;
    PageMapping {
        start,
        end: start + population.len() as u64 * distance_bytes,
        kind: page_kind(population.kind),
        name: Arc::from(match population.kind {
            Kind::Anon => "",
            Kind::File => "data",
            Kind::Tmpfs => "shmem",
        }),
        device: u64::from(named),
        inode: if named { index as u64 + 1 } else { 0 },
        offset_bytes: 0,
    }
}

/// A page of the panel: one base page of those that a page of the twin stands for. `None` where it is in no memory.
fn state(
    mapping: &PageMapping,
    population: &Population,
    unit: usize,
    distance_bytes: u64,
) -> Option<PageState> {
    let tier = match population.place(unit) {
        Place::Dram => TierIndex(0),
        Place::Slow => TierIndex(1),
        Place::Absent | Place::Out => return None,
    };
    let (history, _) = population.history(unit);
    Some(PageState {
        address: mapping.start + unit as u64 * distance_bytes,
        size: PageSize::Small4K,
        anon: population.kind == Kind::Anon,
        tier: Some(tier),
        active: history & 1 == 1,
        loads: 0,
        stores: 0,
    })
}

/// A page as its source shows it; `draw` is a number in 0..1.
fn seen(page: PageState, heat: HeatLaw, touches: f64, draw: f64) -> PageState {
    let HeatLaw::Pebs {
        period_accesses,
        lost_ratio,
    } = heat
    else {
        return page;
    };
    let loads = poisson(touches * (1.0 - lost_ratio) / period_accesses, draw);
    PageState {
        active: loads > 0,
        loads,
        ..page
    }
}

/// The number at quantile `draw` of a Poisson distribution.
fn poisson(mean: f64, draw: f64) -> u32 {
    let (mut count, mut term) = (0, (-mean).exp());
    let mut sum = term;
    // Beyond what an exponential can hold the spread is nothing beside the mean.
    if term < f64::MIN_POSITIVE {
        return mean as u32;
    }
    while draw > sum && f64::from(count) < 4.0 * mean + 40.0 {
        count += 1;
        term *= mean / f64::from(count);
        sum += term;
    }
    count
}

fn page_kind(kind: Kind) -> PageKind {
    match kind {
        Kind::Anon => PageKind::Anon,
        Kind::File => PageKind::File,
        Kind::Tmpfs => PageKind::Tmpfs,
    }
}

/// Labels of the nodes' tiers as inventories call them.
fn tier_labels(host: &Host, laws: &Laws) -> Vec<Arc<str>> {
    let slow = host
        .law
        .slow
        .as_ref()
        .map(|slow| slow_class(&laws.memory[&slow.memory]));
    std::iter::once("dram").chain(slow).map(Arc::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_accesses_are_those_of_a_poisson_process() {
        let draws = Draws::new(5);
        for mean in [0.01, 2.0, 300.0, 5000.0] {
            let counts: Vec<f64> = (0..4000)
                .map(|index| f64::from(poisson(mean, draws.uniform(index))))
                .collect();
            let found = counts.iter().sum::<f64>() / 4000.0;
            let error = 4.0 * (mean / 4000.0_f64).sqrt();
            assert!((found - mean).abs() < error.max(0.5), "{mean}: {found}");
        }
    }

    #[test]
    fn a_page_whose_samples_were_all_missed_looks_idle() {
        let page = PageState {
            address: 0,
            size: PageSize::Small4K,
            anon: true,
            tier: None,
            active: true,
            loads: 0,
            stores: 0,
        };
        let pebs = HeatLaw::Pebs {
            period_accesses: 1000.0,
            lost_ratio: 0.5,
        };
        assert!(seen(page, HeatLaw::AbitWalk, 10.0, 0.5).active);
        assert!(!seen(page, pebs, 10.0, 0.5).active);
        assert_eq!(seen(page, pebs, 1e5, 0.5).loads, 50);
    }
}
