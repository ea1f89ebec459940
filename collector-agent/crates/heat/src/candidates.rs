//! The back ends of this program, as candidates of the fallback chain.

use crate::backend::{Candidate, Reach};
use crate::{abit_walk, damon_pages, damon_regions, idle_page, referenced, sampler};

/// The back ends of this program. One is added by its line here and its entry in [`tierscope_host::collectors`].
pub const CANDIDATES: &[Candidate] = &[
    sampler::PEBS,
    sampler::IBS,
    sampler::SPE,
    Candidate {
        name: abit_walk::NAME,
        reach: Reach::Limited,
        probe: abit_walk::probe,
        make: abit_walk::make,
    },
    Candidate {
        name: idle_page::NAME,
        reach: Reach::Limited,
        probe: idle_page::probe,
        make: idle_page::make,
    },
    Candidate {
        name: damon_pages::NAME,
        reach: Reach::Any,
        probe: damon_pages::probe,
        make: damon_pages::make,
    },
    Candidate {
        name: damon_regions::NAME,
        reach: Reach::Limited,
        probe: damon_regions::probe,
        make: damon_regions::make,
    },
    Candidate {
        name: referenced::NAME,
        reach: Reach::Limited,
        probe: referenced::probe,
        make: referenced::make,
    },
];

#[cfg(test)]
mod tests {
    use crate::settings::DEFAULT_BACKENDS;
    use tierscope_host::collectors::capabilities_of;

    #[test]
    fn the_unit_grants_exactly_the_capabilities_of_the_default_chain() {
        let needed = capabilities_of(&DEFAULT_BACKENDS);
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let unit =
            std::fs::read_to_string(root.join("deploy/systemd/tierscope-agent.service")).expect("the unit");
        let granted: Vec<&str> = unit
            .lines()
            .filter_map(|line| line.strip_prefix("CapabilityBoundingSet="))
            .flat_map(str::split_whitespace)
            .collect();
        assert_eq!(granted, needed);
    }
}
