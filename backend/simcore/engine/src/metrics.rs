//! What a simulation says of each interval. Pages are counted in units.

use tierscope_swapdev::Step;

use crate::page::KINDS;
use crate::tenant::TenantInterval;

/// Where accesses found their page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Place {
    /// DRAM.
    Dram = 0,
    /// The slower tier.
    Slow = 1,
    /// Swap or disk: the access that faults, and all of a page that thrashes.
    Away = 2,
}

/// One interval. Arrays of three are by kind: anon, file, tmpfs; of two by tier: DRAM, slower.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// Accesses by kind, then place.
    pub accesses: [[u64; 3]; KINDS],
    /// Pages with accesses.
    pub touched: u64,
    /// Promoted, failed ones left out.
    pub promoted: [u64; KINDS],
    /// Demoted.
    pub demoted: [u64; KINDS],
    /// Promotions of pages demoted not long before, within the short and within the long distance.
    pub round_trips: [u64; 2],
    /// Hint faults taken.
    pub hint_faults: u64,
    /// Faults that only activated their page.
    pub activated: u64,
    /// Pages hot enough that were counted against the rate limit.
    pub candidates: u64,
    /// Candidates that the limit refused.
    pub limited: u64,
    /// Promotions that found no room.
    pub failed_promotions: u64,
    /// Pages born, or wanted back, for which there was no memory at all.
    pub failed_allocations: u64,
    /// Faults from swap or disk, events.
    pub major_faults: u64,
    /// Back from swap.
    pub swapped_in: u64,
    /// Evicted to swap, written or not.
    pub swapped_out: u64,
    /// Written to swap.
    pub swap_written: u64,
    /// File pages dropped.
    pub dropped: u64,
    /// File pages read again.
    pub refaulted: u64,
    /// Taken by offloading; in `swapped_out` and `dropped` as well.
    pub offloaded: u64,
    /// Born.
    pub born: u64,
    /// Gone.
    pub died: u64,
    /// Born or faulted in, by tier.
    pub placed: [u64; 2],
    /// Swapped out or dropped, by tier.
    pub evicted: [u64; 2],
    /// Gone, by tier.
    pub died_in: [u64; 2],
    /// Resident at the end, by tier and kind.
    pub used: [[u64; KINDS]; 2],
    /// Free DRAM at the end.
    pub dram_free: u64,
    /// Used of the swap device at the end.
    pub swap_used: u64,
    /// On swap or dropped at the end.
    pub away: u64,
    /// Born and without memory at the end.
    pub nowhere: u64,
    /// Threshold of hot pages in force in the interval, seconds; 0 where the policy has none.
    pub threshold_s: f64,
}

impl Interval {
    /// Accesses of all kinds at a place.
    pub fn at(&self, place: Place) -> u64 {
        self.accesses.iter().map(|kind| kind[place as usize]).sum()
    }
}

/// One step of a page to, from or on swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapEvent {
    /// When.
    pub interval: u32,
    /// Number of the page in the trace.
    pub page: u32,
    /// Its size.
    pub units: u32,
    /// What.
    pub step: Step,
}

/// A whole simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its intervals.
    pub intervals: Vec<Interval>,
    /// Its intervals by tenant, all tenants of an interval together; none where tenants are not told apart.
    pub tenants: Vec<TenantInterval>,
}

impl Outcome {
    /// Share of the accesses that DRAM served; None without any.
    pub fn local_ratio(&self) -> Option<f64> {
        let at = |place| {
            self.intervals
                .iter()
                .map(|interval| interval.at(place))
                .sum::<u64>()
        };
        let (dram, others) = (at(Place::Dram), at(Place::Slow) + at(Place::Away));
        (dram + others > 0).then(|| dram as f64 / (dram + others) as f64)
    }

    /// Sum of a figure over the intervals.
    pub fn total(&self, figure: impl Fn(&Interval) -> u64) -> u64 {
        self.intervals.iter().map(figure).sum()
    }
}
