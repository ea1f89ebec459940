//! Advice on demotion and promotion does no harm: what makes it do so is named, and findings lead to no circle.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use tierscope_sysfs::damon_admin::{Action, Kdamond, Target};

use super::*;
use crate::doctor::hazards::{DamonMoves, LRU_GEN, MIN_TTL, says};

/// A host with a slower tier on this kernel, demotion and promotion as given, MGLRU and no swap.
pub(super) fn host(release: &str, demotion: &str, balancing: &str, min_ttl_ms: &str) -> Inventory {
    let mut inventory = healthy();
    inventory.kernel_release = release.into();
    inventory.swaps.clear();
    set(&mut inventory, DEMOTION, demotion);
    set(&mut inventory, BALANCING, balancing);
    for (path, value) in [(LRU_GEN, "0x0007"), (MIN_TTL, min_ttl_ms)] {
        inventory.knobs.push(Knob {
            path: path.into(),
            value: Some(value.into()),
            unavailable: None,
        });
    }
    inventory
}

pub(super) fn find(facts: &Facts<'_>, id: &str) -> Option<Finding> {
    all(facts).into_iter().find(|finding| finding.id == id)
}

pub(super) fn of(inventory: &Inventory, id: &str) -> Finding {
    find(&facts(inventory), id).unwrap_or_else(|| panic!("no {id}: {:?}", ids(inventory)))
}

#[test]
fn what_protects_from_a_hang_is_left() {
    for (release, demotion) in [("6.8.0", "true"), ("6.8.0", "false"), ("7.2.1", "true")] {
        let fix = of(&host(release, demotion, "2", "1000"), "mglru-min-ttl").fix;
        assert!(
            !fix.contains("echo 0") && fix.contains(says("mglru-no-swap")),
            "{fix}"
        );
    }
    let mut one_tier = host("6.8.0", "true", "2", "1000");
    one_tier.tiers.truncate(1);
    assert!(of(&one_tier, "mglru-min-ttl").fix.contains("echo 0"));
    let mut swapping = host("6.8.0", "true", "2", "1000");
    swapping.swaps = healthy().swaps;
    assert!(
        !of(&swapping, "mglru-min-ttl").fix.contains("echo 0"),
        "swap may fill up"
    );
}

#[test]
fn demotion_that_can_hang_the_host_is_told_on_and_off() {
    let off = of(&host("6.8.0", "false", "2", "0"), "demotion-off");
    assert_eq!(off.confidence, LIKELY);
    assert!(
        off.fix.contains(says("mglru-no-swap")) && off.fix.contains("echo 1000"),
        "{}",
        off.fix
    );
    let protected = of(&host("6.8.0", "false", "2", "1000"), "demotion-off");
    assert_eq!(
        (protected.confidence.as_str(), protected.fix.contains("hangs")),
        (CERTAIN, false)
    );
    let on = of(&host("6.8.0", "true", "2", "0"), "mglru-no-swap");
    assert_eq!(
        (on.severity.as_str(), on.confidence.as_str()),
        ("warning", LIKELY)
    );
    assert_eq!(
        of(&host("7.2.1", "true", "2", "0"), "mglru-no-swap").severity,
        "info"
    );
    assert!(find(&facts(&host("6.8.0", "true", "2", "1000")), "mglru-no-swap").is_none());
    let mut classic = host("6.8.0", "true", "2", "0");
    set(&mut classic, LRU_GEN, "0x0000");
    assert!(find(&facts(&classic), "mglru-no-swap").is_none());
}

