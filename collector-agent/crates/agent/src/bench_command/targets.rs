//! Which processors and which memory there are to measure.

use anyhow::{Result, bail};
use tierscope_membench::{Target, allowed_cpus};
use tierscope_rootfs::{Reader, text};
use tierscope_sysfs::nodes;

/// Pairs of a node with processors and a node with memory, the nearest processors of each memory first. `only` keeps
/// one memory node.
pub(super) fn find(reader: &mut Reader, only: Option<u32>) -> Result<Vec<Target>> {
    let ids = nodes::ids(reader).unwrap_or_default();
    let described: Vec<nodes::Node> = ids.iter().map(|id| nodes::describe(reader, *id)).collect();
    let memory: Vec<(usize, u32, u64)> = (0..)
        .zip(&described)
        .filter(|(_, node)| node.memory_bytes.is_some_and(|bytes| bytes > 0))
        .map(|(place, node)| (place, node.id, available_bytes(reader, node.id)))
        .collect();
    let known: Vec<String> = memory.iter().map(|(_, id, _)| id.to_string()).collect();
    if let Some(only) = only.filter(|only| !memory.iter().any(|(_, id, _)| id == only)) {
        bail!(
            "node {only} has no memory; nodes with memory: {}",
            known.join(", ")
        );
    }
    let mut ranked = Vec::new();
    for node in described.iter().filter(|node| node.has_cpu()) {
        let cpus = cpus(reader, node);
        let cache_bytes = cpus.first().map_or(0, |cpu| cache_bytes(reader, *cpu));
        for (place, memory_node, available_bytes) in &memory {
            let target = Target {
                cpu_node: node.id,
                cpus: cpus.clone(),
                memory_node: *memory_node,
                available_bytes: *available_bytes,
                cache_bytes,
                bind: memory.len() > 1,
            };
            let distance = node.distances.get(*place).copied().unwrap_or(u32::MAX);
            ranked.push((distance, target));
        }
    }
    ranked.retain(|(_, target)| only.is_none_or(|only| target.memory_node == only));
    if ranked.is_empty() {
        bail!("/sys/devices/system/node shows no node with processors, or none with memory");
    }
    ranked.sort_by_key(|(distance, target)| (*distance, target.memory_node, target.cpu_node));
    Ok(ranked.into_iter().map(|(_, target)| target).collect())
}

/// Splits pairs, nearest first, into the nearest one of each memory node and the rest.
pub(super) fn nearest(targets: Vec<Target>) -> (Vec<Target>, Vec<Target>) {
    let mut seen = Vec::new();
    targets.into_iter().partition(|target| {
        let is_first = !seen.contains(&target.memory_node);
        seen.push(target.memory_node);
        is_first
    })
}

/// Processors of a node that this process may use; all of them in a recording.
fn cpus(reader: &Reader, node: &nodes::Node) -> Vec<u32> {
    let listed = text::list(&node.cpulist).unwrap_or_default();
    if reader.root().is_live() {
        allowed_cpus(&listed)
    } else {
        listed
    }
}

/// What is free, and clean page cache that was not used lately: on a host that has run for a while little is free, and
/// the kernel gives up such pages first. `MemAvailable` is told of whole hosts alone.
fn available_bytes(reader: &mut Reader, node: u32) -> u64 {
    let (mut free_bytes, mut inactive_bytes, mut unwritten_bytes) = (0, 0, 0);
    // A node that does not say what is free has nothing free, and is refused for that.
    let _unknown = nodes::meminfo(reader, node, |name, value| match name {
        "MemFree" => free_bytes = value,
        "Inactive(file)" => inactive_bytes = value,
        "Dirty" | "Writeback" => unwritten_bytes += value,
        _ => {}
    });
    u64::try_from(free_bytes + (inactive_bytes - unwritten_bytes).max(0)).unwrap_or(0)
}

