//! What firmware says of a node's memory beyond the best initiator's ratings: both access classes of HMAT, and caches
//! of fast memory in front of slow memory.

use tierscope_rootfs::Reader;

const NODES: &str = "/sys/devices/system/node";
/// Access classes: 0 counts any initiator, such as a GPU, 1 counts processors alone.
const ACCESSES: [&str; 2] = ["access0", "access1"];
const RATINGS: [(&str, &str); 4] = [
    ("read_latency", "read_latency_ns"),
    ("write_latency", "write_latency_ns"),
    ("read_bandwidth", "read_bandwidth_mib_per_s"),
    ("write_bandwidth", "write_bandwidth_mib_per_s"),
];
const CACHE_FILES: [&str; 4] = ["size", "line_size", "indexing", "write_policy"];

/// Firmware ratings of both access classes: `read_latency_ns[access0]` and its kin. Nothing where firmware gives none.
pub fn accesses(reader: &mut Reader, node: u32, mut emit: impl FnMut(&str, i64)) {
    for access in ACCESSES {
        for (file, name) in RATINGS {
            let path = format!("{NODES}/node{node}/{access}/initiators/{file}");
            let value = reader.number(&path);
            // 0 is printed for a rating that firmware does not give.
            if let Some(value) = value.filter(|value| *value > 0) {
                emit(&format!("{name}[{access}]"), value);
            }
        }
    }
}

/// Memory-side caches: `size[index1]` and `line_size[index1]` in bytes, `indexing` (0 direct-mapped) and `write_policy`
/// (0 write-back). A node with such a cache is faster than its memory for what the cache holds.
pub fn memory_side_caches(reader: &mut Reader, node: u32, mut emit: impl FnMut(&str, i64)) {
    let directory = format!("{NODES}/node{node}/memory_side_cache");
    for index in reader.list(&directory).unwrap_or_default() {
        if !index.starts_with("index") {
            continue;
        }
        for file in CACHE_FILES {
            if let Some(value) = reader.number(&format!("{directory}/{index}/{file}")) {
                emit(&format!("{file}[{index}]"), value);
            }
        }
    }
}

/// Bytes of the largest memory-side cache before a node's memory; 0 where firmware tells of none.
pub fn side_cache_bytes(reader: &mut Reader, node: u32) -> i64 {
    let mut largest_bytes = 0;
    memory_side_caches(reader, node, |name, value| {
        if name.starts_with("size[") {
            largest_bytes = value.max(largest_bytes);
        }
    });
    largest_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn both_access_classes_and_caches_are_told_apart() {
        let node = "sys/devices/system/node/node2";
        let (_directory, mut reader) = fake_root::reader(&[
            (&format!("{node}/access0/initiators/read_latency"), "270\n"),
            (&format!("{node}/access1/initiators/read_latency"), "300\n"),
            (&format!("{node}/access1/initiators/write_bandwidth"), "0\n"),
            (&format!("{node}/memory_side_cache/index1/size"), "1073741824\n"),
            (&format!("{node}/memory_side_cache/index1/indexing"), "0\n"),
            (&format!("{node}/memory_side_cache/power/control"), "auto\n"),
        ]);
        let mut seen = Vec::new();
        let mut keep = |name: &str, value: i64| seen.push((name.to_owned(), value));
        accesses(&mut reader, 2, &mut keep);
        memory_side_caches(&mut reader, 2, &mut keep);
        let expected = [
            ("read_latency_ns[access0]", 270),
            ("read_latency_ns[access1]", 300),
            ("size[index1]", 1 << 30),
            ("indexing[index1]", 0),
        ];
        assert_eq!(seen, expected.map(|(name, value)| (name.to_owned(), value)));
    }
}
