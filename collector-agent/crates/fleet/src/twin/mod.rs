//! A host of the twin as its agent would see it: what cannot be seen from such a host is not sent.
//!
//! Memory is what the twin places; activity is what a random panel of its pages shows, folded as agents fold it;
//! counters are those that the host's kernel prints; [`work`] is what its processors and memory controllers count.
//!
//! Older history is told by the hour, without heat, by a host of the same laws in longer steps and with larger pages.

mod counters;
pub(crate) mod experiments;
mod followed;
mod inventory;
mod panel;
mod recorder;
mod work;

use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_sample::inventory::Inventory;
use tierscope_twin::host::{Host, HostInterval};
use tierscope_twin::laws::Laws;
use tierscope_twin::popularity::Popularities;
use tierscope_wire::{Content, CounterRow};

use counters::{KnownNames, Reader};
use followed::FollowedPages;
use panel::Panels;
use recorder::Teller;
use work::Work;

use crate::seeds::mix;

pub(crate) use panel::{MINUTE_NS, View};
pub(crate) use recorder::TruthRecorder;

/// A step of the twin in older history; it is read after each.
const COARSE_STEP_MINUTES: i64 = 60;
/// What a page of the twin stands for there.
const COARSE_UNIT_BYTES: u64 = 1 << 30;

/// What the hosts of a fleet have in common. Each host holds what is its own alone: a load has tens of thousands.
#[derive(Debug)]
pub(crate) struct TwinFleet {
    seed: u64,
    view: View,
    recorder: Option<Arc<TruthRecorder>>,
    popularities: Popularities,
    names: KnownNames,
}

impl TwinFleet {
    /// The fleet of these laws, seen by its agents as `view` says. `recorder` is told the truth of what it sends.
    pub(crate) fn new(
        laws: &Laws,
        seed: u64,
        view: View,
        recorder: Option<&Arc<TruthRecorder>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            seed,
            view,
            recorder: recorder.cloned(),
            popularities: Popularities::new(laws),
            names: KnownNames::default(),
        })
    }
}

/// A host of the twin, one minute after the other.
#[derive(Debug)]
pub(crate) struct TwinHost {
    fleet: Arc<TwinFleet>,
    /// Laws of this host alone.
    laws: Laws,
    /// The laws of older history, while that is told: the same ones in longer steps and with larger pages.
    coarse_laws: Option<Laws>,
    host: Host,
    work: Work,
    last: Option<HostInterval>,
    panels: Panels,
    /// None on hosts of a load: they hold what is needed alone.
    followed: Option<FollowedPages>,
    reader: Reader,
    /// The next minute since the host began, and the first one that is told in detail.
    minute: i64,
    detailed_from: i64,
    /// Who writes down the truth of what is told in detail.
    teller: Option<Teller>,
}

impl TwinHost {
    /// The first host of the laws, which are some of the fleet's.
    pub(crate) fn new(laws: Laws, fleet: &Arc<TwinFleet>) -> Self {
        let host = Host::new(&laws, &fleet.popularities, 0, fleet.seed);
        Self {
            panels: Panels::new(&host, &laws, fleet.seed, fleet.view),
            followed: None,
            host,
            coarse_laws: None,
            laws,
            work: Work::default(),
            last: None,
            reader: Reader::default(),
            minute: 0,
            detailed_from: 0,
            teller: fleet
                .recorder
                .as_ref()
                .map(|recorder| Teller::new(Arc::clone(recorder))),
            fleet: Arc::clone(fleet),
        }
    }

    pub(crate) fn inventory(&self) -> Inventory {
        inventory::inventory(&self.host, &self.laws)
    }

    fn is_detailed(&self) -> bool {
        self.minute >= self.detailed_from
    }

