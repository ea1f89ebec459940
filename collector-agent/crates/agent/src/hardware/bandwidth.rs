//! Which units of the host count bytes between processors and memory.

use std::collections::BTreeMap;

use tierscope_perf::pmu::{self, Pmu};
use tierscope_rootfs::{Reader, text};
use tierscope_sysfs::nodes;

use super::plan::{Plan, Planned};

/// Bytes of a cache line, which one command, request or message moves.
const LINE_BYTES: f64 = 64.0;
const MIB_BYTES: f64 = 1_048_576.0;

/// Names that kernels give to the commands of memory controllers: one, or one per sub-channel.
const CAS_READ: [&str; 4] = [
    "cas_count_read",
    "cas_count_read_sch0",
    "cas_count_read_sch1",
    "data_read",
];
const CAS_WRITE: [&str; 4] = [
    "cas_count_write",
    "cas_count_write_sch0",
    "cas_count_write_sch1",
    "data_write",
];
/// AMD's memory controllers have no named events: commands for reads and for writes.
const UMC_READ: &str = "event=0x0a,rdwrmask=1";
const UMC_WRITE: &str = "event=0x0a,rdwrmask=2";
/// Messages from a host to a CXL device that read or write a line.
const CXL_READ: [&str; 2] = ["m2s_req_memrd", "m2s_req_memrddata"];
const CXL_WRITE: [&str; 2] = ["m2s_rwd_memwr", "m2s_rwd_memwrptl"];
/// Requests that the mesh of Arm servers sends to memory controllers, reads and writes together.
const MESH_REQUESTS: &str = "hnf_mc_reqs";

/// Counters of all units that are known, or why there are none.
pub(super) fn plan(reader: &mut Reader) -> Plan {
    let root = reader.root().clone();
    let nodes = node_of_cpus(reader);
    let mut plan = Vec::new();
    let names = pmu::names(&root);
    let has_plain = names.iter().any(|name| is_controller(name));
    for name in names {
        // Counters that always run are of the same controllers as those that can be set.
        let is_free_running = name.starts_with("uncore_imc_free_running") && !has_plain;
        let is_known = is_controller(&name)
            || is_free_running
            || ["amd_umc", "cxl_pmu_mem", "arm_cmn"]
                .iter()
                .any(|beginning| name.starts_with(beginning));
        if !is_known {
            continue;
        }
        let unit = Pmu::read(&root, &name).map_err(|error| error.to_string())?;
        plan.extend(plan_unit(&unit, &nodes));
    }
    if plan.is_empty() {
        return Err(
            "no unit that counts bytes at memory: another processor, a guest, or a module that is not loaded"
                .to_owned(),
        );
    }
    Ok(plan)
}

/// `uncore_imc_0`, and `uncore_imc` of processors with one.
fn is_controller(name: &str) -> bool {
    let rest = name.strip_prefix("uncore_imc");
    rest.is_some_and(|rest| {
        rest.is_empty()
            || rest
                .strip_prefix('_')
                .is_some_and(|number| number.parse::<u32>().is_ok())
    })
}

fn node_of_cpus(reader: &mut Reader) -> BTreeMap<u32, u32> {
    let mut of_cpus = BTreeMap::new();
    for node in nodes::ids(reader).unwrap_or_default() {
        let cpus = nodes::describe(reader, node).cpulist;
        of_cpus.extend(
            text::list(&cpus)
                .unwrap_or_default()
                .into_iter()
                .map(|cpu| (cpu, node)),
        );
    }
    of_cpus
}

/// Names of values, with the events that add to each and what one count adds.
type Roles = Vec<(&'static str, Vec<(String, f64)>)>;

/// Those of these events that a unit has, with their bytes per count.
fn named(unit: &Pmu, names: &[&str]) -> Vec<(String, f64)> {
    let there = names.iter().filter_map(|name| {
        let event = unit.event(name)?;
        let bytes = match (event.scale, event.unit.as_deref()) {
            (Some(scale), Some("MiB")) => scale * MIB_BYTES,
            (Some(scale), Some("Bytes" | "bytes")) => scale,
            _ => LINE_BYTES,
        };
        Some(((*name).to_owned(), bytes))
    });
    there.collect()
}

fn roles(unit: &Pmu) -> Roles {
    if unit.name.starts_with("amd_umc") {
        return vec![
            ("read_bytes", vec![(UMC_READ.to_owned(), LINE_BYTES)]),
            ("write_bytes", vec![(UMC_WRITE.to_owned(), LINE_BYTES)]),
        ];
    }
    if unit.name.starts_with("arm_cmn") {
        let requests = unit.event(MESH_REQUESTS).map(|_| (MESH_REQUESTS.to_owned(), 1.0));
        return vec![("requests", requests.into_iter().collect())];
    }
    let (reads, writes) = if is_cxl(unit) {
        (&CXL_READ[..], &CXL_WRITE[..])
    } else {
        (&CAS_READ[..], &CAS_WRITE[..])
    };
    vec![
        ("read_bytes", named(unit, reads)),
        ("write_bytes", named(unit, writes)),
    ]
}

fn is_cxl(unit: &Pmu) -> bool {
    unit.name.starts_with("cxl_pmu_mem")
}

fn plan_unit(unit: &Pmu, nodes: &BTreeMap<u32, u32>) -> Vec<Planned> {
    let mut plan = Vec::new();
    for cpu in &unit.cpus {
        let node = nodes.get(cpu).copied().unwrap_or(0);
        for (name, events) in roles(unit) {
            let key = if is_cxl(unit) {
                format!("host|cxl_pmu|{name}[{}]", unit.name)
            } else {
                format!("node:{node}|uncore|{name}")
            };
            plan.extend(events.into_iter().map(|(event, factor)| Planned {
                unit: unit.name.clone(),
                event,
                cpu: *cpu,
                key: key.clone(),
                factor,
            }));
        }
    }
    plan
}
