//! What a hardware sampler would have seen of a page trace: every P-th event of the cores whose group is enabled.
//!
//! The trace does not say when within an interval an event happened, nor on which core. Events are taken in random
//! order and spread evenly over cores and time, so the sampled ones are drawn at random without replacement: the case
//! `q = 1 - (1 - d/P)^n` of docs/method/heat.md. Events of a page that come in one burst on one core are not modelled.

use std::collections::HashSet;
use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Granularity, PageKind};
use tierscope_sample::page_group::{Census, PageGroup, PageGroupOptions, PageMapping, PageSize, PageState};
use tierscope_sample::vma_fold::ProcessKey;

use crate::trace_pages::Access;

/// Turns of the core groups in one interval: one minute by turns of five seconds.
const TURNS: u64 = 12;
/// Share by which a period is randomised at most, so that regular access patterns do not alias.
const PERIOD_JITTER: f64 = 0.05;
const SHORTEST_RANDOM_PERIOD: f64 = 20.0;
const KINDS: [PageKind; 3] = [PageKind::Anon, PageKind::File, PageKind::Tmpfs];
/// Page numbers beyond it are no user addresses of any processor.
const ADDRESS_END: u64 = 1 << 57;

/// How events are sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Events per sample, at least 1.
    pub period_events: f64,
    /// Groups of cores, at least 1.
    pub core_groups: u32,
    /// Groups that sample at the same time; they take turns.
    pub enabled_groups: u32,
    /// Of the random numbers.
    pub seed: u64,
}

impl Sampling {
    /// The share of cores and time that is observed, 0..1.
    pub fn duty_ratio(self) -> f64 {
        f64::from(self.enabled_groups.min(self.core_groups)) / f64::from(self.core_groups.max(1))
    }
}