    /// The host at the next minute, after its warm-up.
    fn begin(&mut self) {
        let laws = self.coarse_laws.as_ref().unwrap_or(&self.laws);
        let mut host = Host::new(laws, &self.fleet.popularities, 0, self.fleet.seed);
        let before = (self.detailed_from - self.minute).max(0) / COARSE_STEP_MINUTES;
        host.begin_before(before.unsigned_abs() as u32);
        for _ in 0..self.laws.clock.warm_up_intervals {
            host.step(laws);
        }
        (self.host, self.work) = (host, Work::default());
        let follows = self.is_detailed() && matches!(self.fleet.view, View::Whole { .. });
        let seed = || {
            self.host
                .law
                .name
                .bytes()
                .fold(self.fleet.seed, |hash, byte| mix(hash, u64::from(byte)))
        };
        self.followed = follows.then(|| FollowedPages::new(seed()));
    }

    /// Lets a minute go by.
    fn step(&mut self) {
        if self.minute == self.detailed_from && self.minute > 0 {
            self.coarse_laws = None;
            self.begin();
        }
        let laws = self.coarse_laws.as_ref().unwrap_or(&self.laws);
        if self.is_detailed() || self.minute % COARSE_STEP_MINUTES == 0 {
            let interval = self.host.step(laws);
            self.work.add(laws, &self.host, &interval);
            if let Some(teller) = self.teller.as_mut().filter(|_| self.minute >= self.detailed_from) {
                teller.tell(laws, &self.host, &interval);
            }
            self.last = Some(interval);
        }
        if let Some(followed) = &mut self.followed {
            followed.look(&self.host, self.minute * MINUTE_NS);
        }
        self.minute += 1;
    }

    /// Lets the time of the laws begin where the history is detailed, such that the first interval ends there, and the
    /// host at `minute`, after its warm-up.
    pub(crate) fn start_at(&mut self, minute: i64, detailed_from: i64) {
        self.laws.clock.start_unix_s = start_unix_s(detailed_from);
        self.minute = 0;
        self.detailed_from = (detailed_from - minute).max(0);
        self.coarse_laws = (!self.is_detailed()).then(|| coarse(&self.laws));
        self.begin();
        if let Some(teller) = &mut self.teller {
            teller.begin(self.laws.clock.start_unix_s);
        }
    }

    /// Passes over minutes: time goes by, and nobody looks.
    pub(crate) fn skip(&mut self, minutes: u64) {
        for _ in 0..minutes {
            self.step();
            self.panels.miss();
        }
    }

    /// Adds what the agent reads at the end of the next minute.
    pub(crate) fn add(&mut self, content: &mut Content, end: IntervalEnd, boot_id: &Arc<str>) {
        let is_detailed = self.is_detailed();
        self.step();
        let Some(interval) = &self.last else { return };
        let is_told = is_detailed || self.minute % COARSE_STEP_MINUTES == 0;
        if !is_told || interval.conditions.agent.is_silent {
            return;
        }
        let names = &self.fleet.names;
        let followed = self
            .followed
            .as_ref()
            .map(FollowedPages::values)
            .unwrap_or_default();
        let (layout, values) = self
            .reader
            .read(names, &self.host, interval, &self.work, followed);
        content.counters.push(CounterRow {
            layout,
            end_wall_ns: end.wall_ns,
            end_boottime_ns: end.boottime_ns,
            boot_id: Arc::clone(boot_id),
            values,
        });
        if is_detailed {
            for folded in self.panels.look(&self.host, end) {
                add_folded(content, folded);
            }
        }
    }

    /// The version of the agent after the last minute, where it is not that of this program.
    pub(crate) fn agent_version(&self) -> Option<&str> {
        let last = self.last.as_ref()?;
        last.conditions.agent.version.as_deref()
    }
}

/// When the time of the laws begins: the first detailed minute ends an interval after it.
pub(crate) fn start_unix_s(detailed_from: i64) -> u64 {
    ((detailed_from - 1) * 60).unsigned_abs()
}

/// The same laws in longer steps and with larger pages.
fn coarse(laws: &Laws) -> Laws {
    let mut coarse = laws.clone();
    coarse.clock.interval_s = COARSE_STEP_MINUTES as f64 * 60.0;
    coarse.page.unit_bytes = laws.page.unit_bytes.max(COARSE_UNIT_BYTES);
    coarse
}

