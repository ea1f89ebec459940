//! Which memory tier a page is in, for back ends that see page frames.

use std::sync::Arc;

use tierscope_pagetable::placement::Placement;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::page_group::TierIndex;
use tierscope_sysfs::node_classes::node_classes;
use tierscope_sysfs::nodes;

use crate::backend::HeatSettings;

/// The tiers of one host, named by class of memory.
pub(crate) struct Tiers {
    labels: Vec<Arc<str>>,
    /// `None` where one tier holds all memory.
    reader: Option<Reader>,
}

impl Tiers {
    /// Reads which classes of memory there are. A class that comes later is in no known tier.
    pub(crate) fn read(root: &Root, settings: &HeatSettings) -> Self {
        if let Some(only) = &settings.tier {
            return Self {
                labels: vec![Arc::clone(only)],
                reader: None,
            };
        }
        let mut reader = Reader::new(root.clone());
        let ids = nodes::ids(&mut reader).unwrap_or_default();
        let mut labels: Vec<Arc<str>> = node_classes(&mut reader, &ids).into_values().collect();
        labels.sort_unstable();
        labels.dedup();
        Self {
            labels,
            reader: Some(reader),
        }
    }

    /// Labels that a [`TierIndex`] points to.
    pub(crate) fn labels(&self) -> &[Arc<str>] {
        &self.labels
    }

    /// Where memory lies now. Memory may be plugged in and out.
    pub(crate) fn placement(&mut self) -> Placement {
        let Some(reader) = &mut self.reader else {
            return Placement::only(Some(TierIndex(0)));
        };
        let ids = nodes::ids(reader).unwrap_or_default();
        let mut ranges = Vec::new();
        for (node, class) in node_classes(reader, &ids) {
            let Ok(index) = self.labels.binary_search(&class) else {
                continue;
            };
            let tier = TierIndex(index as u8);
            let of_node = nodes::physical_ranges(reader, node);
            ranges.extend(of_node.into_iter().map(|(start, bytes)| (start, bytes, tier)));
        }
        Placement::of_ranges(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    fn settings(tier: Option<&str>) -> HeatSettings {
        HeatSettings {
            interval_ns: 1,
            rss_limit_bytes: 1,
            tier: tier.map(Arc::from),
            epoch_seed: 1,
            sampling: crate::backend::SamplingSettings::default(),
        }
    }

    #[test]
    fn the_only_tier_holds_all_frames() {
        let root = FakeRoot::new();
        let mut tiers = Tiers::read(&root.root(), &settings(Some("dram")));
        assert_eq!(tiers.labels(), [Arc::from("dram")]);
        assert_eq!(tiers.placement().tier_of(None), Some(TierIndex(0)));
    }

    #[test]
    fn frames_belong_to_the_class_of_their_node() {
        let root = FakeRoot::new();
        root.write("sys/devices/system/memory/block_size_bytes", "8000000\n");
        for (node, cpus) in [(0, "0-3\n"), (1, "\n")] {
            let directory = format!("sys/devices/system/node/node{node}");
            root.write(&format!("{directory}/cpulist"), cpus);
            root.write(
                &format!("{directory}/meminfo"),
                &format!("Node {node} MemTotal: 131072 kB\n"),
            );
            root.write(&format!("{directory}/memory{node}/state"), "online\n");
        }
        root.write("sys/devices/system/node/online", "0-1\n");
        let mut tiers = Tiers::read(&root.root(), &settings(None));
        let placement = tiers.placement();
        let labels: Vec<&str> = tiers.labels().iter().map(AsRef::as_ref).collect();
        assert_eq!(labels, ["dram", "unknown"]);
        let block_pages = 0x800_0000 / 4096;
        let tier_of = |pfn| {
            placement
                .tier_of(Some(pfn))
                .map(|tier| labels[usize::from(tier.0)])
        };
        assert_eq!(tier_of(block_pages - 1), Some("dram"));
        assert_eq!(tier_of(block_pages), Some("unknown"));
        assert_eq!(tier_of(2 * block_pages), None);
    }
}
