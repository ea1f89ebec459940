//! Huge pages: reserved pools by node and size, and what the kernel counts of transparent ones by size.

use tierscope_rootfs::{Missing, Reader};

const TRANSPARENT: &str = "/sys/kernel/mm/transparent_hugepage";
const POOL_FILES: [&str; 3] = ["nr_hugepages", "free_hugepages", "surplus_hugepages"];

/// The reserved pools of a node: `nr_hugepages[2048kB]`, `free_hugepages[..]`, `surplus_hugepages[..]`, in huge pages of
/// the size in brackets. Reserved pages never move between tiers.
pub fn pools(reader: &mut Reader, node: u32, mut emit: impl FnMut(&str, i64)) -> Result<(), Missing> {
    let directory = format!("/sys/devices/system/node/node{node}/hugepages");
    for name in reader.list(&directory)? {
        let Some(size) = name.strip_prefix("hugepages-") else {
            continue;
        };
        for file in POOL_FILES {
            if let Some(pages) = reader.number(&format!("{directory}/{name}/{file}")) {
                emit(&format!("{file}[{size}]"), pages);
            }
        }
    }
    Ok(())
}

/// Sizes of transparent huge pages that the kernel may use now, such as `64kB`: those whose settings, for anonymous or
/// for shared memory, are not all `never`.
pub fn transparent_sizes(reader: &mut Reader) -> Result<Vec<String>, Missing> {
    let names = reader.list(TRANSPARENT)?;
    let sizes = names.iter().filter_map(|name| name.strip_prefix("hugepages-"));
    let in_use = |size: &&str| {
        let mut is_on = |file: &str| {
            let path = format!("{TRANSPARENT}/hugepages-{size}/{file}");
            reader
                .value(&path)
                .is_ok_and(|value| crate::knobs::selected(value) != "never")
        };
        is_on("enabled") || is_on("shmem_enabled")
    };
    Ok(sizes.filter(in_use).map(str::to_owned).collect())
}

/// What the kernel counts of transparent huge pages of one size, such as `64kB`: `anon_fault_alloc[64kB]`,
/// `split[64kB]`, ... in huge pages of that size. Names are the kernel's.
pub fn transparent_stats(
    reader: &mut Reader,
    page_size_name: &str,
    mut emit: impl FnMut(&str, i64),
) -> Result<(), Missing> {
    let directory = format!("{TRANSPARENT}/hugepages-{page_size_name}/stats");
    for name in reader.list(&directory)? {
        if let Some(value) = reader.number(&format!("{directory}/{name}")) {
            emit(&format!("{name}[{page_size_name}]"), value);
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
    fn pools_are_named_by_size() {
        let base = "sys/devices/system/node/node1/hugepages/hugepages-2048kB";
        let (_directory, mut reader) = fake_root::reader(&[
            (&format!("{base}/nr_hugepages"), "8\n"),
            (&format!("{base}/free_hugepages"), "3\n"),
        ]);
        let mut seen = Vec::new();
        pools(&mut reader, 1, |name, value| seen.push((name.to_owned(), value))).unwrap();
        assert_eq!(
            seen,
            [
                ("nr_hugepages[2048kB]".to_owned(), 8),
                ("free_hugepages[2048kB]".to_owned(), 3)
            ]
        );
        assert_eq!(pools(&mut reader, 0, |_, _| {}), Err(Missing::Absent));
    }

    #[test]
    fn sizes_that_are_never_used_are_left_out() {
        let base = "sys/kernel/mm/transparent_hugepage";
        let (_directory, mut reader) = fake_root::reader(&[
            (
                &format!("{base}/hugepages-64kB/enabled"),
                "always inherit madvise [never]\n",
            ),
            (
                &format!("{base}/hugepages-64kB/shmem_enabled"),
                "always [never]\n",
            ),
            (
                &format!("{base}/hugepages-2048kB/enabled"),
                "always [inherit] madvise never\n",
            ),
            (&format!("{base}/hugepages-2048kB/stats/split"), "7\n"),
            (
                &format!("{base}/hugepages-128kB/enabled"),
                "always inherit madvise [never]\n",
            ),
            (
                &format!("{base}/hugepages-128kB/shmem_enabled"),
                "[always] never\n",
            ),
        ]);
        assert_eq!(transparent_sizes(&mut reader).unwrap(), ["128kB", "2048kB"]);
        let mut seen = Vec::new();
        transparent_stats(&mut reader, "2048kB", |name, value| {
            seen.push((name.to_owned(), value));
        })
        .unwrap();
        assert_eq!(seen, [("split[2048kB]".to_owned(), 7)]);
    }
}
