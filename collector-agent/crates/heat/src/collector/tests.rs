//! What is said of heat, on a recorded root where clearing writes to a file and changes nothing.

use std::path::Path;

use tierscope_pagetable::process::Unmeasured;
use tierscope_sample::service::{RuleKind, ServiceId};

use super::*;

const MINUTE_NS: i64 = 60 * SECOND_NS;

fn write_process(root: &Path, pid: u32) {
    let directory = root.join(format!("proc/{pid}"));
    std::fs::create_dir_all(&directory).expect("made");
    let stat = format!("{pid} (server) S 1 0 0 0 -1 0 1 0 0 0 2 1 0 0 20 0 3 0 77 82 5");
    let smaps = "1000000-1100000 rw-p 0 00:00 0 [heap]\nRss: 400 kB\nPss: 400 kB\nReferenced: 100 kB\n";
    for (file, text) in [("stat", stat.as_str()), ("clear_refs", ""), ("smaps", smaps)] {
        std::fs::write(directory.join(file), text).expect("written");
    }
}

fn found(pid: u32, service: &str) -> Process {
    Process {
        pid,
        start_time: 77,
        exe: Some(format!("/usr/bin/{service}")),
        comm: service.to_owned(),
        cmdline: format!("/usr/bin/{service}"),
        cgroup: "/".to_owned(),
        service: ServiceId::new("host", service),
        group: service.to_owned(),
        rule: RuleKind::Executable,
    }
}

fn collector(root: &Path, executables: &[&str]) -> HeatCollector {
    let settings = Heat {
        executables: executables.iter().map(|&name| name.to_owned()).collect(),
        backends: Some(vec!["referenced".to_owned()]),
        ..Heat::default()
    };
    let mut collector = HeatCollector::new(settings, Root::new(root), NamePolicy::plain());
    // A recorded root cannot be probed: its accessed bits never change.
    collector.chain.trust();
    collector
}

fn order(heat: HeatOrder) -> Order {
    Order {
        interval_seconds: 60,
        heat,
    }
}

fn end(minute: i64) -> IntervalEnd {
    IntervalEnd {
        wall_ns: minute * MINUTE_NS,
        boottime_ns: Some(minute * MINUTE_NS),
    }
}

fn described(collector: &HeatCollector) -> Inventory {
    let service = |name: &str| Service {
        namespace: "host".to_owned(),
        name: name.to_owned(),
        processes: 1,
        ..Service::default()
    };
    let mut inventory = Inventory {
        services: vec![service("cache"), service("db"), service("web")],
        ..Inventory::default()
    };
    collector.view().write_into(&mut inventory);
    inventory
}

fn reason(inventory: &Inventory, name: &str) -> String {
    let service = inventory.services.iter().find(|service| service.name == name);
    service.expect("known").heat_reason.clone()
}

fn active(inventory: &Inventory) -> (bool, String) {
    let referenced = inventory
        .collectors
        .iter()
        .find(|collector| collector.name == "referenced")
        .expect("described");
    (referenced.active, referenced.reason.clone())
}

#[test]
fn each_service_says_why_its_heat_is_not_measured() {
    let root = tempfile::tempdir().expect("a directory");
    write_process(root.path(), 9);
    let mut collector = collector(root.path(), &["*/cache", "*/db", "*/web"]);
    let processes = [
        found(9, "cache"),
        found(10, "db"),
        found(11, "web"),
        found(12, "other"),
    ];
    let scope = HeatScope {
        services: Some(vec!["host/cache".to_owned(), "host/db".to_owned()]),
        ..HeatScope::default()
    };
    let interval = collector.collect(end(1), &order(HeatOrder::Measure(scope)), &processes, None);
    assert_eq!(interval.cost.backend, Some("referenced"));
    let inventory = described(&collector);
    let cache = &inventory.services[0];
    assert!(cache.heat_measured && cache.heat_reason.is_empty());
    assert_eq!(reason(&inventory, "db"), Unmeasured::Gone.to_string());
    assert_eq!(reason(&inventory, "web"), ELSEWHERE);
    assert!(active(&inventory).0 && active(&inventory).1.starts_with("1 of 2"));
}

#[test]
fn a_service_says_how_many_of_its_processes_are_not_measured_and_each_reason() {
    let root = tempfile::tempdir().expect("a directory");
    write_process(root.path(), 9);
    let mut collector = collector(root.path(), &["*/cache"]);
    let processes = [found(9, "cache"), found(10, "cache"), found(11, "cache")];
    let measure = order(HeatOrder::Measure(HeatScope::default()));
    collector.collect(end(1), &measure, &processes, None);
    let inventory = described(&collector);
    assert!(inventory.services[0].heat_measured);
    let expected = format!("2 of 3 processes are not measured: {}", Unmeasured::Gone);
    assert_eq!(reason(&inventory, "cache"), expected);
}

