//! What a host is: the agent-side twin of `Inventory` in the contract. Absent is `None`.

use serde::Serialize;

/// Description of a host, sent on change.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "each field is described in contract/proto/tierscope/v1/inventory.proto"
)]
pub struct Inventory {
    pub hostname: String,
    pub kernel_release: String,
    pub kernel_version: String,
    pub architecture: String,
    pub cpu_model: String,
    pub cpus_online: u32,
    pub page_size_bytes: u32,
    pub dialect: String,
    pub cgroup_version: String,
    pub nodes: Vec<Node>,
    pub tiers: Vec<Tier>,
    pub knobs: Vec<Knob>,
    pub collectors: Vec<Collector>,
    pub services: Vec<Service>,
    pub swaps: Vec<SwapDevice>,
    pub findings: Vec<Finding>,
    pub labels: Vec<(String, String)>,
    pub cxl_devices: Vec<CxlDevice>,
    pub rdma_devices: Vec<String>,
    pub running_as_uid: u64,
}

/// One NUMA node.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Node {
    pub id: u32,
    pub memory_bytes: Option<i64>,
    pub cpulist: String,
    pub tier_class: String,
    pub tier_evidence: String,
    pub distances: Vec<u32>,
    pub read_latency_ns: Option<u32>,
    pub write_latency_ns: Option<u32>,
    pub read_bandwidth_mib_per_s: Option<u32>,
    pub write_bandwidth_mib_per_s: Option<u32>,
}

/// One kernel memory tier; rank 0 is the fastest.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Tier {
    pub kernel_number: u32,
    pub rank: u32,
    pub nodes: Vec<u32>,
}

/// A kernel setting as it stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Knob {
    pub path: String,
    pub value: Option<String>,
    pub unavailable: Option<String>,
}

/// A collector, on or off, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Collector {
    pub name: String,
    pub active: bool,
    pub reason: String,
    pub enable_hint: String,
    pub granularity: String,
    pub privilege: String,
}

/// A service found on the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Service {
    pub namespace: String,
    pub name: String,
    pub rule: String,
    pub processes: u32,
    pub heat_measured: bool,
    pub heat_reason: String,
}

/// A swap device.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct SwapDevice {
    pub name: String,
    pub kind: String,
    pub size_bytes: i64,
    pub used_bytes: i64,
    pub priority: i32,
    pub zoned: String,
}

/// Something wrong or noteworthy, with cause and fix.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Finding {
    pub id: String,
    pub severity: String,
    pub cause: String,
    pub fix: String,
    pub confidence: String,
}

/// A CXL memory device.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct CxlDevice {
    pub name: String,
    pub ram_bytes: Option<i64>,
    pub numa_node: Option<i32>,
    pub serial: String,
}
