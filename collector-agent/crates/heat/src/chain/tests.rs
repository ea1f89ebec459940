//! The chain with back ends that work or fail on demand.

use std::cell::RefCell;
use std::sync::Arc;

use tierscope_sample::vma_fold::ProcessKey;

use super::*;

thread_local! {
    /// What happened, in order; and the back ends that refuse when they are tried.
    static SEEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static REFUSING: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

fn note(text: String) {
    SEEN.with_borrow_mut(|seen| seen.push(text));
}

fn seen() -> Vec<String> {
    SEEN.with_borrow_mut(std::mem::take)
}

/// Measures everybody, or nobody when its name is `blind`.
struct Fake(&'static str);

impl HeatBackend for Fake {
    fn name(&self) -> &'static str {
        self.0
    }

    fn collect(&mut self, processes: &[HeatProcess], _end: IntervalEnd) -> HeatRound {
        note(format!("collect {}", self.0));
        if self.0 == "damon_pages" {
            let skipped = processes
                .iter()
                .map(|process| (process.clone(), "blind".to_owned()));
            return HeatRound {
                skipped: skipped.collect(),
                ..HeatRound::default()
            };
        }
        HeatRound {
            measured: processes.len(),
            ..HeatRound::default()
        }
    }

    fn miss(&mut self) {
        note(format!("miss {}", self.0));
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        note(format!("drop {}", self.0));
    }
}

fn try_it(name: &'static str) -> Result<(), Refusal> {
    if REFUSING.with_borrow(|names| names.contains(&name)) {
        return Err(Refusal {
            reason: format!("{name} is not there"),
            hint: format!("buy {name}"),
        });
    }
    Ok(())
}

macro_rules! fake {
    ($name:literal) => {
        Candidate {
            reach: Reach::Any,
            name: $name,
            probe: |_| try_it($name),
            make: |_, _, _| Ok(Box::new(Fake($name))),
        }
    };
}

const CANDIDATES: [Candidate; 3] = [fake!("pebs"), fake!("damon_pages"), fake!("referenced")];

fn chain(names: &[&str], refusing: &[&'static str]) -> FallbackChain {
    REFUSING.set(refusing.to_vec());
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    FallbackChain::with_candidates(Root::live(), NamePolicy::plain(), &names, &CANDIDATES)
}

fn process() -> HeatProcess {
    HeatProcess {
        key: ProcessKey {
            pid: 7,
            start_time_ticks: 1,
        },
        service: Arc::from("host/shop"),
        group: Arc::from("server"),
    }
}

fn round(chain: &mut FallbackChain, interval_ns: i64) -> HeatRound {
    let settings = HeatSettings {
        interval_ns,
        rss_limit_bytes: 1 << 30,
        tier: None,
        epoch_seed: 1,
        sampling: crate::backend::SamplingSettings::default(),
    };
    let end = IntervalEnd {
        wall_ns: 0,
        boottime_ns: None,
    };
    chain.collect(&[process()], end, &settings)
}

fn state(chain: &FallbackChain, name: &str) -> State {
    let states = chain.states(&State::on());
    states
        .into_iter()
        .find(|(known, _)| *known == name)
        .map(|(_, state)| state)
        .expect("known")
}

#[test]
fn the_first_that_works_measures_and_the_others_say_why_not() {
    let mut chain = chain(&["pebs", "referenced", "damon_pages"], &["pebs"]);
    assert_eq!(round(&mut chain, 60).measured, 1);
    assert_eq!(chain.active(), Some("referenced"));
    let refused = state(&chain, "pebs");
    assert_eq!(
        (refused.active, refused.reason.as_str(), refused.hint.as_str()),
        (false, "pebs is not there", "buy pebs")
    );
    assert!(
        state(&chain, "damon_pages")
            .reason
            .contains("referenced measures")
    );
    assert_eq!(state(&chain, "referenced"), State::on());
    let opt_in = state(&chain, "abit_walk");
    assert!(opt_in.reason.contains("weighs on") && opt_in.hint.contains("abit_walk"));
}

#[test]
fn nobody_is_measured_where_none_works_and_each_reason_is_given() {
    let mut chain = chain(&["pebs", "referenced"], &["pebs", "referenced"]);
    let skipped = round(&mut chain, 60).skipped;
    let reason = &skipped[0].1;
    assert!(reason.contains("pebs is not there") && reason.contains("referenced is not there"));
    assert_eq!(chain.active(), None);
    let mut empty = self::chain(&[], &[]);
    assert!(
        round(&mut empty, 60).skipped[0]
            .1
            .contains("no back end is named")
    );
}

#[test]
fn one_that_measures_nobody_gives_way_and_is_tried_again_later() {
    let mut chain = chain(&["damon_pages", "referenced"], &[]);
    for _ in 0..FRUITLESS_ROUNDS {
        assert_eq!(round(&mut chain, 60).measured, 0);
    }
    assert_eq!(seen().last().map(String::as_str), Some("drop damon_pages"));
    assert_eq!(round(&mut chain, 60).measured, 1);
    assert!(state(&chain, "damon_pages").reason.contains("blind"));
    let [said] = &chain.given_way()[..] else {
        panic!("one gave way")
    };
    assert!(
        said.starts_with("referenced measures instead of damon_pages") && said.contains("blind"),
        "{said}"
    );
    chain.entries[0].refused.as_mut().expect("refused").0 -= RETRY_NS;
    round(&mut chain, 60);
    assert_eq!(
        (chain.active(), chain.given_way().len()),
        (Some("damon_pages"), 0)
    );
}

#[test]
fn the_last_one_stays_even_when_it_measures_nobody() {
    let mut chain = chain(&["damon_pages"], &[]);
    for _ in 0..10 {
        round(&mut chain, 60);
    }
    assert_eq!(chain.active(), Some("damon_pages"));
}

#[test]
fn intervals_of_another_length_begin_anew() {
    let mut chain = chain(&["referenced"], &[]);
    round(&mut chain, 60);
    chain.miss();
    round(&mut chain, 120);
    chain.stop();
    let expected = [
        "collect referenced",
        "miss referenced",
        "drop referenced",
        "collect referenced",
        "drop referenced",
    ];
    assert_eq!(seen(), expected);
}

#[test]
fn the_costly_one_can_be_left_out_for_a_while() {
    let mut chain = chain(&["pebs", "referenced"], &[]);
    round(&mut chain, 60);
    assert!(chain.has_cheaper());
    chain.set_degraded(true);
    round(&mut chain, 60);
    assert_eq!(chain.active(), Some("referenced"));
    assert!(!chain.has_cheaper(), "the cheapest is never left out");
    assert!(state(&chain, "pebs").reason.contains("budget"));
    chain.set_degraded(true);
    round(&mut chain, 60);
    assert_eq!(chain.active(), Some("referenced"));
    chain.set_degraded(false);
    round(&mut chain, 60);
    assert_eq!(chain.active(), Some("pebs"));
}
