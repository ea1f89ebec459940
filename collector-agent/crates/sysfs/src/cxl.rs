//! `/sys/bus/cxl`: memory devices with the state of their link, and regions of physical memory served by them.

use std::path::{Component, Path, PathBuf};

use tierscope_rootfs::{Reader, text};

use crate::nodes::{self, Ratings};

const BUS: &str = "/sys/bus/cxl/devices";
const PCI: &str = "/sys/bus/pci/devices";

const NO_VALUE: &str = "not the number that the kernel prints here";

/// A CXL memory device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// Such as `mem0`.
    pub name: String,
    /// Volatile capacity in bytes.
    pub ram_bytes: Option<i64>,
    /// Persistent capacity in bytes.
    pub pmem_bytes: Option<i64>,
    /// Node near the card (not the node of its memory); `None` where firmware gives none.
    pub numa_node: Option<i32>,
    /// Serial number as printed.
    pub serial: String,
    /// Firmware of the device as it names it.
    pub firmware_version: String,
    /// The PCI function that it is; `None` in a recording without links.
    pub pci: Option<Pci>,
}

/// A PCI function with its link and its errors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pci {
    /// Such as `0000:35:00.0`.
    pub address: String,
    /// The link as it runs.
    pub current: Link,
    /// The best that the device can do.
    pub max: Link,
    /// The best that the port above it can do.
    pub port_max: Link,
    /// Errors since boot, as advanced error reporting counts them.
    pub errors: Errors,
}

/// Speed and width of a PCI Express link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Link {
    /// Tenths of a GT/s.
    pub decigigatransfers: Option<u32>,
    /// Lanes.
    pub width: Option<u32>,
}

/// Totals of advanced error reporting since boot; `None` where the device or the kernel does not report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Errors {
    /// Corrected by the link itself.
    pub correctable: Option<u64>,
    /// A transaction was lost.
    pub nonfatal: Option<u64>,
    /// The link was lost.
    pub fatal: Option<u64>,
}

/// A CXL region: a stretch of physical memory served by CXL devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Region {
    /// Such as `region0`.
    pub name: String,
    /// Physical start in bytes.
    pub resource: Option<u64>,
    /// Length in bytes.
    pub size_bytes: Option<u64>,
    /// `ram`, `pmem`, or that of dynamic capacity (`dc`, `dynamic_ram_a`), which the fabric gives and takes; "" where the kernel
    /// prints none.
    pub mode: String,
    /// Whether its decoders are programmed.
    pub committed: Option<bool>,
    /// Devices that it is spread over.
    pub interleave_ways: Option<u32>,
    /// Bytes on one device before the next one follows.
    pub interleave_granularity_bytes: Option<u32>,
    /// Endpoint decoders that serve it.
    pub targets: Vec<String>,
    /// What the devices on the way say of it (CDAT), as HMAT does of nodes.
    pub ratings: Ratings,
}

impl Region {
    /// Whether all of it is memory that is there: not persistent, and not given by the fabric piece by piece.
    pub fn is_whole_memory(&self) -> bool {
        matches!(self.mode.as_str(), "" | "ram")
    }
}

/// PCI functions that are CXL memory by their class (0502) and that no driver has taken; empty where no function of a tree
/// shows its driver.
pub fn undriven(reader: &mut Reader) -> Vec<String> {
    let mut functions = reader.list(PCI).unwrap_or_default();
    let all = functions.len();
    functions.retain(|address| reader.link(&format!("{PCI}/{address}/driver")).is_err());
    if functions.len() == all {
        return Vec::new();
    }
    functions.retain(|address| {
        let class = reader.value(&format!("{PCI}/{address}/class"));
        class.is_ok_and(|class| class.starts_with("0x0502"))
    });
    functions
}

/// Whether a CXL memory device is there, with a driver or without.
pub fn has_memory(reader: &mut Reader) -> bool {
    let names = reader.list(BUS).unwrap_or_default();
    names.iter().any(|name| numbered(name, "mem")) || !undriven(reader).is_empty()
}

/// CXL memory devices by name.
pub fn memory(reader: &mut Reader) -> Vec<Memory> {
    let names = reader.list(BUS).unwrap_or_default();
    let devices = names.into_iter().filter(|name| numbered(name, "mem"));
    devices
        .map(|name| Memory {
            ram_bytes: bytes_of(reader, &name, "ram/size"),
            pmem_bytes: bytes_of(reader, &name, "pmem/size"),
            numa_node: number_of(reader, &name, "numa_node").filter(|node| *node >= 0),
            serial: text_of(reader, &name, "serial").unwrap_or_default(),
            firmware_version: text_of(reader, &name, "firmware_version").unwrap_or_default(),
            pci: pci_parent(reader, &name).map(|path| pci(reader, &path)),
            name,
        })
        .collect()
}

