//! Memory modules as firmware lists them: structures of type 17 ("memory device") of SMBIOS, which root may read.

use tierscope_rootfs::Reader;

const ENTRIES: &str = "/sys/firmware/dmi/entries";
/// Offsets within a memory device (DMTF DSP0134, 7.18).
const SIZE: usize = 0x0c;
const MEMORY_TYPE: usize = 0x12;
const EXTENDED_SIZE: usize = 0x1c;
/// A size that stands in the extended field, and one that is not known.
const EXTENDED: u16 = 0x7fff;
const NOT_KNOWN: u16 = 0xffff;
/// The bit of a size in KiB; without it, it is in MiB.
const IN_KIB: u16 = 0x8000;
/// "Logical non-volatile device": persistent memory.
const NON_VOLATILE: u8 = 0x1f;
/// Types HBM, HBM2 and HBM3 of the same table.
const HBM: [u8; 3] = [0x20, 0x21, 0x24];

/// How many modules there are; zeros where firmware lists none, or only root may look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dimms {
    /// Slots with a module.
    pub populated: usize,
    /// Of those: HBM.
    pub hbm: usize,
    /// Of those: persistent memory.
    pub non_volatile: usize,
    /// Bytes of all others; `None` where one does not say.
    pub volatile_bytes: Option<u64>,
}

impl Dimms {
    /// Whether the host has HBM and no other module.
    pub fn all_hbm(self) -> bool {
        self.populated > 0 && self.hbm == self.populated
    }

    /// The bytes of all modules, where all of them are DRAM and say how large they are.
    pub fn all_dram(self) -> Option<u64> {
        let is_dram = self.populated > 0 && self.hbm == 0 && self.non_volatile == 0;
        self.volatile_bytes.filter(|_| is_dram)
    }

    /// The bytes of DRAM, where something beside it must hold some of so much memory: persistent memory (Optane in Memory
    /// Mode: DRAM is its cache, and nobody sees it), or CXL in one pool with it (Flat Memory Mode); `None` where DRAM can
    /// hold all.
    pub fn dram_below(self, memory_bytes: u64) -> Option<u64> {
        let dram_bytes = self.volatile_bytes.filter(|_| self.populated > 0)?;
        (memory_bytes > dram_bytes).then_some(dram_bytes)
    }
}

/// Counts modules.
pub fn read(reader: &Reader) -> Dimms {
    let mut dimms = Dimms {
        volatile_bytes: Some(0),
        ..Dimms::default()
    };
    let names = reader.list(ENTRIES).unwrap_or_default();
    for name in names.iter().filter(|name| name.starts_with("17-")) {
        let path = reader.root().join(&format!("{ENTRIES}/{name}/raw"));
        let Ok(raw) = tierscope_rootfs::read_plain(&path) else {
            continue;
        };
        // A size of 0 is an empty slot.
        let is_empty = raw.get(SIZE..SIZE + 2).is_none_or(|size| size == [0, 0]);
        let Some(kind) = raw.get(MEMORY_TYPE).filter(|_| !is_empty) else {
            continue;
        };
        dimms.populated += 1;
        dimms.hbm += usize::from(HBM.contains(kind));
        if *kind == NON_VOLATILE {
            dimms.non_volatile += 1;
        } else {
            let sum = dimms.volatile_bytes.zip(size_bytes(&raw));
            dimms.volatile_bytes = sum.and_then(|(sum, bytes)| sum.checked_add(bytes));
        }
    }
    dimms
}

fn size_bytes(raw: &[u8]) -> Option<u64> {
    let size = u16::from_le_bytes([*raw.get(SIZE)?, *raw.get(SIZE + 1)?]);
    match size {
        NOT_KNOWN => None,
        EXTENDED => {
            let mib = raw.get(EXTENDED_SIZE..EXTENDED_SIZE + 4)?;
            Some(u64::from(u32::from_le_bytes(mib.try_into().ok()?)) << 20)
        }
        size if size & IN_KIB != 0 => Some(u64::from(size & !IN_KIB) << 10),
        size => Some(u64::from(size) << 20),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_rootfs::Root;

    #[test]
    fn modules_are_counted_by_type_and_empty_slots_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let module = |entry: &str, size: u8, kind: u8| {
            let mut raw = [0_u8; 0x28];
            (raw[0], raw[SIZE], raw[MEMORY_TYPE]) = (17, size, kind);
            let path = directory.path().join("sys/firmware/dmi/entries").join(entry);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("raw"), raw).unwrap();
        };
        let count = || read(&Reader::new(Root::new(directory.path())));
        assert!(!count().all_hbm());
        module("17-0", 1, 0x24);
        module("17-1", 0, 0x22);
        module("16-0", 1, 0x22);
        assert!(count().all_hbm());
        module("17-2", 1, 0x22);
        module("17-3", 3, 0x1f);
        let expected = Dimms {
            populated: 3,
            hbm: 1,
            non_volatile: 1,
            volatile_bytes: Some(2 << 20),
        };
        assert_eq!(count(), expected);
        assert_eq!(expected.dram_below(3 << 20), Some(2 << 20));
        assert_eq!(expected.dram_below(2 << 20), None, "DRAM holds all of it");
        assert_eq!(expected.all_dram(), None);
        let plain = Dimms {
            hbm: 0,
            non_volatile: 0,
            ..expected
        };
        assert_eq!(plain.all_dram(), Some(2 << 20));
    }
}
