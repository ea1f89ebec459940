//! Readers of `/proc` survive any text.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a failed unwrap is a failed test"
)]

use proptest::prelude::*;
use tierscope_procfs::{buddyinfo, counters, host, numa_maps, process, stat, swaps, zoneinfo};
use tierscope_rootfs::{Reader, Root};

/// Text made of the pieces that these files are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    const FIXED: [&str; 18] = [
        "\n",
        " ",
        "  ",
        ":",
        "=",
        "(",
        ")",
        ",",
        "-",
        "Node 0, zone DMA",
        "per-node stats",
        "pages free ",
        "pagesets",
        "cpu: 0",
        "N1=",
        "file=/dev/shm/x",
        "kernelpagesize_kB=",
        "9223372036854775807",
    ];
    let piece = prop_oneof![
        proptest::sample::select(&FIXED[..]).prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        "\\PC{0,4}",
    ];
    proptest::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_breaks_a_reader(text in pieces()) {
        let directory = tempfile::tempdir().unwrap();
        let process_directory = directory.path().join("proc/7");
        std::fs::create_dir_all(&process_directory).unwrap();
        for name in ["stat", "cmdline", "cgroup", "numa_maps", "smaps_rollup", "statm", "status"] {
            std::fs::write(process_directory.join(name), &text).unwrap();
        }
        for name in ["uptime", "swaps", "stat", "zoneinfo", "cpuinfo", "buddyinfo"] {
            std::fs::write(directory.path().join("proc").join(name), &text).unwrap();
        }
        let mut reader = Reader::new(Root::new(directory.path()));
        let _ = zoneinfo::read(&mut reader, |_, _, _| {});
        let _ = stat::read(&mut reader, |_, _| {});
        let _ = host::uptime_ns(&mut reader);
        let _ = host::cpus(&mut reader);
        let _ = host::effective_uid(&mut reader, "7");
        if let Ok(Ok(devices)) = swaps::read(&mut reader) {
            let _ = swaps::totals(&devices);
        }
        prop_assert_eq!(process::pids(&reader).unwrap(), vec![7]);
        let _ = process::stat(&mut reader, 7);
        let _ = process::cgroups(&mut reader, 7);
        let line = process::cmdline(&mut reader, 7).unwrap();
        let _ = process::executable(&mut reader, 7, &line);
        let _ = process::resident_pages(&mut reader, 7);
        let _ = counters::smaps_rollup(&mut reader, 7, |_, _| {});
        let _ = buddyinfo::read(&mut reader, |_, _, _, _| {});
        let read = numa_maps::read(&mut reader, 7, u64::MAX).unwrap();
        prop_assert_eq!(read.file_bytes, text.len() as u64);
    }
}
