//! Moves of single pages between the top tier and slower memory: what a random sample of pages tells that is looked at
//! again and again, each by its address and the frame that is behind it.
//!
//! A page has the same content as long as it is mapped at its address, whatever frame holds it. A frame that changes
//! while the tier stays was either not a move (the page was freed and mapped anew, or compacted) or two of them (there
//! and back between two looks): how often that happens bounds how many of the moves that were seen are none, and how
//! many were missed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::counters::{Key, Scope};

/// Source of the counters, as in `contract/metrics/page_moves.toml`.
pub const COUNTER_SOURCE: &str = "page_moves";
const SECOND_NS: i64 = 1_000_000_000;
/// After so long without a look nothing is known of what a page did meanwhile, and following begins anew.
const LONGEST_PAUSE_NS: i64 = 120 * SECOND_NS;
/// Promotions of one page within such a time tell no more than one of them might.
const CLUSTER_NS: i64 = 3600 * SECOND_NS;
/// A promotion so soon after the demotion of the page is a round trip (docs/method/ping-pong.md).
pub const RETURN_WITHIN_NS: i64 = 600 * SECOND_NS;
/// Upper bounds of the times between demotion and promotion that are counted apart, seconds.
const WITHIN_SECONDS: [i64; 4] = [30, 60, 120, 300];
const KINDS: [&str; 2] = ["anon", "file"];

/// What a look at a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Whether it is in the top tier.
    pub is_top: bool,
    /// What holds it.
    pub frame: u64,
    /// Whether it is anonymous; else of a file or of shared memory.
    pub is_anon: bool,
}

/// A page that is looked at again and again. Whoever finds it gone at a look drops it: what is there later is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedPage {
    since_ns: i64,
    looked_ns: i64,
    seen: Seen,
    demoted_ns: Option<i64>,
    /// Promotions that were counted, and from when on.
    promotions: u64,
    cluster_ns: i64,
}

impl FollowedPage {
    /// A page as it is first seen.
    pub fn new(seen: Seen, now_ns: i64) -> Self {
        Self {
            since_ns: now_ns,
            looked_ns: now_ns,
            seen,
            demoted_ns: None,
            promotions: 0,
            cluster_ns: now_ns,
        }
    }
}

/// What was seen of the pages of one kind of a service. Counts only ever grow.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counts {
    page_ns: i64,
    demotions: u64,
    promotions: u64,
    promotions_squared: u64,
    round_trips: u64,
    round_trips_within: [u64; WITHIN_SECONDS.len()],
    unsure_moves: f64,
    /// Of the look that goes on: pages in the top tier and in slower memory, and those of each whose frame changed.
    looked: [u64; 2],
    changed: [u64; 2],
}

/// What a look at a page adds to the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    /// Since the look before.
    elapsed_ns: i64,
    is_top: bool,
    change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    /// Its frame changed within its tier.
    Frame,
    Demoted,
    /// After so long in slower memory, where its demotion was seen; the promotions of the page that were counted before.
    Promoted(Option<i64>, u64),
}

impl FollowedPage {
    /// Takes in a look. `None` where the page is followed for so short a time that it is not known whether it came back.
    fn step(&mut self, seen: Seen, now_ns: i64) -> Option<Step> {
        if now_ns - self.looked_ns > LONGEST_PAUSE_NS {
            *self = Self::new(seen, now_ns);
        }
        let before = std::mem::replace(&mut self.seen, seen);
        let elapsed_ns = now_ns - std::mem::replace(&mut self.looked_ns, now_ns);
        let is_known = now_ns - self.since_ns > RETURN_WITHIN_NS;
        let change = match (before.is_top, seen.is_top) {
            (true, false) => {
                self.demoted_ns = Some(now_ns);
                Change::Demoted
            }
            (false, true) => {
                let away_ns = self.demoted_ns.take().map(|at_ns| now_ns - at_ns);
                if now_ns - self.cluster_ns > CLUSTER_NS {
                    (self.promotions, self.cluster_ns) = (0, now_ns);
                }
                let promotions = self.promotions;
                self.promotions += u64::from(is_known);
                Change::Promoted(away_ns, promotions)
            }
            _ if before.frame != seen.frame => Change::Frame,
            _ => Change::None,
        };
        is_known.then_some(Step {
            elapsed_ns,
            is_top: seen.is_top,
            change,
        })
    }
}

