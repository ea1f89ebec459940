//! Sizes of memory by service, node and kind.

use crate::host::Host;
use crate::kind::{KINDS, Kind, Place};
use crate::population::Heat;

/// Pages by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// In memory.
    pub(super) pages: [u64; KINDS],
    /// Of them: touched lately, which is what the kernel's lists call active.
    pub(super) active: [u64; KINDS],
}

impl Sizes {
    pub(super) fn resident(&self) -> u64 {
        self.pages.iter().sum()
    }

    pub(super) fn of(&self, kind: Kind) -> u64 {
        self.pages[kind.index()]
    }

    /// Page cache, tmpfs among it.
    pub(super) fn cached(&self) -> u64 {
        self.of(Kind::File) + self.of(Kind::Tmpfs)
    }

    /// Pages on a list: tmpfs is on the anonymous ones.
    pub(super) fn listed(&self, is_anon: bool, is_active: bool) -> u64 {
        Kind::ALL
            .into_iter()
            .filter(|kind| kind.is_swap_backed() == is_anon)
            .map(|kind| {
                let active = self.active[kind.index()];
                if is_active { active } else { self.of(kind) - active }
            })
            .sum()
    }

    fn plus(mut self, other: &Self) -> Self {
        for kind in 0..KINDS {
            self.pages[kind] += other.pages[kind];
            self.active[kind] += other.active[kind];
        }
        self
    }
}

/// Sizes by service and node.
#[derive(Debug)]
pub(super) struct Gauges {
    sizes: Vec<[Sizes; 2]>,
}

impl Gauges {
    pub(super) fn new(host: &Host) -> Self {
        let mut sizes = vec![[Sizes::default(); 2]; host.services.len()];
        for population in &host.populations {
            let kind = population.kind.index();
            for (node, place) in [Place::Dram, Place::Slow].into_iter().enumerate() {
                let own = &mut sizes[population.service][node];
                for unit in population.at(place) {
                    own.pages[kind] += host.memory.unit;
                    if population.heat(unit) == Heat::Hot {
                        own.active[kind] += host.memory.unit;
                    }
                }
            }
        }
        Self { sizes }
    }

    pub(super) fn on_node(&self, node: usize) -> Sizes {
        self.sizes
            .iter()
            .fold(Sizes::default(), |sum, nodes| sum.plus(&nodes[node]))
    }

    pub(super) fn of_service_on(&self, service: usize, node: usize) -> Sizes {
        self.sizes[service][node]
    }

    pub(super) fn of_service(&self, service: usize) -> Sizes {
        self.sizes[service][0].plus(&self.sizes[service][1])
    }
}