/// CXL regions by name.
pub fn regions(reader: &mut Reader) -> Vec<Region> {
    let names = reader.list(BUS).unwrap_or_default();
    let regions = names.into_iter().filter(|name| numbered(name, "region"));
    regions
        .map(|name| Region {
            resource: parsed_of(reader, &name, "resource", unsigned),
            size_bytes: parsed_of(reader, &name, "size", unsigned),
            mode: text_of(reader, &name, "mode").unwrap_or_default(),
            committed: parsed_of(reader, &name, "commit", flag),
            interleave_ways: number_of(reader, &name, "interleave_ways"),
            interleave_granularity_bytes: number_of(reader, &name, "interleave_granularity"),
            targets: targets(reader, &name),
            ratings: nodes::ratings_at(reader, &format!("{BUS}/{name}"), ""),
            name,
        })
        .collect()
}

fn targets(reader: &mut Reader, region: &str) -> Vec<String> {
    let files = reader.list(&format!("{BUS}/{region}")).unwrap_or_default();
    let files = files.into_iter().filter(|file| numbered(file, "target"));
    files.filter_map(|file| text_of(reader, region, &file)).collect()
}

/// The directory of the PCI function that a memory device hangs under, without the root.
fn pci_parent(reader: &Reader, device: &str) -> Option<String> {
    let link = reader.link(&format!("{BUS}/{device}")).ok()?;
    let place = resolve(Path::new(BUS), &link);
    let function = place.ancestors().skip(1).find(|path| is_pci_function(path))?;
    Some(function.to_string_lossy().into_owned())
}

/// A relative link of sysfs as a path from the root. The kernel's links stay within sysfs.
fn resolve(directory: &Path, link: &Path) -> PathBuf {
    let mut place = PathBuf::from(directory);
    for component in link.components() {
        match component {
            Component::ParentDir => {
                place.pop();
            }
            Component::Normal(name) => place.push(name),
            Component::RootDir => place = PathBuf::from("/"),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    place
}

/// Whether the last part of a path is a PCI address: `domain:bus:device.function`.
fn is_pci_function(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let is_hex = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.matches(':').count() == 2 && parts.len() == 4 && parts.iter().all(is_hex)
}

fn pci(reader: &mut Reader, directory: &str) -> Pci {
    let port = Path::new(directory).parent().filter(|path| is_pci_function(path));
    let port_max = port.map(|path| link(reader, &path.to_string_lossy(), "max"));
    Pci {
        address: directory.rsplit('/').next().unwrap_or_default().to_owned(),
        current: link(reader, directory, "current"),
        max: link(reader, directory, "max"),
        port_max: port_max.unwrap_or_default(),
        errors: Errors {
            correctable: total(reader, directory, "aer_dev_correctable", "TOTAL_ERR_COR"),
            nonfatal: total(reader, directory, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
            fatal: total(reader, directory, "aer_dev_fatal", "TOTAL_ERR_FATAL"),
        },
    }
}

fn link(reader: &mut Reader, directory: &str, which: &str) -> Link {
    Link {
        decigigatransfers: reader
            .parsed(
                &format!("{directory}/{which}_link_speed"),
                "no speed of a link",
                |text| match text.split(' ').next() {
                    Some("Unknown") => Some(None),
                    _ => decigigatransfers(text).map(Some),
                },
            )
            .flatten(),
        width: reader
            .parsed(
                &format!("{directory}/{which}_link_width"),
                "no width of a link",
                |text| text.parse().ok(),
            )
            // 0 is said of a link that is down or not of this kind.
            .filter(|width| *width > 0),
    }
}

/// `32.0 GT/s PCIe` is 320.
fn decigigatransfers(speed: &str) -> Option<u32> {
    let (whole, tenths) = speed.split(' ').next()?.split_once('.')?;
    let tenths: u32 = tenths.get(..1)?.parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(10)?.checked_add(tenths)
}

fn total(reader: &mut Reader, directory: &str, file: &str, name: &str) -> Option<u64> {
    let mut sum = None;
    let lines = reader.parse(&format!("{directory}/{file}"), |lines| {
        text::name_values(lines, |own, value| {
            if own == name {
                sum = u64::try_from(value).ok();
            }
        })
    });
    lines.ok().and(sum)
}

/// A switch of sysfs.
fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn parsed_of<T>(
    reader: &mut Reader,
    device: &str,
    file: &str,
    parser: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    reader.parsed(&format!("{BUS}/{device}/{file}"), NO_VALUE, parser)
}

fn number_of<T: std::str::FromStr>(reader: &mut Reader, device: &str, file: &str) -> Option<T> {
    parsed_of(reader, device, file, |text| text.parse().ok())
}

fn text_of(reader: &mut Reader, device: &str, file: &str) -> Option<String> {
    let text = reader.value(&format!("{BUS}/{device}/{file}")).ok()?;
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn bytes_of(reader: &mut Reader, device: &str, file: &str) -> Option<i64> {
    parsed_of(reader, device, file, |text| i64::try_from(unsigned(text)?).ok())
}

fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A number of sysfs, with `0x` or without.
pub(crate) fn unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
