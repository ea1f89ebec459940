//! `/sys/fs/resctrl`: memory bandwidth that processors use, by level-3 cache, where the hardware measures it.
//!
//! The kernel counts bytes per cache and monitoring group. A control group's files hold its monitoring groups too, so
//! the sum over the default group and all control groups is the bandwidth of the whole cache.

use std::collections::BTreeMap;

use tierscope_rootfs::{Missing, Reader, text};

const RESCTRL: &str = "/sys/fs/resctrl";
const NODES: &str = "/sys/devices/system/node";
/// Directories of resctrl that are no control groups.
const NOT_GROUPS: [&str; 3] = ["info", "mon_data", "mon_groups"];
/// Files that are summed, bytes since an arbitrary start.
pub const FILES: [&str; 2] = ["mbm_total_bytes", "mbm_local_bytes"];

/// Where a level-3 cache's bandwidth goes: the node of its processors. Made rarely, because it reads a file per CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheNodes(BTreeMap<u32, u32>);

/// Finds the node of each level-3 cache. A cache that serves processors of several nodes goes to the first of them.
pub fn cache_nodes(reader: &mut Reader, nodes: &[u32]) -> CacheNodes {
    let mut caches = BTreeMap::new();
    for node in nodes {
        let cpus = reader.list_value(&format!("{NODES}/node{node}/cpulist"));
        for cpu in cpus.unwrap_or_default() {
            let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index3");
            if reader.value(&format!("{directory}/level")) != Ok("3") {
                continue;
            }
            let id = reader.parsed(&format!("{directory}/id"), "no number of a cache", |id| {
                id.parse().ok()
            });
            if let Some(id) = id {
                caches.entry(id).or_insert(*node);
            }
        }
    }
    CacheNodes(caches)
}

/// Bytes moved between the level-3 caches of a node's processors and memory, `None` where the hardware had no counter
/// free for some group, so that a sum would be too small.
pub type ByNode = BTreeMap<u32, [Option<i64>; 2]>;

/// Sums [`FILES`] by node. `Absent` where resctrl is not mounted or measures no bandwidth.
pub fn bandwidth(reader: &mut Reader, caches: &CacheNodes) -> Result<ByNode, Missing> {
    let mut groups = vec![String::new()];
    let names = reader.list(RESCTRL)?;
    groups.extend(
        names
            .into_iter()
            .filter(|name| !NOT_GROUPS.contains(&name.as_str())),
    );
    let mut sums = ByNode::new();
    for group in groups {
        let data = format!("{RESCTRL}/{group}/mon_data").replace("//", "/");
        // A plain file beside the groups, such as `schemata`, has no monitoring data.
        let Ok(domains) = reader.list(&data) else { continue };
        for domain in domains {
            for (node, directory) in places(reader, caches, &data, &domain) {
                add(reader, sums.entry(node).or_insert([Some(0); 2]), &directory);
            }
        }
    }
    sums.retain(|_, values| *values != [None; 2]);
    if sums.is_empty() {
        Err(Missing::Absent)
    } else {
        Ok(sums)
    }
}

/// Directories with files of a monitoring domain, with the node each belongs to. With sub-NUMA clusters the domain of a
/// cache holds one directory per node, named by the node.
fn places(reader: &Reader, caches: &CacheNodes, data: &str, domain: &str) -> Vec<(u32, String)> {
    let Some(cache) = domain
        .strip_prefix("mon_L3_")
        .and_then(|id| id.parse::<u32>().ok())
    else {
        return Vec::new();
    };
    let directory = format!("{data}/{domain}");
    let names = reader.list(&directory).unwrap_or_default();
    let parts: Vec<(u32, String)> = names
        .iter()
        .filter_map(|name| {
            let node = name.strip_prefix("mon_sub_L3_")?.parse().ok()?;
            Some((node, format!("{directory}/{name}")))
        })
        .collect();
    if !parts.is_empty() {
        return parts;
    }
    caches
        .0
        .get(&cache)
        .map(|node| (*node, directory))
        .into_iter()
        .collect()
}

