//! Which sources of counters and heat the host offers, and why those that are off are off.

use tierscope_rootfs::Reader;
use tierscope_sample::inventory::Collector;

/// Said of sources that the kernel offers and this release does not read.
const LATER: &str = "the host offers it; the collector arrives with a later release";

/// All sources. `referenced` is listed as off: whoever switches it on says so afterwards.
pub fn collectors(reader: &mut Reader) -> Vec<Collector> {
    vec![
        counters(),
        referenced(reader),
        pebs(reader),
        ibs(reader),
        spe(reader),
        damon(reader),
        idle_page(reader),
        abit_walk(),
    ]
}

fn counters() -> Collector {
    Collector {
        name: "counters".into(),
        active: true,
        reason: String::new(),
        enable_hint: String::new(),
        granularity: "host, node, zone, cgroup, service".into(),
        privilege: "none; root adds settings in debugfs and the memory of other users' processes".into(),
        ..Collector::default()
    }
}

fn referenced(reader: &Reader) -> Collector {
    let supported = reader.root().join("/proc/self/clear_refs").exists();
    let reason = match (reader.root().is_live(), supported) {
        (false, _) => "a recording cannot be measured again",
        (true, true) => "no process is listed for heat",
        (true, false) => "the kernel has no clear_refs (CONFIG_PROC_PAGE_MONITOR)",
    };
    Collector {
        name: "referenced".into(),
        active: false,
        reason: reason.into(),
        enable_hint: "list executables under [heat] in the agent's configuration".into(),
        granularity: "mapping".into(),
        privilege: "the user of the process, or CAP_SYS_PTRACE".into(),
        ..Collector::default()
    }
}

fn pebs(reader: &mut Reader) -> Collector {
    let precise = ["cpu", "cpu_core"].iter().any(|unit| {
        let path = format!("/sys/bus/event_source/devices/{unit}/caps/max_precise");
        reader
            .value(&path)
            .ok()
            .and_then(|text| text.parse::<u32>().ok())
            .is_some_and(|level| level >= 2)
    });
    sampler(
        "pebs",
        precise,
        "no precise Intel events here: another processor, or a guest without a performance unit",
    )
}

fn ibs(reader: &Reader) -> Collector {
    let present = reader
        .root()
        .join("/sys/bus/event_source/devices/ibs_op")
        .exists();
    sampler(
        "ibs",
        present,
        "no AMD instruction-based sampling here: another processor, or a guest",
    )
}

fn spe(reader: &Reader) -> Collector {
    let present = reader
        .root()
        .join("/sys/bus/event_source/devices/arm_spe_0")
        .exists();
    sampler(
        "spe",
        present,
        "no Arm statistical profiling here: another processor, or a guest",
    )
}

/// A hardware sampler of memory accesses.
fn sampler(name: &str, present: bool, why_not: &str) -> Collector {
    Collector {
        name: name.into(),
        active: false,
        reason: if present { LATER } else { why_not }.into(),
        enable_hint: String::new(),
        granularity: "access".into(),
        privilege: "CAP_PERFMON".into(),
        ..Collector::default()
    }
}

fn damon(reader: &Reader) -> Collector {
    let present = reader.root().join("/sys/kernel/mm/damon/admin").exists();
    Collector {
        name: "damon".into(),
        active: false,
        reason: if present {
            LATER
        } else {
            "the kernel has no DAMON (CONFIG_DAMON_SYSFS)"
        }
        .into(),
        enable_hint: String::new(),
        granularity: "region".into(),
        privilege: "root".into(),
        ..Collector::default()
    }
}

fn idle_page(reader: &Reader) -> Collector {
    let present = reader.root().join("/sys/kernel/mm/page_idle/bitmap").exists();
    Collector {
        name: "idle_page".into(),
        active: false,
        reason: if present {
            LATER
        } else {
            "the kernel has no idle-page tracking (CONFIG_IDLE_PAGE_TRACKING)"
        }
        .into(),
        enable_hint: String::new(),
        granularity: "page".into(),
        privilege: "root".into(),
        ..Collector::default()
    }
}

fn abit_walk() -> Collector {
    Collector {
        name: "abit_walk".into(),
        active: false,
        reason: "walking the accessed bits of single pages arrives with a later release".into(),
        enable_hint: String::new(),
        granularity: "page".into(),
        privilege: "root".into(),
        ..Collector::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    fn reason(root: &FakeRoot, name: &str) -> String {
        let found = collectors(&mut Reader::new(root.root()))
            .into_iter()
            .find(|collector| collector.name == name);
        found.map(|collector| collector.reason).unwrap_or_default()
    }

    #[test]
    fn what_the_host_offers_is_told_from_what_it_lacks() {
        let bare = FakeRoot::new();
        assert!(reason(&bare, "damon").contains("CONFIG_DAMON_SYSFS"));
        assert!(reason(&bare, "pebs").contains("no precise Intel events"));
        let rich = FakeRoot::new();
        rich.write("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "0\n");
        rich.write("sys/bus/event_source/devices/cpu/caps/max_precise", "3\n");
        assert_eq!(reason(&rich, "damon"), LATER);
        assert_eq!(reason(&rich, "pebs"), LATER);
    }

    #[test]
    fn every_source_that_is_off_says_why() {
        let root = FakeRoot::new();
        let all = collectors(&mut Reader::new(root.root()));
        assert!(
            all.iter()
                .all(|collector| collector.active == collector.reason.is_empty())
        );
    }
}
