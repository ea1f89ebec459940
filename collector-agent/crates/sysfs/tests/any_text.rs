//! Readers of `/sys` survive any text.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a failed unwrap is a failed test"
)]

use proptest::prelude::*;
use tierscope_rootfs::{Reader, Root};
use tierscope_sysfs::{
    cgroup, cxl, damon_stat, damos, lru_gen, memory_blocks, nodes, ratings, resctrl, zram,
};

/// Text made of the pieces that these files are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    const FIXED: [&str; 16] = [
        "\n",
        " ",
        ":",
        "=",
        ",",
        "-",
        "memcg ",
        " /",
        " node     0",
        "rbytes=",
        "8:0 ",
        "32.0 GT/s PCIe",
        "0x",
        "max",
        "Unavailable",
        "9223372036854775807",
    ];
    let piece = prop_oneof![
        proptest::sample::select(&FIXED[..]).prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        "\\PC{0,4}",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

const FILES: [&str; 24] = [
    "sys/kernel/debug/lru_gen",
    "sys/kernel/debug/zswap/stored_pages",
    "sys/block/zram0/disksize",
    "sys/block/zram0/mm_stat",
    "sys/module/damon_stat/parameters/memory_idle_ms_percentiles",
    "sys/kernel/mm/damon/admin/kdamonds/0/refresh_ms",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/action",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/target_nid",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/stats/sz_applied",
    "sys/fs/cgroup/load/io.stat",
    "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes",
    "sys/fs/resctrl/mon_data/mon_L3_00/mbm_local_bytes",
    "sys/devices/system/cpu/cpu0/cache/index3/id",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/distance",
    "sys/devices/system/node/node0/access0/initiators/read_latency",
    "sys/devices/system/node/node0/memory_side_cache/index1/size",
    "sys/devices/system/memory/block_size_bytes",
    "sys/devices/system/memory/memory0/state",
    "sys/bus/cxl/devices/mem0/ram/size",
    "sys/bus/cxl/devices/mem0/numa_node",
    "sys/bus/cxl/devices/region0/resource",
    "sys/bus/cxl/devices/region0/interleave_ways",
    "sys/bus/cxl/devices/region0/target0",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_breaks_a_reader(text in pieces()) {
        let directory = tempfile::tempdir().unwrap();
        for file in FILES {
            let path = directory.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &text).unwrap();
        }
        std::fs::write(directory.path().join("sys/kernel/mm/damon/admin/kdamonds/0/state"), "on\n").unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        let _ = lru_gen::read(&mut reader).unwrap();
        zram::stats(&mut reader, "zram0", |_, _| {});
        zram::zswap(&mut reader, |_, _| {}).unwrap();
        damon_stat::read(&mut reader, |_, _| {});
        prop_assert!(damos::schemes(&mut reader).unwrap().len() <= 1);
        for file in cgroup::Version::V2.files() {
            let _ = cgroup::read(&mut reader, cgroup::Version::V2, "/load", file, |_, _| {});
        }
        let caches = resctrl::cache_nodes(&mut reader, &[0]);
        let _ = resctrl::bandwidth(&mut reader, &caches);
        ratings::accesses(&mut reader, 0, |_, _| {});
        ratings::memory_side_caches(&mut reader, 0, |_, _| {});
        let _ = memory_blocks::read(&mut reader).unwrap();
        let _ = nodes::describe(&mut reader, 0);
        prop_assert_eq!(cxl::memory(&mut reader).len(), 1);
        prop_assert_eq!(cxl::regions(&mut reader).len(), 1);
    }
}
