//! `/sys/devices/virtual/memory_tiering`: the kernel's memory tiers.

use tierscope_rootfs::{Missing, Reader};

/// Directory of the tiers.
pub const TIERS: &str = "/sys/devices/virtual/memory_tiering";

/// A memory tier. A smaller number is faster; numbers are abstract distances and mean nothing across hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// The number in `memory_tierN`.
    pub number: u32,
    /// Its nodes, ascending.
    pub nodes: Vec<u32>,
}

/// All tiers, fastest first; a tier whose nodes cannot be told is left out, and its file is a problem. Ordered by number: as text, `memory_tier22` would come before `memory_tier4`.
pub fn read(reader: &mut Reader) -> Result<Vec<Tier>, Missing> {
    let mut tiers = Vec::new();
    for name in reader.list(TIERS)? {
        let Some(number) = name
            .strip_prefix("memory_tier")
            .and_then(|number| number.parse().ok())
        else {
            continue;
        };
        let nodes = reader.list_value(&format!("{TIERS}/{name}/nodelist"));
        tiers.extend(nodes.map(|nodes| Tier { number, nodes }));
    }
    tiers.sort_unstable_by_key(|tier| tier.number);
    Ok(tiers)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn tiers_are_ordered_by_number_and_not_as_text() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/devices/virtual/memory_tiering/memory_tier22/nodelist", "2\n"),
            (
                "sys/devices/virtual/memory_tiering/memory_tier4/nodelist",
                "0-1\n",
            ),
            ("sys/devices/virtual/memory_tiering/uevent", ""),
        ]);
        let tiers = read(&mut reader).unwrap();
        assert_eq!(
            tiers,
            [
                Tier {
                    number: 4,
                    nodes: vec![0, 1]
                },
                Tier {
                    number: 22,
                    nodes: vec![2]
                }
            ]
        );
    }

    #[test]
    fn a_list_that_cannot_be_read_is_no_empty_tier() {
        let (_directory, mut reader) = fake_root::reader(&[
            (
                "sys/devices/virtual/memory_tiering/memory_tier4/nodelist",
                "0-1\n",
            ),
            ("sys/devices/virtual/memory_tiering/memory_tier22/nodelist", ""),
            (
                "sys/devices/virtual/memory_tiering/memory_tier30/nodelist",
                "3-\n",
            ),
            ("sys/devices/virtual/memory_tiering/memory_tier90/nodelist", "\n"),
        ]);
        let tiers = read(&mut reader).unwrap();
        assert_eq!(tiers.iter().map(|tier| tier.number).collect::<Vec<_>>(), [4, 90]);
        assert_eq!(reader.take_problems().len(), 2);
    }

    #[test]
    fn a_kernel_without_tiers_says_so() {
        let (_directory, mut reader) = fake_root::reader(&[]);
        assert_eq!(read(&mut reader), Err(Missing::Absent));
    }
}
