//! The kernel's lists of DRAM without anything clever: queues that are searched, and accesses that are counted one by one.

use std::collections::HashMap;

use tierscope_engine::{Kswapd, Lru};

use super::{At, Simple};

/// A page on a list: which one it is, whether it is a file, and what is known of its use.
#[derive(Debug, Clone)]
struct Entry {
    page: usize,
    is_file: bool,
    /// The active list is 1; generations are as many as there were.
    list: u32,
    young: bool,
    referenced: bool,
    looked: (u32, f32),
}

/// Accesses of each page by interval, and the pages that were promoted in this one.
#[derive(Default)]
pub(crate) struct Uses {
    pub(crate) accesses: HashMap<(usize, u32), u32>,
    pub(crate) promoted: Vec<usize>,
}

impl Uses {
    fn accesses(&self, page: usize, interval: u32) -> u32 {
        self.accesses.get(&(page, interval)).copied().unwrap_or(0)
    }

    fn is_promoted(&self, page: usize) -> bool {
        self.promoted.contains(&page)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Empty,
    /// A page stays, or the oldest generation has none.
    Passed,
    Victim(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct NaiveLru {
    how: Lru,
    /// In the order in which they came to their list.
    entries: Vec<Entry>,
    oldest: u32,
    youngest: u32,
    cost: [f64; 2],
    scanned: [f64; 2],
}

impl NaiveLru {
    pub(crate) fn new(how: Lru) -> Self {
        Self {
            how,
            entries: Vec::new(),
            oldest: 0,
            youngest: 2,
            cost: [0.0; 2],
            scanned: [0.0; 2],
        }
    }

    /// A page came to DRAM; `is_new`: for the first time in its life it is in memory.
    fn add(&mut self, page: usize, is_file: bool, is_new: bool, at: (u32, f32)) {
        let was_read = is_file && is_new;
        let list = match (self.how, was_read) {
            (Lru::MultiGeneration, true) => self.oldest,
            (Lru::MultiGeneration, false) => self.youngest,
            _ => 0,
        };
        self.entries.push(Entry {
            page,
            is_file,
            list,
            young: !was_read,
            referenced: false,
            looked: if was_read { (at.0, 1.0) } else { at },
        });
    }

    fn remove(&mut self, page: usize) {
        self.entries.retain(|entry| entry.page != page);
    }

    pub(crate) fn note_cost(&mut self, is_file: bool) {
        self.cost[usize::from(is_file)] += 1.0;
        while self.cost[0] + self.cost[1] > self.entries.len() as f64 / 4.0 {
            self.cost = [self.cost[0] / 2.0, self.cost[1] / 2.0];
        }
    }

    fn count(&self, suits: impl Fn(&Entry) -> bool) -> usize {
        self.entries.iter().filter(|entry| suits(entry)).count()
    }

    fn first(&self, is_file: bool, list: u32) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.is_file == is_file && entry.list == list)
    }

    /// Whether an entry was used since it was looked at, which is forgotten.
    fn take_use(&mut self, at: usize, now: (u32, f32), uses: &Uses) -> bool {
        let entry = &mut self.entries[at];
        let mut was_used = std::mem::take(&mut entry.young);
        let last = (0..=now.0)
            .rev()
            .find(|&t| uses.accesses(entry.page, t) > 0);
        for t in entry.looked.0..=now.0 {
            // Of intervals before the last use, one in which it was looked at is not known in part.
            if last.is_none_or(|last| t > last || last - t > 7)
                || (t == entry.looked.0 && Some(t) != last)
            {
                continue;
            }
            let count = uses.accesses(entry.page, t);
            let done = |part: f32| (part * (count as f32 + 1.0)).min(count as f32) as u32;
            let until = if t == now.0 { done(now.1) } else { count };
            let from = if t == entry.looked.0 {
                done(entry.looked.1)
            } else {
                0
            };
            was_used |= until > from;
        }
        self.entries[at].looked = now;
        was_used
    }

    fn put(&mut self, at: usize, list: u32) {
        let entry = self.entries.remove(at);
        self.entries.push(Entry { list, ..entry });
    }

    fn look(&mut self, now: (u32, f32), uses: &Uses) -> Look {
        if self.entries.is_empty() {
            return Look::Empty;
        }
        if self.how == Lru::Classic {
            return self.look_classic(now, uses);
        }
        if self.should_age() {
            self.youngest += 1;
            let mut order: Vec<(u32, bool, usize)> = self
                .entries
                .iter()
                .map(|entry| (entry.list, entry.is_file, entry.page))
                .collect();
            order.sort_by_key(|&(list, is_file, _)| (list, is_file));
            for (_, _, page) in order {
                let at = self
                    .entries
                    .iter()
                    .position(|entry| entry.page == page)
                    .unwrap();
                if self.take_use(at, now, uses) {
                    self.put(at, self.youngest);
                }
            }
        }
        let files_first = self.cost[1] * 60.0 <= (self.cost[0] + 1.0) * 140.0;
        let found = self
            .first(files_first, self.oldest)
            .or_else(|| self.first(!files_first, self.oldest));
        let Some(at) = found else {
            self.oldest += 1;
            return Look::Passed;
        };
        let was_used = self.take_use(at, now, uses);
        let page = self.entries[at].page;
        if !was_used && !uses.is_promoted(page) {
            return Look::Victim(page);
        }
        self.put(at, self.youngest);
        Look::Passed
    }

    fn should_age(&self) -> bool {
        let held = |list: u32| self.count(|entry| entry.list == list);
        match self.youngest - self.oldest {
            0 | 1 => true,
            2 => {
                held(self.youngest) * 2 > self.entries.len()
                    || held(self.oldest) * 4 < self.entries.len()
            }
            _ => false,
        }
    }

    fn look_classic(&mut self, now: (u32, f32), uses: &Uses) -> Look {
        let size = |is_file: bool| self.count(|entry| entry.is_file == is_file) as f64;
        let total = self.cost[0] + self.cost[1] + 1.0;
        let due = |kind: usize, weight: f64| {
            self.scanned[kind] / (weight * total / (self.cost[kind] + 1.0) * size(kind == 1))
        };
        let is_file = size(false) == 0.0 || (size(true) > 0.0 && due(0, 60.0) >= due(1, 140.0));
        let inactive = self.count(|entry| entry.is_file == is_file && entry.list == 0);
        let active = self.count(|entry| entry.is_file == is_file && entry.list == 1);
        if inactive < active {
            let at = self.first(is_file, 1).unwrap();
            self.take_use(at, now, uses);
            self.put(at, 0);
            return Look::Passed;
        }
        let at = self.first(is_file, 0).unwrap();
        self.scanned[usize::from(is_file)] += 1.0;
        let (was_used, page) = (self.take_use(at, now, uses), self.entries[at].page);
        if !was_used && !uses.is_promoted(page) {
            return Look::Victim(page);
        }
        let goes_up = was_used && self.entries[at].referenced;
        self.entries[at].referenced |= was_used;
        self.put(at, u32::from(goes_up));
        Look::Passed
    }
}

impl Simple<'_> {
    /// A page comes to lie there.
    pub(crate) fn set(&mut self, page: usize, at: At) {
        let was = std::mem::replace(&mut self.pages[page].at, at);
        let Some(lru) = &mut self.lru else {
            return;
        };
        if was == At::Dram && at != At::Dram {
            lru.remove(page);
        }
        if was != At::Dram && at == At::Dram {
            let is_new = self.uses.accesses.keys().all(|key| key.0 != page);
            lru.add(
                page,
                self.columns.kinds[page] == 1,
                is_new,
                (self.now, self.part),
            );
        }
    }

