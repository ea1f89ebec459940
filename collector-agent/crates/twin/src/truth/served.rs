//! The share of accesses that DRAM would serve if it held the busiest pages.

use serde::Serialize;

use crate::host::Host;
use crate::kind::Place;

/// Sizes of DRAM that are told: twentieths of the memory of a service.
const SHARES: u32 = 20;

/// What DRAM of each size serves at best, of one service on one host, with one placement for all the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServedTruth {
    /// Host.
    pub host: String,
    /// Service.
    pub service: String,
    /// Intervals counted, from the start on.
    pub intervals: u32,
    /// DRAM as a share of the mean resident bytes.
    pub dram_shares: Vec<f64>,
    /// Share of accesses to memory served by DRAM that holds the pages with most accesses per byte.
    pub access_shares: Vec<f64>,
    /// Share of active intervals of pages served by DRAM that holds the pages with most of them per byte.
    pub active_interval_shares: Vec<f64>,
    /// Bytes touched, summed over intervals: what hosts weigh by.
    pub active_bytes: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct PageCount {
    resident: f64,
    active: f64,
    accesses: f64,
}

/// Counts pages of a host.
#[derive(Debug, Default)]
pub struct ServedCounts {
    intervals: u32,
    /// By population, then by index of the page.
    pages: Vec<Vec<PageCount>>,
}

impl ServedCounts {
    /// Counts the interval that a host has just gone through, of `interval_s` seconds.
    pub fn add(&mut self, host: &Host, interval_s: f64) {
        self.intervals += 1;
        self.pages.resize_with(host.populations.len(), Vec::new);
        for (index, (population, pages)) in host.populations.iter().zip(&mut self.pages).enumerate() {
            pages.resize_with(population.len(), PageCount::default);
            let (rates, rank_offset) = host.rates(index);
            for (unit, page) in pages.iter_mut().enumerate() {
                if matches!(population.place(unit), Place::Dram | Place::Slow) {
                    page.resident += 1.0;
                    page.active += f64::from(u8::from(population.history(unit).0 & 1 == 1));
                    page.accesses += f64::from(population.rate_per_s(unit, &rates, rank_offset)) * interval_s;
                }
            }
        }
    }

    /// Intervals counted.
    pub fn intervals(&self) -> u32 {
        self.intervals
    }

    /// What was served, by service.
    pub fn rows(&self, host: &Host) -> Vec<ServedTruth> {
        let unit_bytes = (host.memory.unit * crate::laws::PAGE_BYTES) as f64;
        let row = |(number, service): (usize, &crate::service::HostService)| {
            let own = host.populations.iter().zip(&self.pages);
            let pages: Vec<PageCount> = own
                .filter(|(population, _)| population.service == number)
                .flat_map(|(_, pages)| pages.iter().copied().filter(|page| page.resident > 0.0))
                .collect();
            ServedTruth {
                host: host.law.name.clone(),
                service: service.law.name.clone(),
                intervals: self.intervals,
                dram_shares: (1..=SHARES)
                    .map(|part| f64::from(part) / f64::from(SHARES))
                    .collect(),
                access_shares: served(&pages, |page| page.accesses),
                active_interval_shares: served(&pages, |page| page.active),
                active_bytes: pages.iter().map(|page| page.active).sum::<f64>() * unit_bytes,
            }
        };
        host.services.iter().enumerate().map(row).collect()
    }
}

/// Shares of `worth` on the first twentieths of the bytes, the pages with most of it per byte first. A page at a boundary
/// counts in part. Empty without any.
fn served(pages: &[PageCount], worth: impl Fn(&PageCount) -> f64) -> Vec<f64> {
    let mut ranked: Vec<&PageCount> = pages.iter().collect();
    let density = |page: &PageCount| worth(page) / page.resident;
    ranked.sort_by(|one, other| density(other).total_cmp(&density(one)));
    let all: f64 = pages.iter().map(&worth).sum();
    let size: f64 = pages.iter().map(|page| page.resident).sum();
    if all <= 0.0 {
        return Vec::new();
    }
    let (mut shares, mut held, mut done) = (Vec::new(), 0.0, 0.0);
    for page in ranked {
        let part = |wanted: f64| ((wanted - held) / page.resident).clamp(0.0, 1.0);
        while shares.len() < SHARES as usize {
            let wanted = size * (shares.len() + 1) as f64 / f64::from(SHARES);
            if wanted > held + page.resident {
                break;
            }
            shares.push((done + worth(page) * part(wanted)) / all);
        }
        held += page.resident;
        done += worth(page);
    }
    // Sums of sizes may end a little short of the whole.
    shares.resize(SHARES as usize, 1.0);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(resident: f64, active: f64) -> PageCount {
        PageCount {
            resident,
            active,
            accesses: active * active,
        }
    }

    #[test]
    fn the_busiest_pages_come_first_and_one_at_the_boundary_counts_in_part() {
        let pages = [page(10.0, 1.0), page(10.0, 9.0), page(20.0, 0.0)];
        let shares = served(&pages, |page| page.active);
        assert_eq!(shares.len(), 20);
        // A twentieth is 2 of 40 page intervals: a fifth of the busiest page.
        assert!((shares[0] - 0.18).abs() < 1e-12, "{shares:?}");
        assert!((shares[4] - 0.9).abs() < 1e-12, "{shares:?}");
        assert!((shares[9] - 1.0).abs() < 1e-12, "{shares:?}");
        let accesses = served(&pages, |page| page.accesses);
        assert!((accesses[4] - 81.0 / 82.0).abs() < 1e-12, "{accesses:?}");
    }

    #[test]
    fn memory_that_nobody_touches_has_no_shares() {
        assert!(served(&[page(10.0, 0.0)], |page| page.active).is_empty());
    }
}
