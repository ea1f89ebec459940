//! `/sys/devices/system/node`: which nodes there are, their counters, distances and firmware ratings.

use tierscope_rootfs::{Missing, Outcome, Reader, text};

use crate::memory_blocks;
use crate::ratings::side_cache_bytes;

const NODES: &str = "/sys/devices/system/node";

/// Firmware ratings (HMAT or CDAT) of the memory of a node as seen by its best initiator. Not measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ratings {
    /// Read latency in nanoseconds.
    pub read_latency_ns: Option<u32>,
    /// Write latency in nanoseconds.
    pub write_latency_ns: Option<u32>,
    /// Read bandwidth in MiB/s.
    pub read_bandwidth_mib_per_s: Option<u32>,
    /// Write bandwidth in MiB/s.
    pub write_bandwidth_mib_per_s: Option<u32>,
}

/// What a node is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its CPUs as a kernel list; "" for a node without CPUs that are online.
    pub cpulist: String,
    /// Whether it has CPUs, none of which is online.
    pub has_offline_cpus: bool,
    /// Whether the file of its CPUs cannot be understood; `cpulist` is "" then as well.
    pub cpus_unknown: bool,
    /// Memory that the kernel manages, in bytes.
    pub memory_bytes: Option<i64>,
    /// Bytes of the largest cache of faster memory before it (memory-side cache); 0 where firmware tells of none.
    pub side_cache_bytes: i64,
    /// Relative distances to the online nodes, in order of their numbers; firmware's word, often invented.
    pub distances: Vec<u32>,
    /// Ratings from the point of view of CPUs where firmware gives them, else of any initiator.
    pub ratings: Ratings,
}

impl Node {
    /// Whether any CPU belongs to the node.
    pub fn has_cpu(&self) -> bool {
        !self.cpulist.is_empty()
    }
}

