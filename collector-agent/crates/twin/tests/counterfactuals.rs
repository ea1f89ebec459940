//! What would have been: runs of the same fleet that differ by one thing.

use tierscope_twin::fleet;
use tierscope_twin::laws::{Change, Laws};
use tierscope_twin::state::State;

/// The default laws with pages of 256 MiB, one hour of warm-up, and the incidents that `keep` picks, from the second hour.
fn laws(keep: fn(&Change) -> bool) -> Laws {
    let mut laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
    laws.page.unit_bytes = 256 << 20;
    laws.clock.warm_up_intervals = 60;
    laws.incidents.retain(|incident| keep(&incident.change));
    for incident in &mut laws.incidents {
        incident.begin_h = 1.0;
        incident.end_h = 5.0;
    }
    laws
}

fn index(laws: &Laws, name: &str) -> usize {
    laws.hosts
        .iter()
        .position(|host| host.name == name)
        .expect("a host of the default laws")
}

#[test]
fn one_experiment_helps_and_one_does_nothing() {
    let helps = laws(|change| matches!(change, Change::Experiment { set } if set.numa_balancing.is_some()));
    let nothing = laws(|change| matches!(change, Change::Experiment { set } if set.swappiness.is_some()));
    let [helps, nothing] = [&helps, &nothing].map(|laws| fleet::effects(laws, 7, 240));
    assert_eq!((helps.len(), nothing.len()), (5, 5));
    for effect in helps {
        let (capacity, slow) = (effect.capacity_change_ratio, effect.slow_access_share_change);
        assert!(
            capacity > 0.02 && slow < -0.1 && effect.p50_change_ratio < -0.02,
            "{effect:?}"
        );
    }
    for effect in nothing {
        let changes = [
            effect.capacity_change_ratio,
            effect.slow_access_share_change,
            effect.p50_change_ratio,
        ];
        assert!(
            changes.iter().all(|change| change.abs() < 1e-12),
            "the same run, number by number: {effect:?}"
        );
    }
}

#[test]
fn less_dram_costs_more_and_all_dram_nothing() {
    let laws = laws(|_| false);
    let shares = [1.0, 0.8, 0.6, 0.4, 0.2];
    let curve = fleet::loss_curve(
        &laws,
        index(&laws, "redis-1"),
        7,
        120,
        &shares,
        ("cxl", "tiered_6_12"),
    );
    assert!(curve[0].loss_ratio.abs() < 1e-9 && curve[0].slow_access_share.abs() < 1e-12);
    for pair in curve.windows(2) {
        assert!(pair[1].loss_ratio > pair[0].loss_ratio - 0.002, "{curve:?}");
    }
    assert!(curve[4].loss_ratio > 0.05, "{curve:?}");
}

#[test]
fn a_degraded_link_costs_more_with_the_same_placement() {
    let laws = laws(|change| matches!(change, Change::DegradedLink { .. }));
    let mut healthy = laws.clone();
    healthy.incidents.clear();
    let host = index(&laws, "warehouse-3");
    let [with, without] = [&laws, &healthy].map(|laws| fleet::means(laws, host, 7, 180, 60)[0]);
    assert!(with.capacity_ops_per_s < without.capacity_ops_per_s);
    assert!((with.slow_access_share - without.slow_access_share).abs() < 1e-12);
}

#[test]
fn incidents_have_their_word() {
    for (keep, host, word) in [
        (
            (|change| matches!(change, Change::PingPong { .. })) as fn(&Change) -> bool,
            "web-4",
            State::FutilePingPong,
        ),
        (
            |change| matches!(change, Change::RestingScanner),
            "redis-2",
            State::Stalled,
        ),
        (
            |change| matches!(change, Change::FailingPromotion { .. }),
            "redis-2",
            State::PromotionFailing,
        ),
        (
            |change| matches!(change, Change::BindingLimiter { .. }),
            "redis-2",
            State::LimiterBound,
        ),
    ] {
        let mut laws = laws(keep);
        laws.page.unit_bytes = 64 << 20;
        laws.hosts.retain(|own| own.name == host);
        let windows = fleet::tell(&laws, 7, 300, |_| {}).windows;
        let last_hour = &windows[24..];
        let count = last_hour.iter().filter(|window| window.state == word).count();
        let states: Vec<State> = last_hour.iter().map(|window| window.state).collect();
        assert!(count >= 5, "{word:?}: {states:?}");
    }
}

#[test]
fn moving_the_kind_that_is_accessed_more_costs_more() {
    let mut laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
    laws.hosts
        .retain(|host| host.name == "web-1" || host.name == "redis-1");
    laws.clock.warm_up_intervals = 10;
    let truth = tierscope_twin::fleet::tell(&laws, 3, 20, |_| ());
    for window in &truth.windows {
        let anon = window.anon_off_dram_loss_ratio.expect("it has anonymous memory");
        assert!(anon > window.loss_ratio && anon < 1.0, "{window:?}");
        match window.file_off_dram_loss_ratio {
            // 7 % of its accesses are to file memory.
            Some(file) => assert!(file < anon && window.service == "web", "{window:?}"),
            None => assert_eq!(window.service, "redis"),
        }
    }
}
