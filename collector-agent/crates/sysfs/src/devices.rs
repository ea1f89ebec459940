//! Memory devices: CXL memory and regions, dax devices, swap block devices, RDMA.

use tierscope_rootfs::Reader;

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
}

/// A CXL region: a stretch of physical memory served by CXL devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CxlRegion {
    /// Such as `region0`.
    pub name: String,
    /// Physical start in bytes.
    pub resource: Option<u64>,
    /// Length in bytes.
    pub size_bytes: Option<u64>,
}

/// A CXL memory device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CxlMemory {
    /// Such as `mem0`.
    pub name: String,
    /// Volatile capacity in bytes.
    pub ram_bytes: Option<i64>,
    /// Node near the card (not the node of its memory); `None` where firmware gives none.
    pub numa_node: Option<i32>,
    /// Serial number as printed.
    pub serial: String,
}

/// Dax devices by name.
pub fn dax(reader: &mut Reader) -> Vec<Dax> {
    const BUS: &str = "/sys/bus/dax/devices";
    let names = reader.list(BUS).unwrap_or_default();
    names
        .into_iter()
        .map(|name| Dax {
            target_node: text_of(reader, BUS, &name, "target_node").and_then(|text| text.parse().ok()),
            resource: text_of(reader, BUS, &name, "resource").and_then(|text| unsigned(&text)),
            size_bytes: text_of(reader, BUS, &name, "size").and_then(|text| unsigned(&text)),
            device_path: reader
                .link(&format!("{BUS}/{name}"))
                .ok()
                .map(|path| path.to_string_lossy().into_owned()),
            name,
        })
        .collect()
}

/// CXL regions by name.
pub fn cxl_regions(reader: &mut Reader) -> Vec<CxlRegion> {
    const BUS: &str = "/sys/bus/cxl/devices";
    let names = reader.list(BUS).unwrap_or_default();
    names
        .into_iter()
        .filter(|name| numbered(name, "region"))
        .map(|name| CxlRegion {
            resource: text_of(reader, BUS, &name, "resource").and_then(|text| unsigned(&text)),
            size_bytes: text_of(reader, BUS, &name, "size").and_then(|text| unsigned(&text)),
            name,
        })
        .collect()
}

/// CXL memory devices by name.
pub fn cxl_memory(reader: &mut Reader) -> Vec<CxlMemory> {
    const BUS: &str = "/sys/bus/cxl/devices";
    let names = reader.list(BUS).unwrap_or_default();
    names
        .into_iter()
        .filter(|name| numbered(name, "mem"))
        .map(|name| CxlMemory {
            ram_bytes: text_of(reader, BUS, &name, "ram/size")
                .and_then(|text| unsigned(&text))
                .and_then(|bytes| i64::try_from(bytes).ok()),
            numa_node: text_of(reader, BUS, &name, "numa_node")
                .and_then(|text| text.parse().ok())
                .filter(|node| *node >= 0),
            serial: text_of(reader, BUS, &name, "serial").unwrap_or_default(),
            name,
        })
        .collect()
}

/// Names of RDMA devices.
pub fn rdma(reader: &Reader) -> Vec<String> {
    reader.list("/sys/class/infiniband").unwrap_or_default()
}

/// Whether a swap device is a zoned block device: `none`, `host-aware`, `host-managed`, or "" where unknown.
pub fn zoned(reader: &mut Reader, device: &str) -> String {
    let Some(name) = device.strip_prefix("/dev/").filter(|name| !name.contains('/')) else {
        return String::new();
    };
    let value = reader.value(&format!("/sys/class/block/{name}/queue/zoned"));
    value.map(str::to_owned).unwrap_or_default()
}

/// Windows of physical memory that firmware reserves for CXL, as (start, length): the CFMWS entries of the CEDT table.
/// Empty where the table is absent or may not be read (root only).
pub fn cxl_windows(reader: &Reader) -> Vec<(u64, u64)> {
    let path = reader.root().join("/sys/firmware/acpi/tables/CEDT");
    std::fs::read(path)
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

fn text_of(reader: &mut Reader, bus: &str, device: &str, file: &str) -> Option<String> {
    let text = reader.value(&format!("{bus}/{device}/{file}")).ok()?;
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn devices_are_read_and_other_objects_of_the_bus_are_not() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/bus/cxl/devices/region0/resource", "0x5e0000000\n"),
            ("sys/bus/cxl/devices/region0/size", "0x40000000\n"),
            ("sys/bus/cxl/devices/mem0/serial", "0x1234\n"),
            ("sys/bus/cxl/devices/mem0/numa_node", "-1\n"),
            ("sys/bus/cxl/devices/mem0/ram/size", "0x40000000\n"),
            ("sys/bus/cxl/devices/dax_region0/modalias", "cxl:t8\n"),
            ("sys/bus/dax/devices/dax0.0/target_node", "1\n"),
            ("sys/bus/dax/devices/dax0.0/size", "1073741824\n"),
        ]);
        let regions = cxl_regions(&mut reader);
        assert_eq!(regions.len(), 1);
        assert_eq!(regions[0].resource, Some(0x5_e000_0000));
        let memory = cxl_memory(&mut reader);
        assert_eq!((memory[0].ram_bytes, memory[0].numa_node), (Some(1 << 30), None));
        let dax = dax(&mut reader);
        assert_eq!((dax[0].target_node, dax[0].size_bytes), (Some(1), Some(1 << 30)));
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