#[test]
fn services_that_demotion_would_take_out_of_their_cpuset_are_named() {
    for (release, cgroups, confidence) in [
        ("6.8.0", "v2", LIKELY),
        ("6.17.0", "v1", LIKELY),
        ("6.17.0", "hybrid", LIKELY),
        ("6.17.0", "v2", CERTAIN),
    ] {
        let mut inventory = host(release, "false", "2", "1000");
        inventory.cgroup_version = cgroups.into();
        let mut facts = facts(&inventory);
        facts.barred = vec![("pod/db".into(), vec![1])];
        let off = find(&facts, "demotion-off").unwrap();
        assert_eq!(off.confidence, confidence, "{release} {cgroups}");
        assert!(
            off.fix.contains("pod/db") && off.fix.contains(says("strict-cpuset")),
            "{}",
            off.fix
        );
        let mut on = inventory.clone();
        set(&mut on, DEMOTION, "true");
        let facts = Facts {
            inventory: &on,
            ..facts
        };
        let severity = if confidence == LIKELY { "warning" } else { "info" };
        assert_eq!(find(&facts, "cpuset-bars-slow-tier").unwrap().severity, severity);
    }
}

fn told(name: &str, target: Target) -> Action {
    Action {
        name: name.to_owned(),
        target,
    }
}

#[test]
fn damon_that_puts_hot_pages_on_the_slower_node_is_no_promotion() {
    for target in [Target::Node(1), Target::Several] {
        for (balancing, ids) in [("2", "hot-pages-in-a-circle damon-in-use"), ("0", "damon-in-use")] {
            let mut inventory = healthy();
            set(&mut inventory, BALANCING, balancing);
            let mut spread = facts(&inventory);
            spread.kdamonds = vec![Kdamond {
                operations: "vaddr".into(),
                refresh_ms: Some(1000),
                actions: vec![told("migrate_hot", target)],
                ..Kdamond::default()
            }];
            let findings = all(&spread);
            let found: Vec<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
            assert_eq!(found.join(" "), ids, "{target:?}");
            let mut inventory = inventory.clone();
            inventory.findings = findings;
            let moves = DamonMoves::of(&inventory);
            assert_eq!(
                (moves.promotes, moves.demotes, moves.spreads),
                (false, false, true)
            );
        }
    }
}

#[test]
fn damon_that_tiers_leads_to_no_circle() {
    let with = |actions: &[&str], demotion: &str, balancing: &str| {
        let mut inventory = healthy();
        set(&mut inventory, DEMOTION, demotion);
        set(&mut inventory, BALANCING, balancing);
        let mut facts = facts(&inventory);
        facts.kdamonds = vec![Kdamond {
            operations: "paddr".into(),
            refresh_ms: Some(1000),
            actions: actions
                .iter()
                .map(|action| told(action, Target::NotTold))
                .collect(),
            ..Kdamond::default()
        }];
        let warns = all(&facts)
            .into_iter()
            .filter(|finding| finding.severity == "warning");
        warns.map(|finding| finding.id).collect::<Vec<_>>().join(" ")
    };
    let both = ["migrate_hot", "migrate_cold"];
    assert_eq!(with(&both, "false", "0"), "");
    assert_eq!(
        with(&both, "false", "2"),
        "",
        "two promoters do not exclude each other"
    );
    assert_eq!(with(&["migrate_hot"], "false", "0"), "demotion-off");
    assert_eq!(with(&["migrate_cold"], "false", "0"), "promotion-off");
    assert_eq!(
        with(&["migrate_cold"], "false", "2"),
        "",
        "balancing promotes alone"
    );
    assert_eq!(with(&["stat"], "false", "0"), "demotion-off promotion-off");
}

#[test]
fn the_sample_module_of_damon_tiers_as_well() {
    let mut inventory = healthy();
    set(&mut inventory, DEMOTION, "false");
    set(&mut inventory, BALANCING, "1");
    let switches = [
        "/sys/module/damon_sample_mtier/parameters/enabled",
        "/sys/module/mtier/parameters/enable",
    ];
    for path in switches {
        inventory
            .knobs
            .retain(|knob| !switches.contains(&knob.path.as_str()));
        inventory.knobs.push(Knob {
            path: path.into(),
            value: Some("Y".into()),
            unavailable: None,
        });
        assert_eq!(ids(&inventory), ["damon-in-use"], "{path}");
    }
    set(&mut inventory, BALANCING, "3");
    let both = of(&inventory, "two-promoters");
    assert_eq!(both.severity, "info");
    assert!(both.fix.contains("numa_balancing=1") && both.fix.contains("Nothing"));
}

