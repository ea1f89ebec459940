use std::collections::BTreeSet;

use super::*;
use crate::fake_root::FakeRoot;
use tierscope_sample::service::{RuleKind, ServiceId};

const PAGES: u64 = 4096;
const BLOCK_BYTES: u64 = 0x800_0000;
const PRESENT: u64 = 1 << 63;
/// Pages of the process, from address 0x1000 on.
const MAPPED: u64 = 8;

/// A host with a node of DRAM (memory block 0) and one without processors (block 1) in a lower tier.
fn two_tiers() -> FakeRoot {
    let root = FakeRoot::new();
    root.write("sys/devices/system/memory/block_size_bytes", "8000000\n");
    root.write("sys/devices/system/node/online", "0-1\n");
    for (node, cpus) in [(0, "0-3\n"), (1, "\n")] {
        let directory = format!("sys/devices/system/node/node{node}");
        root.write(&format!("{directory}/cpulist"), cpus);
        root.write(&format!("{directory}/memory{node}/state"), "online\n");
    }
    root.write("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0\n");
    root.write("sys/devices/virtual/memory_tiering/memory_tier22/nodelist", "1\n");
    root
}

/// Writes a process whose pages are at these frames; 0 for none.
fn write_process(root: &FakeRoot, start_time: u64, frames: [u64; MAPPED as usize]) {
    write_pages(root, start_time, frames, 4096);
}

/// The same on a kernel with base pages of this size.
fn write_pages(root: &FakeRoot, start_time: u64, frames: [u64; MAPPED as usize], page_bytes: u64) {
    let zeros = "0 ".repeat(18);
    root.write("proc/9/stat", &format!("9 (redis) S {zeros}{start_time} 0 0\n"));
    root.write("proc/9/status", "VmRSS:\t32 kB\nRssAnon:\t32 kB\n");
    let mapped = format!("{page_bytes:08x}-{:08x}", (MAPPED + 1) * page_bytes);
    root.write("proc/9/maps", &format!("{mapped} rw-p 00000000 00:00 0\n"));
    let entry = |frame: &u64| if *frame == 0 { 0 } else { PRESENT | *frame };
    let entries = std::iter::once(0).chain(frames.iter().map(entry));
    let bytes: Vec<u8> = entries.flat_map(u64::to_ne_bytes).collect();
    std::fs::write(root.root().join("/proc/9/pagemap"), bytes).unwrap();
}

fn process(start_time: u64) -> [Process; 1] {
    [Process {
        pid: 9,
        start_time,
        exe: None,
        comm: "redis".to_owned(),
        cmdline: String::new(),
        cgroup: "/a".to_owned(),
        service: ServiceId::new("host", "redis"),
        group: "redis".to_owned(),
        rule: RuleKind::Executable,
    }]
}

fn value(values: &[(Key, Option<i64>)], name: &str) -> i64 {
    let key = format!("service:host/redis|page_moves|{name}");
    values
        .iter()
        .find(|(own, _)| own.as_str() == key)
        .unwrap()
        .1
        .unwrap()
}

#[test]
fn pages_that_change_their_node_have_moved_and_those_that_were_gone_have_not() {
    for page_bytes in [4096, 16384, 65536] {
        moves_of_pages(page_bytes);
    }
}

fn moves_of_pages(page_bytes: u64) {
    let (root, lower) = (two_tiers(), BLOCK_BYTES / page_bytes);
    let write = |frames| write_pages(&root, 4, frames, page_bytes);
    let mut follower = PageFollower::new(&root.root().with_page_bytes(page_bytes), PAGES, 5);
    let at = |seconds: i64| seconds * SECOND_NS;
    write([10, 11, 12, 13, lower + 4, lower + 5, lower + 6, 17]);
    for second in (0..=720).step_by(15) {
        follower.collect(&process(4), at(second));
    }
    assert_eq!(follower.state(), State::on());
    // The first page goes and comes, the second goes, the third is freed, the fifth comes, the last is mapped anew.
    write([lower, lower + 1, 0, 13, 14, lower + 5, lower + 6, 27]);
    follower.look(at(735));
    write([20, lower + 1, lower + 2, 13, 14, lower + 5, lower + 6, 27]);
    let values = follower.collect(&process(4), at(750));
    let counts = ["demotions", "promotions", "round_trips", "unsure_moves"];
    assert_eq!(
        counts.map(|name| value(&values, &format!("{name}[anon]"))),
        [2, 2, 1, 1],
        "pages of {page_bytes} bytes"
    );
    // Another process with its id has other pages.
    write_pages(&root, 5, [lower; MAPPED as usize], page_bytes);
    assert!(follower.collect(&process(5), at(765)).is_empty());
}

