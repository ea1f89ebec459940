//! Data streaming accelerators (DSA): engines that copy memory in place of processors.
//!
//! Source: Documentation/ABI/stable/sysfs-driver-dma-idxd of Linux.

use serde::{Deserialize, Serialize};
use tierscope_rootfs::Reader;

const DEVICES: &str = "/sys/bus/dsa/devices";

/// One engine, as its driver shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyEngine {
    /// `dsa0`.
    pub name: String,
    /// Node that it is near; `None` where the kernel knows of none.
    pub node: Option<u32>,
    /// Whether somebody has set it up.
    pub is_enabled: bool,
    /// Work queues that programs can submit to: enabled, and of type `user`.
    pub user_queues: Vec<String>,
}

/// The engines by name; `None` where the kernel has no driver for them loaded, which says nothing of the hardware.
pub fn find(reader: &mut Reader) -> Option<Vec<CopyEngine>> {
    let names = reader.list(DEVICES).ok()?;
    // Other accelerators are on the same bus.
    let engines = names
        .iter()
        .filter_map(|name| Some((name, numbered(name, "dsa")?.parse::<u32>().ok()?)));
    let found = engines.map(|(name, number)| CopyEngine {
        name: name.clone(),
        node: reader
            .number(&format!("{DEVICES}/{name}/numa_node"))
            .and_then(|node| u32::try_from(node).ok()),
        is_enabled: says(reader, name, "state", "enabled"),
        user_queues: names
            .iter()
            .filter(|queue| numbered(queue, &format!("wq{number}.")).is_some())
            .filter(|queue| says(reader, queue, "state", "enabled") && says(reader, queue, "type", "user"))
            .cloned()
            .collect(),
    });
    Some(found.collect())
}

fn numbered<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.strip_prefix(prefix)
        .filter(|number| number.parse::<u32>().is_ok())
}

fn says(reader: &mut Reader, device: &str, file: &str, word: &str) -> bool {
    reader
        .value(&format!("{DEVICES}/{device}/{file}"))
        .is_ok_and(|value| value == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn engines_are_told_with_their_node_and_the_queues_that_programs_can_use() {
        let files = [
            ("sys/bus/dsa/devices/dsa0/numa_node", "1"),
            ("sys/bus/dsa/devices/dsa0/state", "enabled"),
            ("sys/bus/dsa/devices/dsa1/numa_node", "-1"),
            ("sys/bus/dsa/devices/dsa1/state", "disabled"),
            ("sys/bus/dsa/devices/iax2/state", "enabled"),
            ("sys/bus/dsa/devices/wq0.0/state", "enabled"),
            ("sys/bus/dsa/devices/wq0.0/type", "user"),
            ("sys/bus/dsa/devices/wq0.1/state", "enabled"),
            ("sys/bus/dsa/devices/wq0.1/type", "kernel"),
            ("sys/bus/dsa/devices/wq0.2/state", "disabled"),
            ("sys/bus/dsa/devices/wq0.2/type", "user"),
            ("sys/bus/dsa/devices/wq10.0/state", "enabled"),
            ("sys/bus/dsa/devices/wq10.0/type", "user"),
            ("sys/bus/dsa/devices/engine0.0/group_id", "0"),
        ];
        let (_root, mut reader) = fake_root::reader(&files);
        let engine = |name: &str, node, is_enabled, queues: &[&str]| CopyEngine {
            name: name.to_owned(),
            node,
            is_enabled,
            user_queues: queues.iter().map(|&queue| queue.to_owned()).collect(),
        };
        assert_eq!(
            find(&mut reader),
            Some(vec![
                engine("dsa0", Some(1), true, &["wq0.0"]),
                engine("dsa1", None, false, &[])
            ])
        );
    }

    #[test]
    fn a_kernel_without_the_driver_says_nothing_of_the_hardware() {
        assert_eq!(find(&mut fake_root::reader(&[]).1), None);
        let (_root, mut others) = fake_root::reader(&[("sys/bus/dsa/devices/iax0/state", "enabled\n")]);
        assert_eq!(find(&mut others), Some(Vec::new()));
    }
}