#[test]
fn promotion_keeps_the_bit_of_classic_balancing() {
    for (balancing, proposed) in [("0", 2), ("1", 3)] {
        for sockets in [1, 2] {
            let mut inventory = healthy();
            set(&mut inventory, BALANCING, balancing);
            let other = Node {
                id: 2,
                cpulist: "4-7".into(),
                ..inventory.nodes[0].clone()
            };
            inventory.nodes.extend((sockets == 2).then_some(other));
            let fix = of(&inventory, "promotion-off").fix;
            assert!(fix.contains(&format!("numa_balancing={proposed}`")), "{fix}");
            assert!(fix.contains("/etc/sysctl.d/99-z-tierscope-"), "{fix}");
            let is_told = fix.contains(says("classic-balancing"));
            assert_eq!(is_told, balancing == "0" && sockets == 2, "{fix}");
        }
    }
}

#[test]
fn demotion_comes_first_and_both_name_the_other_half() {
    let mut inventory = healthy();
    set(&mut inventory, DEMOTION, "false");
    set(&mut inventory, BALANCING, "0");
    assert_eq!(ids(&inventory), ["demotion-off", "promotion-off"]);
    let demotion = of(&inventory, "demotion-off").fix;
    assert!(
        demotion.find("echo 1") < demotion.find("numa_balancing=2"),
        "{demotion}"
    );
    let promotion = of(&inventory, "promotion-off").fix;
    assert!(
        promotion.find("Demotion first") < promotion.find("numa_balancing=2"),
        "{promotion}"
    );
}

#[test]
fn local_reclaim_is_a_warning_by_its_harm_alone() {
    let mut inventory = healthy();
    set(&mut inventory, "/proc/sys/vm/zone_reclaim_mode", "7");
    let with = |inventory: &Inventory, counters: &[(&str, i64)]| {
        let mut facts = facts(inventory);
        facts.vmstat = counters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect();
        find(&facts, "zone-reclaim").unwrap()
    };
    let quiet = with(
        &inventory,
        &[
            ("pswpout", 90_000),
            ("zone_reclaim_failed", 20_000),
            ("zone_reclaim_success", 90_000),
        ],
    );
    assert_eq!(
        (quiet.severity.as_str(), quiet.fix.contains("=0")),
        ("info", false)
    );
    for harm in ["allocstall_movable", "zone_reclaim_failed"] {
        let found = with(&inventory, &[(harm, 20_000)]);
        assert_eq!(
            (found.severity.as_str(), found.fix.contains("=0")),
            ("warning", true),
            "{harm}"
        );
    }
    set(&mut inventory, DEMOTION, "false");
    assert_eq!(with(&inventory, &[("pswpout", 90_000)]).severity, "warning");
}

#[test]
fn zram_has_no_cut_off_at_half() {
    let mut inventory = healthy();
    let area = |name: &str, used_bytes: i64| SwapDevice {
        name: name.into(),
        kind: "partition".into(),
        size_bytes: 100,
        used_bytes,
        ..SwapDevice::default()
    };
    for name in ["/dev/zram0", "/dev/block/zram0"] {
        inventory.swaps = vec![area(name, 65)];
        assert_eq!(ids(&inventory), Vec::<String>::new());
    }
    inventory.swaps.push(area("/dev/sda2", 60));
    assert_eq!(ids(&inventory), ["swap-over-half"]);
}

