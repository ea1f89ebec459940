//! Devices that bear on memory: dax devices, swap block devices, network cards that read memory by themselves, CXL
//! windows of firmware.

use tierscope_rootfs::Reader;

use crate::cxl::unsigned;

/// A dax device. `target_node` is the NUMA node that its memory becomes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dax {
    /// Such as `dax0.0`.
    pub name: String,
    /// Node that the memory becomes.
    pub target_node: Option<u32>,
    /// Physical start in bytes.
    pub resource: Option<u64>,
    /// Length in bytes.
    pub size_bytes: Option<u64>,
    /// Where the device hangs, as the bus link says; `None` in a recording without links.
    pub device_path: Option<String>,
    /// `kmem` where the memory is the kernel's, `device_dax` where programs map it themselves; `None` where no driver
    /// has it, or in a recording without links.
    pub driver: Option<String>,
}

/// Dax devices by name.
pub fn dax(reader: &mut Reader) -> Vec<Dax> {
    const BUS: &str = "/sys/bus/dax/devices";
    let names = reader.list(BUS).unwrap_or_default();
    names
        .into_iter()
        .map(|name| Dax {
            // -1 is said of a device whose memory has no node of its own.
            target_node: number_of(reader, &format!("{BUS}/{name}/target_node"), |text| {
                text.parse::<i64>().ok()
            })
            .and_then(|node| u32::try_from(node).ok()),
            resource: number_of(reader, &format!("{BUS}/{name}/resource"), unsigned),
            size_bytes: number_of(reader, &format!("{BUS}/{name}/size"), unsigned),
            device_path: reader
                .link(&format!("{BUS}/{name}"))
                .ok()
                .map(|path| path.to_string_lossy().into_owned()),
            driver: reader
                .link(&format!("{BUS}/{name}/driver"))
                .ok()
                .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
            name,
        })
        .collect()
}

/// Whether there are NVDIMMs, and all of them are DRAM that a battery keeps until it is saved to flash: the code of their
/// interface is "byte-addressable, energy backed" (ACPI, NFIT control region; `drivers/acpi/nfit/nfit.h`).
pub fn nvdimms_are_dram(reader: &mut Reader) -> bool {
    const BUS: &str = "/sys/bus/nd/devices";
    const ENERGY_BACKED: u64 = 0x0101;
    let names = reader.list(BUS).unwrap_or_default();
    let formats: Vec<Option<u64>> = names
        .iter()
        .filter(|name| name.starts_with("nmem"))
        .map(|name| number_of(reader, &format!("{BUS}/{name}/nfit/format"), unsigned))
        .collect();
    !formats.is_empty() && formats.iter().all(|format| *format == Some(ENERGY_BACKED))
}

/// Whether persistent memory is a disk here (`/dev/pmemN`), for files.
pub fn has_pmem_disk(reader: &Reader) -> bool {
    let names = reader.list("/sys/block").unwrap_or_default();
    names.iter().any(|name| name.starts_with("pmem"))
}

/// Network devices that move memory without processors, a confounder of before-and-after comparisons: RDMA devices by
/// name, and `smc` where the kernel has SMC-R loaded (TCP sockets that use RDMA unasked).
pub fn rdma(reader: &Reader) -> Vec<String> {
    let mut names = reader.list("/sys/class/infiniband").unwrap_or_default();
    let smc = ["/sys/module/smc", "/proc/sys/net/smc"];
    if smc.iter().any(|path| reader.root().join(path).exists()) {
        names.push("smc".to_owned());
    }
    names
}

/// What a block device says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockDevice {
    /// `none`, `host-aware`, `host-managed`, or "" where unknown.
    pub zoned: String,
    /// Whether it takes discards.
    pub discard: Option<bool>,
    /// Whether it is a disk that turns.
    pub rotational: Option<bool>,
}

/// The kernel's name of a block device from its path: `zram0` of `/dev/zram0`, and of Android's `/dev/block/zram0`. None of
/// another path.
pub fn block_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix("/dev/")?.trim_start_matches("block/");
    (!name.contains('/')).then_some(name)
}

/// Describes the block device of a swap partition, such as `/dev/vda2`; nothing is known of other names. A partition has
/// the queue of its disk.
pub fn block_device(reader: &mut Reader, device: &str) -> BlockDevice {
    let Some(name) = block_name(device) else {
        return BlockDevice::default();
    };
    let mut value = |file: &str| {
        let own = format!("/sys/class/block/{name}/queue/{file}");
        let disk = format!("/sys/class/block/{name}/../queue/{file}");
        [own, disk]
            .iter()
            .find_map(|path| reader.value(path).ok().map(str::to_owned))
    };
    BlockDevice {
        zoned: value("zoned").unwrap_or_default(),
        discard: value("discard_max_bytes").and_then(|bytes| Some(bytes.parse::<u64>().ok()? > 0)),
        rotational: value("rotational").and_then(|flag| match flag.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }),
    }
}

