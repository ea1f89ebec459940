//! Hotness monitoring units of CXL devices (CHMU, CXL 3.2), as the posted perf driver lays them out: one unit of events for
//! each instance, `cxl_hmu_memX.Y.Z` with X the memory device, Y the monitoring unit and Z the instance within it. The driver
//! is not in mainline.

use tierscope_rootfs::Reader;

const UNITS: &str = "/sys/bus/event_source/devices";
const BEGINNING: &str = "cxl_hmu_";

/// One instance of a monitoring unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instance {
    /// As the kernel names it: `cxl_hmu_mem0.0.1`.
    pub name: String,
    /// The memory device that counts: `mem0`.
    pub device: String,
}

/// All instances by name; none where the host has no such device or no driver for it.
pub fn instances(reader: &Reader) -> Vec<Instance> {
    let names = reader.list(UNITS).unwrap_or_default();
    names.into_iter().filter_map(|name| parse(&name)).collect()
}

fn parse(name: &str) -> Option<Instance> {
    let mut parts = name.strip_prefix(BEGINNING)?.split('.');
    let device = parts.next()?;
    let number = device.strip_prefix("mem")?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let [_unit, _instance]: [u32; 2] = [parts.next()?.parse().ok()?, parts.next()?.parse().ok()?];
    (is_number && parts.next().is_none()).then(|| Instance {
        name: name.to_owned(),
        device: device.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn instances_are_told_by_their_names_and_other_units_are_none() {
        let base = "sys/bus/event_source/devices";
        let names = [
            "cpu",
            "cxl_pmu_mem0.0",
            "cxl_hmu_mem0.0.0",
            "cxl_hmu_mem12.1.3",
            "cxl_hmu_mem.0.0",
            "cxl_hmu_mem0.0",
            "cxl_hmu_mem0.0.0.0",
        ];
        let files = names.map(|name| format!("{base}/{name}/type"));
        let files: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), "30\n")).collect();
        let (_directory, reader) = fake_root::reader(&files);
        let found = instances(&reader);
        let places: Vec<_> = found
            .iter()
            .map(|found| (found.device.as_str(), found.name.as_str()))
            .collect();
        assert_eq!(
            places,
            [("mem0", "cxl_hmu_mem0.0.0"), ("mem12", "cxl_hmu_mem12.1.3")]
        );
        let (_directory, reader) = fake_root::reader(&[]);
        assert_eq!(instances(&reader), []);
    }
}
