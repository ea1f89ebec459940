//! The slow way: every page keeps its whole past, and each figure is counted from it.

mod life;

use std::collections::BTreeMap;

pub(crate) use life::{Ended, KINDS, Life, Seen};
use tierscope_sample::heat::PageKind;
use tierscope_sample::history::Recency;

/// One interval: pages unmapped, pages that appear untouched, and pages touched with their counts.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) observed: bool,
    pub(crate) freed: Vec<u64>,
    pub(crate) appeared: Vec<u64>,
    pub(crate) touched: Vec<(u64, u32, u32)>,
}

/// The kind of a page is fixed by its key.
pub(crate) fn kind_of(key: u64) -> PageKind {
    KINDS[key as usize % KINDS.len()]
}

impl Life {
    pub(crate) fn recency(&self) -> Recency {
        let whole = |window: usize| self.valid_in(window) == window;
        if (0..2).any(|age| self.active(age)) {
            Recency::Hot
        } else if !whole(2) {
            Recency::Unknown
        } else if (0..10).any(|age| self.active(age)) {
            Recency::Warm
        } else if !whole(10) {
            Recency::Unknown
        } else {
            Recency::Cold
        }
    }

    pub(crate) fn valid_in(&self, window: usize) -> usize {
        (0..window)
            .filter(|age| !matches!(self.newest(*age), None | Some(Seen::Missing)))
            .count()
    }
}

/// The lives of all pages, and the gaps of those that were unmapped.
pub(crate) struct Past {
    pub(crate) lives: BTreeMap<u64, Life>,
    pub(crate) ended: [Ended; 3],
}

impl Past {
    pub(crate) fn new() -> Self {
        Self {
            lives: BTreeMap::new(),
            ended: [Ended::none(), Ended::none(), Ended::none()],
        }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        for key in &step.freed {
            if let Some(life) = self.lives.remove(key) {
                life.gaps(Some(step.observed), &mut self.ended[kind_of(*key) as usize]);
            }
        }
        let idle = if step.observed { Seen::Idle } else { Seen::Missing };
        self.lives.values_mut().for_each(|life| life.seen.push(idle));
        let touched = if step.observed {
            step.touched.as_slice()
        } else {
            &[]
        };
        for key in step.appeared.iter().chain(touched.iter().map(|(key, ..)| key)) {
            self.lives
                .entry(*key)
                .or_insert_with(|| Life { seen: vec![idle] });
        }
        for (key, loads, _) in touched {
            let newest = self.lives.get_mut(key).unwrap().seen.last_mut().unwrap();
            let before = if let Seen::Active(samples) = newest {
                *samples
            } else {
                0
            };
            *newest = Seen::Active(before + u64::from(*loads));
        }
    }

    pub(crate) fn of(&self, kind: PageKind) -> impl Iterator<Item = &Life> {
        self.lives
            .iter()
            .filter(move |(key, _)| kind_of(**key) == kind)
            .map(|(_, life)| life)
    }
}