/// Numbers of the nodes, ascending: the `online` list, else the directories.
pub fn ids(reader: &mut Reader) -> Result<Vec<u32>, Missing> {
    if let Some(ids) = reader.list_value(&format!("{NODES}/online"))
        && !ids.is_empty()
    {
        return Ok(ids);
    }
    let mut ids: Vec<u32> = reader
        .list(NODES)?
        .iter()
        .filter_map(|name| name.strip_prefix("node")?.parse().ok())
        .collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Counters of a node: zone, NUMA and node statistics; never the events of the host.
pub fn vmstat(reader: &mut Reader, node: u32, emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse_again(&format!("{NODES}/node{node}/vmstat"), |text| {
        text::name_values(text, emit)
    })
}

/// Sizes of a node in bytes, the `HugePages_` lines as counts.
pub fn meminfo(reader: &mut Reader, node: u32, emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse_again(&format!("{NODES}/node{node}/meminfo"), |text| {
        text::colon_values(text, emit)
    })
}

/// Allocation counts of a node.
pub fn numastat(reader: &mut Reader, node: u32, emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse_again(&format!("{NODES}/node{node}/numastat"), |text| {
        text::name_values(text, emit)
    })
}

/// Describes a node. What the host does not offer stays empty.
pub fn describe(reader: &mut Reader, node: u32) -> Node {
    let mut memory_bytes = None;
    // A node without a readable meminfo has no known size, which is what `None` says.
    let _unknown_size = meminfo(reader, node, |name, value| {
        if name == "MemTotal" {
            memory_bytes = Some(value);
        }
    });
    let cpulist = format!("{NODES}/node{node}/cpulist");
    let listed = reader.parsed(&cpulist, "not a list such as `0-3,8`", |list| {
        text::list(list).ok().map(|_| list.to_owned())
    });
    let cpus_unknown = listed.is_none() && reader.root().join(&cpulist).exists();
    let online = if cpus_unknown {
        Some(String::new())
    } else {
        online_cpus(reader, node)
    };
    let linked = linked_cpus(reader, node);
    let distances = reader.parsed(
        &format!("{NODES}/node{node}/distance"),
        "not a whole number for each node",
        |line| {
            line.split_ascii_whitespace()
                .map(|word| word.parse().ok())
                .collect()
        },
    );
    Node {
        id: node,
        has_offline_cpus: !cpus_unknown && online.as_deref() == Some("") && !linked.is_empty(),
        cpus_unknown,
        cpulist: online.unwrap_or_else(|| text_of_list(&linked)),
        memory_bytes,
        side_cache_bytes: side_cache_bytes(reader, node),
        distances: distances.unwrap_or_default(),
        ratings: ratings(reader, node),
    }
}

/// CPUs of a node that are online, as a kernel list; `None` where neither its list nor its mask is shown.
fn online_cpus(reader: &mut Reader, node: u32) -> Option<String> {
    if let Ok(list) = reader.value(&format!("{NODES}/node{node}/cpulist")) {
        return Some(list.to_owned());
    }
    let mask = reader.value(&format!("{NODES}/node{node}/cpumap")).ok()?;
    cpus_of_mask(mask).map(|cpus| text_of_list(&cpus))
}

/// CPUs that a node's directory links to, those that are offline too (`drivers/base/node.c`,
/// `register_cpu_under_node`), ascending.
fn linked_cpus(reader: &Reader, node: u32) -> Vec<u32> {
    let names = reader.list(&format!("{NODES}/node{node}")).unwrap_or_default();
    let numbers = names
        .iter()
        .filter_map(|name| name.strip_prefix("cpu")?.parse().ok());
    let mut cpus: Vec<u32> = numbers.collect();
    cpus.sort_unstable();
    cpus
}

/// CPUs of a mask as the kernel prints it: words of 32 bits in hexadecimal, the highest first (`lib/vsprintf.c`, `%*pb`).
fn cpus_of_mask(mask: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for (index, word) in (0_u32..).zip(mask.split(',').rev()) {
        let bits = u32::from_str_radix(word, 16).ok()?;
        let set = (0..32).filter(|bit| bits >> bit & 1 == 1);
        cpus.extend(set.map(|bit| index.saturating_mul(32).saturating_add(bit)));
    }
    Some(cpus)
}

/// Ascending numbers as a kernel list: `0-3,8`.
fn text_of_list(numbers: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if last.saturating_add(1) == *number => *last = *number,
            _ => spans.push((*number, *number)),
        }
    }
    let text = |(first, last): &(u32, u32)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    spans.iter().map(text).collect::<Vec<_>>().join(",")
}

fn ratings(reader: &mut Reader, node: u32) -> Ratings {
    ratings_at(reader, &format!("{NODES}/node{node}"), "initiators/")
}

/// Ratings in the access classes of a node or a CXL region. `access1` counts CPU initiators only; `access0` may be a GPU
/// or a network card.
pub(crate) fn ratings_at(reader: &mut Reader, directory: &str, within: &str) -> Ratings {
    let mut ratings = Ratings::default();
    for access in ["access1", "access0"] {
        let mut value = |name: &str| {
            let path = format!("{directory}/{access}/{within}{name}");
            reader
                .parsed(&path, "not a whole number of 32 bits", |text| text.parse().ok())
                .filter(|value: &u32| *value > 0)
        };
        ratings = Ratings {
            read_latency_ns: value("read_latency"),
            write_latency_ns: value("write_latency"),
            read_bandwidth_mib_per_s: value("read_bandwidth"),
            write_bandwidth_mib_per_s: value("write_bandwidth"),
        };
        if ratings != Ratings::default() {
            break;
        }
    }
    ratings
}

