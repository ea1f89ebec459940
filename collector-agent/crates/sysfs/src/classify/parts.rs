//! Memory of devices within a node that has CPUs of its own.

use super::evidence;
use super::facts::{Certainty, Class, Facts, Part, Told, extent, overlap};
use crate::nodes::Node;

/// The region in which all of `ranges` lies.
pub(super) fn region_around<'f>(facts: &'f Facts, ranges: &[(u64, u64)]) -> Option<&'f str> {
    let whole: u64 = ranges.iter().map(|range| range.1).sum();
    let inside = |own: (u64, u64)| ranges.iter().map(|range| overlap(*range, own)).sum::<u64>();
    let region = facts
        .regions
        .iter()
        .find(|region| whole > 0 && extent(region).is_some_and(|own| inside(own) == whole))?;
    Some(&region.name)
}

/// Of a node's memory, in percent: what devices brought, from which on the processors have none of their own there.
const WHOLE_PERCENT: u64 = 97;

/// Memory of a node whose processors have none of their own (empty slots): devices of one kind brought all of it.
pub(super) fn whole(node: &Node, parts: &[Part]) -> Option<Told> {
    let first = parts.first()?;
    let bytes = u64::try_from(node.memory_bytes?)
        .ok()
        .filter(|bytes| *bytes > 0)?;
    let brought: u64 = parts.iter().map(|part| part.bytes).sum();
    let is_whole =
        brought >= bytes / 100 * WHOLE_PERCENT && parts.iter().all(|part| part.class == first.class);
    let certainty = match first.class {
        Class::Unknown => Certainty::NotKnown,
        _ => Certainty::Certain,
    };
    is_whole.then(|| (first.class, certainty, first.evidence.clone()))
}

/// Parts that dax devices, CXL regions and CXL windows of firmware brought into a node; none where nothing tells.
pub(super) fn of_devices(facts: &Facts, node: &Node, ranges: &[(u64, u64)]) -> Vec<Part> {
    let most = node.memory_bytes.and_then(|bytes| u64::try_from(bytes).ok());
    let part = |class: Class, bytes: u64, evidence: String| Part {
        class,
        bytes: most.map_or(bytes, |most| bytes.min(most)),
        evidence,
    };
    let feeding: Vec<_> = facts
        .dax
        .iter()
        .filter(|dax| dax.target_node == Some(node.id) && dax.driver.as_deref() == Some("kmem"))
        .collect();
    let mut parts: Vec<Part> = feeding
        .iter()
        .filter_map(|dax| {
            let (class, _, why) = evidence::of_bus(facts, dax)
                .unwrap_or_else(|| evidence::of_unknown_bus(dax, "nothing tells what it is"));
            Some(part(class, dax.size_bytes?, why))
        })
        .filter(|part| part.class != Class::Dram)
        .collect();
    for region in &facts.regions {
        let Some(own) = extent(region) else { continue };
        let by_dax = feeding
            .iter()
            .filter_map(|dax| dax.resource.zip(dax.size_bytes))
            .any(|dax| overlap(dax, own) > 0);
        let bytes: u64 = ranges.iter().map(|range| overlap(*range, own)).sum();
        if bytes > 0 && !by_dax {
            parts.push(part(Class::Cxl, bytes, format!("it lies in CXL {}", region.name)));
        }
    }
    let windowed: u64 = facts
        .windows
        .iter()
        .flat_map(|window| ranges.iter().map(|range| overlap(*range, *window)))
        .sum();
    if parts.is_empty() && windowed > 0 {
        let evidence = "brought online by firmware inside a CXL window (CEDT)".to_owned();
        parts.push(part(Class::Cxl, windowed, evidence));
    }
    parts
}
