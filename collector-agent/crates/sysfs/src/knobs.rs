//! Settings that bear on memory tiering: which exist, and how they stand.

use tierscope_rootfs::{Missing, ParseError, Reader, text};

/// Processors that are kept for few tasks, as the kernel was booted: empty or `(null)` where none are.
pub const KEPT_CPUS: [&str; 2] = [
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/nohz_full",
];

/// Settings with a fixed path. docs/agent-json.md lists them; what they do stands in the advice of the service.
pub const PATHS: &[&str] = &[
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps",
    "/proc/sys/kernel/numa_balancing_scan_delay_ms",
    "/proc/sys/kernel/numa_balancing_scan_period_max_ms",
    "/proc/sys/kernel/numa_balancing_scan_period_min_ms",
    "/proc/sys/kernel/numa_balancing_scan_size_mb",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/defrag_mode",
    "/proc/sys/vm/demote_scale_factor",
    "/proc/sys/vm/dirty_background_bytes",
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_bytes",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/extfrag_threshold",
    "/proc/sys/vm/lowmem_reserve_ratio",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/min_slab_ratio",
    "/proc/sys/vm/min_unmapped_ratio",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/vm/numa_stat",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/page-cluster",
    "/proc/sys/vm/percpu_pagelist_high_fraction",
    "/proc/sys/vm/pghot_enabled_sources",
    "/proc/sys/vm/pghot_freq_threshold",
    "/proc/sys/vm/pghot_promote_freq_window_ms",
    "/proc/sys/vm/pghot_target_nid",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/vfs_cache_pressure",
    "/proc/sys/vm/vfs_cache_pressure_denom",
    "/proc/sys/vm/watermark_boost_factor",
    "/proc/sys/vm/watermark_scale_factor",
    "/proc/sys/vm/zone_reclaim_mode",
    KEPT_CPUS[0],
    KEPT_CPUS[1],
    "/sys/devices/system/memory/auto_online_blocks",
    "/sys/kernel/debug/sched/numa_balancing/hot_threshold_ms",
    "/sys/kernel/debug/sched/numa_balancing/scan_delay_ms",
    "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms",
    "/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
    "/sys/kernel/debug/sched/numa_balancing/scan_size_mb",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/lru_gen/enabled",
    "/sys/kernel/mm/lru_gen/min_ttl_ms",
    "/sys/kernel/mm/numa/demotion_enabled",
    "/sys/kernel/mm/swap/vma_ra_enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/alloc_sleep_millisecs",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_shared",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_swap",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
    "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
    "/sys/kernel/mm/transparent_hugepage/shrink_underused",
    "/sys/kernel/mm/transparent_hugepage/use_zero_page",
    "/sys/module/damon_lru_sort/parameters/cold_min_age",
    "/sys/module/damon_lru_sort/parameters/enabled",
    "/sys/module/damon_lru_sort/parameters/hot_thres_access_freq",
    "/sys/module/damon_lru_sort/parameters/quota_ms",
    "/sys/module/damon_reclaim/parameters/enabled",
    "/sys/module/damon_reclaim/parameters/min_age",
    "/sys/module/damon_reclaim/parameters/quota_ms",
    "/sys/module/damon_reclaim/parameters/quota_reset_interval_ms",
    "/sys/module/damon_reclaim/parameters/quota_sz",
    "/sys/module/damon_reclaim/parameters/skip_anon",
    "/sys/module/damon_sample_mtier/parameters/enabled",
    "/sys/module/damon_stat/parameters/enabled",
    "/sys/module/memory_hotplug/parameters/auto_movable_ratio",
    "/sys/module/memory_hotplug/parameters/memmap_on_memory",
    "/sys/module/memory_hotplug/parameters/online_policy",
    "/sys/module/mtier/parameters/enable",
    "/sys/module/zswap/parameters/accept_threshold_percent",
    "/sys/module/zswap/parameters/compressor",
    "/sys/module/zswap/parameters/enabled",
    "/sys/module/zswap/parameters/max_pool_percent",
    "/sys/module/zswap/parameters/non_same_filled_pages_enabled",
    "/sys/module/zswap/parameters/same_filled_pages_enabled",
    "/sys/module/zswap/parameters/shrinker_enabled",
    "/sys/module/zswap/parameters/zpool",
];

/// Settings with a name per node or size: directory, beginning of the name, file beneath it ("" for the name itself).
const FAMILIES: &[(&str, &str, &str)] = &[
    ("/sys/kernel/mm/mempolicy/weighted_interleave", "node", ""),
    ("/sys/kernel/mm/mempolicy/weighted_interleave", "auto", ""),
    // A kernel build in which a macro swallowed the name `auto`.
    ("/sys/kernel/mm/mempolicy/weighted_interleave", "__auto_type", ""),
    ("/sys/kernel/mm/transparent_hugepage", "hugepages-", "/enabled"),
    (
        "/sys/kernel/mm/transparent_hugepage",
        "hugepages-",
        "/shmem_enabled",
    ),
    // Whether the struct pages of a device's memory lie on it, once it is the kernel's (6.8).
    ("/sys/bus/dax/devices", "dax", "/memmap_on_memory"),
    // What cooperative memory management on z/VM holds, and how fast it gives it back.
    ("/proc/sys/vm", "cmm_", ""),
    ("/sys/block", "zram", "/comp_algorithm"),
    ("/sys/block", "zram", "/disksize"),
];