/// Physical ranges of a node's memory as (start, length) in bytes, from its memory blocks, adjacent blocks joined.
/// Empty where the host does not show blocks.
pub fn physical_ranges(reader: &mut Reader, node: u32) -> Vec<(u64, u64)> {
    let block_bytes = memory_blocks::block_bytes(reader);
    let (Some(block_bytes), Ok(names)) = (block_bytes, reader.list(&format!("{NODES}/node{node}"))) else {
        return Vec::new();
    };
    let mut blocks: Vec<u64> = names
        .iter()
        .filter_map(|name| name.strip_prefix("memory")?.parse().ok())
        .collect();
    blocks.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for block in blocks {
        let start = block.saturating_mul(block_bytes);
        match ranges.last_mut() {
            Some((first, length)) if first.saturating_add(*length) == start => {
                *length = length.saturating_add(block_bytes);
            }
            _ => ranges.push((start, block_bytes)),
        }
    }
    ranges
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn a_node_without_cpus_has_an_empty_list() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/devices/system/node/online", "0-1\n"),
            ("sys/devices/system/node/node1/cpulist", "\n"),
            ("sys/devices/system/node/node1/distance", "20 10\n"),
            (
                "sys/devices/system/node/node1/meminfo",
                "Node 1 MemTotal:  4 kB\nNode 1 MemFree: 0 kB\n",
            ),
            (
                "sys/devices/system/node/node1/access0/initiators/read_latency",
                "270\n",
            ),
        ]);
        assert_eq!(ids(&mut reader).unwrap(), [0, 1]);
        let node = describe(&mut reader, 1);
        assert!(!node.has_cpu());
        assert_eq!(node.memory_bytes, Some(4096));
        assert_eq!(node.distances, [20, 10]);
        assert_eq!(node.ratings.read_latency_ns, Some(270));
        assert_eq!(node.ratings.write_latency_ns, None);
    }

    #[test]
    fn a_mask_or_links_stand_for_a_list_that_is_not_there() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/devices/system/node/node0/cpumap", "00000001,0000000f\n"),
            ("sys/devices/system/node/node1/cpumap", "00000000,00000000\n"),
            ("sys/devices/system/node/node2/cpu9/online", "1\n"),
            ("sys/devices/system/node/node2/cpu10/online", "1\n"),
            ("sys/devices/system/node/node3/cpulist", "\n"),
            ("sys/devices/system/node/node3/cpu11/online", "0\n"),
        ]);
        let mut cpus = |node: u32| {
            let node = describe(&mut reader, node);
            (node.cpulist, node.has_offline_cpus)
        };
        assert_eq!(cpus(0), ("0-3,32".to_owned(), false));
        assert_eq!(cpus(1), (String::new(), false));
        assert_eq!(cpus(2), ("9-10".to_owned(), false));
        assert_eq!(cpus(3), (String::new(), true));
    }

    #[test]
    fn a_list_that_cannot_be_read_leaves_cpus_unknown() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/devices/system/node/node0/cpulist", "0-\n"),
            ("sys/devices/system/node/node1/cpulist", ""),
            ("sys/devices/system/node/node2/cpulist", "\n"),
            ("sys/devices/system/node/node2/distance", "10 x 20\n"),
        ]);
        let unknown = [0, 1, 2].map(|node| describe(&mut reader, node).cpus_unknown);
        assert_eq!(unknown, [true, true, false]);
        assert!(
            describe(&mut reader, 2).distances.is_empty(),
            "not shifted by one"
        );
        assert_eq!(reader.take_problems().len(), 3);
    }

    #[test]
    fn ratings_of_cpus_win_over_those_of_any_initiator() {
        let (_directory, mut reader) = fake_root::reader(&[
            (
                "sys/devices/system/node/node0/access0/initiators/read_latency",
                "50",
            ),
            (
                "sys/devices/system/node/node0/access1/initiators/read_latency",
                "90",
            ),
        ]);
        assert_eq!(describe(&mut reader, 0).ratings.read_latency_ns, Some(90));
    }

    #[test]
    fn directories_serve_where_the_list_is_missing() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/devices/system/node/node10/vmstat", "a 1\n"),
            ("sys/devices/system/node/node2/vmstat", "a 1\n"),
        ]);
        assert_eq!(ids(&mut reader).unwrap(), [2, 10]);
    }

    #[test]
    fn adjacent_memory_blocks_are_joined() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/devices/system/memory/block_size_bytes", "8000000\n"),
            ("sys/devices/system/node/node1/memory2/state", "online"),
            ("sys/devices/system/node/node1/memory3/state", "online"),
            ("sys/devices/system/node/node1/memory9/state", "online"),
        ]);
        assert_eq!(
            physical_ranges(&mut reader, 1),
            [(0x1000_0000, 0x1000_0000), (0x4800_0000, 0x800_0000)]
        );
    }
}
