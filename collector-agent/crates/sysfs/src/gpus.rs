//! GPUs, as far as their memory may be a NUMA node of the host.

use std::collections::BTreeSet;

use tierscope_rootfs::Reader;

const NVIDIA: &str = "/proc/driver/nvidia/gpus";
const PCI_DRIVERS: &str = "/sys/bus/pci/drivers";
/// Drivers of GPUs. `nvgrace_gpu_vfio_pci` passes a Grace GPU with its memory on to a guest.
const DRIVERS: [&str; 5] = ["nvidia", "nvgrace_gpu_vfio_pci", "amdgpu", "xe", "i915"];
/// Those that follow the mappings of programs (MMU notifiers), so that a GPU works on their memory.
const FOLLOWERS: [&str; 2] = ["amdgpu", "nvidia"];

/// GPUs of a host; empty where it has none, or shows none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gpus {
    /// Nodes that are memory of a GPU, as its driver says.
    pub memory_nodes: BTreeSet<u32>,
    /// Nodes on which GPUs hang.
    pub near_nodes: BTreeSet<u32>,
    /// Whether one of them is driven by NVIDIA's driver.
    pub has_nvidia: bool,
    /// Drivers that follow the mappings of programs.
    pub followers: BTreeSet<&'static str>,
}

/// Asks drivers of GPUs.
pub fn read(reader: &mut Reader) -> Gpus {
    let mut gpus = Gpus::default();
    for gpu in reader.list(NVIDIA).unwrap_or_default() {
        gpus.has_nvidia = true;
        gpus.followers.insert("nvidia");
        let _absent = reader.parse(&format!("{NVIDIA}/{gpu}/numa_status"), |status| {
            let lines = status.lines().filter_map(|line| line.split_once(':'));
            let node = lines
                .filter(|(name, _)| name.trim() == "Node")
                .find_map(|(_, value)| value.trim().parse::<u32>().ok());
            gpus.memory_nodes.extend(node);
            Ok(())
        });
    }
    for driver in DRIVERS {
        let names = reader
            .list(&format!("{PCI_DRIVERS}/{driver}"))
            .unwrap_or_default();
        for address in names.iter().filter(|name| name.contains(':')) {
            gpus.has_nvidia |= driver.starts_with("nv");
            gpus.followers
                .extend(FOLLOWERS.iter().find(|follower| **follower == driver));
            let node = reader.number(&format!("/sys/bus/pci/devices/{address}/numa_node"));
            // -1 where firmware names none.
            gpus.near_nodes
                .extend(node.and_then(|node| u32::try_from(node).ok()));
        }
    }
    gpus
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn the_driver_names_the_node_of_its_memory_and_pci_the_one_beside_it() {
        let (_directory, mut reader) = fake_root::reader(&[
            (
                "proc/driver/nvidia/gpus/0009:01:00.0/numa_status",
                "Node:           1\nStatus:         online\n",
            ),
            ("proc/driver/nvidia/gpus/0019:01:00.0/information", "Model: x\n"),
            ("sys/bus/pci/drivers/amdgpu/0000:c1:00.0/enable", "1\n"),
            ("sys/bus/pci/drivers/amdgpu/bind", ""),
            ("sys/bus/pci/devices/0000:c1:00.0/numa_node", "2\n"),
        ]);
        let expected = Gpus {
            memory_nodes: BTreeSet::from([1]),
            near_nodes: BTreeSet::from([2]),
            has_nvidia: true,
            followers: BTreeSet::from(["amdgpu", "nvidia"]),
        };
        assert_eq!(read(&mut reader), expected);
    }

    #[test]
    fn a_host_without_gpus_has_none() {
        let (_directory, mut reader) = fake_root::reader(&[]);
        assert_eq!(read(&mut reader), Gpus::default());
    }
}