impl Counts {
    fn add(&mut self, step: Step) {
        self.page_ns += step.elapsed_ns;
        let side = usize::from(!step.is_top);
        self.looked[side] += 1;
        match step.change {
            Change::None => {}
            Change::Frame => self.changed[side] += 1,
            Change::Demoted => self.demotions += 1,
            Change::Promoted(away_ns, before) => {
                self.promotions += 1;
                self.promotions_squared += 2 * before + 1;
                let Some(away_ns) = away_ns.filter(|away_ns| *away_ns <= RETURN_WITHIN_NS) else {
                    return;
                };
                self.round_trips += 1;
                for (count, seconds) in self.round_trips_within.iter_mut().zip(WITHIN_SECONDS) {
                    *count += u64::from(away_ns <= seconds * SECOND_NS);
                }
            }
        }
    }

    /// Ends a look. Pages of slower memory that are mapped anew come to the top tier, as a rule, and look promoted: as
    /// many, of so many, as change their frames within the top tier. Gives how many moves are unsure.
    fn end_look(&mut self) -> f64 {
        let [top, lower] = std::mem::take(&mut self.looked).map(|pages| pages as f64);
        let [changed_top, changed_lower] = std::mem::take(&mut self.changed).map(|pages| pages as f64);
        let unsure = changed_top * (lower / top.max(1.0)).max(1.0) + changed_lower;
        self.unsure_moves += unsure;
        unsure
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let count = |value: u64| value.cast_signed();
        [
            ("followed_us", self.page_ns / 1_000),
            ("demotions", count(self.demotions)),
            ("promotions", count(self.promotions)),
            ("promotions_squared", count(self.promotions_squared)),
            ("round_trips", count(self.round_trips)),
            ("unsure_moves", self.unsure_moves as i64),
        ]
        .into_iter()
    }
}

type Kinds = [Counts; KINDS.len()];

/// Moves that were seen, of the host and by service, by kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageMoves {
    host: Kinds,
    services: BTreeMap<Arc<str>, Kinds>,
}

impl PageMoves {
    /// Counts these services from here on, those that are known already as before; all others are forgotten.
    pub fn expect(&mut self, services: impl IntoIterator<Item = Arc<str>>) {
        let mut before = std::mem::take(&mut self.services);
        let known = |service: Arc<str>| {
            let counts = before.remove(&service).unwrap_or_default();
            (service, counts)
        };
        for (service, counts) in services.into_iter().map(known) {
            self.services.entry(service).or_insert(counts);
        }
    }

    /// Takes in a look at a page of a service that is expected; the page is still the one that was followed.
    pub fn look(&mut self, service: &str, page: &mut FollowedPage, seen: Seen, now_ns: i64) {
        let kind = usize::from(!seen.is_anon);
        let Some(step) = page.step(seen, now_ns) else {
            return;
        };
        self.host[kind].add(step);
        if let Some(kinds) = self.services.get_mut(service) {
            kinds[kind].add(step);
        }
    }

    /// Notes that all followed pages have been looked at. Services differ in how often they map pages anew.
    pub fn end_look(&mut self) {
        for kinds in self.services.values_mut() {
            for (counts, host) in kinds.iter_mut().zip(&mut self.host) {
                host.unsure_moves += counts.end_look();
            }
        }
    }

    /// Counters since the start of the agent, of the host and of the services that are expected, sorted by key.
    pub fn values(&self) -> Vec<(Key, Option<i64>)> {
        let of_service = |(service, kinds)| (Scope::Service(String::from(service)), kinds);
        let services = self
            .services
            .iter()
            .map(|(service, kinds)| (service.as_ref(), kinds));
        let mut values = Vec::new();
        for (scope, kinds) in std::iter::once((Scope::Host, &self.host)).chain(services.map(of_service)) {
            for (counts, kind) in kinds.iter().zip(KINDS) {
                let key = |name: &str| Key::new(&scope, COUNTER_SOURCE, &format!("{name}[{kind}]"));
                values.extend(counts.named().map(|(name, value)| (key(name), Some(value))));
            }
        }
        let [anon, file] = &self.host;
        let both = anon.round_trips_within.iter().zip(file.round_trips_within);
        for ((anon, file), seconds) in both.zip(WITHIN_SECONDS) {
            let name = format!("round_trips_within[{seconds}s]");
            let count = (anon + file).cast_signed();
            values.push((Key::new(&Scope::Host, COUNTER_SOURCE, &name), Some(count)));
        }
        values.sort_by(|one, other| one.0.cmp(&other.0));
        values
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
