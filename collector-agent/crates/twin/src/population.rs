//! The pages of one kind of memory of one service on one host.

use crate::draws::Draws;
use crate::kind::{Kind, Place};
use crate::popularity::SLOTS;

/// Gaps between touches of 1 to 63 intervals are told apart.
pub const GAPS: usize = 63;
/// Never demoted.
const NEVER: u32 = u32::MAX;
/// Bits of a rank that choose its slot of popularity.
const SLOT_SHIFT: u32 = u16::BITS - SLOTS.trailing_zeros();

/// Pages, by index. All vectors are equally long; an index is used again once its page is freed.
#[derive(Debug, Clone)]
pub struct Population {
    /// Kind of the pages.
    pub kind: Kind,
    /// Index of the service on its host.
    pub service: usize,
    draws: Draws,
    place: Vec<Place>,
    /// Rank in popularity, in 65,536ths of all pages.
    rank: Vec<u16>,
    /// One bit an interval, the newest lowest: touched.
    history: Vec<u64>,
    /// Step in which the page was allocated.
    born_step: Vec<u32>,
    /// Step of its last demotion, until it is promoted.
    demoted_step: Vec<u32>,
    /// Time since the scanner marked it, if it was not touched since. A marked page is not marked again
    /// (`change_pte_range`).
    marked_s: Vec<Option<f32>>,
    /// Time since its last touch, at the end of the step.
    idle_s: Vec<f32>,
    /// Touches of a base page in the step: the mean of those that were drawn to be touched.
    touches: Vec<f32>,
    /// Moves between the nodes.
    moves: Vec<u16>,
    counts: [usize; 3],
}

/// What happens to the pages of a population in one step.
#[derive(Debug)]
pub struct Touching<'a> {
    /// Number of the step.
    pub step: u32,
    /// Its length.
    pub interval_s: f64,
    /// Touches per second of a base page by slot of popularity.
    pub rates: &'a [f32],
    /// By how much all ranks have moved on.
    pub rank_offset: u16,
    /// Passes of the scanner done before and after the step; `None` while it rests.
    pub scan: Option<(f64, f64)>,
    /// Whether it marks pages of DRAM as well.
    pub scans_dram: bool,
}

impl Touching<'_> {
    /// Times that the scanner comes by a page at this share of the pages.
    fn marks(&self, at: f64) -> u64 {
        self.scan.map_or(0, |(from, until)| {
            ((until - at).floor() - (from - at).floor()) as u64
        })
    }
}

/// What was touched in a step.
#[derive(Debug, Default)]
pub struct Touched {
    /// Touches of one base page each, summed over the pages of the twin, by place.
    pub touches: [f64; 3],
    /// Pages that are in no memory and were touched, with the touches of one base page of them.
    pub out: Vec<(u32, f64)>,
    /// Pages whose marks of the scanner were hit.
    pub marked: Vec<Marked>,
    /// Marks set by the scanner: pages of the twin.
    pub scanned: u64,
    /// Pages touched, those that were allocated in this step among them.
    pub active: u64,
    /// Touches by the gap since the touch before: index i for i + 1 intervals.
    pub gaps: Vec<u64>,
}

/// A marked page that was touched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Marked {
    /// The page.
    pub unit: u32,
    /// Touches per second.
    pub rate_per_s: f64,
    /// Times it was marked in the step.
    pub times: u64,
    /// Time from its mark to the step, if it was marked before.
    pub waited_s: Option<f64>,
    /// A number above 0, at most 1: how early the touch came.
    pub draw: f64,
}

/// What a page is by the time since its last touch (docs/method/heat.md, scheme `recency`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heat {
    /// Touched in the last two intervals.
    Hot,
    /// Touched in the last ten.
    Warm,
    /// Not touched for ten intervals or longer.
    Cold,
}

impl Population {
    /// A population without pages.
    pub fn new(kind: Kind, service: usize, draws: Draws) -> Self {
        Self {
            kind,
            service,
            draws,
            place: Vec::new(),
            rank: Vec::new(),
            history: Vec::new(),
            born_step: Vec::new(),
            demoted_step: Vec::new(),
            marked_s: Vec::new(),
            idle_s: Vec::new(),
            touches: Vec::new(),
            moves: Vec::new(),
            counts: [0; 3],
        }
    }

    /// Number of indices, used or not.
    pub fn len(&self) -> usize {
        self.place.len()
    }

    /// Whether there never was a page.
    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    /// Pages by place.
    pub fn counts(&self) -> [usize; 3] {
        self.counts
    }

