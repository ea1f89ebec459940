//! A service that shares the memory with others: what is set for it, its next demotions, and what an interval was for it.

use crate::page::MEMORY_TIERS;
use crate::victims::Victims;

/// Tenants are numbered in the bits of a word while a victim is looked for.
pub(crate) const MAX_TENANTS: usize = 64;

/// What is set for a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tenant {
    /// `memory.low` of all its memory.
    pub low_units: u64,
    /// Most of DRAM; None: no limit.
    pub dram_max_units: Option<u64>,
}

/// What an interval was for a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TenantInterval {
    /// Accesses by place: DRAM, slower tier, away.
    pub accesses: [u64; 3],
    /// Resident at the end, by tier.
    pub used: [u64; MEMORY_TIERS],
    /// Demoted.
    pub demoted: u64,
}

/// A tenant while it is simulated.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub settings: Tenant,
    pub demotable: Victims,
    pub out: TenantInterval,
}

impl Group {
    /// Units of DRAM that reclaim looks at.
    pub(crate) fn scanned(&self, respects_low: bool) -> f64 {
        let [dram, slow] = self.out.used;
        let low = if respects_low {
            self.settings.low_units
        } else {
            0
        };
        dram as f64 * (1.0 - low as f64 / low.max(dram + slow).max(1) as f64)
    }
}

/// One group for each tenant; none where tenants are not told apart.
pub(crate) fn make_groups(tenants: &[Tenant], intervals: usize) -> Vec<Group> {
    let group = |&settings| Group {
        settings,
        demotable: Victims::new(intervals),
        out: TenantInterval::default(),
    };
    tenants.iter().map(group).collect()
}