#[test]
fn why_kswapd_gave_up_decides_what_helps() {
    let fix_of = |inventory: &Inventory, slower_free_pages: i64| {
        let mut facts = facts(inventory);
        facts.given_up_nodes = vec![0];
        facts.free_pages = [(0, 10), (1, slower_free_pages)].into();
        find(&facts, "kswapd-gave-up").unwrap().fix
    };
    let mut inventory = host("6.8.0", "false", "2", "1000");
    inventory.page_size_bytes = 4096;
    let free = (1 << 30) / 4096;
    let fix = fix_of(&inventory, free);
    assert!(
        fix.starts_with("Turn demotion on") && !fix.contains("pinned"),
        "{fix}"
    );
    assert!(
        fix_of(&inventory, 5).starts_with("Add swap"),
        "the slower tier is full"
    );
    inventory.unmovable = vec![tierscope_sample::inventory::Unmovable {
        node: 0,
        mlocked_bytes: Some(800 << 20),
        ..Default::default()
    }];
    assert!(fix_of(&inventory, free).starts_with("Free pinned or locked memory"));
    let mut one_tier = host("6.8.0", "false", "2", "1000");
    one_tier.tiers.truncate(1);
    assert!(fix_of(&one_tier, free).starts_with("Add swap"));
    assert!(fix_of(&healthy(), free).starts_with("Look for locked"));
}

#[test]
fn what_moves_pages_beside_the_kernel_is_named_and_makes_nothing_certain() {
    let mut inventory = healthy();
    set(&mut inventory, DEMOTION, "false");
    set(&mut inventory, BALANCING, "0");
    let told = |facts: &Facts<'_>| -> Vec<(String, String)> {
        let findings = all(facts).into_iter();
        findings.map(|finding| (finding.id, finding.confidence)).collect()
    };
    let certain = [("demotion-off", CERTAIN), ("promotion-off", CERTAIN)];
    let lowered = [
        ("demotion-off", LIKELY),
        ("promotion-off", LIKELY),
        ("user-space-mover", LIKELY),
    ];
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(id, how)| ((*id).to_owned(), (*how).to_owned()))
            .collect()
    };
    let mut running = facts(&inventory);
    assert_eq!(told(&running), owned(&certain));
    running.movers = vec!["memtierd (process 7)".to_owned()];
    assert_eq!(told(&running), owned(&lowered));
    assert!(all(&running)[0].fix.contains("memtierd (process 7)"));
    let mut counted = facts(&inventory);
    let mut counts = |compacted: i64| {
        counted.vmstat = [
            ("pgmigrate_success", 90_000),
            ("numa_pages_migrated", 9),
            ("compact_isolated", compacted),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        told(&counted)
    };
    assert_eq!(counts(1_000), owned(&lowered));
    assert_eq!(counts(60_000), owned(&certain), "compaction may be all of it");
}

#[test]
fn settings_that_undo_tiering_are_told() {
    let mut inventory = healthy();
    set(&mut inventory, RATE_LIMIT, "0");
    assert_eq!(ids(&inventory), ["promotion-limit-zero"]);
    set(&mut inventory, BALANCING, "1");
    assert_eq!(
        ids(&inventory),
        ["promotion-off"],
        "the limit is asked in tiering mode alone"
    );
    let mut inventory = healthy();
    inventory.knobs.push(Knob {
        path: "/proc/sys/vm/swappiness".into(),
        value: Some("1".into()),
        unavailable: None,
    });
    assert_eq!(ids(&inventory), ["swappiness-keeps-anon"]);
    set(&mut inventory, "/proc/sys/vm/swappiness", "10");
    assert_eq!(ids(&inventory), Vec::<String>::new());
}

#[test]
fn a_promotion_limit_is_that_of_one_dram_node() {
    for (limit, id) in [("0", "promotion-limit-zero"), ("65536", "promotion-limit-off")] {
        let mut inventory = healthy();
        set(&mut inventory, RATE_LIMIT, limit);
        assert!(!of(&inventory, id).fix.contains("divided"), "{id}");
        let other = Node {
            id: 2,
            cpulist: "4-7".into(),
            ..inventory.nodes[0].clone()
        };
        inventory.nodes.push(other);
        inventory.tiers[0].nodes.push(2);
        let fix = of(&inventory, id).fix;
        assert!(
            fix.contains("divided by 2") && fix.contains(says("several-dram-nodes")),
            "{fix}"
        );
    }
}

