//! Services that share the memory, each in a control group of its own: whose page of DRAM goes next.
//!
//! Reclaim goes over all groups and takes from each by the size of its lists, less the part that `memory.low` protects
//! (`get_scan_count`). A group at or below its `memory.low` is passed over until nothing else is left
//! (`shrink_node_memcgs`, `memcg_low_reclaim`). The kernel compares all memory of the group with it, in whatever tier.
//!
//! A limit of a group's DRAM is no setting of mainline. Here a group at its limit is given memory of the slower tier,
//! and what it promotes makes room among its own pages.

use crate::page::Tier;
use crate::state::State;
use crate::tenant::{Group, TenantInterval};
use crate::victims::{Victim, Victims};

impl State<'_> {
    /// Forgets what the interval before took.
    pub(crate) fn begin_tenants(&mut self) {
        for group in &mut self.groups {
            group.out = TenantInterval {
                used: group.out.used,
                ..TenantInterval::default()
            };
        }
    }

    pub(crate) fn group_of(&mut self, page: u32) -> Option<&mut Group> {
        let tenant = self.trace.tenant(page);
        self.groups.get_mut(tenant)
    }

    /// The lists on which a page of DRAM waits for its demotion.
    pub(crate) fn demotable_of(&mut self, page: u32) -> &mut Victims {
        let tenant = self.trace.tenant(page);
        match self.groups.get_mut(tenant) {
            Some(group) => &mut group.demotable,
            None => &mut self.demotable,
        }
    }

    pub(crate) fn is_limited(&mut self, page: u32) -> bool {
        let units = self.trace.size(page);
        self.group_of(page).is_some_and(|group| {
            let most = group.settings.dram_max_units;
            most.is_some_and(|most| group.out.used[Tier::Dram as usize] + units > most)
        })
    }

    /// The next page of the tenant of which reclaim has taken least for its size.
    pub(crate) fn next_of_tenants(&mut self, with_current: bool) -> Option<Victim> {
        for respects_low in [true, false] {
            let mut tried = 0_u64;
            while let Some(tenant) = self.next_tenant(respects_low, tried) {
                if let Some(found) = self.next_listed(Some(tenant), with_current) {
                    return Some(found);
                }
                tried |= 1 << tenant;
            }
        }
        None
    }

    fn next_tenant(&self, respects_low: bool, tried: u64) -> Option<usize> {
        let whole: f64 = self
            .groups
            .iter()
            .map(|group| group.scanned(respects_low))
            .sum();
        let taken: u64 = self.groups.iter().map(|group| group.out.demoted).sum();
        let due = |group: &Group| {
            group.scanned(respects_low) / whole * (taken + 1) as f64 - group.out.demoted as f64
        };
        let mut best: Option<(usize, f64)> = None;
        for (tenant, group) in self.groups.iter().enumerate() {
            if tried & (1 << tenant) == 0
                && group.scanned(respects_low) > 0.0
                && best.is_none_or(|(_, most)| due(group) > most)
            {
                best = Some((tenant, due(group)));
            }
        }
        best.map(|(tenant, _)| tenant)
    }

    /// Demotes of each tenant what it has of DRAM beyond its limit, and takes back promotions that others would pay for.
    pub(crate) fn enforce_limits(&mut self) {
        for tenant in 0..self.groups.len() {
            let Some(most) = self.groups[tenant].settings.dram_max_units else {
                continue;
            };
            while self.groups[tenant].out.used[Tier::Dram as usize] > most
                && let Some(victim) = self.next_listed(Some(tenant), true)
                && self.free(Tier::Slow) >= self.trace.size(victim.page) as i64
            {
                self.lower(victim);
            }
            let mut at = self.promoted.len();
            while at > 0 && self.groups[tenant].out.used[Tier::Dram as usize] > most {
                at -= 1;
                let page = self.promoted[at];
                if self.trace.tenant(page) == tenant
                    && self.free(Tier::Slow) >= self.trace.size(page) as i64
                {
                    self.promoted.remove(at);
                    self.undo_promotion(page);
                }
            }
        }
    }
}
