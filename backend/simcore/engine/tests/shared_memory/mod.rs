//! Tenants of the simple simulator: whose page goes next, and limits of DRAM.

use crate::{At, Simple};

impl Simple<'_> {
    /// Whose the page is, as an index of hands.
    pub(crate) fn tenant(&self, page: usize) -> usize {
        if self.params.tenants.is_empty() {
            2
        } else {
            usize::from(self.columns.tenants[page])
        }
    }

    pub(crate) fn held(&self, tenant: usize, at: At) -> u64 {
        (0..self.pages.len())
            .filter(|&page| self.tenant(page) == tenant && self.pages[page].at == at)
            .count() as u64
    }

    /// Those of DRAM as demotion takes them: of active pages of this interval the ones behind the hand first.
    pub(crate) fn demotable_of(&self, tenant: usize, with_current: bool) -> Vec<usize> {
        let mut found = self.victims(At::Dram, with_current, false);
        found.retain(|&page| self.tenant(page) == tenant);
        found.sort_by_key(|&page| {
            let was_used = self.is_active(page) && self.pages[page].last == self.now;
            (
                was_used,
                was_used && self.pages[page].birth < self.hands[tenant],
            )
        });
        found
    }

    /// Those of the tenant that has given least for what reclaim looks at of it.
    pub(crate) fn demotable(&self, with_current: bool) -> Vec<usize> {
        if self.params.tenants.is_empty() {
            return self.demotable_of(2, with_current);
        }
        for respects_low in [true, false] {
            let scanned = |tenant: usize| {
                let (dram, slow) = (self.held(tenant, At::Dram), self.held(tenant, At::Slow));
                let set = self.params.tenants[tenant].low_units;
                let low = if respects_low { set } else { 0 };
                dram as f64 * (1.0 - low as f64 / low.max(dram + slow).max(1) as f64)
            };
            let whole = scanned(0) + scanned(1);
            let taken = self.lowered.iter().sum::<u64>() as f64;
            let due = |tenant: usize| {
                scanned(tenant) / whole * (taken + 1.0) - self.lowered[tenant] as f64
            };
            let order = if due(1) > due(0) { [1, 0] } else { [0, 1] };
            for tenant in order {
                let found = self.demotable_of(tenant, with_current);
                if scanned(tenant) > 0.0 && !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    pub(crate) fn is_limited(&self, page: usize) -> bool {
        let tenant = self.tenant(page);
        let limit = self.params.tenants.get(tenant);
        limit
            .and_then(|tenant| tenant.dram_max_units)
            .is_some_and(|most| self.held(tenant, At::Dram) + 1 > most)
    }

    /// Demotes what tenants hold beyond their limits, then takes their latest promotions back.
    pub(crate) fn enforce_limits(&mut self, promoted: &mut Vec<usize>) -> u64 {
        let mut demoted = 0;
        for tenant in 0..self.params.tenants.len() {
            let Some(most) = self.params.tenants[tenant].dram_max_units else {
                continue;
            };
            while self.held(tenant, At::Dram) > most && self.free(At::Slow) >= 1 {
                let Some(&next) = self.demotable_of(tenant, true).first() else {
                    break;
                };
                self.lower_victim(next);
                demoted += 1;
            }
            for page in promoted.clone().into_iter().rev() {
                let is_over = self.held(tenant, At::Dram) > most && self.free(At::Slow) >= 1;
                if is_over && self.tenant(page) == tenant {
                    self.set(page, At::Slow);
                    self.pages[page].promoted = false;
                    promoted.retain(|&other| other != page);
                }
            }
        }
        demoted
    }

    pub(crate) fn lower_victim(&mut self, page: usize) {
        if self.is_active(page) && self.pages[page].last == self.now {
            let tenant = self.tenant(page);
            self.hands[tenant] = self.pages[page].birth + 1;
        }
        self.lower(page);
    }
}
