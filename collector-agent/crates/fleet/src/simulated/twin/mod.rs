//! A host of the twin as its agent would see it: what cannot be seen from such a host is not sent.
//!
//! Memory is what the twin places; activity is what a random panel of its pages shows, folded as agents fold it;
//! counters are those that the host's kernel prints.

mod counters;
mod inventory;
mod panel;
mod recorder;

use std::sync::Arc;

use tierscope_sample::counters::CounterSample;
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::inventory::Inventory;
use tierscope_twin::host::{Host, HostInterval};
use tierscope_twin::laws::Laws;
use tierscope_twin::truth::{ServedCounts, Windows};
use tierscope_wire::{Content, CounterRow, LayoutCache};

use crate::simulated::host::SimHost;
use crate::simulated::minutes::{MINUTE_NS, Minutes, add_folded};
use crate::simulated::seeds::mix;
use panel::Panels;

pub(crate) use recorder::TruthRecorder;

/// What DRAM would serve is told of whole hours.
const HOUR_INTERVALS: u32 = 60;

/// A host of the twin, one minute after the other.
#[derive(Debug)]
pub(crate) struct TwinHost {
    laws: Arc<Laws>,
    index: usize,
    seed: u64,
    host: Host,
    panels: Panels,
    layouts: LayoutCache,
    windows: Option<Windows>,
    served: ServedCounts,
    recorder: Arc<TruthRecorder>,
}

impl TwinHost {
    /// The host with this index in the laws. `every`: one page of the twin in so many is looked at.
    pub(crate) fn new(
        laws: Laws,
        index: usize,
        (seed, every): (u64, u64),
        recorder: Arc<TruthRecorder>,
    ) -> Self {
        let host = Host::new(&laws, index, seed);
        Self {
            panels: Panels::new(&host, &laws, seed, every),
            host,
            laws: Arc::new(laws),
            index,
            seed,
            layouts: LayoutCache::default(),
            windows: None,
            served: ServedCounts::default(),
            recorder,
        }
    }

    /// The next interval, whose truth is written down.
    fn step(&mut self) -> HostInterval {
        let interval = self.host.step(&self.laws);
        let host = &self.host;
        let windows = self.windows.get_or_insert_with(|| Windows::new(host));
        self.recorder.add(windows.add(&self.laws, host, &interval));
        self.served.add(host, self.laws.clock.interval_s);
        if self.served.intervals().is_multiple_of(HOUR_INTERVALS) {
            self.recorder.replace_served(self.served.rows(host));
        }
        interval
    }

    /// What the host is.
    pub(crate) fn inventory(&self) -> Inventory {
        inventory::inventory(&self.host, &self.laws)
    }
}

impl Minutes for TwinHost {
    /// Lets the twin's time begin, after its warm-up, such that its first interval ends at a minute since the Unix epoch.
    fn start_at(&mut self, minute: i64) {
        let mut laws = (*self.laws).clone();
        laws.clock.start_unix_s = ((minute - 1) * 60).unsigned_abs();
        let mut host = Host::new(&laws, self.index, self.seed);
        for _ in 0..laws.clock.warm_up_intervals {
            host.step(&laws);
        }
        self.recorder.begin(&laws, self.seed);
        (self.laws, self.host, self.windows) = (Arc::new(laws), host, None);
        self.served = ServedCounts::default();
    }

    /// Passes over minutes: time goes by, and nobody looks.
    fn skip(&mut self, minutes: u64) {
        for _ in 0..minutes {
            self.step();
            self.panels.miss();
        }
    }

    /// Adds what the agent reads at the end of the next minute.
    fn add(&mut self, content: &mut Content, end: IntervalEnd, boot_id: &Arc<str>) {
        let interval = self.step();
        let values = counters::read(&self.host, &interval);
        let sample = CounterSample {
            end_wall_ns: end.wall_ns,
            end_boottime_ns: end.boottime_ns,
            boot_id: Arc::clone(boot_id),
            values,
        };
        content.counters.push(CounterRow::new(&sample, &mut self.layouts));
        for folded in self.panels.look(&self.host, end) {
            add_folded(content, folded);
        }
    }
}

/// Refuses laws whose intervals are no minutes.
fn check(laws: &Laws) -> anyhow::Result<()> {
    anyhow::ensure!(
        (laws.clock.interval_s * 1e9).round() as i64 == MINUTE_NS,
        "clock.interval_s is {}: hosts of a fleet report by the minute, so it must be 60",
        laws.clock.interval_s
    );
    Ok(())
}

