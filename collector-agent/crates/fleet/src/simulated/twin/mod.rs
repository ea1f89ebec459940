//! A host of the twin as its agent would see it: what cannot be seen from such a host is not sent.
//!
//! Memory is what the twin places; activity is what a random panel of its pages shows, folded as agents fold it;
//! counters are those that the host's kernel prints.

mod counters;
mod inventory;
mod panel;

use std::sync::Arc;

use tierscope_sample::counters::CounterSample;
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::inventory::Inventory;
use tierscope_twin::host::Host;
use tierscope_twin::laws::Laws;
use tierscope_wire::{Content, CounterRow, LayoutCache};

use crate::simulated::host::SimHost;
use crate::simulated::minutes::{MINUTE_NS, Minutes, add_folded};
use crate::simulated::seeds::mix;
use panel::Panels;

/// A host of the twin, one minute after the other.
#[derive(Debug)]
pub(crate) struct TwinHost {
    laws: Laws,
    index: usize,
    seed: u64,
    host: Host,
    panels: Panels,
    layouts: LayoutCache,
}

impl TwinHost {
    /// The host with this index in the laws. `every`: one page of the twin in so many is looked at.
    pub(crate) fn new(laws: Laws, index: usize, seed: u64, every: u64) -> Self {
        let host = Host::new(&laws, index, seed);
        Self {
            panels: Panels::new(&host, &laws, seed, every),
            host,
            laws,
            index,
            seed,
            layouts: LayoutCache::default(),
        }
    }

    /// What the host is.
    pub(crate) fn inventory(&self) -> Inventory {
        inventory::inventory(&self.host, &self.laws)
    }
}

impl Minutes for TwinHost {
    /// Lets the twin's time begin with a minute since the Unix epoch, after its warm-up.
    fn start_at(&mut self, minute: i64) {
        self.laws.clock.start_unix_s = (minute * 60).unsigned_abs();
        self.host = Host::new(&self.laws, self.index, self.seed);
        for _ in 0..self.laws.clock.warm_up_intervals {
            self.host.step(&self.laws);
        }
    }

    /// Passes over minutes: time goes by, and nobody looks.
    fn skip(&mut self, minutes: u64) {
        for _ in 0..minutes {
            self.host.step(&self.laws);
            self.panels.miss();
        }
    }

    /// Adds what the agent reads at the end of the next minute.
    fn add(&mut self, content: &mut Content, end: IntervalEnd, boot_id: &Arc<str>) {
        let interval = self.host.step(&self.laws);
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
pub(crate) fn populate(laws: &Laws, seed: u64, every: u64) -> anyhow::Result<Vec<SimHost>> {
    check(laws)?;
    let host = |(index, law): (usize, &tierscope_twin::laws::HostLaw)| {
        let twin = TwinHost::new(laws.clone(), index, seed, every);
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
        let mut host = TwinHost::new(laws, index, 7, 1);
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
        let mut without_rest = TwinHost::new(laws.clone(), index, 7, 4);
        without_rest.start_at(FIRST_MINUTE);
        let sent = minutes(&mut without_rest, FIRST_MINUTE, 4);
        let mut resumed = TwinHost::new(laws, index, 7, 4);
        resumed.start_at(FIRST_MINUTE);
        resumed.skip(3);
        let later = minutes(&mut resumed, FIRST_MINUTE + 3, 1);
        assert_eq!(later[0].counters[0].values, sent[3].counters[0].values);
    }

    #[test]
    fn laws_of_another_interval_are_refused() {
        let (mut laws, _) = small();
        laws.clock.interval_s = 5.0;
        let error = populate(&laws, 1, 4).expect_err("must be refused");
        assert!(format!("{error:#}").contains("must be 60"), "{error:#}");
    }
}
