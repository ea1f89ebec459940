//! How much of their time processors wait for memory: the event that a generation documents for it.

use tierscope_perf::pmu::Pmu;
use tierscope_rootfs::{Reader, text};

use super::plan::{Plan, Planned};

/// Most processors that are asked, evenly spread: their share stands for all.
const MAX_CPUS: usize = 32;

/// Intel's server generations, by model of family 6, with the terms of "execution stalls while an L3-missing load is
/// outstanding" (tools/perf/pmu-events in the kernel's source).
const CYCLE_ACTIVITY: &str = "event=0xa3,umask=0x06,cmask=6";
const MEMORY_ACTIVITY: &str = "event=0x47,umask=0x09,cmask=9";
const INTEL: [(u32, &str); 8] = [
    // Skylake-SP, Cascade Lake, Cooper Lake
    (85, CYCLE_ACTIVITY),
    // Ice Lake-SP, Ice Lake-D
    (106, CYCLE_ACTIVITY),
    (108, CYCLE_ACTIVITY),
    // Sapphire Rapids, Emerald Rapids
    (143, MEMORY_ACTIVITY),
    (207, MEMORY_ACTIVITY),
    // Granite Rapids, Granite Rapids-D
    (173, MEMORY_ACTIVITY),
    (174, MEMORY_ACTIVITY),
    // Broadwell-EP
    (79, CYCLE_ACTIVITY),
];
/// Name of Arm's event, where the unit has it.
const ARM_STALLS: &str = "stall_backend_mem";

/// Counters for stalls and for cycles on each processor, or why there are none.
pub(super) fn plan(reader: &mut Reader) -> Plan {
    let root = reader.root().clone();
    let (unit, stalls, cycles) = if let Ok(unit) = Pmu::read(&root, "cpu") {
        let Some(stalls) = intel_event(reader) else {
            return Err("no event for it is documented for this processor".to_owned());
        };
        (unit, stalls, "event=0x3c")
    } else if let Ok(unit) = Pmu::read(&root, "armv8_pmuv3_0") {
        if unit.event(ARM_STALLS).is_none() {
            return Err(format!("this processor has no event `{ARM_STALLS}`"));
        }
        (unit, ARM_STALLS, "cpu_cycles")
    } else {
        return Err("no performance unit of the cores here: a guest without one".to_owned());
    };
    let online = reader
        .value("/sys/devices/system/cpu/online")
        .map_or(Ok(Vec::new()), text::list)
        .unwrap_or_default();
    let step = online.len().div_ceil(MAX_CPUS).max(1);
    let mut plan = Vec::new();
    for cpu in online.into_iter().step_by(step) {
        for (event, name) in [(stalls, "stall_cycles"), (cycles, "cycles")] {
            plan.push(Planned {
                unit: unit.name.clone(),
                event: event.to_owned(),
                cpu,
                key: format!("host|memory_stall|{name}"),
                factor: 1.0,
            });
        }
    }
    if plan.is_empty() {
        return Err("the kernel does not say which processors are online".to_owned());
    }
    Ok(plan)
}

/// The terms of the event for an Intel processor; `None` for others.
fn intel_event(reader: &mut Reader) -> Option<&'static str> {
    let (mut vendor, mut family, mut model) = (String::new(), None, None);
    let path = reader.root().join("/proc/cpuinfo");
    reader
        .each_line(&path, 64 << 10, |line| {
            let Some((name, value)) = line.split_once(':') else {
                return;
            };
            let value = value.trim();
            match name.trim() {
                "vendor_id" if vendor.is_empty() => value.clone_into(&mut vendor),
                "cpu family" if family.is_none() => family = value.parse::<u32>().ok(),
                "model" if model.is_none() => model = value.parse::<u32>().ok(),
                _ => {}
            }
        })
        .ok()?;
    let model = model.filter(|_| vendor == "GenuineIntel" && family == Some(6))?;
    let (_, event) = INTEL.iter().find(|(own, _)| *own == model)?;
    Some(event)
}
