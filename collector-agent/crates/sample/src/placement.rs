//! Where memory lies: bytes by kind of page and class of memory.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What pages are, where placement is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlacedKind {
    /// Anonymous memory.
    Anon,
    /// Page cache of files.
    File,
    /// shmem, memfd, tmpfs.
    Tmpfs,
    /// hugetlb pages, which reclaim never demotes.
    Hugetlb,
}

impl PlacedKind {
    /// The name in counter keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anon => "anon",
            Self::File => "file",
            Self::Tmpfs => "tmpfs",
            Self::Hugetlb => "hugetlb",
        }
    }
}

/// The node of a counter of `memory.numa_stat` such as `anon[N0]`, and the kinds to which its bytes are added (1) or from
/// which they are taken (-1): the kernel counts shared memory and the swap cache among the page cache, here they are
/// apart. `None` for counters that say nothing of placement.
pub fn placed(counter: &str) -> Option<(u32, &'static [(PlacedKind, i64)])> {
    let (base, node) = counter.strip_suffix(']')?.split_once("[N")?;
    let kinds: &[(PlacedKind, i64)] = match base {
        "anon" => &[(PlacedKind::Anon, 1)],
        "file" => &[(PlacedKind::File, 1)],
        "shmem" => &[(PlacedKind::File, -1), (PlacedKind::Tmpfs, 1)],
        "swapcached" => &[(PlacedKind::File, -1)],
        _ => return None,
    };
    Some((node.parse().ok()?, kinds))
}

/// Class of memory (`dram`, `cxl`, ...) by node.
pub type NodeClasses = BTreeMap<u32, Arc<str>>;

/// Whether a host has memory of several classes, so that placement says something.
pub fn has_several_classes(classes: &NodeClasses) -> bool {
    let mut values = classes.values();
    values
        .next()
        .is_some_and(|first| values.any(|class| class != first))
}

/// Bytes by (kind, class).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement(BTreeMap<(PlacedKind, Arc<str>), i64>);

impl Placement {
    /// Adds bytes of a node; those of a node without a class are left out, and `false` says so.
    pub fn add(&mut self, kind: PlacedKind, node: u32, bytes: i64, classes: &NodeClasses) -> bool {
        let Some(class) = classes.get(&node) else {
            return false;
        };
        let sum = self.0.entry((kind, Arc::clone(class))).or_default();
        *sum = sum.saturating_add(bytes);
        true
    }

    /// Bytes by kind and class, in order.
    pub fn iter(&self) -> impl Iterator<Item = (PlacedKind, &str, i64)> {
        self.0
            .iter()
            .map(|((kind, class), bytes)| (*kind, class.as_ref(), *bytes))
    }

    /// The share of a kind that lies on a class, 0 to 1; `None` where there is none of that kind.
    pub fn share(&self, kind: PlacedKind, class: &str) -> Option<f64> {
        let of_kind = || self.iter().filter(|(own, _, _)| *own == kind);
        let total_bytes: i64 = of_kind().map(|(_, _, bytes)| bytes).sum();
        let class_bytes: i64 = of_kind()
            .filter(|(_, own, _)| *own == class)
            .map(|(_, _, bytes)| bytes)
            .sum();
        (total_bytes > 0).then(|| class_bytes as f64 / total_bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes() -> NodeClasses {
        [(0, "dram"), (1, "dram"), (2, "cxl")]
            .map(|(node, class)| (node, Arc::from(class)))
            .into()
    }

    #[test]
    fn nodes_of_one_class_are_one_place() {
        let mut placement = Placement::default();
        for (node, bytes) in [(0, 10), (1, 20), (2, 10)] {
            assert!(placement.add(PlacedKind::Anon, node, bytes, &classes()));
        }
        assert!(
            !placement.add(PlacedKind::Anon, 9, 1, &classes()),
            "a node without a class"
        );
        let seen: Vec<_> = placement.iter().collect();
        assert_eq!(
            seen,
            [(PlacedKind::Anon, "cxl", 10), (PlacedKind::Anon, "dram", 30)]
        );
        assert_eq!(placement.share(PlacedKind::Anon, "cxl"), Some(0.25));
        assert_eq!(placement.share(PlacedKind::File, "cxl"), None);
    }

    #[test]
    fn counters_of_a_node_say_which_kinds_they_change() {
        assert_eq!(placed("anon[N0]"), Some((0, &[(PlacedKind::Anon, 1)][..])));
        let shared = [(PlacedKind::File, -1), (PlacedKind::Tmpfs, 1)];
        assert_eq!(placed("shmem[N12]"), Some((12, &shared[..])));
        assert_eq!(placed("swapcached[N1]"), Some((1, &[(PlacedKind::File, -1)][..])));
        for other in ["anon", "anon[N]", "anon[N0", "slab[N0]", "anon_thp[N0]"] {
            assert_eq!(placed(other), None, "{other}");
        }
    }

    #[test]
    fn one_class_is_no_placement() {
        assert!(has_several_classes(&classes()));
        assert!(!has_several_classes(&[(0, Arc::from("dram"))].into()));
        assert!(!has_several_classes(&NodeClasses::new()));
    }
}
