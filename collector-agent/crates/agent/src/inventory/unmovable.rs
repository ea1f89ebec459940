//! Memory of a node that no tier move can take away: reserved huge pages, locked pages, pinned pages.
//!
//! Figures are rounded down to 16 MiB, because a description of a host travels on change; the exact values are counters
//! of the node.

use tierscope_rootfs::Reader;
use tierscope_sample::inventory::Unmovable;
use tierscope_sysfs::{huge_pages, nodes};

/// Figures are multiples of this.
const STEP_BYTES: i64 = 16 << 20;
/// Of pages whose size is not known.
const STEP_PAGES: i64 = 4096;

fn floor(value: i64, step: i64) -> i64 {
    value - value.rem_euclid(step)
}

/// What a node holds that cannot move.
pub(super) fn describe(reader: &mut Reader, node: u32, page_size_bytes: u32) -> Unmovable {
    let step_pages = match page_size_bytes {
        0 => STEP_PAGES,
        bytes => STEP_BYTES / i64::from(bytes),
    };
    let mut unmovable = Unmovable {
        node,
        hugetlb_bytes: hugetlb_bytes(reader, node),
        ..Unmovable::default()
    };
    // `Unevictable` holds the locked pages and what else reclaim never looks at, such as ramfs. Older kernels count
    // pages that are locked and not yet moved to that list only as `Mlocked`. A node without a meminfo has neither.
    let _unknown = nodes::meminfo(reader, node, |name, value| {
        if matches!(name, "Mlocked" | "Unevictable") {
            unmovable.mlocked_bytes = Some(unmovable.mlocked_bytes.unwrap_or(0).max(value));
        }
    });
    let (mut acquired, mut released) = (None, None);
    let _unknown = nodes::vmstat(reader, node, |name, value| match name {
        "nr_foll_pin_acquired" => acquired = Some(value),
        "nr_foll_pin_released" => released = Some(value),
        _ => {}
    });
    unmovable.mlocked_bytes = unmovable.mlocked_bytes.map(|bytes| floor(bytes, STEP_BYTES));
    // Both are summed over CPUs without a lock, so that the difference may be a little below zero.
    unmovable.pinned_pages = acquired
        .zip(released)
        .map(|(acquired, released)| floor(acquired.saturating_sub(released).max(0), step_pages));
    unmovable
}

/// Bytes of all pools of reserved huge pages, used or not.
fn hugetlb_bytes(reader: &mut Reader, node: u32) -> Option<i64> {
    let mut sum = 0_i64;
    huge_pages::pools(reader, node, |name, pages| {
        let size_kib: Option<i64> = name
            .strip_prefix("nr_hugepages[")
            .and_then(|rest| rest.strip_suffix("kB]")?.parse().ok());
        if let Some(size_kib) = size_kib {
            sum = sum.saturating_add(pages.saturating_mul(size_kib).saturating_mul(1024));
        }
    })
    .ok()?;
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    #[test]
    fn what_cannot_move_is_summed_and_what_is_not_told_is_absent() {
        let root = FakeRoot::new();
        let directory = "sys/devices/system/node/node0";
        root.write(
            &format!("{directory}/hugepages/hugepages-2048kB/nr_hugepages"),
            "3\n",
        );
        root.write(
            &format!("{directory}/hugepages/hugepages-1048576kB/nr_hugepages"),
            "1\n",
        );
        root.write(
            &format!("{directory}/meminfo"),
            "Node 0 Mlocked: 20000 kB\nNode 0 Unevictable: 40000 kB\n",
        );
        root.write(
            &format!("{directory}/vmstat"),
            "nr_foll_pin_acquired 100009\nnr_foll_pin_released 90000\n",
        );
        let mut reader = Reader::new(root.root());
        let expected = Unmovable {
            node: 0,
            hugetlb_bytes: Some((1 << 30) + (6 << 20)),
            mlocked_bytes: Some(32 << 20),
            pinned_pages: Some(8192),
        };
        assert_eq!(describe(&mut reader, 0, 4096), expected);
        let nothing = Unmovable {
            node: 1,
            ..Unmovable::default()
        };
        assert_eq!(describe(&mut reader, 1, 4096), nothing);
        let of_large_pages = describe(&mut reader, 0, 65536).pinned_pages;
        assert_eq!(of_large_pages, Some(10009 / 256 * 256), "steps of as many bytes");
    }
}
