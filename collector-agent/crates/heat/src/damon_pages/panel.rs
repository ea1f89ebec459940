//! Which pages DAMON watches one by one: a random panel, drawn anew in part in each interval.
//!
//! Every page has a place on a ring by a secret hash. The panel of a stratum (a group of processes and a kind of page)
//! is the pages that follow a mark on the ring; the mark moves on a little in each interval, so that pages leave and
//! others come, and a page that stays keeps its history. Pages that come and go with the processes need no care.

use std::collections::{BTreeMap, BinaryHeap};

use tierscope_pagetable::page_draw::mix;
use tierscope_sample::heat::PageKind;
use tierscope_sample::vma_fold::ProcessKey;

/// Pages of all panels together.
pub(crate) const PANEL_PAGES: usize = 4_000;
/// Least pages of a stratum, as far as it has them and there is room.
const FEWEST_PAGES: usize = 100;
/// Share of a panel that changes in an interval: 1 in this many.
const TURNOVER: u64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    pub(crate) process: ProcessKey,
    pub(crate) address: u64,
    /// Page frame number.
    pub(crate) frame: u64,
    /// Not a page of the mapped file.
    pub(crate) anon: bool,
}

/// Number of a group, and kind of page.
type Stratum = (usize, PageKind);

#[derive(Debug, Default)]
struct StratumDraw {
    resident_pages: u64,
    /// The pages that come first after the mark, the last of them on top.
    first: BinaryHeap<(u64, Member)>,
}

/// Draws a panel in each interval.
#[derive(Debug)]
pub(crate) struct Panel {
    secret: u64,
    most: usize,
    /// Where the ring of each stratum begins; 0 for those without an entry.
    marks: BTreeMap<Stratum, u64>,
    strata: BTreeMap<Stratum, StratumDraw>,
}

impl Panel {
    /// Panels of at most `most` pages together, chosen by a secret.
    pub(crate) fn new(secret: u64, most: usize) -> Self {
        Self {
            secret,
            most,
            marks: BTreeMap::new(),
            strata: BTreeMap::new(),
        }
    }

    /// Offers a resident page to the draw. It stands for so many pages, of which it was chosen at random: its place on
    /// the ring is that of the first of them, and it moves on as fast.
    pub(crate) fn offer(&mut self, group: usize, kind: PageKind, member: Member, pages: u64) {
        let mark = self.marks.get(&(group, kind)).copied().unwrap_or(0);
        let found = self.strata.entry((group, kind)).or_default();
        found.resident_pages += pages;
        let place = place_of(self.secret, &member).wrapping_sub(mark.wrapping_mul(pages)) / pages;
        if found.first.len() < self.most {
            found.first.push((place, member));
        } else if let Some(mut last) = found.first.peek_mut()
            && place < last.0
        {
            *last = (place, member);
        }
    }

    /// Ends the draw: the panel by process and address. The marks move on.
    pub(crate) fn finish(&mut self) -> Vec<Member> {
        let strata = std::mem::take(&mut self.strata);
        self.marks.retain(|stratum, _| strata.contains_key(stratum));
        let sizes: Vec<u64> = strata.values().map(|found| found.resident_pages).collect();
        let shares = shares_of(&sizes, self.most);
        let mut panel = Vec::new();
        for ((stratum, found), share) in strata.into_iter().zip(shares) {
            // The part of the ring that holds the panel, and of that the part that changes.
            let step = u64::MAX / found.resident_pages.max(1) * (share as u64).div_ceil(TURNOVER);
            let mark = self.marks.entry(stratum).or_default();
            *mark = mark.wrapping_add(step);
            let first = found.first.into_sorted_vec().into_iter().take(share);
            panel.extend(first.map(|(_, member)| member));
        }
        panel.sort_unstable();
        panel
    }
}

/// Splits `most` pages over strata by their size; small ones get [`FEWEST_PAGES`], or what they have.
fn shares_of(sizes: &[u64], most: usize) -> Vec<usize> {
    let total: u64 = sizes.iter().sum();
    let fewest = FEWEST_PAGES.min(most / sizes.len().max(1)) as u64;
    let least = |size: &u64| fewest.min(*size);
    let rest = (most as u64).saturating_sub(sizes.iter().map(least).sum());
    let share = |size: &u64| {
        let by_size = u128::from(*size) * u128::from(rest) / u128::from(total.max(1));
        (least(size) + by_size as u64).min(*size) as usize
    };
    sizes.iter().map(share).collect()
}