    /// Allocated pages, in memory or out of it.
    pub fn allocated(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Pages in memory.
    pub fn resident(&self) -> usize {
        self.counts[0] + self.counts[1]
    }

    /// Where a page lies.
    pub fn place(&self, unit: usize) -> Place {
        self.place[unit]
    }

    /// Activity of a page, newest interval in bit 0, and the step of its allocation.
    pub fn history(&self, unit: usize) -> (u64, u32) {
        (self.history[unit], self.born_step[unit])
    }

    /// A number of the frame that holds a page: another one after each move and each allocation.
    pub fn frame(&self, unit: usize) -> u64 {
        u64::from(self.born_step[unit]) << u16::BITS | u64::from(self.moves[unit])
    }

    /// Time since the last touch.
    pub fn idle_s(&self, unit: usize) -> f32 {
        self.idle_s[unit]
    }

    /// Touches per second of a base page of it.
    pub fn rate_per_s(&self, unit: usize, rates: &[f32], rank_offset: u16) -> f32 {
        rates[usize::from(self.rank[unit].wrapping_add(rank_offset) >> SLOT_SHIFT)]
    }

    /// Puts a page elsewhere, and keeps count.
    pub fn put(&mut self, unit: usize, place: Place) {
        if let Some(before) = self.place[unit].index() {
            self.counts[before] -= 1;
            self.moves[unit] = self.moves[unit].wrapping_add(1);
        }
        if let Some(after) = place.index() {
            self.counts[after] += 1;
        }
        self.place[unit] = place;
        // Whoever moves a page maps it anew.
        self.marked_s[unit] = None;
    }

    /// Notes that a page was demoted in this step.
    pub fn note_demotion(&mut self, unit: usize, step: u32) {
        self.demoted_step[unit] = step;
    }

    /// Notes that a page was promoted; gives the steps since its demotion, if it was demoted since the last promotion.
    pub fn note_promotion(&mut self, unit: usize, step: u32) -> Option<u32> {
        let demoted = std::mem::replace(&mut self.demoted_step[unit], NEVER);
        (demoted != NEVER).then(|| step - demoted)
    }

    /// A new page, not yet anywhere: the index of a freed one if there is one.
    pub fn allocate(&mut self, step: u32, free: Option<usize>) -> usize {
        let unit = free.unwrap_or_else(|| {
            let unit = self.place.len();
            self.place.push(Place::Absent);
            self.rank
                .push((self.draws.named("rank").bits(unit as u64) >> 48) as u16);
            self.history.push(0);
            self.born_step.push(0);
            self.demoted_step.push(NEVER);
            self.marked_s.push(None);
            self.idle_s.push(0.0);
            self.touches.push(0.0);
            self.moves.push(0);
            unit
        });
        // Whoever allocates a page writes to it.
        self.history[unit] = 1;
        self.born_step[unit] = step;
        self.demoted_step[unit] = NEVER;
        self.idle_s[unit] = 0.0;
        self.touches[unit] = 0.0;
        unit
    }

    /// The next index from `start` on, in circles, for which `wanted` holds.
    pub fn find(&self, start: usize, wanted: impl Fn(Place) -> bool) -> Option<usize> {
        let count = self.place.len();
        (0..count)
            .map(|ahead| (start + ahead) % count)
            .find(|unit| wanted(self.place[*unit]))
    }

    /// Lets `pairs` pairs of pages swap their popularity.
    pub fn drift(&mut self, step: u32, pairs: usize) {
        let draws = self.draws.named("drift").branch(u64::from(step));
        let count = self.rank.len() as u64;
        for pair in 0..pairs as u64 {
            let bits = draws.bits(pair);
            self.rank.swap(
                ((bits >> 32) % count) as usize,
                ((bits & 0xFFFF_FFFF) % count) as usize,
            );
        }
    }

    /// Lets a step go by: which pages are touched, how often, and which marks of the scanner are hit.
    ///
    /// Touches of a page are a Poisson process. The time from its last touch to the end of the step is drawn, which says
    /// whether it was touched at all; a touched page then counts its mean number of touches, given at least one.
    pub fn touch(&mut self, touching: &Touching<'_>) -> Touched {
        let mut touched = Touched {
            gaps: vec![0; GAPS],
            ..Touched::default()
        };
        let draws = self.draws.named("touch").branch(u64::from(touching.step));
        let interval_s = touching.interval_s as f32;
        for unit in 0..self.place.len() {
            let Some(place) = self.place[unit].index() else {
                continue;
            };
            let rate = self.rate_per_s(unit, touching.rates, touching.rank_offset);
            let bits = draws.bits(unit as u64);
            let since_s = if rate > 0.0 {
                -unit_interval(bits >> 40).ln() / rate
            } else {
                f32::INFINITY
            };
            let is_active = since_s < interval_s;
            let before = self.history[unit];
            // What was allocated in this very step has its bit already.
            let is_new = self.born_step[unit] == touching.step;
            if !is_new {
                self.history[unit] = (before << 1) | u64::from(is_active);
            }
            touched.active += u64::from(is_active || is_new);
            let mut count_here = 0.0_f64;
            if is_active {
                self.idle_s[unit] = since_s;
                let expected = f64::from(rate * interval_s);
                count_here = expected / -(-expected).exp_m1();
                touched.touches[place] += count_here;
                if !is_new && before != 0 && before.trailing_zeros() < GAPS as u32 {
                    touched.gaps[before.trailing_zeros() as usize] += 1;
                }
            } else {
                self.idle_s[unit] += interval_s;
            }
            self.touches[unit] = count_here as f32;
            if place == 2 {
                if is_active {
                    touched.out.push((unit as u32, count_here));
                }
            } else if place == 1 || touching.scans_dram {
                let touch = is_active.then(|| (f64::from(rate), f64::from(unit_interval(bits & 0xFF_FFFF))));
                self.scan(unit, touching, touch, &mut touched);
            }
        }
        touched
    }

    /// Lets the scanner come by a page, which may be touched: its rate, and a number above 0, at most 1.
    fn scan(
        &mut self,
        unit: usize,
        touching: &Touching<'_>,
        touch: Option<(f64, f64)>,
        touched: &mut Touched,
    ) {
        let times = touching.marks(unit as f64 / self.place.len() as f64);
        let waited_s = self.marked_s[unit].take();
        match (touch, waited_s) {
            (Some((rate_per_s, draw)), _) if times > 0 || waited_s.is_some() => {
                touched.scanned += times;
                touched.marked.push(Marked {
                    unit: unit as u32,
                    rate_per_s,
                    times,
                    waited_s: waited_s.map(f64::from),
                    draw,
                });
            }
            (None, Some(waited_s)) => self.marked_s[unit] = Some(waited_s + touching.interval_s as f32),
            (None, None) if times > 0 => {
                touched.scanned += 1;
                self.marked_s[unit] = Some(touching.interval_s as f32 / 2.0);
            }
            _ => {}
        }
    }

    /// Touches of one base page of a page of the twin in the last step.
    pub fn touches(&self, unit: usize) -> f64 {
        f64::from(self.touches[unit])
    }

    /// Heat of a page.
    pub fn heat(&self, unit: usize) -> Heat {
        match self.history[unit].trailing_zeros() {
            0..2 => Heat::Hot,
            2..10 => Heat::Warm,
            _ => Heat::Cold,
        }
    }

    /// Indices of the pages at one place.
    pub fn at(&self, place: Place) -> impl Iterator<Item = usize> {
        self.place
            .iter()
            .enumerate()
            .filter(move |(_, own)| **own == place)
            .map(|(unit, _)| unit)
    }
}

/// 24 bits as a number above 0, at most 1.
fn unit_interval(bits: u64) -> f32 {
    (bits + 1) as f32 / 16_777_216.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population(units: usize) -> Population {
        let mut population = Population::new(Kind::Anon, 0, Draws::new(3));
        for _ in 0..units {
            let unit = population.allocate(0, None);
            population.put(unit, Place::Dram);
        }
        population
    }

    fn touching(step: u32, rates: &[f32]) -> Touching<'_> {
        Touching {
            step,
            interval_s: 60.0,
            rates,
            rank_offset: 0,
            scan: None,
            scans_dram: false,
        }
    }

