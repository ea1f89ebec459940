//! Reclaim of the control group, as simply as it can be written: at once, or look by look for an interval at most.

use tierscope_engine::Kswapd;

use crate::naive_lru::Look;
use crate::{At, Simple};

impl Simple<'_> {
    /// Reclaims so many pages of the control group, from both tiers by what they hold. Returns how many went.
    fn take(&mut self, wanted: u64) -> (u64, u64) {
        let count = |at: At, file_only: bool| {
            let held = self.pages.iter().zip(&self.columns.kinds);
            held.filter(|(page, kind)| page.at == at && (!file_only || **kind == 1))
                .count() as u64
        };
        let (dram, slow) = (count(At::Dram, false), count(At::Slow, true));
        let wanted = wanted.min(dram + slow);
        if wanted == 0 {
            return (0, 0);
        }
        let from_dram = (wanted * dram).div_ceil(dram + slow);
        let (mut gone, mut demoted) = (0, 0);
        for _ in 0..from_dram {
            let Some(was_demoted) = self.lower_next(true) else {
                break;
            };
            demoted += u64::from(was_demoted);
            gone += 1;
        }
        for _ in 0..wanted - from_dram {
            let Some(&victim) = self.victims(At::Slow, true, true).first() else {
                break;
            };
            self.set(victim, At::Dropped);
            gone += 1;
        }
        (gone, demoted)
    }

    /// What is asked of the control group. Returns demoted pages.
    pub(crate) fn reclaim_group(&mut self) -> u64 {
        if let (Some(kswapd), true) = (self.params.kswapd, self.lru.is_some()) {
            return self.reclaim_group_by_lists(kswapd);
        }
        let mut total = 0;
        for event in self.params.group.clone() {
            if event.interval == self.now {
                self.high_units = event.high_units;
                total += self.take(event.reclaim_units).1;
            }
        }
        while let Some(high) = self.high_units {
            let held = self
                .pages
                .iter()
                .filter(|page| matches!(page.at, At::Dram | At::Slow))
                .count() as u64;
            let (gone, demoted) = self.take(held.saturating_sub(high));
            total += demoted;
            if gone == 0 {
                break;
            }
        }
        total
    }

    /// Reclaims what is asked of the group, or above its limit, for an interval at most. Returns demoted pages.
    fn reclaim_group_by_lists(&mut self, kswapd: Kswapd) -> u64 {
        for event in self.params.group.clone() {
            if event.interval == self.now {
                self.high_units = event.high_units;
                self.owed += event.reclaim_units;
            }
        }
        let count = |simple: &Self, at: At| simple.pages.iter().filter(|p| p.at == at).count();
        let (mut left_s, mut total) = (self.params.interval_s, 0);
        let mut looks = count(self, At::Dram);
        loop {
            let held = (count(self, At::Dram) + count(self, At::Slow)) as u64;
            let above = held.saturating_sub(self.high_units.unwrap_or(u64::MAX));
            if (self.owed == 0 && above == 0) || looks == 0 || left_s <= 0.0 {
                break;
            }
            match self.look() {
                Look::Victim(page) => {
                    looks -= 1;
                    left_s -= kswapd.page_s + kswapd.unit_s + kswapd.look_s;
                    let Some(demoted) = self.lower_this(page, true) else {
                        break;
                    };
                    total += u64::from(demoted);
                    self.owed = self.owed.saturating_sub(1);
                }
                Look::Passed => {
                    looks -= 1;
                    left_s -= kswapd.look_s;
                }
                Look::Empty => break,
            }
        }
        if looks == 0 {
            self.owed = 0;
        }
        total
    }
}