#[test]
fn services_bound_by_a_memory_policy_are_named_where_they_leave_out_the_lower_tier() {
    let inventory = healthy();
    let mut bound = facts(&inventory);
    bound.bound = vec![("db".to_owned(), vec![1]), ("web".to_owned(), vec![0])];
    let findings = all(&bound);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(
        (findings[0].id.as_str(), findings[0].severity.as_str()),
        ("membind", "warning")
    );
    assert!(findings[0].cause.ends_with("node 1: db"), "{}", findings[0].cause);
}

#[test]
fn what_is_not_known_of_services_makes_no_advice_certain() {
    let mut inventory = healthy();
    set(&mut inventory, DEMOTION, "false");
    set(&mut inventory, BALANCING, "0");
    for (processes, policies, hazards) in [
        (true, true, &[][..]),
        (true, false, &["membind"][..]),
        (false, false, &["strict-cpuset", "membind"][..]),
    ] {
        let mut facts = facts(&inventory);
        facts.sees = Sees { processes, policies };
        for id in ["demotion-off", "promotion-off"] {
            let off = find(&facts, id).unwrap();
            assert_eq!(off.confidence == CERTAIN, hazards.is_empty(), "{id}");
            assert!(
                hazards.iter().all(|hazard| off.fix.contains(says(hazard))),
                "{}",
                off.fix
            );
        }
    }
}

#[test]
fn what_kswapd_needs_is_no_surer_than_demotion_and_known_services_come_before_unknown_ones() {
    let inventory = host("6.8.0", "false", "2", "1000");
    let mut facts = facts(&inventory);
    facts.given_up_nodes = vec![0];
    facts.barred = vec![("pod/db".into(), vec![1])];
    facts.sees.policies = false;
    let gave_up = find(&facts, "kswapd-gave-up").unwrap();
    assert!(gave_up.fix.starts_with("Turn demotion on"), "{}", gave_up.fix);
    assert_eq!(gave_up.confidence, LIKELY);
    let fix = find(&facts, "demotion-off").unwrap().fix;
    assert!(fix.find("pod/db") < fix.find("no memory policies"), "{fix}");
    facts.barred.clear();
    facts.sees.policies = true;
    assert_eq!(find(&facts, "kswapd-gave-up").unwrap().confidence, CERTAIN);
}

#[test]
fn demotion_waits_for_room_below() {
    let mut inventory = healthy();
    inventory.page_size_bytes = 4096;
    set(&mut inventory, DEMOTION, "false");
    let off = |free_pages: i64| {
        let mut facts = facts(&inventory);
        facts.free_pages = [(0, 10), (1, free_pages)].into();
        find(&facts, "demotion-off").unwrap()
    };
    assert_eq!(off((1 << 30) / 4096).severity, "warning");
    let full = off(5);
    assert_eq!(
        (full.severity.as_str(), full.confidence.as_str()),
        ("info", LIKELY)
    );
    assert!(full.fix.starts_with("Nothing now") && full.fix.contains(says("slow-tier-full")));
}