/// The largest cache of a processor; 0 where the host does not show its caches.
fn cache_bytes(reader: &mut Reader, cpu: u32) -> u64 {
    let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
    let names = reader.list(&directory).unwrap_or_default();
    let mut size = |name: &String| {
        let size = reader.value(&format!("{directory}/{name}/size")).ok()?;
        let kib: u64 = size.strip_suffix('K')?.parse().ok()?;
        Some(kib << 10)
    };
    names.iter().filter_map(&mut size).max().unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    /// Two sockets and a card of memory near the second one.
    fn host() -> FakeRoot {
        let root = FakeRoot::new();
        root.write("sys/devices/system/node/online", "0-2\n");
        let nodes = [
            (0, "0-1", "10 21 31"),
            (1, "2-3", "21 10 14"),
            (2, "", "31 14 10"),
        ];
        for (id, cpus, distances) in nodes {
            let directory = format!("sys/devices/system/node/node{id}");
            root.write(&format!("{directory}/cpulist"), &format!("{cpus}\n"));
            root.write(&format!("{directory}/distance"), &format!("{distances}\n"));
            let text = format!(
                "Node {id} MemTotal: 16777216 kB\nNode {id} MemFree: {} kB\n",
                1024 * (id + 1)
            );
            root.write(&format!("{directory}/meminfo"), &text);
        }
        for (index, size) in [(0, "48K"), (2, "2048K"), (3, "98304K")] {
            root.write(
                &format!("sys/devices/system/cpu/cpu0/cache/index{index}/size"),
                &format!("{size}\n"),
            );
        }
        root
    }

    #[test]
    fn pairs_are_found_nearest_first_with_their_memory_and_cache() {
        let found = find(&mut Reader::new(host().root()), None).unwrap();
        let pairs: Vec<_> = found
            .iter()
            .map(|target| (target.cpu_node, target.memory_node))
            .collect();
        assert_eq!(pairs, [(0, 0), (1, 1), (1, 2), (1, 0), (0, 1), (0, 2)]);
        assert_eq!(
            (found[0].cpus.as_slice(), found[0].cache_bytes),
            ([0, 1].as_slice(), 96 << 20)
        );
        assert_eq!(
            (found[1].cpus.as_slice(), found[1].cache_bytes),
            ([2, 3].as_slice(), 0)
        );
        assert!(found.iter().all(|target| target.bind));
        assert_eq!(found[2].available_bytes, 3 << 20);
        let (first, rest) = nearest(found);
        assert_eq!((first.len(), rest.len()), (3, 3));
        assert_eq!((first[2].cpu_node, first[2].memory_node), (1, 2));
    }

    #[test]
    fn clean_page_cache_that_is_not_in_use_is_available() {
        let host = host();
        let meminfo = "Node 1 MemTotal: 16777216 kB\nNode 1 MemFree: 1024 kB\nNode 1 Active(file): 9216 kB\n\
                       Node 1 Inactive(file): 8192 kB\nNode 1 Dirty: 2048 kB\nNode 1 Writeback: 1024 kB\n";
        host.write("sys/devices/system/node/node1/meminfo", meminfo);
        let found = find(&mut Reader::new(host.root()), Some(1)).unwrap();
        assert_eq!(found[0].available_bytes, 6 << 20);
    }

    #[test]
    fn one_node_can_be_asked_for_and_must_have_memory() {
        let host = host();
        let mut reader = Reader::new(host.root());
        let found = find(&mut reader, Some(2)).unwrap();
        assert_eq!(
            found.iter().map(|target| target.memory_node).collect::<Vec<_>>(),
            [2, 2]
        );
        let error = find(&mut reader, Some(7)).unwrap_err().to_string();
        assert!(error.contains("node 7") && error.contains("0, 1, 2"), "{error}");
    }

    #[test]
    fn a_host_with_one_node_needs_no_binding_and_one_without_nodes_is_an_error() {
        let root = FakeRoot::new();
        assert!(find(&mut Reader::new(root.root()), None).is_err());
        root.write("sys/devices/system/node/online", "0\n");
        root.write("sys/devices/system/node/node0/cpulist", "0\n");
        root.write("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 8 kB\n");
        let found = find(&mut Reader::new(root.root()), None).unwrap();
        assert_eq!(
            (found.len(), found[0].bind, found[0].available_bytes),
            (1, false, 0)
        );
    }
}
