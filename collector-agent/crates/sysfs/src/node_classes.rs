//! Which class of memory each node of a host is, from the files that tell.

use std::sync::{Arc, OnceLock};

use tierscope_rootfs::Reader;
use tierscope_sample::placement::NodeClasses;

use crate::classify::evidence::A64FX;
use crate::{classify, cxl, devices, dimms, gpus, guest, nodes};

/// Parameters of the kernel that keep processors from being started, those of a crash kernel among them.
const CPU_LIMITS: [&str; 4] = ["nr_cpus=", "maxcpus=", "nosmp", "elfcorehdr="];

/// What the host shows of its nodes, and of what may lie behind them.
pub fn read_facts(reader: &mut Reader) -> classify::Facts {
    let ids = nodes::ids(reader).unwrap_or_default();
    let package = package(reader);
    classify::Facts {
        dax: devices::dax(reader),
        regions: cxl::regions(reader),
        windows: devices::cxl_windows(reader),
        nodes: ids.into_iter().map(|id| nodes::describe(reader, id)).collect(),
        gpus: gpus::read(reader),
        dimms: package.dimms,
        cpu_model: package.cpu_model,
        cpu_limit: cpu_limit(reader),
        guest: package.guest,
        nvdimms_are_dram: devices::nvdimms_are_dram(reader),
        special_by_command: special_by_command(reader),
        has_cxl: package.has_cxl,
    }
}

/// What does not change while a host runs.
#[derive(Debug, Clone, Default)]
struct Package {
    cpu_model: String,
    dimms: dimms::Dimms,
    guest: Option<&'static str>,
    has_cxl: bool,
}

/// Read once of the running host: some kernels take milliseconds to print the first line of `/proc/cpuinfo`.
fn package(reader: &mut Reader) -> Package {
    static RUNNING: OnceLock<Package> = OnceLock::new();
    let is_live = reader.root().is_live();
    let mut read = || Package {
        cpu_model: cpu_model(reader),
        dimms: dimms::read(reader),
        guest: guest::kind(reader).filter(|kind| kind.ends_with("guest")),
        has_cxl: cxl::has_memory(reader),
    };
    if is_live {
        RUNNING.get_or_init(read).clone()
    } else {
        read()
    }
}

/// Class of the memory of each node, such as `dram`.
pub fn node_classes(reader: &mut Reader, ids: &[u32]) -> NodeClasses {
    let facts = read_facts(reader);
    let class_of = |node: &nodes::Node| {
        let ranges = nodes::physical_ranges(reader, node.id);
        let memory = classify::classify(&facts, node, &ranges);
        (node.id, Arc::from(memory.class.name()))
    };
    let listed = facts.nodes.iter().filter(|node| ids.contains(&node.id));
    listed.map(class_of).collect()
}

const FUJITSU: u64 = 0x46;
const A64FX_PART: u64 = 0x001;

/// Model of the first processor; "" where the architecture does not print one.
fn cpu_model(reader: &mut Reader) -> String {
    // The file repeats itself for each processor, and the model stands in the first lines.
    const ENOUGH_BYTES: u64 = 4 << 10;
    let mut model = String::new();
    let (mut implementer, mut part) = (None, None);
    let path = reader.root().join("/proc/cpuinfo");
    // A host that hides the file has a processor of no known model.
    let _unknown = reader.each_line(&path, ENOUGH_BYTES, |line| {
        let Some((name, value)) = line.split_once(':') else {
            return;
        };
        let value = value.trim();
        match name.trim() {
            "model name" if model.is_empty() => value.clone_into(&mut model),
            "CPU implementer" => implementer = cxl::unsigned(value),
            "CPU part" => part = cxl::unsigned(value),
            _ => {}
        }
    });
    // Processors of arm64 print numbers in place of a model.
    if model.is_empty() && (implementer, part) == (Some(FUJITSU), Some(A64FX_PART)) {
        A64FX.clone_into(&mut model);
    }
    model
}

/// Memory that `efi_fake_mem=nn@ss:aa,...` of the command line calls special purpose (`EFI_MEMORY_SP`), as (start, length):
/// until Linux 6.10, to try out drivers on DRAM.
fn special_by_command(reader: &mut Reader) -> Vec<(u64, u64)> {
    const SPECIAL_PURPOSE: u64 = 0x40000;
    let line = reader.value("/proc/cmdline").unwrap_or_default();
    let lists = line
        .split_ascii_whitespace()
        .filter_map(|word| word.strip_prefix("efi_fake_mem="));
    let range = |text: &str| {
        let (place, attribute) = text.split_once(':')?;
        let (length, start) = place.split_once('@')?;
        let is_special = cxl::unsigned(attribute)? & SPECIAL_PURPOSE != 0;
        is_special.then_some((bytes_of(start)?, bytes_of(length)?))
    };
    lists.flat_map(|list| list.split(',')).filter_map(range).collect()
}

/// A size of the command line: `128G`, `0x2000000000` (`lib/cmdline.c`, `memparse`).
fn bytes_of(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| "KMGTkmgt".contains(letter));
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    cxl::unsigned(digits)?.checked_mul(1 << shift)
}

/// What keeps the kernel from running all processors, such as `nr_cpus=1`; `None` where nothing does.
pub fn cpu_limit(reader: &mut Reader) -> Option<String> {
    let line = reader.value("/proc/cmdline").ok()?;
    let limit = line
        .split_ascii_whitespace()
        .find(|word| CPU_LIMITS.iter().any(|limit| word.starts_with(limit)))?;
    Some(limit.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn special_purpose_memory_of_the_command_line_has_its_place() {
        let of = |line: &str| special_by_command(&mut fake_root::reader(&[("proc/cmdline", line)]).1);
        assert_eq!(
            of("ro efi_fake_mem=2G@0x100000000:0x40000,512M@6G:0x10000 quiet\n"),
            [(4 << 30, 2 << 30)],
            "0x10000 is memory that is more reliable"
        );
        assert_eq!(of("efi_fake_mem=2G:0x40000 efi_fake_mem=x@y:0x40000\n"), []);
    }
}
