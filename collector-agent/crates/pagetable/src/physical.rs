//! What `/proc` says about physical memory: the width of its addresses, its end, and the levels of page tables.

use tierscope_rootfs::{Missing, Reader};

use crate::PAGE_BYTES;
use crate::walk_error::WalkError;

/// What `/proc` says about physical addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PhysicalLayout {
    /// Bits of a physical address.
    pub(crate) address_bits: u32,
    /// The address after the last of memory.
    pub(crate) end_of_memory: u64,
    /// Whether page tables have five levels.
    pub(crate) five_levels: bool,
}

impl PhysicalLayout {
    pub(crate) fn read(reader: &mut Reader) -> Result<Self, WalkError> {
        let unreadable = |missing: Missing| WalkError::Refused {
            step: "reading what is physical memory",
            reason: missing.to_string(),
        };
        let cpuinfo = reader.read("/proc/cpuinfo").map_err(unreadable)?;
        let address_bits =
            address_bits(cpuinfo).ok_or(WalkError::NoFrames("/proc/cpuinfo has no address sizes"))?;
        let five_levels = has_flag(cpuinfo, "la57");
        let iomem = reader.read("/proc/iomem").map_err(unreadable)?;
        let end_of_memory =
            end_of_memory(iomem).ok_or(WalkError::NoFrames("/proc/iomem hides its addresses"))?;
        Ok(Self {
            address_bits,
            end_of_memory,
            five_levels,
        })
    }

    /// Bits of an entry that are a physical address. Those of memory encryption lie above.
    pub(crate) fn address_mask(&self) -> u64 {
        ((1 << self.address_bits) - 1) & !(PAGE_BYTES - 1)
    }
}

/// Bits of a physical address, of the line `address sizes : 48 bits physical, 48 bits virtual`.
fn address_bits(cpuinfo: &str) -> Option<u32> {
    let line = cpuinfo.lines().find(|line| line.starts_with("address sizes"))?;
    let bits: u32 = line
        .split_once(':')?
        .1
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()?;
    (PAGE_BYTES.trailing_zeros()..=52).contains(&bits).then_some(bits)
}

fn has_flag(cpuinfo: &str, flag: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_ascii_whitespace().any(|word| word == flag))
}

/// The address after the last of the lines `100000000-63fffffff : System RAM`. Without privilege all are 0.
fn end_of_memory(iomem: &str) -> Option<u64> {
    let memory = iomem.lines().filter(|line| line.ends_with(" : System RAM"));
    let ends = memory.filter_map(|line| {
        let (_, end) = line.split_once(" :")?.0.trim().split_once('-')?;
        u64::from_str_radix(end, 16).ok()
    });
    ends.max().filter(|end| *end > 0).map(|end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str =
        "processor\t: 0\nflags\t\t: fpu vme la57x pse\naddress sizes\t: 46 bits physical, 48 bits virtual\n";

    #[test]
    fn addresses_and_levels_are_read() {
        assert_eq!(address_bits(CPUINFO), Some(46));
        assert_eq!(address_bits("address sizes : many bits"), None);
        assert_eq!(address_bits("address sizes : 64 bits physical"), None);
        assert!(!has_flag(CPUINFO, "la57") && has_flag(CPUINFO, "pse"));
        let layout = PhysicalLayout {
            address_bits: 46,
            end_of_memory: 0,
            five_levels: false,
        };
        assert_eq!(layout.address_mask(), 0x3fff_ffff_f000);
    }

    #[test]
    fn the_end_of_memory_is_that_of_its_last_part() {
        let iomem = "00001000-0009fbff : System RAM\n100000000-63fffffff : System RAM\n  1000-2000 : Kernel code\n\
                     700000000-7ffffffff : PCI Bus 0000:00\n";
        assert_eq!(end_of_memory(iomem), Some(0x6_4000_0000));
        assert_eq!(end_of_memory("00000000-00000000 : System RAM\n"), None);
        assert_eq!(end_of_memory(""), None);
    }
}
