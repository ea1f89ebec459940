//! Reclaim in the background of an interval, as kswapd does it: woken, it frees page after page until its watermark.

use crate::page::Tier;
use crate::params::{Kswapd, Policy};
use crate::state::{Awake, State};

impl Kswapd {
    /// Seconds to demote a page of so many units.
    fn cost_s(&self, units: u64) -> f64 {
        self.page_s + self.unit_s * units as f64
    }
}

impl State<'_> {
    /// Wakes it (`wakeup_kswapd`): an allocation found too little free, or a promotion.
    pub(crate) fn wake_kswapd(&mut self) {
        self.kswapd.is_awake = self.params.kswapd.is_some();
    }

    /// Wakes it where an allocation finds no more than the low watermark.
    pub(crate) fn wake_for_allocation(&mut self) {
        if let Policy::HotPageSelection(hot) = self.params.policy
            && hot.allocation_demotes
            && self.is_low()
        {
            self.wake_kswapd();
        }
    }

    pub(crate) fn is_low(&self) -> bool {
        self.free(Tier::Dram) <= self.params.memory.watermarks.low as i64
    }

    /// Lets it work for so long (`balance_pgdat`): up to the promo watermark, which is that of tiering mode.
    pub(crate) fn run_kswapd(&mut self, seconds: f64, with_current: bool) {
        let (Some(kswapd), true) = (self.params.kswapd, self.kswapd.is_awake) else {
            return;
        };
        self.kswapd.seconds += seconds;
        let promo = self.params.memory.watermarks.promo as i64;
        while self.free(Tier::Dram) < promo {
            let Some(victim) = self.next_demotable(with_current) else {
                break;
            };
            let cost_s = kswapd.cost_s(self.trace.size(victim.page));
            if cost_s > self.kswapd.seconds {
                return;
            }
            self.kswapd.seconds -= cost_s;
            if !self.demote_or_evict(victim, with_current) {
                break;
            }
        }
        self.kswapd = Awake::default();
    }
}
