//! Compressed swap in memory: zram devices, and the counters of zswap in debugfs.

use tierscope_rootfs::{Missing, Reader, text};

const BLOCK: &str = "/sys/block";
const ZSWAP: &str = "/sys/kernel/debug/zswap";

/// Columns of `mm_stat`: bytes, the last four in pages. Older kernels print fewer.
const MM_STAT: [&str; 9] = [
    "orig_data_size",
    "compr_data_size",
    "mem_used_total",
    "mem_limit",
    "mem_used_max",
    "same_pages",
    "pages_compacted",
    "huge_pages",
    "huge_pages_since",
];
/// Columns of `io_stat`.
const IO_STAT: [&str; 4] = ["failed_reads", "failed_writes", "invalid_io", "notify_free"];
/// Columns of `bd_stat`, in blocks of 4 KiB: what was written to the backing device.
const BD_STAT: [&str; 3] = ["bd_count", "bd_reads", "bd_writes"];

/// Names of zram devices that have a size: a device without one holds nothing.
pub fn devices(reader: &mut Reader) -> Result<Vec<String>, Missing> {
    let names = reader.list(BLOCK)?;
    let is_set_up = |name: &String| {
        name.strip_prefix("zram")
            .is_some_and(|rest| rest.parse::<u32>().is_ok())
            && reader
                .number(&format!("{BLOCK}/{name}/disksize"))
                .is_some_and(|bytes| bytes > 0)
    };
    Ok(names.into_iter().filter(is_set_up).collect())
}

/// What a device holds and did: `orig_data_size[zram0]`, `compr_data_size[zram0]`, ... Its memory is kernel memory of
/// DRAM nodes and never demoted.
pub fn stats(reader: &mut Reader, device: &str, mut emit: impl FnMut(&str, i64)) {
    for (file, columns) in [
        ("mm_stat", &MM_STAT[..]),
        ("io_stat", &IO_STAT),
        ("bd_stat", &BD_STAT),
    ] {
        // An absent file is that of a kernel without it; the reader keeps what is wrong with another one.
        let _absent = reader.parse(&format!("{BLOCK}/{device}/{file}"), |line| {
            let mut problem = text::FirstProblem::default();
            for (column, word) in columns.iter().zip(line.split_ascii_whitespace()) {
                match text::number(word) {
                    Some(value) => emit(&format!("{column}[{device}]"), value),
                    None => problem.note(0, column, "not a whole number of 63 bits"),
                }
            }
            problem.finish()
        });
    }
}

/// The counters of zswap that the kernel shows in debugfs (root), under their own names.
pub fn zswap(reader: &mut Reader, mut emit: impl FnMut(&str, i64)) -> Result<(), Missing> {
    for name in reader.list(ZSWAP)? {
        if let Some(value) = reader.number(&format!("{ZSWAP}/{name}")) {
            emit(&name, value);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn a_device_with_a_size_is_read_by_column() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/block/zram0/disksize", "1073741824\n"),
            (
                "sys/block/zram0/mm_stat",
                "90222592  9176691 10473472        0 10473472        0        0        5        5\n",
            ),
            ("sys/block/zram0/io_stat", "       0        0 0        2\n"),
            ("sys/block/zram1/disksize", "0\n"),
            ("sys/block/vda/size", "1\n"),
        ]);
        assert_eq!(devices(&mut reader).unwrap(), ["zram0"]);
        let mut seen = Vec::new();
        stats(&mut reader, "zram0", |name, value| {
            seen.push((name.to_owned(), value));
        });
        assert_eq!(seen.len(), MM_STAT.len() + IO_STAT.len());
        assert_eq!(seen[1], ("compr_data_size[zram0]".to_owned(), 9_176_691));
        assert_eq!(seen[12], ("notify_free[zram0]".to_owned(), 2));
    }

    #[test]
    fn a_word_that_is_no_number_is_named() {
        let (_directory, mut reader) = fake_root::reader(&[("sys/block/zram0/mm_stat", "1 two 3\n")]);
        let mut seen = 0;
        stats(&mut reader, "zram0", |_, _| seen += 1);
        let problem = &reader.take_problems()[0];
        assert_eq!((seen, problem.cause.item.as_str()), (2, "compr_data_size"));
        assert!(problem.path.ends_with("zram0/mm_stat"));
    }

    #[test]
    fn zswap_files_keep_their_names() {
        let (_directory, mut reader) = fake_root::reader(&[("sys/kernel/debug/zswap/pool_limit_hit", "4\n")]);
        let mut seen = Vec::new();
        zswap(&mut reader, |name, value| seen.push((name.to_owned(), value))).unwrap();
        assert_eq!(seen, [("pool_limit_hit".to_owned(), 4)]);
    }
}