/// The hosts of the laws. `every`: one page of the twin in so many is looked at.
///
/// `recorder` is told the truth of what they send.
pub(crate) fn populate(
    laws: &Laws,
    (seed, every): (u64, u64),
    recorder: &Arc<TruthRecorder>,
) -> anyhow::Result<Vec<SimHost>> {
    check(laws)?;
    let host = |(index, law): (usize, &tierscope_twin::laws::HostLaw)| {
        let twin = TwinHost::new(laws.clone(), index, (seed, every), Arc::clone(recorder));
        let inventory = twin.inventory();
        SimHost::new(
            law.name.clone(),
            inventory,
            Box::new(twin),
            mix(seed, index as u64),
        )
    };
    Ok(laws.hosts.iter().enumerate().map(host).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_sample::heat::PageKind;

    const FIRST_MINUTE: i64 = 29_460_000;

    /// The first host with a slow node, of small memory, after a short warm-up.
    fn small() -> (Laws, usize) {
        let mut laws = Laws::parse(Laws::DEFAULT).expect("the laws that come with the twin");
        laws.clock.warm_up_intervals = 5;
        let index = laws
            .hosts
            .iter()
            .position(|host| host.slow.is_some())
            .expect("a host with two nodes");
        (laws, index)
    }

    const SEED: u64 = 7;

    fn twin(laws: &Laws, index: usize, every: u64) -> TwinHost {
        TwinHost::new(laws.clone(), index, (SEED, every), Arc::default())
    }

    fn minutes(host: &mut TwinHost, from: i64, count: i64) -> Vec<Content> {
        (from..from + count)
            .map(|minute| {
                let mut content = Content::default();
                let end = IntervalEnd {
                    wall_ns: minute * MINUTE_NS,
                    boottime_ns: Some((minute - FIRST_MINUTE) * MINUTE_NS),
                };
                host.add(&mut content, end, &Arc::from("boot"));
                content
            })
            .collect()
    }

    fn value(content: &Content, name: &str) -> i64 {
        let row = &content.counters[0];
        let place = row.layout.keys().iter().position(|key| **key == *name);
        row.values[place.expect(name)].expect(name)
    }

    #[test]
    fn heat_and_counters_speak_of_one_memory() {
        let (laws, index) = small();
        let mut host = twin(&laws, index, 1);
        host.start_at(FIRST_MINUTE);
        let sent = minutes(&mut host, FIRST_MINUTE, 3);
        let last = &sent[2];
        let service = last.heat[0].service.to_string();
        let by_heat: i64 = last
            .heat
            .iter()
            .filter(|row| *row.service == *service && row.kind == PageKind::Anon)
            .map(|row| row.resident_bytes)
            .sum();
        let counted = value(last, &format!("service:{service}|memory.stat|anon"));
        assert!(by_heat > 0);
        // Rows are scaled up from a sample by kind: whole bytes are lost in rounding.
        assert!((by_heat - counted).abs() <= 4, "{by_heat} and {counted}");
        let promoted = |content: &Content| value(content, "host|vmstat|pgpromote_success");
        assert!(promoted(&sent[0]) <= promoted(&sent[2]));
    }

    #[test]
    fn a_fleet_that_goes_on_sends_what_it_would_have_sent() {
        let (laws, index) = small();
        let mut without_rest = twin(&laws, index, 4);
        without_rest.start_at(FIRST_MINUTE);
        let sent = minutes(&mut without_rest, FIRST_MINUTE, 4);
        let mut resumed = twin(&laws, index, 4);
        resumed.start_at(FIRST_MINUTE);
        resumed.skip(3);
        let later = minutes(&mut resumed, FIRST_MINUTE + 3, 1);
        assert_eq!(later[0].counters[0].values, sent[3].counters[0].values);
    }

    #[test]
    fn the_truth_that_is_written_is_that_of_the_minutes_that_were_sent() {
        let (mut laws, index) = small();
        let mut host = twin(&laws, index, 4);
        host.start_at(FIRST_MINUTE);
        host.skip(3);
        minutes(&mut host, FIRST_MINUTE + 3, 17);
        let told = host.recorder.truth().expect("a truth");
        laws.clock.start_unix_s = (FIRST_MINUTE as u64 - 1) * 60;
        let mut alone = laws.clone();
        alone.hosts.retain(|other| other.name == laws.hosts[index].name);
        let expected = tierscope_twin::fleet::tell(&alone, SEED, 20, |_| ());
        assert_eq!(told.windows, expected.windows);
        assert_eq!(told.start_unix_s, expected.start_unix_s);
        let ends: Vec<f64> = told.windows.iter().map(|window| window.end_unix_s).collect();
        let last_sent = (FIRST_MINUTE + 19) as f64 * 60.0;
        assert_eq!(ends, [last_sent - 600.0, last_sent]);
    }

    #[test]
    fn laws_of_another_interval_are_refused() {
        let (mut laws, _) = small();
        laws.clock.interval_s = 5.0;
        let error = populate(&laws, (1, 4), &Arc::default()).expect_err("must be refused");
        assert!(format!("{error:#}").contains("must be 60"), "{error:#}");
    }
}
