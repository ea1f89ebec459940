//! A random panel of pages, as a monitor of single pages watches one: which of them were touched, minute by minute.

use std::collections::BTreeMap;
use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Granularity, PageKind};
use tierscope_sample::page_group::{
    Census, PageGroup, PageGroupOptions, PageMapping, PageSize, PageState, TierIndex,
};
use tierscope_sample::page_sample::{MAX_SAMPLED_PAGES, PageSampleOptions};
use tierscope_sample::vma_fold::ProcessKey;
use tierscope_twin::host::Host;
use tierscope_twin::kind::{Kind, Place};
use tierscope_twin::laws::Laws;
use tierscope_twin::population::Population;

use crate::simulated::seeds::mix;
use crate::simulated::twin::inventory::slow_class;

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
                backend: Backend::DamonPages,
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
        }
    }

    /// Notes that a minute passes unobserved.
    pub(crate) fn miss(&mut self) {
        self.services.iter_mut().for_each(PageGroup::miss);
    }

    /// What the panels show at the end of a minute.
    pub(crate) fn look(&mut self, host: &Host, end: IntervalEnd) -> Vec<Folded> {
        let (unit_bytes, distance_bytes, seed) = (self.unit_bytes, self.distance_bytes, self.seed);
        let every = match self.view {
            View::Whole { panel_every } => panel_every.max(1),
            View::Load => 1,
        };
        let mut folded = Vec::new();
        for (number, group) in self.services.iter_mut().enumerate() {
            let process = ProcessKey {
                pid: 1000 + number as u32,
                start_time_ticks: 1,
            };
            let mut reading = group.process(process, true);
            let mut resident: BTreeMap<Kind, u64> = BTreeMap::new();
            for (index, population) in host.populations.iter().enumerate() {
                if population.service != number || population.resident() == 0 {
                    continue;
                }
                *resident.entry(population.kind).or_default() += population.resident() as u64 * unit_bytes;
                let mapping = mapping(index, population, distance_bytes);
                let chosen = |unit: &usize| mix(seed ^ index as u64, *unit as u64).is_multiple_of(every);
                let pages: Vec<PageState> = (0..population.len())
                    .filter(chosen)
                    .filter_map(|unit| state(&mapping, population, unit, distance_bytes))
                    .collect();
                reading.mapping(&mapping, &pages);
            }
            for (kind, bytes) in resident {
                reading.resident(page_kind(kind), bytes as i64);
            }
            folded.push(match self.view {
                View::Whole { .. } => group.finish(end),
                View::Load => group.finish_without_tiles(end),
            });
        }
        folded
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