fn add(reader: &mut Reader, sums: &mut [Option<i64>; 2], directory: &str) {
    for (sum, file) in sums.iter_mut().zip(FILES) {
        let path = format!("{directory}/{file}");
        let value = reader.parsed(&path, "no count of bytes", |text| match text {
            // Words of the kernel for a counter that it does not have.
            "Unavailable" | "Unassigned" | "Error" => Some(None),
            _ => text::number(text).map(Some),
        });
        let value = value.flatten();
        *sum = sum.zip(value).map(|(sum, value)| sum.saturating_add(value));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root;

    const HOST: &[(&str, &str)] = &[
        ("sys/devices/system/node/node0/cpulist", "0\n"),
        ("sys/devices/system/node/node1/cpulist", "1\n"),
        ("sys/devices/system/node/node2/cpulist", "\n"),
        ("sys/devices/system/cpu/cpu0/cache/index3/level", "3\n"),
        ("sys/devices/system/cpu/cpu0/cache/index3/id", "0\n"),
        ("sys/devices/system/cpu/cpu1/cache/index3/level", "3\n"),
        ("sys/devices/system/cpu/cpu1/cache/index3/id", "1\n"),
        ("sys/fs/resctrl/schemata", "L3:0=fff\n"),
        ("sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "1000\n"),
        ("sys/fs/resctrl/mon_data/mon_L3_00/mbm_local_bytes", "900\n"),
        ("sys/fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "50\n"),
        ("sys/fs/resctrl/mon_data/mon_L3_01/mbm_local_bytes", "40\n"),
        ("sys/fs/resctrl/batch/mon_data/mon_L3_00/mbm_total_bytes", "10\n"),
        (
            "sys/fs/resctrl/batch/mon_data/mon_L3_00/mbm_local_bytes",
            "Unavailable\n",
        ),
        (
            "sys/fs/resctrl/mon_groups/x/mon_data/mon_L3_00/mbm_total_bytes",
            "7\n",
        ),
    ];

    #[test]
    fn control_groups_add_up_and_a_counter_that_is_not_there_leaves_no_sum() {
        let (_directory, mut reader) = fake_root::reader(HOST);
        let caches = cache_nodes(&mut reader, &[0, 1, 2]);
        let sums = bandwidth(&mut reader, &caches).unwrap();
        assert_eq!(
            sums,
            ByNode::from([(0, [Some(1010), None]), (1, [Some(50), Some(40)])])
        );
    }

    #[test]
    fn sub_numa_clusters_name_their_node() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "9\n"),
            (
                "sys/fs/resctrl/mon_data/mon_L3_00/mon_sub_L3_00/mbm_total_bytes",
                "4\n",
            ),
            (
                "sys/fs/resctrl/mon_data/mon_L3_00/mon_sub_L3_00/mbm_local_bytes",
                "3\n",
            ),
            (
                "sys/fs/resctrl/mon_data/mon_L3_00/mon_sub_L3_01/mbm_total_bytes",
                "5\n",
            ),
            (
                "sys/fs/resctrl/mon_data/mon_L3_00/mon_sub_L3_01/mbm_local_bytes",
                "5\n",
            ),
        ]);
        let sums = bandwidth(&mut reader, &CacheNodes::default()).unwrap();
        assert_eq!(
            sums,
            ByNode::from([(0, [Some(4), Some(3)]), (1, [Some(5), Some(5)])])
        );
    }

    #[test]
    fn a_host_that_measures_no_bandwidth_says_so() {
        let (_directory, mut reader) =
            fake_root::reader(&[("sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", "1\n")]);
        assert_eq!(
            bandwidth(&mut reader, &CacheNodes::default()),
            Err(Missing::Absent)
        );
        let (_directory, mut reader) = fake_root::reader(&[]);
        assert_eq!(
            bandwidth(&mut reader, &CacheNodes::default()),
            Err(Missing::Absent)
        );
    }
}