#[test]
fn where_nothing_can_be_followed_the_reason_is_said() {
    let reason = |root: &FakeRoot| {
        let mut follower = PageFollower::new(&root.root(), PAGES, 5);
        assert!(follower.collect(&process(4), 0).is_empty());
        assert!(!follower.state().active);
        follower.state().reason
    };
    let root = two_tiers();
    assert!(reason(&root).contains("no process"), "{}", reason(&root));
    write_process(&root, 4, [0; MAPPED as usize]);
    let hidden: Vec<u8> = [0, PRESENT, PRESENT]
        .into_iter()
        .flat_map(u64::to_ne_bytes)
        .collect();
    std::fs::write(root.root().join("/proc/9/pagemap"), hidden).unwrap();
    assert!(reason(&root).contains("no page frames"));
    root.write(
        "sys/devices/virtual/memory_tiering/memory_tier4/nodelist",
        "0-1\n",
    );
    root.write("sys/devices/virtual/memory_tiering/memory_tier22/nodelist", "\n");
    assert!(reason(&root).contains("one memory tier"));
}

#[test]
fn every_process_has_its_share_of_the_pages() {
    let sizes: Vec<u64> = (0..300)
        .map(|number| if number == 7 { 1 << 40 } else { number << 20 })
        .collect();
    let total: u64 = sizes.iter().sum();
    let mut chosen = vec![0; sizes.len()];
    for secret in 0..200 {
        let shares = shares(&sizes, PAGES, secret);
        assert!(shares.iter().sum::<u64>().abs_diff(PAGES) <= 1);
        for ((sum, share), bytes) in chosen.iter_mut().zip(&shares).zip(&sizes) {
            let meant = (*bytes as f64) / (total as f64) * PAGES as f64;
            assert!((*share as f64 - meant).abs() < 1.0 + 1e-9);
            *sum += share;
        }
    }
    assert!((chosen[299] as f64 / 200.0 - sizes[299] as f64 / total as f64 * PAGES as f64).abs() < 0.2);
    assert_eq!(shares(&[0, 0], PAGES, 3), [0, 0]);
}

#[test]
fn pages_make_room_for_others_in_time_and_stay_until_then() {
    let root = two_tiers();
    let frames = std::array::from_fn(|page| page as u64 + 10);
    write_process(&root, 4, frames);
    let mut follower = PageFollower::new(&root.root(), PAGES, 5);
    follower.placement = sides(&mut follower.reader).unwrap();
    let (key, service) = (
        ProcessKey {
            pid: 9,
            start_time_ticks: 4,
        },
        Arc::from("host/redis"),
    );
    let mut before = None;
    let mut shown = BTreeSet::new();
    let mut changes = 0;
    for draw in 0..200 {
        let drawn = follower
            .draw_of(key, Arc::clone(&service), before.take(), 2, (draw, DRAW_EVERY_NS))
            .unwrap()
            .unwrap();
        assert_eq!(drawn.pages.len(), 2);
        changes += drawn
            .pages
            .keys()
            .filter(|address| shown.insert(**address))
            .count();
        before = Some(drawn);
    }
    assert_eq!((shown.len(), changes), (MAPPED as usize, MAPPED as usize));
    let mut kept = before.unwrap();
    let pages: Vec<u64> = kept.pages.keys().copied().collect();
    kept = follower
        .draw_of(key, service, Some(kept), 2, (200, 0))
        .unwrap()
        .unwrap();
    assert_eq!(kept.pages.keys().copied().collect::<Vec<_>>(), pages);
}

/// What the running kernel shows of this process: nothing moves on a machine of one node.
#[test]
fn nothing_moves_where_all_memory_is_in_one_tier() {
    let pid = std::process::id();
    let key = tierscope_pagetable::process::process_key(&Root::live(), pid).unwrap();
    let mut follower = PageFollower::new(&Root::live(), PAGES, 5);
    follower.placement = Placement::only(Some(TOP));
    let memory = vec![1_u8; 4 << 20];
    let Some(drawn) = follower
        .draw_of(key, Arc::from("host/own"), None, 200, (0, 0))
        .unwrap()
    else {
        return; // Frames are hidden from this user.
    };
    assert_eq!(drawn.pages.len(), 200);
    follower.processes.insert(key, drawn);
    for look in 1..=60 {
        follower.look(look * LOOK_EVERY_NS);
    }
    let moved: i64 = (follower.moves.values().iter())
        .filter(|(key, _)| key.as_str().contains("motions"))
        .map(|(_, value)| value.unwrap())
        .sum();
    assert_eq!((moved, memory[0]), (0, 1));
}