/// Refuses laws whose intervals are no minutes.
pub(crate) fn check(laws: &Laws) -> anyhow::Result<()> {
    anyhow::ensure!(
        (laws.clock.interval_s * 1e9).round() as i64 == MINUTE_NS,
        "clock.interval_s is {}: hosts of a fleet report by the minute, so it must be 60",
        laws.clock.interval_s
    );
    Ok(())
}

/// Adds everything that a fold gave.
fn add_folded(content: &mut Content, folded: Folded) {
    content.heat.extend(folded.rows);
    content.gaps.extend(folded.gaps);
    content.tile_epochs.extend(folded.tile_epochs);
    content.tile_columns.extend(folded.tile_columns);
    content.page_samples.extend(folded.page_samples);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tierscope_sample::heat::PageKind;
    use tierscope_twin::laws::{Change, IncidentLaw};

    const FIRST_MINUTE: i64 = 29_460_000;

    /// Laws of the first host with a slow node alone, after a short warm-up.
    fn small() -> Laws {
        let mut laws = Laws::parse(Laws::DEFAULT).expect("the laws that come with the twin");
        laws.clock.warm_up_intervals = 5;
        let index = laws
            .hosts
            .iter()
            .position(|host| host.slow.is_some())
            .expect("a host with two nodes");
        laws.of_host(index)
    }

    const SEED: u64 = 7;

    fn twin(laws: &Laws, panel_every: u64) -> TwinHost {
        seen(laws, View::Whole { panel_every }, None)
    }

    fn seen(laws: &Laws, view: View, recorder: Option<&Arc<TruthRecorder>>) -> TwinHost {
        TwinHost::new(laws.clone(), &TwinFleet::new(laws, SEED, view, recorder))
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
        let laws = small();
        let mut host = twin(&laws, 1);
        host.start_at(FIRST_MINUTE, FIRST_MINUTE);
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
        let laws = small();
        let mut without_rest = twin(&laws, 4);
        without_rest.start_at(FIRST_MINUTE, FIRST_MINUTE);
        let sent = minutes(&mut without_rest, FIRST_MINUTE, 4);
        let mut resumed = twin(&laws, 4);
        resumed.start_at(FIRST_MINUTE, FIRST_MINUTE);
        resumed.skip(3);
        let later = minutes(&mut resumed, FIRST_MINUTE + 3, 1);
        assert_eq!(later[0].counters[0].values, sent[3].counters[0].values);
    }

    #[test]
    fn the_truth_that_is_written_is_that_of_the_minutes_that_were_sent_in_detail() {
        let mut laws = small();
        let recorder = Arc::new(TruthRecorder::new(laws.clone(), SEED));
        let view = View::Whole { panel_every: 4 };
        let mut host = seen(&laws, view, Some(&recorder));
        host.start_at(FIRST_MINUTE - 60, FIRST_MINUTE);
        host.skip(63);
        minutes(&mut host, FIRST_MINUTE + 3, 17);
        let told = recorder.truth().expect("a truth");
        laws.clock.start_unix_s = (FIRST_MINUTE as u64 - 1) * 60;
        let expected = tierscope_twin::fleet::tell(&laws, SEED, 20, |_| ());
        assert_eq!(told.windows, expected.windows);
        assert_eq!(told.start_unix_s, expected.start_unix_s);
        let ends: Vec<f64> = told.windows.iter().map(|window| window.end_unix_s).collect();
        let last_sent = (FIRST_MINUTE + 19) as f64 * 60.0;
        assert_eq!(ends, [last_sent - 600.0, last_sent]);
    }

    #[test]
    fn older_history_has_counters_by_the_hour_and_joins_what_follows() {
        let laws = small();
        let from = FIRST_MINUTE - 120;
        let mut host = twin(&laws, 4);
        host.start_at(from, FIRST_MINUTE);
        let older = minutes(&mut host, from, 120);
        let told: Vec<_> = older
            .iter()
            .filter(|content| !content.counters.is_empty())
            .collect();
        assert_eq!(told.len(), 2);
        assert!(older.iter().all(|content| content.heat.is_empty()));
        let later = minutes(&mut host, FIRST_MINUTE, 1);
        assert!(!later[0].heat.is_empty());
        let name = format!("service:{}|memory.current|current", later[0].heat[0].service);
        let (before, after) = (value(told[1], &name) as f64, value(&later[0], &name) as f64);
        // The memory of the service goes on where it was, to a few of the larger pages.
        assert!((after / before - 1.0).abs() < 0.1, "{before} and {after}");
        // What a processor counts begins anew, as after a boot.
        let busy = |content: &Content| value(content, "host|stat|cpu_user");
        assert!(0 < busy(&later[0]) && busy(&later[0]) < busy(told[1]));
    }

    #[test]
    fn processors_and_nodes_count_what_services_did() {
        let laws = small();
        let cpus = f64::from(laws.hosts[0].cpus);
        let mut host = twin(&laws, 4);
        host.start_at(FIRST_MINUTE, FIRST_MINUTE);
        let sent = minutes(&mut host, FIRST_MINUTE, 2);
        let [busy, idle] =
            ["cpu_user", "cpu_idle"].map(|name| value(&sent[1], &format!("host|stat|{name}")) as f64);
        assert!((busy + idle - cpus * 100.0 * 120.0).abs() <= 2.0);
        let read = |at: usize| value(&sent[at], "node:0|uncore|read_bytes");
        assert!(0 < read(0) && read(0) < read(1));
        let stalled = value(&sent[1], "host|memory_stall|stall_cycles");
        assert!(0 < stalled && stalled < value(&sent[1], "host|memory_stall|cycles"));
    }

    #[test]
    fn a_silent_agent_sends_nothing_and_an_outdated_one_says_its_version() {
        let mut laws = small();
        let incident = |change: Change| IncidentLaw {
            name: String::new(),
            begin_h: 0.0,
            end_h: 0.05,
            hosts: vec![laws.hosts[0].name.clone()],
            service: None,
            controls: Vec::new(),
            change,
        };
        let version = String::from("0.0.9");
        laws.incidents = vec![
            incident(Change::SilentAgent),
            incident(Change::OutdatedAgent { version }),
        ];
        let mut host = twin(&laws, 4);
        host.start_at(FIRST_MINUTE, FIRST_MINUTE);
        let silent = minutes(&mut host, FIRST_MINUTE, 3);
        assert!(
            silent
                .iter()
                .all(|content| content.counters.is_empty() && content.heat.is_empty())
        );
        assert_eq!(host.agent_version(), Some("0.0.9"));
        assert!(!minutes(&mut host, FIRST_MINUTE + 3, 1)[0].heat.is_empty());
        assert_eq!(host.agent_version(), None);
    }

    #[test]
    fn a_host_goes_its_way_alone_as_among_the_others() {
        let mut all = Laws::parse(Laws::DEFAULT).expect("the laws that come with the twin");
        all.clock.warm_up_intervals = 2;
        let index = 3;
        let popularities = Popularities::new(&all);
        let mut among = Host::new(&all, &popularities, index, SEED);
        let laws = all.of_host(index);
        let mut alone = Host::new(&laws, &popularities, 0, SEED);
        for _ in 0..4 {
            among.step(&all);
            alone.step(&laws);
        }
        let print = |host: &Host, interval: &HostInterval| {
            Reader::default().read(
                &KnownNames::default(),
                host,
                interval,
                &Work::default(),
                Vec::new(),
            )
        };
        let (in_fleet, by_itself) = (among.step(&all), alone.step(&laws));
        assert_eq!(among.law, alone.law);
        assert_eq!(print(&among, &in_fleet), print(&alone, &by_itself));
    }

    #[test]
    fn a_host_of_a_load_sends_heat_and_gaps_of_all_its_services_and_nothing_more() {
        let mut laws = Laws::parse(Laws::DEFAULT)
            .expect("the laws that come with the twin")
            .repeated(1, 3, 1 << 28);
        laws.clock.warm_up_intervals = 5;
        let mut host = seen(&laws, View::Load, None);
        host.start_at(FIRST_MINUTE, FIRST_MINUTE);
        // Page samples come with the hour: two hours hold one block at least.
        let sent = minutes(&mut host, FIRST_MINUTE, 120);
        let services: BTreeSet<&str> = sent[0].heat.iter().map(|row| row.service.as_ref()).collect();
        assert_eq!(services.len(), 3);
        assert!(sent.iter().any(|content| !content.gaps.is_empty()));
        for content in &sent {
            assert_eq!((content.counters.len(), content.heat.is_empty()), (1, false));
            assert!(content.tile_epochs.is_empty() && content.tile_columns.is_empty());
            assert!(content.page_samples.is_empty());
        }
    }

    #[test]
    fn a_host_prints_the_same_names_whatever_happens_to_it() {
        let mut laws = Laws::parse(Laws::DEFAULT).expect("the laws that come with the twin");
        laws.clock.warm_up_intervals = 0;
        // From the first pages on, with swap, with a remote node, with two services, under each kernel.
        for index in 0..laws.hosts.len() {
            let laws = laws.of_host(index);
            let mut host = Host::new(&laws, &Popularities::new(&laws), 0, SEED);
            let (mut reader, known) = (Reader::default(), KnownNames::default());
            for _ in 0..30 {
                let interval = host.step(&laws);
                let work = Work {
                    busy_s: vec![1.0; host.services.len()],
                    node_bytes: vec![[1.0; 2]; 2],
                    ..Work::default()
                };
                let fresh =
                    Reader::default().read(&KnownNames::default(), &host, &interval, &work, Vec::new());
                assert_eq!(reader.read(&known, &host, &interval, &work, Vec::new()), fresh);
            }
        }
    }

    #[test]
    fn hosts_of_a_load_never_say_the_same_and_never_say_it_again() {
        let mut laws = Laws::parse(Laws::DEFAULT)
            .expect("the laws that come with the twin")
            .repeated(25, 1, 1 << 28);
        laws.clock.warm_up_intervals = 1;
        let mut said = BTreeSet::new();
        // The first and the last are of one kind.
        for index in [0, 24] {
            let mut host = seen(&laws.of_host(index), View::Load, None);
            host.start_at(FIRST_MINUTE, FIRST_MINUTE);
            for content in minutes(&mut host, FIRST_MINUTE, 60) {
                assert!(said.insert(content.counters[0].values.clone()));
            }
        }
    }

    #[test]
    fn hosts_of_one_kind_hold_the_names_of_their_counters_once() {
        let mut laws = Laws::parse(Laws::DEFAULT).expect("the laws that come with the twin");
        let kinds = laws.hosts.len();
        laws = laws.repeated(kinds + 1, 3, 1 << 30);
        laws.clock.warm_up_intervals = 1;
        let fleet = TwinFleet::new(&laws, SEED, View::Load, None);
        let [first, other, last] = [0, kinds - 1, kinds].map(|index| {
            let mut host = TwinHost::new(laws.of_host(index), &fleet);
            host.start_at(FIRST_MINUTE, FIRST_MINUTE);
            let mut sent = minutes(&mut host, FIRST_MINUTE, 1);
            sent.remove(0).counters.remove(0).layout
        });
        assert!(Arc::ptr_eq(&first, &last));
        assert_ne!(first, other);
    }

    #[test]
    fn laws_of_another_interval_are_refused() {
        let mut laws = small();
        laws.clock.interval_s = 5.0;
        let error = check(&laws).expect_err("must be refused");
        assert!(format!("{error:#}").contains("must be 60"), "{error:#}");
    }
}