/// Longest value that is kept; no setting of the list is longer.
const MAX_VALUE_CHARS: usize = 256;

/// A setting, and its value or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knob {
    /// Path without the root.
    pub path: String,
    /// The value as the kernel prints it, trimmed.
    pub value: Result<String, Missing>,
}

/// Reads all settings, in order of their paths.
pub fn read(reader: &mut Reader) -> Vec<Knob> {
    let mut paths: Vec<String> = PATHS.iter().map(|path| (*path).to_owned()).collect();
    for (directory, beginning, file) in FAMILIES {
        let names = reader.list(directory).unwrap_or_default();
        let members = names.into_iter().filter(|name| name.starts_with(beginning));
        paths.extend(members.map(|name| format!("{directory}/{name}{file}")));
    }
    paths.sort_unstable();
    let read_one = |path: String| {
        let value = reader
            .value(&path)
            .map(|text| text.chars().take(MAX_VALUE_CHARS).collect());
        let value = value.and_then(|value: String| {
            if is_value_of(&path, &value) {
                return Ok(value);
            }
            reader.note(&path, ParseError::new(1, &value, NO_SETTING));
            Err(Missing::Unreadable(NO_SETTING.to_owned()))
        });
        Knob { path, value }
    };
    paths.into_iter().map(read_one).collect()
}

const NO_SETTING: &str = "not a value of this setting";

/// Whether the kernel can have printed a value for a setting: whole numbers, a switch, or words.
fn is_value_of(path: &str, value: &str) -> bool {
    const NUMBERS: [&str; 3] = ["/proc/sys/", "/sys/kernel/debug/", "/sys/kernel/mm/ksm/"];
    const SWITCHES: [&str; 2] = ["/demotion_enabled", "/vma_ra_enabled"];
    if NUMBERS.iter().any(|beginning| path.starts_with(beginning)) {
        let mut words = value.split_ascii_whitespace();
        return !value.is_empty() && words.all(|word| text::number(word).is_some());
    }
    if path.ends_with("/lru_gen/enabled") {
        // A mask of its parts; kernels before 6.1 with the patches printed a switch.
        let mask = value.strip_prefix("0x").unwrap_or(value);
        return u32::from_str_radix(mask, 16).is_ok() || switch(value).is_some();
    }
    if SWITCHES.iter().any(|end| path.ends_with(end)) {
        return switch(value).is_some();
    }
    value
        .chars()
        .all(|letter| letter == ' ' || letter.is_ascii_graphic())
}

/// Whether a setting is on: `1`, `Y`, `true`; `None` for any other text than these and their opposites.
pub fn switch(value: &str) -> Option<bool> {
    match value {
        "1" | "Y" | "y" | "true" => Some(true),
        "0" | "N" | "n" | "false" => Some(false),
        _ => None,
    }
}

/// The choice in a `always [madvise] never` value, or the whole value where nothing is bracketed.
pub fn selected(value: &str) -> &str {
    value
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(value, |(choice, _)| choice)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn values_are_trimmed_and_absence_is_kept() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("proc/sys/kernel/numa_balancing", "2\n"),
            ("sys/kernel/mm/mempolicy/weighted_interleave/node1", "3\n"),
            (
                "sys/kernel/mm/mempolicy/weighted_interleave/__auto_type",
                "true\n",
            ),
            (
                "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
                "always [never]\n",
            ),
        ]);
        let knobs = read(&mut reader);
        let value = |path: &str| knobs.iter().find(|knob| knob.path == path).unwrap().value.clone();
        assert_eq!(value("/proc/sys/kernel/numa_balancing"), Ok("2".into()));
        assert_eq!(
            value("/sys/kernel/mm/numa/demotion_enabled"),
            Err(Missing::Absent)
        );
        assert_eq!(
            value("/sys/kernel/mm/mempolicy/weighted_interleave/node1"),
            Ok("3".into())
        );
        assert_eq!(
            value("/sys/kernel/mm/mempolicy/weighted_interleave/__auto_type"),
            Ok("true".into())
        );
        let thp = value("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled").unwrap();
        assert_eq!(selected(&thp), "never");
        assert!(knobs.is_sorted_by(|a, b| a.path < b.path));
    }

    #[test]
    fn a_plain_value_is_its_own_choice() {
        assert_eq!(selected("true"), "true");
    }
}
