//! The whole past of one page, and what is counted from it.

use tierscope_sample::heat::{GAP_BINS, PageKind};
use tierscope_sample::history::HISTORY_INTERVALS;

/// Kinds in the order of their numbers.
pub(crate) const KINDS: [PageKind; 3] = [PageKind::Anon, PageKind::File, PageKind::Tmpfs];

/// What happened to a page in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Seen {
    Missing,
    Idle,
    /// With the number of loads.
    Active(u64),
}

/// A page's life, from the interval in which it became resident.
#[derive(Debug, Clone, Default)]
pub(crate) struct Life {
    pub(crate) seen: Vec<Seen>,
}

impl Life {
    pub(crate) fn newest(&self, age: usize) -> Option<Seen> {
        self.seen.iter().rev().nth(age).copied()
    }

    pub(crate) fn active(&self, age: usize) -> bool {
        matches!(self.newest(age), Some(Seen::Active(_)))
    }

    pub(crate) fn age(&self) -> Option<usize> {
        (0..HISTORY_INTERVALS as usize).find(|age| self.active(*age))
    }

    pub(crate) fn valid_run(&self) -> usize {
        (0..64)
            .take_while(|age| !matches!(self.newest(*age), None | Some(Seen::Missing)))
            .count()
    }

    pub(crate) fn samples(&self, window: usize) -> u64 {
        let counted = self.seen.iter().rev().take(window);
        counted
            .map(|seen| {
                if let Seen::Active(samples) = seen {
                    *samples
                } else {
                    0
                }
            })
            .sum()
    }

    /// Lengths of the gaps that ended, and how; the open one is left to the caller. `unmapped` in the interval after
    /// the life, which was observed or not.
    pub(crate) fn gaps(&self, unmapped: Option<bool>, ended: &mut Ended) {
        let mut last: Option<usize> = None;
        for (now, seen) in self.seen.iter().enumerate() {
            match seen {
                Seen::Missing => {
                    if let Some(start) = last.take() {
                        ended.censor(now - start - 1);
                    }
                }
                Seen::Active(_) => {
                    if let Some(start) = last.replace(now) {
                        if now - start > GAP_BINS {
                            ended.censor(GAP_BINS);
                        } else {
                            ended.closed[now - start - 1] += 1;
                        }
                    }
                }
                Seen::Idle => {}
            }
        }
        let Some(lag) = last.map(|start| self.seen.len() - 1 - start) else {
            return;
        };
        match unmapped {
            Some(true) if lag < GAP_BINS => ended.freed[lag] += 1,
            Some(_) => ended.censor(lag),
            None if lag > GAP_BINS => ended.censor(lag),
            None if lag > 0 => ended.open[lag - 1] += 1,
            None => {}
        }
    }
}

/// Gaps by how they ended; index i counts those of i + 1 intervals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) closed: [i64; GAP_BINS],
    pub(crate) freed: [i64; GAP_BINS],
    pub(crate) open: [i64; GAP_BINS],
    pub(crate) censored: [i64; GAP_BINS],
}

impl Ended {
    pub(crate) fn none() -> Self {
        let zero = [0; GAP_BINS];
        Self {
            closed: zero,
            freed: zero,
            open: zero,
            censored: zero,
        }
    }

    pub(crate) fn censor(&mut self, length: usize) {
        if length > 0 {
            self.censored[length.min(GAP_BINS) - 1] += 1;
        }
    }
}
