//! How much of a buffer is made of huge pages: whether its latencies hold page walks.

use tierscope_rootfs::{Reader, Root};

/// Bytes in huge pages of the mapping of this process that `address` lies in; `None` where the kernel does not tell.
pub(crate) fn huge_page_bytes(root: &Root, address: u64) -> Option<u64> {
    let mut reader = Reader::new(root.clone());
    let path = root.join("/proc/self/smaps");
    let (mut inside, mut found_bytes) = (false, None);
    let read = reader.each_line(&path, u64::MAX, |line| {
        if let Some((start, end)) = range(line) {
            inside = (start..end).contains(&address);
        } else if inside && let Some(value) = line.strip_prefix("AnonHugePages:") {
            found_bytes = kib(value).map(|kib| kib << 10);
        }
    });
    read.ok().and(found_bytes)
}

/// Addresses of the first line of a mapping.
fn range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some((
        u64::from_str_radix(start, 16).ok()?,
        u64::from_str_radix(end, 16).ok()?,
    ))
}

fn kib(value: &str) -> Option<u64> {
    value.trim().strip_suffix(" kB")?.trim_end().parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn only_the_mapping_of_the_address_counts() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/self")).unwrap();
        let text = "1000-2000 rw-p 00000000 00:00 0 \nAnonHugePages:   2048 kB\n\
                    400000-800000 rw-p 00000000 00:00 0 \nRss: 4096 kB\nAnonHugePages:   4096 kB\n";
        std::fs::write(directory.path().join("proc/self/smaps"), text).unwrap();
        let root = Root::new(directory.path());
        assert_eq!(huge_page_bytes(&root, 0x40_0000), Some(4 << 20));
        assert_eq!(huge_page_bytes(&root, 0x1fff), Some(2 << 20));
        assert_eq!(huge_page_bytes(&root, 0x80_0000), None);
        assert_eq!(huge_page_bytes(&Root::new("/nonexistent"), 0x1fff), None);
    }
}
