//! Heat of the listed processes: the back ends that can measure it, and what they share.
//!
//! One back end measures at a time: the best one that the host allows and the owner's settings name
//! ([`crate::ladder`]). Each one folds what it saw once per interval.

pub(crate) mod abit_walk;
pub(crate) mod backend;
pub(crate) mod damon_pages;
mod damon_panel;
pub(crate) mod damon_regions;
pub(crate) mod idle_page;
pub(crate) mod page_groups;
pub(crate) mod referenced;
pub(crate) mod sampler;
pub(crate) mod tiers;
#[cfg(test)]
pub(crate) mod touched_quarter;
pub(crate) mod write_tracking;

use crate::ladder::Offer;

/// The back ends of this program. One is added by its line here and its entry in [`crate::collectors`].
pub(crate) const OFFERS: &[Offer] = &[
    sampler::PEBS,
    sampler::IBS,
    sampler::SPE,
    Offer {
        name: abit_walk::NAME,
        probe: abit_walk::probe,
        make: abit_walk::make,
    },
    Offer {
        name: idle_page::NAME,
        probe: idle_page::probe,
        make: idle_page::make,
    },
    Offer {
        name: damon_pages::NAME,
        probe: damon_pages::probe,
        make: damon_pages::make,
    },
    Offer {
        name: damon_regions::NAME,
        probe: damon_regions::probe,
        make: damon_regions::make,
    },
    Offer {
        name: referenced::NAME,
        probe: referenced::probe,
        make: referenced::make,
    },
];