/// A place on the ring for a page, by its identity and the secret.
fn place_of(secret: u64, member: &Member) -> u64 {
    let process = u64::from(member.process.pid) ^ member.process.start_time_ticks.rotate_left(32);
    mix(mix(secret ^ process) ^ member.address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(page: u64) -> Member {
        Member {
            process: ProcessKey {
                pid: 9,
                start_time_ticks: 77,
            },
            address: page << 12,
            frame: page + 1000,
            anon: true,
        }
    }

    fn draw(panel: &mut Panel, pages: u64) -> Vec<u64> {
        for page in 0..pages {
            panel.offer(0, PageKind::Anon, member(page), 1);
        }
        panel.finish().iter().map(|member| member.address >> 12).collect()
    }

    #[test]
    fn a_panel_is_spread_evenly_and_changes_slowly() {
        let mut panel = Panel::new(5, 600);
        let first = draw(&mut panel, 100_000);
        assert_eq!(first.len(), 600);
        let low = first.iter().filter(|page| **page < 50_000).count();
        assert!((230..370).contains(&low), "{low} of 600 in the first half");
        let second = draw(&mut panel, 100_000);
        let kept = second.iter().filter(|page| first.contains(page)).count();
        assert!((560..600).contains(&kept), "{kept} kept");
        let mut last = Vec::new();
        for _ in 0..90 {
            last = draw(&mut panel, 100_000);
        }
        assert!(last.iter().all(|page| !first.contains(page)), "all have changed");
    }

    #[test]
    fn pages_that_stand_for_others_are_watched_as_often_and_as_long() {
        const PAGES_PER_RUN: u64 = 64;
        let mut panel = Panel::new(5, 600);
        let mut draw = || {
            // A process that is looked at whole, and one of as many pages of which one in 64 is looked at.
            for page in 0..200_000 {
                panel.offer(0, PageKind::Anon, member(page), 1);
            }
            for run in 0..200_000 / PAGES_PER_RUN {
                let page = run * PAGES_PER_RUN + place_of(9, &member(run)) % PAGES_PER_RUN;
                let mut chosen = member(page);
                chosen.process.pid = 10;
                panel.offer(0, PageKind::Anon, chosen, PAGES_PER_RUN);
            }
            panel.finish()
        };
        let of_large = |panel: &[Member]| -> Vec<u64> {
            let large = panel.iter().filter(|member| member.process.pid == 10);
            large.map(|member| member.address).collect()
        };
        let first = of_large(&draw());
        assert!(
            (230..370).contains(&first.len()),
            "{} of 600 are of the large one",
            first.len()
        );
        let second = of_large(&draw());
        let kept = second.iter().filter(|page| first.contains(page)).count();
        assert!(
            kept + 20 >= first.len() && kept < first.len(),
            "{kept} of {} kept",
            first.len()
        );
        let mut last = Vec::new();
        for _ in 0..90 {
            last = of_large(&draw());
        }
        let stayed = last.iter().filter(|page| first.contains(page)).count();
        assert!(
            stayed < first.len() / 4,
            "{stayed} of {} are still watched",
            first.len()
        );
    }

    #[test]
    fn a_stratum_that_fits_is_watched_whole() {
        let mut panel = Panel::new(5, 600);
        assert_eq!(draw(&mut panel, 70), (0..70).collect::<Vec<_>>());
        assert_eq!(draw(&mut panel, 70), (0..70).collect::<Vec<_>>());
        assert!(panel.finish().is_empty());
    }

    #[test]
    fn strata_share_by_size_and_small_ones_are_not_forgotten() {
        assert_eq!(shares_of(&[1_000_000, 50, 0], 4_000), [3_949, 50, 0]);
        assert_eq!(shares_of(&[1_000_000, 1_000_000], 4_000), [2_000, 2_000]);
        let many = shares_of(&[10_000; 100], 4_000);
        assert!(many.iter().sum::<usize>() <= 4_000 && many[0] == 40);
        assert!(shares_of(&[], 4_000).is_empty());
    }
}
