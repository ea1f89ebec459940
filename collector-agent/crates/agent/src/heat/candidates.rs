//! The back ends of this program, as candidates of the fallback chain.

use crate::heat::backend::Candidate;
use crate::heat::{abit_walk, damon_pages, damon_regions, idle_page, referenced, sampler};

/// The back ends of this program. One is added by its line here and its entry in [`crate::collectors`].
pub(crate) const CANDIDATES: &[Candidate] = &[
    sampler::PEBS,
    sampler::IBS,
    sampler::SPE,
    Candidate {
        name: abit_walk::NAME,
        probe: abit_walk::probe,
        make: abit_walk::make,
    },
    Candidate {
        name: idle_page::NAME,
        probe: idle_page::probe,
        make: idle_page::make,
    },
    Candidate {
        name: damon_pages::NAME,
        probe: damon_pages::probe,
        make: damon_pages::make,
    },
    Candidate {
        name: damon_regions::NAME,
        probe: damon_regions::probe,
        make: damon_regions::make,
    },
    Candidate {
        name: referenced::NAME,
        probe: referenced::probe,
        make: referenced::make,
    },
];