/// Random numbers (`SplitMix64`).
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// In `0..end`.
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// In `-1.0..1.0`.
    fn signed(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Samples the loads or the stores of a trace, interval by interval.
#[derive(Debug)]
struct EventSampler {
    sampling: Sampling,
    random: Random,
    /// By core group: events until its next sample.
    until_next: Vec<f64>,
}

impl EventSampler {
    fn new(sampling: Sampling, seed: u64) -> Self {
        let mut random = Random(seed);
        let groups = sampling.core_groups.max(1);
        let until_next = (0..groups)
            .map(|_| sampling.period_events * (random.signed() + 1.0) / 2.0)
            .collect();
        Self {
            sampling,
            random,
            until_next,
        }
    }

    fn period(&mut self) -> f64 {
        let nominal = self.sampling.period_events.max(1.0);
        if nominal < SHORTEST_RANDOM_PERIOD {
            return nominal;
        }
        nominal * (1.0 + self.random.signed() * PERIOD_JITTER)
    }

    /// How many samples `events` give that are spread evenly over groups and turns.
    fn samples_of(&mut self, events: u64) -> u64 {
        let groups = self.until_next.len() as u64;
        let enabled = u64::from(self.sampling.enabled_groups).min(groups);
        let per_slot = events as f64 / (TURNS * groups) as f64;
        let mut samples = 0;
        for turn in 0..TURNS {
            for place in 0..enabled {
                let group = ((turn * enabled + place) % groups) as usize;
                let mut left = per_slot;
                while self.until_next[group] < left {
                    left -= self.until_next[group];
                    self.until_next[group] = self.period();
                    samples += 1;
                }
                self.until_next[group] -= left;
            }
        }
        samples.min(events)
    }

    /// Adds the samples of an interval with `counts` events per page to `sampled`, which is as long.
    fn sample(&mut self, counts: impl Iterator<Item = u32>, sampled: &mut [u32]) {
        let ends: Vec<u64> = counts
            .scan(0, |sum, count| {
                *sum += u64::from(count);
                Some(*sum)
            })
            .collect();
        let events = ends.last().copied().unwrap_or_default();
        let wanted = self.samples_of(events);
        let mut drawn = HashSet::new();
        while (drawn.len() as u64) < wanted {
            let event = self.random.below(events);
            if drawn.insert(event) {
                sampled[ends.partition_point(|end| *end <= event)] += 1;
            }
        }
    }
}

/// Folds what a sampler sees of a trace, as live samples are folded.
#[derive(Debug)]
pub struct SampledTraceFolder {
    group: PageGroup,
    sampling: Sampling,
    loads: EventSampler,
    stores: EventSampler,
    page_size_bytes: u32,
}

impl SampledTraceFolder {
    /// A folder without pages, for a trace with pages of 4 KiB, 2 MiB or 1 GiB; others count as 4 KiB.
    pub fn new(sampling: Sampling, interval_ns: i64, page_size_bytes: u32) -> Self {
        let measured = Measured {
            backend: Backend::Pebs,
            granularity: Granularity::Page,
            interval_ns,
            service: Arc::from("trace/sampled"),
            group: Arc::from("program"),
        };
        let options = PageGroupOptions {
            census: Census::Seen,
            ..PageGroupOptions::default()
        };
        Self {
            group: PageGroup::new(measured, options),
            sampling,
            loads: EventSampler::new(sampling, sampling.seed),
            stores: EventSampler::new(sampling, !sampling.seed),
            page_size_bytes,
        }
    }

    /// Samples and folds the next interval. `resident_bytes` are those of each kind at its end.
    pub fn fold(&mut self, end: IntervalEnd, accesses: &[Access], resident_bytes: [i64; 3]) -> Folded {
        let mut loads = vec![0; accesses.len()];
        let mut stores = loads.clone();
        self.loads
            .sample(accesses.iter().map(|access| access.loads), &mut loads);
        self.stores
            .sample(accesses.iter().map(|access| access.stores), &mut stores);
        let size = page_size(self.page_size_bytes);
        let mut by_kind: [Vec<PageState>; 3] = Default::default();
        for (access, (loads, stores)) in accesses.iter().zip(loads.into_iter().zip(stores)) {
            if loads | stores != 0 {
                by_kind[access.kind as usize].push(PageState {
                    address: (access.page & (u64::MAX / u64::from(size.bytes()))) * u64::from(size.bytes()),
                    size,
                    anon: access.kind == PageKind::Anon,
                    tier: None,
                    active: true,
                    loads,
                    stores,
                });
            }
        }
        let process = ProcessKey {
            pid: 1,
            start_time_ticks: 1,
        };
        let mut reading = self.group.process(process, true);
        reading.period(self.sampling.period_events);
        reading.duty(self.sampling.duty_ratio());
        for (kind, mut pages) in KINDS.into_iter().zip(by_kind) {
            pages.sort_unstable_by_key(|page| page.address);
            reading.resident(kind, resident_bytes[kind as usize]);
            reading.mapping(&mapping_of(kind, &pages), &pages);
        }
        self.group.finish(end)
    }
}

fn page_size(bytes: u32) -> PageSize {
    [PageSize::Huge2M, PageSize::Giant1G]
        .into_iter()
        .find(|size| size.bytes() == bytes)
        .unwrap_or(PageSize::Small4K)
}

/// A mapping that holds all pages of a kind; those with a file have one of their own.
fn mapping_of(kind: PageKind, pages: &[PageState]) -> PageMapping {
    let (start, name) = (0, ["", "file", "tmpfs"][kind as usize]);
    let last = pages.last().map_or(0, |page| {
        page.address.saturating_add(u64::from(page.size.bytes()))
    });
    PageMapping {
        start,
        end: last.min(ADDRESS_END),
        kind,
        name: Arc::from(name),
        device: 0,
        inode: kind as u64,
        offset_bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_NS: i64 = 60_000_000_000;

    fn sampling(period_events: f64, core_groups: u32) -> Sampling {
        Sampling {
            period_events,
            core_groups,
            enabled_groups: 1,
            seed: 11,
        }
    }

    fn access(page: u64, loads: u32, stores: u32) -> Access {
        Access {
            page,
            kind: if page.is_multiple_of(5) {
                PageKind::File
            } else {
                PageKind::Anon
            },
            loads,
            stores,
        }
    }

    #[test]
    fn the_share_of_samples_is_duty_by_period() {
        for (core_groups, expected) in [(1, 500.0), (4, 125.0)] {
            let mut sampler = EventSampler::new(sampling(200.0, core_groups), 5);
            let mut total = 0;
            for _ in 0..40 {
                let mut counts = vec![0; 1000];
                sampler.sample((0..1000).map(|_| 100), &mut counts);
                total += counts.iter().sum::<u32>();
            }
            let mean = f64::from(total) / 40.0;
            assert!((mean / expected - 1.0).abs() < 0.03, "{mean} for {expected}");
        }
    }

    #[test]
    fn a_page_is_seen_as_often_as_its_events_say() {
        // One event in two: a page with 2 events is missed with a quarter of the draws.
        let mut missed = 0;
        for seed in 0..200 {
            let mut sampler = EventSampler::new(sampling(2.0, 1), seed);
            let mut counts = vec![0; 500];
            sampler.sample((0..500).map(|_| 2), &mut counts);
            assert!(counts.iter().all(|count| *count <= 2));
            missed += counts.iter().filter(|count| **count == 0).count();
        }
        let share = missed as f64 / (200.0 * 500.0);
        assert!((share - 0.25).abs() < 0.01, "{share}");
    }

    #[test]
    fn with_every_event_sampled_the_fold_sees_the_trace() {
        let mut folder = SampledTraceFolder::new(sampling(1.0, 1), MINUTE_NS, 4096);
        let accesses: Vec<_> = (0..100)
            .map(|page| access(1000 + page, 1 + page as u32 % 3, 1))
            .collect();
        let resident = [90 * 4096, 20 * 4096, 0];
        let end = IntervalEnd {
            wall_ns: MINUTE_NS,
            boottime_ns: None,
        };
        let minute = folder.fold(end, &accesses, resident);
        let rows: Vec<_> = minute
            .rows
            .iter()
            .map(|row| {
                (
                    row.kind,
                    row.resident_bytes / 4096,
                    row.distinct_pages.map(|pages| pages[0]),
                )
            })
            .collect();
        assert_eq!(
            rows,
            [(PageKind::Anon, 90, Some(80)), (PageKind::File, 20, Some(20))]
        );
        assert!(
            minute
                .rows
                .iter()
                .all(|row| row.never_bytes.iter().sum::<i64>() + row.age_bytes[0] == row.resident_bytes)
        );
    }

    #[test]
    fn one_seed_gives_one_result() {
        let accesses: Vec<_> = (0..3000).map(|page| access(page, 40, 3)).collect();
        let run = |seed| {
            let sampling = Sampling {
                seed,
                ..sampling(200.0, 4)
            };
            let mut folder = SampledTraceFolder::new(sampling, MINUTE_NS, 4096);
            let end = IntervalEnd {
                wall_ns: MINUTE_NS,
                boottime_ns: None,
            };
            folder.fold(end, &accesses, [1 << 30, 1 << 30, 0]).rows
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