    #[test]
    fn touches_average_their_rate_and_activity_is_that_of_a_poisson_process() {
        let mut population = population(20_000);
        let rates = vec![1.0 / 60.0; SLOTS];
        let touched = population.touch(&touching(1, &rates));
        assert!(
            (touched.touches[0] / 20_000.0 - 1.0).abs() < 0.02,
            "{:?}",
            touched.touches
        );
        let active = (0..20_000)
            .filter(|unit| population.history(*unit).0 & 1 == 1)
            .count() as f64;
        assert!((active / 20_000.0 - 0.632).abs() < 0.01, "{active}");
    }

    #[test]
    fn a_gap_is_counted_when_the_page_is_touched_again() {
        let mut population = population(1);
        let (busy, quiet) = (vec![1e3; SLOTS], vec![0.0; SLOTS]);
        let mut last = Touched::default();
        for (step, rates) in [(1, &quiet), (2, &quiet), (3, &busy)] {
            last = population.touch(&touching(step, rates));
        }
        assert_eq!(last.gaps.iter().position(|count| *count == 1), Some(2));
        assert_eq!(population.heat(0), Heat::Hot);
    }

    #[test]
    fn the_scanner_marks_every_page_once_in_a_pass_and_not_again_until_it_is_touched() {
        let mut population = population(97);
        let rates = vec![0.0; SLOTS];
        let mut scanned = 0;
        for step in 0..20 {
            let scan = Some((f64::from(step) / 10.0, f64::from(step + 1) / 10.0));
            scanned += population
                .touch(&Touching {
                    scan,
                    scans_dram: true,
                    ..touching(step as u32 + 1, &rates)
                })
                .scanned;
        }
        assert_eq!(scanned, 97);
    }

    #[test]
    fn counts_follow_the_places() {
        let mut population = population(3);
        population.put(0, Place::Slow);
        population.put(1, Place::Absent);
        assert_eq!(population.counts(), [1, 1, 0]);
        assert_eq!(population.find(0, |place| place == Place::Absent), Some(1));
        population.note_demotion(0, 4);
        assert_eq!(population.note_promotion(0, 9), Some(5));
        assert_eq!(population.note_promotion(0, 9), None);
    }
}
