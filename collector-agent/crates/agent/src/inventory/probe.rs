//! Which sources of counters and heat a host offers, as far as its files tell; nothing is tried here.
//!
//! A recording is described like a running host. What works is found by trying: the fallback chain of heat does when it
//! measures, `explain` does when it is asked.

use tierscope_procfs::host;
use tierscope_rootfs::Reader;
use tierscope_sample::inventory::Collector;
use tierscope_sysfs::hotness;

use tierscope_heat::page_follow;
use tierscope_host::collectors::{self, State};

use super::page_size;
use crate::kubernetes;

/// Said of sources that the host offers and nobody uses now.
const NOT_IN_USE: &str = "the host offers it; no process is measured with it now";
const RECORDING: &str = "a recording cannot be measured again";

/// All sources. Back ends of heat are listed as off: whoever measures says so afterwards.
pub(crate) fn collectors(reader: &mut Reader) -> Vec<Collector> {
    let facts = collectors::ALL.iter();
    facts
        .map(|facts| facts.entry(state(reader, facts.name)))
        .collect()
}

fn state(reader: &mut Reader, name: &str) -> State {
    if name == "counters" {
        return State::on();
    }
    if let Some(missing) = missing(reader, name) {
        return State::off(missing, "");
    }
    if name == "hotness_unit" {
        let names: Vec<String> = hotness::instances(reader)
            .into_iter()
            .map(|instance| instance.name)
            .collect();
        let reason = format!(
            "{} can count accesses at the device; this agent does not read hot lists",
            names.join(", ")
        );
        return State::off(reason, "");
    }
    if !reader.root().is_live() {
        return State::off(RECORDING, "");
    }
    if name == "service_metrics" {
        return State::off(
            "no service is listed for it",
            "name endpoints or files under [[service_metrics]] in the agent's configuration",
        );
    }
    if name == page_follow::NAME {
        return State::off(
            "not switched on",
            "set followed_pages = 4096 under [limits] in the agent's configuration",
        );
    }
    if name == kubernetes::COLLECTOR {
        return State::off(
            "not switched on",
            "set api = true under [kubernetes] in the agent's configuration, with the rights of deploy/kubernetes/agent-api",
        );
    }
    State::off(
        NOT_IN_USE,
        "list processes, control groups or executables under [heat] in the agent's configuration",
    )
}

/// What the kernel or the hardware lacks for a source; `None` where nothing is seen to be missing.
pub(crate) fn missing(reader: &mut Reader, name: &str) -> Option<&'static str> {
    let other_architecture = is_of_another_architecture(reader);
    let has = |path: &str| reader.root().join(path).exists();
    let (present, why_not) = match name {
        "pebs" => (
            has_precise_events(reader),
            "no precise Intel events here: another processor, or a guest without a performance unit",
        ),
        "ibs" => (
            has("/sys/bus/event_source/devices/ibs_op"),
            "no AMD instruction-based sampling here: another processor, or a guest",
        ),
        "spe" => (
            has("/sys/bus/event_source/devices/arm_spe_0"),
            "no Arm statistical profiling here: another processor, or a guest",
        ),
        "memory_bandwidth" => (
            has("/sys/fs/resctrl/mon_data") || has_memory_unit(reader),
            "no unit that counts bytes at memory: another processor, a guest, or a module that is not loaded",
        ),
        "hotness_unit" => (
            !hotness::instances(reader).is_empty(),
            "no CXL device here that monitors hotness (CHMU), or no driver for it: cxl_hmu is not in mainline",
        ),
        "memory_stall" => (
            ["cpu", "armv8_pmuv3_0"]
                .iter()
                .any(|unit| has(&format!("/sys/bus/event_source/devices/{unit}/type"))),
            "no performance unit of the cores here: a guest without one",
        ),
        "abit_walk" if other_architecture => (
            false,
            "page tables are walked on x86-64 alone: each architecture lays its entries out in its own way",
        ),
        "abit_walk" => (
            has("/sys/kernel/btf/vmlinux"),
            "the kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)",
        ),
        "idle_page" => (
            has("/sys/kernel/mm/page_idle/bitmap"),
            "the kernel has no idle-page tracking (CONFIG_IDLE_PAGE_TRACKING)",
        ),
        "damon_pages" | "damon_regions" => (
            has("/sys/kernel/mm/damon/admin"),
            "the kernel has no DAMON (CONFIG_DAMON_SYSFS)",
        ),
        "referenced" => (
            !reader.root().is_live() || has("/proc/self/clear_refs"),
            "the kernel has no clear_refs (CONFIG_PROC_PAGE_MONITOR)",
        ),
        _ => (true, ""),
    };
    (!present).then_some(why_not)
}

/// Whether a recording is known to be of another architecture than x86-64.
fn is_of_another_architecture(reader: &mut Reader) -> bool {
    let release = host::kernel_release(reader).unwrap_or_default();
    !matches!(page_size::architecture(reader, &release), "" | "x86_64")
}

/// Whether a unit of memory controllers, of the mesh or of a CXL device is there.
fn has_memory_unit(reader: &Reader) -> bool {
    let units = reader.list("/sys/bus/event_source/devices").unwrap_or_default();
    let known = ["uncore_imc", "amd_umc", "arm_cmn", "cxl_pmu_mem"];
    units
        .iter()
        .any(|unit| known.iter().any(|beginning| unit.starts_with(beginning)))
}

fn has_precise_events(reader: &mut Reader) -> bool {
    ["cpu", "cpu_core"].iter().any(|unit| {
        let path = format!("/sys/bus/event_source/devices/{unit}/caps/max_precise");
        reader
            .value(&path)
            .ok()
            .and_then(|text| text.parse::<u32>().ok())
            .is_some_and(|level| level >= 2)
    })
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
        assert!(reason(&bare, "damon_pages").contains("CONFIG_DAMON_SYSFS"));
        assert!(reason(&bare, "pebs").contains("no precise Intel events"));
        assert!(reason(&bare, "idle_page").contains("CONFIG_IDLE_PAGE_TRACKING"));
        assert!(reason(&bare, "hotness_unit").contains("not in mainline"));
        let rich = FakeRoot::new();
        rich.write("sys/bus/event_source/devices/cxl_hmu_mem0.0.0/type", "40\n");
        rich.write("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "0\n");
        rich.write("sys/bus/event_source/devices/cpu/caps/max_precise", "3\n");
        rich.write("sys/kernel/btf/vmlinux", "");
        rich.write("proc/sys/kernel/osrelease", "5.14.0-427.el9.aarch64+64k\n");
        for by_page in ["damon_pages", "damon_regions", "idle_page"] {
            assert!(
                !reason(&rich, by_page).contains("64 KiB"),
                "{}",
                reason(&rich, by_page)
            );
        }
        assert!(reason(&rich, "abit_walk").contains("x86-64 alone"));
        assert_eq!(reason(&rich, "damon_pages"), RECORDING);
        assert_eq!(reason(&rich, "pebs"), RECORDING);
        assert!(reason(&rich, "hotness_unit").contains("cxl_hmu_mem0.0.0 can count"));
    }

    #[test]
    fn every_source_that_is_off_says_why() {
        let root = FakeRoot::new();
        let all = collectors(&mut Reader::new(root.root()));
        assert_eq!(all.len(), collectors::ALL.len());
        assert!(
            all.iter()
                .all(|collector| collector.active == collector.reason.is_empty())
        );
    }
}