#[test]
fn what_balancing_costs_or_passes_over_is_named() {
    let mut inventory = healthy();
    set(&mut inventory, BALANCING, "0");
    for (path, value, hazard) in [
        ("/sys/devices/system/cpu/isolated", "2-31", "isolated-cpus"),
        ("/sys/devices/system/cpu/nohz_full", "(null)", ""),
        ("/sys/kernel/mm/ksm/run", "1", "ksm"),
    ] {
        let mut inventory = inventory.clone();
        inventory.knobs.push(Knob {
            path: path.into(),
            value: Some(value.into()),
            unavailable: None,
        });
        let off = of(&inventory, "promotion-off");
        assert_eq!(off.confidence == CERTAIN, hazard.is_empty(), "{path}");
        assert!(off.fix.contains(says(hazard)), "{}", off.fix);
    }
    let mut early = inventory.clone();
    early.kernel_release = "5.19.17".into();
    early.knobs.retain(|knob| knob.path != RATE_LIMIT);
    assert!(
        of(&early, "promotion-off")
            .fix
            .contains(says("no-promotion-limit"))
    );
    early.kernel_release = "6.1.9".into();
    assert!(
        !of(&early, "promotion-off")
            .fix
            .contains(says("no-promotion-limit"))
    );
    for (release, size, is_told) in [
        ("6.8.0", "64", true),
        ("6.10.1", "64", false),
        ("6.8.0", "2048", false),
    ] {
        let mut huge = inventory.clone();
        huge.kernel_release = release.into();
        for kib in ["64", "2048"] {
            huge.knobs.push(Knob {
                path: format!("/sys/kernel/mm/transparent_hugepage/hugepages-{kib}kB/enabled"),
                value: Some(
                    if kib == size {
                        "always inherit [madvise] never"
                    } else {
                        "always inherit madvise [never]"
                    }
                    .into(),
                ),
                unavailable: None,
            });
        }
        let fix = of(&huge, "promotion-off").fix;
        assert_eq!(fix.contains(says("large-folios")), is_told, "{release} {size}");
    }
    let mut with_gpus = facts(&inventory);
    with_gpus.gpu_drivers = vec!["amdgpu"];
    assert!(
        find(&with_gpus, "promotion-off")
            .unwrap()
            .fix
            .contains(says("gpu-driver"))
    );
    assert!(find(&with_gpus, "gpu-driver").unwrap().cause.contains("amdgpu"));
    let mut one_tier = inventory.clone();
    one_tier.tiers.truncate(1);
    with_gpus = facts(&one_tier);
    with_gpus.gpu_drivers = vec!["amdgpu"];
    assert!(
        find(&with_gpus, "gpu-driver").is_none(),
        "nothing is promoted there"
    );
    let mut facts = facts(&inventory);
    facts.passed_over = vec![
        ("web".into(), "interleave:0-1".into()),
        ("db".into(), "bind:0".into()),
    ];
    facts.bound = vec![("db".into(), vec![1])];
    let passed_over = find(&facts, "policy-passed-over").unwrap();
    assert!(
        passed_over.cause.ends_with(": web (interleave:0-1)"),
        "{}",
        passed_over.cause
    );
    assert!(passed_over.fix.contains(says("membind")));
}

#[test]
fn what_damon_pages_out_is_never_demoted() {
    for on in ["true", "false"] {
        let mut inventory = healthy();
        set(&mut inventory, DEMOTION, on);
        let mut facts = facts(&inventory);
        facts.kdamonds = vec![Kdamond {
            operations: "paddr".into(),
            actions: vec![told("pageout", Target::NotTold)],
            ..Kdamond::default()
        }];
        assert!(
            find(&facts, "damon-in-use")
                .unwrap()
                .fix
                .contains(says("damon-pages-out"))
        );
        let off = find(&facts, "demotion-off").map(|off| off.fix.contains(says("damon-pages-out")));
        assert_eq!(off, (on == "false").then_some(true));
    }
}

#[test]
fn groups_of_the_first_version_keep_their_own_swappiness() {
    for (version, is_told) in [("v1", true), ("hybrid", true), ("v2", false)] {
        let mut inventory = healthy();
        inventory.cgroup_version = version.into();
        inventory.knobs.push(Knob {
            path: "/proc/sys/vm/swappiness".into(),
            value: Some("1".into()),
            unavailable: None,
        });
        let fix = of(&inventory, "swappiness-keeps-anon").fix;
        assert_eq!(fix.contains(says("group-swappiness")), is_told, "{version}");
    }
}
