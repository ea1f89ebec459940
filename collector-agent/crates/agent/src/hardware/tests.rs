//! Plans from the units of made-up hosts, and the counters of this one.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stderr, reason = "a test that cannot run here says so")]

use super::plan::Plan;
use super::*;
use crate::fake_root::FakeRoot;

const UNITS: &str = "sys/bus/event_source/devices";

/// Two sockets, one memory controller each per unit.
fn two_sockets() -> FakeRoot {
    let root = FakeRoot::new();
    root.write("sys/devices/system/node/online", "0-1\n");
    root.write("sys/devices/system/node/node0/cpulist", "0-3\n");
    root.write("sys/devices/system/node/node1/cpulist", "4-7\n");
    root.write("sys/devices/system/cpu/online", "0-7\n");
    root
}

fn unit(root: &FakeRoot, name: &str, files: &[(&str, &str)]) {
    for (file, content) in files {
        root.write(&format!("{UNITS}/{name}/{file}"), content);
    }
}

fn bandwidth_of(root: &FakeRoot) -> Plan {
    bandwidth::plan(&mut Reader::new(root.root()))
}

/// Key, event, CPU and bytes per count, for comparison.
fn lines(plan: &Plan) -> Vec<String> {
    let line = |planned: &Planned| {
        format!(
            "{} {}/{} cpu {} x {:.3}",
            planned.key, planned.unit, planned.event, planned.cpu, planned.factor
        )
    };
    plan.as_ref().unwrap().iter().map(line).collect()
}

#[test]
fn memory_controllers_are_counted_per_socket_in_the_units_of_the_kernel() {
    let root = two_sockets();
    let files = [
        ("type", "20\n"),
        ("cpumask", "0,4\n"),
        ("format/event", "config:0-7\n"),
        ("format/umask", "config:8-15\n"),
        ("events/cas_count_read", "event=0x04,umask=0x03\n"),
        ("events/cas_count_read.scale", "6.103515625e-5\n"),
        ("events/cas_count_read.unit", "MiB\n"),
    ];
    unit(&root, "uncore_imc_0", &files);
    unit(
        &root,
        "uncore_imc_free_running_0",
        &[
            ("type", "30\n"),
            ("cpumask", "0\n"),
            ("events/data_read", "event=0xff,umask=0x20\n"),
        ],
    );
    unit(&root, "uncore_cha_0", &[("type", "40\n"), ("cpumask", "0\n")]);
    assert_eq!(
        lines(&bandwidth_of(&root)),
        [
            "node:0|uncore|read_bytes uncore_imc_0/cas_count_read cpu 0 x 64.000",
            "node:1|uncore|read_bytes uncore_imc_0/cas_count_read cpu 4 x 64.000",
        ]
    );
}

#[test]
fn controllers_that_count_by_themselves_serve_where_there_are_no_others() {
    let root = two_sockets();
    unit(
        &root,
        "uncore_imc_free_running_0",
        &[
            ("type", "30\n"),
            ("cpumask", "0\n"),
            ("events/data_write", "event=0xff,umask=0x30\n"),
            ("events/data_write.scale", "6.103515625e-5\n"),
            ("events/data_write.unit", "MiB\n"),
        ],
    );
    assert_eq!(
        lines(&bandwidth_of(&root)),
        ["node:0|uncore|write_bytes uncore_imc_free_running_0/data_write cpu 0 x 64.000"]
    );
}

