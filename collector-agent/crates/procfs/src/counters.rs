//! Files of one name and value per line: `/proc/vmstat`, `/proc/meminfo`, `/proc/<pid>/smaps_rollup`.

use tierscope_rootfs::{Outcome, Reader, text};

/// Counters and gauges of the host in the kernel's own units (pages, events, KiB for `pgpgin`).
pub fn vmstat(reader: &mut Reader, emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse_again("/proc/vmstat", |text| text::name_values(text, emit))
}

/// Sizes of the host in bytes; the `HugePages_` lines are counts.
pub fn meminfo(reader: &mut Reader, emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse_again("/proc/meminfo", |text| text::colon_values(text, emit))
}

/// Size and smallest size of the cache of ZFS in bytes; absent where its module is not loaded.
pub fn arcstats(reader: &mut Reader, mut emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse_again("/proc/spl/kstat/zfs/arcstats", |text| {
        let mut problem = text::FirstProblem::default();
        // Two lines of heading, then `name type data`.
        for (index, line) in text.lines().enumerate().skip(2) {
            let mut words = line.split_ascii_whitespace();
            let Some(name @ ("size" | "c_min")) = words.next() else {
                continue;
            };
            match words.nth(1).and_then(text::number) {
                Some(value) => emit(name, value),
                None => problem.note(
                    index,
                    name,
                    "not `name type value` with a whole number of 63 bits",
                ),
            }
        }
        problem.finish()
    })
}

/// Sums over the mappings of a process, in bytes. Reading it walks the page tables: bounded use only.
pub fn smaps_rollup(reader: &mut Reader, pid: u32, mut emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse(&format!("/proc/{pid}/smaps_rollup"), |text| {
        // The first line is the address range of the process, which is not a value and never leaves the host.
        let values = text.split_once('\n').map_or("", |(_, values)| values);
        text::colon_values(values, &mut emit)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_rootfs::{Missing, Root};

    #[test]
    fn the_address_line_of_smaps_rollup_is_not_a_value() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/5")).unwrap();
        let text = "00400000-7ffd2c51b000 ---p 00000000 00:00 0    [rollup]\nRss:   8 kB\nPss_Dirty:  4 kB\n";
        std::fs::write(directory.path().join("proc/5/smaps_rollup"), text).unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        let mut values = Vec::new();
        smaps_rollup(&mut reader, 5, |name, value| {
            values.push((name.to_owned(), value));
        })
        .unwrap()
        .unwrap();
        assert_eq!(values, [("Rss".to_owned(), 8192), ("Pss_Dirty".to_owned(), 4096)]);
        assert_eq!(smaps_rollup(&mut reader, 6, |_, _| {}), Err(Missing::Absent));
    }

    #[test]
    fn the_cache_of_zfs_tells_its_size_and_its_least() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/spl/kstat/zfs")).unwrap();
        let text = "13 1 0x01 123 33456 5 9\nname  type data\nhits  4  17\nsize  4  77309411328\nc_min 4 4294967296\n";
        std::fs::write(directory.path().join("proc/spl/kstat/zfs/arcstats"), text).unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        let mut values = Vec::new();
        arcstats(&mut reader, |name, value| values.push((name.to_owned(), value)))
            .unwrap()
            .unwrap();
        assert_eq!(
            values,
            [("size".to_owned(), 72 << 30), ("c_min".to_owned(), 4 << 30)]
        );
        let broken = text
            .replace("4 4294967296", "4 many")
            .replace("4  77309411328", "4");
        std::fs::write(directory.path().join("proc/spl/kstat/zfs/arcstats"), broken).unwrap();
        let outcome = arcstats(&mut reader, |name, value| panic!("{name} is {value}")).unwrap();
        assert_eq!(outcome.unwrap_err().cause.line, 4);
    }

    #[test]
    fn a_vmstat_with_unknown_names_is_read_whole() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc")).unwrap();
        std::fs::write(
            directory.path().join("proc/vmstat"),
            "nr_free_pages 5\nvendor_thing 9\n",
        )
        .unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        let mut values = Vec::new();
        vmstat(&mut reader, |name, value| values.push((name.to_owned(), value)))
            .unwrap()
            .unwrap();
        assert_eq!(
            values,
            [("nr_free_pages".to_owned(), 5), ("vendor_thing".to_owned(), 9)]
        );
    }
}
