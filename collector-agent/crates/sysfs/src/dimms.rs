//! Memory modules as firmware lists them: structures of type 17 ("memory device") of SMBIOS, which root may read.

use tierscope_rootfs::Reader;

const ENTRIES: &str = "/sys/firmware/dmi/entries";
/// Offsets within a memory device (DMTF DSP0134, 7.18).
const SIZE: usize = 0x0c;
const MEMORY_TYPE: usize = 0x12;
/// Types HBM, HBM2 and HBM3 of the same table.
const HBM: [u8; 3] = [0x20, 0x21, 0x24];

/// How many modules there are; zeros where firmware lists none, or only root may look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dimms {
    /// Slots with a module.
    pub populated: usize,
    /// Of those: HBM.
    pub hbm: usize,
}

impl Dimms {
    /// Whether the host has HBM and no other module.
    pub fn all_hbm(self) -> bool {
        self.populated > 0 && self.hbm == self.populated
    }
}

/// Counts modules.
pub fn read(reader: &Reader) -> Dimms {
    let mut dimms = Dimms::default();
    let names = reader.list(ENTRIES).unwrap_or_default();
    for name in names.iter().filter(|name| name.starts_with("17-")) {
        let path = reader.root().join(&format!("{ENTRIES}/{name}/raw"));
        let Ok(raw) = std::fs::read(path) else { continue };
        // A size of 0 is an empty slot.
        let is_empty = raw.get(SIZE..SIZE + 2).is_none_or(|size| size == [0, 0]);
        let Some(kind) = raw.get(MEMORY_TYPE).filter(|_| !is_empty) else {
            continue;
        };
        dimms.populated += 1;
        dimms.hbm += usize::from(HBM.contains(kind));
    }
    dimms
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
        assert_eq!(count(), Dimms { populated: 2, hbm: 1 });
    }
}