    pub(crate) fn look(&mut self) -> Look {
        let now = (self.now, self.part);
        self.lru.as_mut().unwrap().look(now, &self.uses)
    }

    /// Looks as often as it takes to find a victim, within reason.
    pub(crate) fn next_of_lists(&mut self) -> Option<usize> {
        (0..5 * (self.pages.len() + 1)).find_map(|_| match self.look() {
            Look::Victim(page) => Some(page),
            _ => None,
        })
    }

    pub(crate) fn run_kswapd_by_lists(
        &mut self,
        kswapd: Kswapd,
        with_current: bool,
        accessed_s: f64,
    ) {
        let (until, mut passed) = (self.part, 0);
        let promo = self.memory.watermarks.promo as i64;
        while self.free(At::Dram) < promo && passed < 5 * (self.pages.len() + 1) {
            if self.kswapd_s < 0.0 {
                self.part = until;
                return;
            }
            if with_current {
                self.part = (until - (self.kswapd_s / accessed_s) as f32).max(0.0);
            }
            match self.look() {
                Look::Victim(page) => {
                    passed = 0;
                    self.kswapd_s -= kswapd.page_s + kswapd.unit_s + kswapd.look_s;
                    let Some(demoted) = self.lower_this(page, with_current) else {
                        break;
                    };
                    self.kswapd_demoted += u64::from(demoted);
                }
                Look::Passed => {
                    passed += 1;
                    self.kswapd_s -= kswapd.look_s;
                }
                Look::Empty => break,
            }
        }
        self.part = until;
        (self.awake, self.kswapd_s) = (false, 0.0);
    }
}