#[test]
fn several_reasons_of_one_service_are_all_said() {
    let mut standing = Standing {
        processes: 4,
        measured: 1,
        ..Standing::default()
    };
    for reason in ["it is too large", "permission was denied", "it is too large"] {
        standing.leave_out(reason);
    }
    assert_eq!(
        standing.reason(),
        "2 of 4 processes are not measured: it is too large; 1 of 4 processes is not measured: permission was denied"
    );
}

#[test]
fn without_a_list_nothing_is_tried_and_a_pause_gives_its_own_reason() {
    let root = tempfile::tempdir().expect("a directory");
    write_process(root.path(), 9);
    let processes = [found(9, "cache")];
    let mut idle = collector(root.path(), &[]);
    let interval = idle.collect(
        end(1),
        &order(HeatOrder::Measure(HeatScope::default())),
        &processes,
        None,
    );
    assert!(interval.cost.backend.is_none() && interval.collector_costs.is_empty());
    assert_eq!(reason(&described(&idle), "cache"), NOTHING_LISTED);
    let mut busy = collector(root.path(), &["*/cache"]);
    busy.collect(
        end(1),
        &order(HeatOrder::Measure(HeatScope::default())),
        &processes,
        None,
    );
    for heat in [HeatOrder::Miss, HeatOrder::Stop] {
        busy.collect(
            end(2),
            &order(heat("the host is busy".to_owned())),
            &processes,
            None,
        );
        let inventory = described(&busy);
        assert_eq!(reason(&inventory, "cache"), "the host is busy");
        assert_eq!(reason(&inventory, "db"), NOT_LISTED);
        assert_eq!(active(&inventory), (false, "the host is busy".to_owned()));
        assert!(!inventory.services[0].heat_measured);
    }
}

#[test]
fn missed_intervals_are_invalid_and_longer_ones_are_due_less_often() {
    let root = tempfile::tempdir().expect("a directory");
    write_process(root.path(), 9);
    let processes = [found(9, "cache")];
    let mut collector = collector(root.path(), &["*/cache"]);
    let measure = order(HeatOrder::Measure(HeatScope::default()));
    for minute in [2, 3] {
        collector.collect(end(minute), &measure, &processes, None);
    }
    collector.collect(
        end(4),
        &order(HeatOrder::Miss("busy".to_owned())),
        &processes,
        None,
    );
    collector.collect(end(5), &measure, &processes, None);
    let rows = collector.collect(end(6), &measure, &processes, None).folded.rows;
    assert_eq!(
        rows[0].validity, 0b1001,
        "the pause and the visit after it saw nothing"
    );
    let slow = order(HeatOrder::Measure(HeatScope {
        every: 2,
        ..HeatScope::default()
    }));
    let rows = [7, 8, 9, 10].map(|minute| {
        collector
            .collect(end(minute), &slow, &processes, None)
            .folded
            .rows
    });
    assert_eq!(rows.each_ref().map(Vec::len), [0, 1, 0, 1]);
    assert_eq!(rows[3][0].interval_ns, 2 * MINUTE_NS);
    assert_eq!(rows[3][0].validity, 0b1);
}

#[test]
fn measuring_ends_when_there_is_nobody_left() {
    let root = tempfile::tempdir().expect("a directory");
    write_process(root.path(), 9);
    let mut collector = collector(root.path(), &["*/cache"]);
    let measure = order(HeatOrder::Measure(HeatScope::default()));
    let first = collector.collect(end(1), &measure, &[found(9, "cache")], None);
    assert_eq!(first.collector_costs.len(), 1);
    let backends: Vec<_> = (2..=6)
        .map(|minute| collector.collect(end(minute), &measure, &[], None).cost.backend)
        .collect();
    let held = Some("referenced");
    assert_eq!(backends, [held, held, held, None, None]);
    let again = collector.collect(end(7), &measure, &[found(9, "cache")], None);
    assert_eq!(again.cost.backend, held);
}

#[test]
fn a_service_that_only_the_list_names_is_added() {
    let mut services = vec![Service {
        namespace: "host".to_owned(),
        name: "db".to_owned(),
        processes: 3,
        ..Service::default()
    }];
    let standing = Standing {
        processes: 2,
        measured: 2,
        ..Standing::default()
    };
    for id in ["host/db", "tierscope/api"] {
        mark(&mut services, id, &standing);
    }
    let seen: Vec<_> = services
        .iter()
        .map(|service| (service.name.as_str(), service.processes, service.heat_measured))
        .collect();
    assert_eq!(seen, [("db", 3, true), ("api", 2, true)]);
}

#[test]
fn a_plan_names_services_as_the_service_writes_them_out() {
    let planned = vec![r"demo/a\u202eb".to_owned(), r"demo/\x2e\x2e".to_owned()];
    for here in ["demo/a\u{202e}b", "demo/.."] {
        assert!(is_planned(Some(&planned), here), "{here:?}");
    }
    assert!(!is_planned(Some(&planned), "demo/ab"));
    assert!(is_planned(None, "demo/ab"));
}
