//! Each kernel prints its own names, and only those.

use tierscope_twin::counters::{self, Reading};
use tierscope_twin::fleet;
use tierscope_twin::laws::Laws;

/// What a host of the default laws prints after two hours.
fn reading(host: &str) -> Reading {
    let mut laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
    laws.clock.warm_up_intervals = 0;
    let index = laws
        .hosts
        .iter()
        .position(|own| own.name == host)
        .expect("a host of the default laws");
    let mut last = None;
    fleet::run_host(&laws, index, 1, 120, |host, interval| {
        if interval.number == 119 {
            last = Some(counters::read(host, &interval.conditions.settings));
        }
    });
    last.expect("an interval")
}

fn has(values: &counters::Values, name: &str) -> bool {
    values.iter().any(|(own, _)| *own == name)
}

fn value(values: &counters::Values, name: &str) -> u64 {
    values
        .iter()
        .find(|(own, _)| *own == name)
        .map_or(0, |(_, value)| *value)
}

#[test]
fn demotions_are_events_of_the_host_on_6_1_and_counts_of_nodes_later() {
    let old = reading("warehouse-2");
    assert!(value(&old.vmstat, "pgdemote_kswapd") > 0);
    assert!(!has(&old.nodes[0].vmstat, "pgdemote_kswapd") && has(&old.nodes[0].vmstat, "pgpromote_success"));
    assert!(!has(&old.cgroups[0].stat, "pgdemote_kswapd") && !has(&old.cgroups[0].stat, "numa_hint_faults"));
    assert!(!has(&old.nodes[0].zoneinfo, "promo"));
    let new = reading("redis-2");
    assert!(value(&new.nodes[0].vmstat, "pgdemote_kswapd") > 0);
    assert_eq!(
        value(&new.nodes[1].vmstat, "pgdemote_kswapd"),
        0,
        "charged to the node that pages leave"
    );
    assert!(has(&new.cgroups[0].stat, "pgdemote_kswapd") && !has(&new.cgroups[0].stat, "pswpin"));
    assert!(has(&new.nodes[0].zoneinfo, "promo") && !has(&new.vmstat, "pgpromote_candidate_nrl"));
}

#[test]
fn the_newest_kernel_counts_what_the_limiter_did_not_see_and_reclaim_by_node() {
    let reading = reading("cache-object-3");
    assert!(has(&reading.vmstat, "pgpromote_candidate_nrl"));
    assert!(has(&reading.nodes[1].vmstat, "pgsteal_kswapd") && has(&reading.cgroups[0].stat, "pswpin"));
    assert_eq!(reading.nodes[1].zone, "Movable");
    // Demoted pages count as reclaimed.
    let demoted = value(&reading.nodes[0].vmstat, "pgdemote_kswapd");
    assert!(demoted > 0 && value(&reading.nodes[0].vmstat, "pgsteal_kswapd") >= demoted);
}

#[test]
fn a_remote_socket_is_no_lower_tier() {
    let reading = reading("shuffle-2");
    assert_eq!(reading.nodes[1].zone, "Normal");
    assert_eq!(
        value(&reading.vmstat, "pgpromote_success") + value(&reading.vmstat, "pgdemote_kswapd"),
        0
    );
    assert!(
        value(&reading.vmstat, "numa_hint_faults_local") > 0,
        "the classic mode marks both nodes"
    );
}

#[test]
fn a_host_with_one_node_has_one() {
    let reading = reading("web-1");
    assert_eq!(reading.nodes.len(), 1);
    assert!(
        reading.cgroups[0]
            .numa_stat
            .iter()
            .all(|(_, by_node)| by_node.len() == 1)
    );
    assert_eq!(value(&reading.vmstat, "numa_pte_updates"), 0);
}
