//! Where the host's memory lies in physical addresses.

use std::ops::Range;

use crate::plan::merged;

/// The ranges of system memory in `/proc/iomem`, sorted. Empty where the kernel hides addresses (without root, all are
/// shown as zero).
pub fn system_ram(iomem: &str) -> Vec<Range<u64>> {
    let ranges = iomem.lines().filter_map(|line| {
        // What lies inside of other ranges is indented.
        let (range, name) = line.split_once(" : ")?;
        let (start, end) = range.split_once('-')?;
        let address = |text| u64::from_str_radix(text, 16).ok();
        let (start, last) = (address(start)?, address(end)?);
        (name == "System RAM" && last > start).then_some(start..last.saturating_add(1))
    });
    merged(&ranges.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ranges_of_memory_count() {
        let iomem = "00000000-00000fff : Reserved\n00001000-0009fbff : System RAM\n00100000-bfffffff : System RAM\n  \
                     01000000-01a00d70 : Kernel code\n100000000-63fffffff : System RAM\n";
        assert_eq!(
            system_ram(iomem),
            [
                0x1000..0x9_fc00,
                0x10_0000..0xc000_0000,
                0x1_0000_0000..0x6_4000_0000
            ]
        );
        assert!(system_ram("00000000-00000000 : System RAM\n").is_empty());
    }
}
