//! Which memory tier a page is in: by its page frame, or by the node that the kernel names for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tierscope_pagetable::nodes_of_pages::nodes_of_pages;
use tierscope_pagetable::placement::Placement;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::page_group::{PageState, TierIndex};
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
        Placement::of_ranges(ranges, reader.root().page_bytes())
    }

    /// Looks up the tiers of those pages of a process that have none yet: of pages whose frames the kernel hides. Pages
    /// of which it tells no node either stay without.
    pub(crate) fn look_up(&mut self, pid: u32, pages: &mut [PageState]) {
        let Some(reader) = &mut self.reader else { return };
        let lacking = pages.iter().filter(|page| page.tier.is_none());
        let addresses: Vec<u64> = lacking.map(|page| page.address).collect();
        if addresses.is_empty() || !reader.root().is_live() {
            return;
        }
        let Ok(nodes) = nodes_of_pages(pid, &addresses) else {
            return;
        };
        let ids = nodes::ids(reader).unwrap_or_default();
        let classes = node_classes(reader, &ids);
        place_by_nodes(pages, &nodes, &self.labels, &classes);
    }
}

/// Gives pages without a tier that of their node: `nodes` are those of the pages that lack one, in order.
fn place_by_nodes(
    pages: &mut [PageState],
    nodes: &[Option<u32>],
    labels: &[Arc<str>],
    classes: &BTreeMap<u32, Arc<str>>,
) {
    let lacking = pages.iter_mut().filter(|page| page.tier.is_none());
    for (page, node) in lacking.zip(nodes) {
        let class = node.and_then(|node| classes.get(&node));
        let place = class.and_then(|class| labels.binary_search(class).ok());
        page.tier = place.map(|index| TierIndex(index as u8));
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
    fn pages_without_a_frame_belong_to_the_class_of_the_node_that_the_kernel_names() {
        let size = tierscope_sample::page_group::PageSize::Small4K;
        let page = |address: u64, tier: Option<u8>| PageState {
            address,
            size,
            anon: true,
            tier: tier.map(TierIndex),
            active: true,
            loads: 1,
            stores: 0,
        };
        let labels = ["cxl", "dram"].map(Arc::from);
        let classes = BTreeMap::from([
            (0, Arc::from("dram")),
            (2, Arc::from("cxl")),
            (3, Arc::from("hbm")),
        ]);
        let mut pages = [
            page(0, None),
            page(1, Some(1)),
            page(2, None),
            page(3, None),
            page(4, None),
        ];
        place_by_nodes(&mut pages, &[Some(2), Some(0), Some(3), None], &labels, &classes);
        let tiers = pages.map(|page| page.tier.map(|tier| tier.0));
        assert_eq!(
            tiers,
            [Some(0), Some(1), Some(1), None, None],
            "a class that came later has no label"
        );
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