#[test]
fn other_makers_and_cxl_devices_are_known() {
    let root = two_sockets();
    unit(
        &root,
        "amd_umc_0",
        &[
            ("type", "50\n"),
            ("cpumask", "4\n"),
            ("format/event", "config:0-7\n"),
            ("format/rdwrmask", "config:8-9\n"),
        ],
    );
    unit(
        &root,
        "arm_cmn_0",
        &[
            ("type", "51\n"),
            ("cpumask", "0\n"),
            ("events/hnf_mc_reqs", "type=0x5,eventid=0xd\n"),
        ],
    );
    unit(
        &root,
        "cxl_pmu_mem0.0",
        &[
            ("type", "52\n"),
            ("cpumask", "0\n"),
            ("events/m2s_req_memrd", "vid=0x1e98,gid=0x20,mask=0x2\n"),
            ("events/m2s_rwd_memwr", "vid=0x1e98,gid=0x21,mask=0x2\n"),
        ],
    );
    assert_eq!(
        lines(&bandwidth_of(&root)),
        [
            "node:1|uncore|read_bytes amd_umc_0/event=0x0a,rdwrmask=1 cpu 4 x 64.000",
            "node:1|uncore|write_bytes amd_umc_0/event=0x0a,rdwrmask=2 cpu 4 x 64.000",
            "node:0|uncore|requests arm_cmn_0/hnf_mc_reqs cpu 0 x 1.000",
            "host|cxl_pmu|read_bytes[cxl_pmu_mem0.0] cxl_pmu_mem0.0/m2s_req_memrd cpu 0 x 64.000",
            "host|cxl_pmu|write_bytes[cxl_pmu_mem0.0] cxl_pmu_mem0.0/m2s_rwd_memwr cpu 0 x 64.000",
        ]
    );
}

fn stalls_of(root: &FakeRoot) -> Plan {
    stalls::plan(&mut Reader::new(root.root()))
}

#[test]
fn stalls_are_counted_where_the_generation_documents_an_event() {
    let root = two_sockets();
    assert!(stalls_of(&root).unwrap_err().contains("no performance unit"));
    unit(&root, "cpu", &[("type", "4\n"), ("format/event", "config:0-7\n")]);
    root.write(
        "proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n",
    );
    assert!(stalls_of(&root).unwrap_err().contains("no event"));
    for (model, event) in [
        (85, "event=0xa3,umask=0x06,cmask=6"),
        (143, "event=0x47,umask=0x09,cmask=9"),
    ] {
        root.write(
            "proc/cpuinfo",
            &format!("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nmodel name\t: X\n"),
        );
        let plan = stalls_of(&root).unwrap();
        assert_eq!(plan.len(), 16, "stalls and cycles of eight processors");
        assert_eq!(
            (plan[0].event.as_str(), plan[0].key.as_str()),
            (event, "host|memory_stall|stall_cycles")
        );
        assert_eq!(plan[1].key, "host|memory_stall|cycles");
    }
    root.write("sys/devices/system/cpu/online", "0-255\n");
    assert_eq!(stalls_of(&root).unwrap().len(), 2 * 32, "a large host is sampled");
}

#[test]
fn a_host_without_units_says_why_and_gives_no_values() {
    let root = two_sockets();
    let mut counters = HardwareCounters::open(&root.root());
    let reasons: Vec<bool> = counters
        .states()
        .iter()
        .map(|(_, state)| state.reason.is_empty())
        .collect();
    assert_eq!(reasons, [false, false]);
    assert_eq!(counters.read(0), []);
}

#[test]
fn counters_of_this_host_grow_and_have_a_cadence() {
    let root = Root::live();
    // The one unit that every host has: time on a processor, in nanoseconds.
    let on_cpu = |cpu: u32| Planned {
        unit: "software".to_owned(),
        event: "config=0".to_owned(),
        cpu,
        key: "host|memory_stall|cycles".to_owned(),
        factor: 2.0,
    };
    let mut left = 8;
    let opened = match open_all(&root, &[on_cpu(0)], &mut left) {
        Ok(opened) => opened,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
    };
    assert_eq!(left, 7);
    let mut counters = HardwareCounters {
        values: opened,
        ..HardwareCounters::default()
    };
    let first = counters.read(0)[0].1.unwrap();
    assert_eq!(counters.read(SECOND_NS)[0].1, None, "not due");
    let mut later = first;
    for turn in 1..1000 {
        later = counters.read(turn * READ_EVERY_NS)[0].1.unwrap();
    }
    assert!(later > first, "{later} {first}");
    assert!(
        open_all(&root, &vec![on_cpu(0); 8], &mut left)
            .unwrap_err()
            .contains("at most")
    );
}
