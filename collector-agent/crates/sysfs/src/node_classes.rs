//! Which class of memory each node of a host is, from the files that tell.

use std::sync::Arc;

use tierscope_rootfs::Reader;
use tierscope_sample::placement::NodeClasses;

use crate::{classify, cxl, devices, nodes};

/// What the host shows of its nodes, and of what may lie behind them.
pub fn read_facts(reader: &mut Reader) -> classify::Facts {
    let ids = nodes::ids(reader).unwrap_or_default();
    classify::Facts {
        dax: devices::dax(reader),
        regions: cxl::regions(reader),
        windows: devices::cxl_windows(reader),
        nodes: ids.into_iter().map(|id| nodes::describe(reader, id)).collect(),
    }
}

/// Class of the memory of each node, such as `dram`.
pub fn node_classes(reader: &mut Reader, ids: &[u32]) -> NodeClasses {
    let facts = read_facts(reader);
    let class_of = |node: &nodes::Node| {
        let ranges = nodes::physical_ranges(reader, node.id);
        let (class, _) = classify::classify(&facts, node, &ranges);
        (node.id, Arc::from(class.name()))
    };
    let listed = facts.nodes.iter().filter(|node| ids.contains(&node.id));
    listed.map(class_of).collect()
}