/// Windows of physical memory that firmware reserves for CXL, as (start, length): the CFMWS entries of the CEDT table.
/// Empty where the table is absent or may not be read (root only).
pub fn cxl_windows(reader: &Reader) -> Vec<(u64, u64)> {
    let path = reader.root().join("/sys/firmware/acpi/tables/CEDT");
    tierscope_rootfs::read_plain(&path)
        .map(|table| parse_cedt(&table))
        .unwrap_or_default()
}

/// Length of the header that every ACPI table has.
const ACPI_HEADER_BYTES: usize = 36;
/// Type of a "CXL fixed memory window structure" in a CEDT.
const CFMWS: u8 = 1;

fn parse_cedt(table: &[u8]) -> Vec<(u64, u64)> {
    let mut windows = Vec::new();
    let mut rest = table.get(ACPI_HEADER_BYTES..).unwrap_or_default();
    while let [kind, _, length_low, length_high, ..] = *rest {
        let length = usize::from(u16::from_le_bytes([length_low, length_high]));
        if length < 4 || length > rest.len() {
            break;
        }
        if kind == CFMWS {
            windows.extend(u64_at(rest, 8).zip(u64_at(rest, 16)));
        }
        rest = &rest[length..];
    }
    windows
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let field = bytes.get(offset..offset + 8)?;
    Some(u64::from_le_bytes(field.try_into().ok()?))
}

fn number_of<T>(reader: &mut Reader, path: &str, parser: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    reader.parsed(path, "not the number that the kernel prints here", parser)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn nvdimms_are_dram_where_all_of_them_say_so() {
        let are_dram = |formats: &[&str]| {
            let files: Vec<(String, &str)> = (0..)
                .zip(formats)
                .map(|(number, format)| (format!("sys/bus/nd/devices/nmem{number}/nfit/format"), *format))
                .collect();
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            nvdimms_are_dram(&mut fake_root::reader(&files).1)
        };
        assert!(are_dram(&["0x0101\n", "0x0101\n"]));
        assert!(!are_dram(&["0x0101\n", "0x0301\n"]));
        assert!(!are_dram(&[]));
    }

    #[test]
    fn a_dax_device_says_which_node_it_feeds_and_which_driver_has_it() {
        let (directory, mut reader) = fake_root::reader(&[
            ("sys/bus/dax/devices/dax0.0/target_node", "1\n"),
            ("sys/bus/dax/devices/dax0.0/size", "1073741824\n"),
            ("sys/bus/dax/drivers/kmem/new_id", ""),
        ]);
        let driver = directory.path().join("sys/bus/dax/devices/dax0.0/driver");
        std::os::unix::fs::symlink("../../../bus/dax/drivers/kmem", driver).unwrap();
        let dax = dax(&mut reader);
        assert_eq!((dax[0].target_node, dax[0].size_bytes), (Some(1), Some(1 << 30)));
        assert_eq!(dax[0].driver.as_deref(), Some("kmem"));
    }

    #[test]
    fn a_partition_has_the_queue_of_its_disk() {
        let (directory, mut reader) = fake_root::reader(&[
            ("sys/devices/block/vda/queue/zoned", "host-managed\n"),
            ("sys/devices/block/vda/queue/discard_max_bytes", "0\n"),
            ("sys/devices/block/vda/queue/rotational", "1\n"),
            ("sys/devices/block/vda/vda2/partition", "2\n"),
            ("sys/class/block/other", ""),
        ]);
        let link = directory.path().join("sys/class/block/vda2");
        std::os::unix::fs::symlink("../../devices/block/vda/vda2", link).unwrap();
        let expected = BlockDevice {
            zoned: "host-managed".into(),
            discard: Some(false),
            rotational: Some(true),
        };
        assert_eq!(block_device(&mut reader, "/dev/vda2"), expected);
        assert_eq!(
            block_device(&mut reader, "/home/ann/swap"),
            BlockDevice::default()
        );
    }

    #[test]
    fn rdma_and_smc_are_named() {
        let (_directory, reader) = fake_root::reader(&[
            ("sys/class/infiniband/mlx5_0/node_guid", "0\n"),
            ("sys/module/smc/refcnt", "1\n"),
        ]);
        assert_eq!(rdma(&reader), ["mlx5_0", "smc"]);
    }

    #[test]
    fn cxl_windows_are_found_in_the_firmware_table() {
        let mut table = vec![0_u8; ACPI_HEADER_BYTES];
        table.extend([0, 0, 32, 0]);
        table.extend([0; 28]);
        table.extend([CFMWS, 0, 24, 0, 0, 0, 0, 0]);
        table.extend(0x1_0000_0000_u64.to_le_bytes());
        table.extend(0x4000_0000_u64.to_le_bytes());
        assert_eq!(parse_cedt(&table), [(0x1_0000_0000, 0x4000_0000)]);
        assert_eq!(parse_cedt(&table[..50]), []);
        assert_eq!(parse_cedt(&[0; 10]), []);
    }
}
