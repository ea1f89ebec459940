//! What a host is: the agent-side twin of `Inventory` in the contract. Absent is `None`.

pub mod page_size;

use serde::{Deserialize, Serialize};

/// Description of a host, sent on change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    /// 0 where a recording does not tell.
    pub page_size_bytes: u32,
    pub huge_page_bytes: Option<i64>,
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
    pub kubernetes_labels: Vec<(String, String)>,
    pub kubernetes_labels_partial: bool,
    pub labels_complete: bool,
    pub interval_seconds: u32,
    pub cxl_devices: Vec<CxlDevice>,
    pub rdma_devices: Vec<String>,
    pub running_as_uid: u64,
    pub benches: Vec<NodeBench>,
    pub unmovable: Vec<Unmovable>,
    pub hypervisor: String,
    pub pods: Option<PodList>,
    pub tier_order: String,
    pub tree: String,
    /// What could not be understood of the files that this was made from. It stays on the host; a finding tells of it.
    pub problems: Vec<FileProblem>,
}

/// A file of the kernel that could not be understood, or that may not be whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileProblem {
    /// Without the root.
    pub path: String,
    /// In words.
    pub reason: String,
    /// Whether a value was read from it all the same, which may be another one than the host's.
    pub has_value: bool,
}

impl Inventory {
    /// Files that gave no value though they are there, and on which nodes and tiers stand.
    pub fn topology_problems(&self) -> impl Iterator<Item = &FileProblem> {
        const TOPOLOGY: [&str; 2] = [
            "/sys/devices/virtual/memory_tiering/",
            "/sys/devices/system/node/",
        ];
        let names = ["/nodelist", "/online", "/cpulist", "/meminfo"];
        self.problems.iter().filter(move |problem| {
            let path = &problem.path;
            let is_topology = TOPOLOGY.iter().any(|beginning| path.starts_with(beginning));
            is_topology && !problem.has_value && names.iter().any(|name| path.ends_with(name))
        })
    }

    /// The NUMA node with this id.
    pub fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }
}

/// Memory of a node that no tier move can take away.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Unmovable {
    pub node: u32,
    pub hugetlb_bytes: Option<i64>,
    pub mlocked_bytes: Option<i64>,
    pub pinned_pages: Option<i64>,
}

/// What `tierscope-agent bench` measured from the processors of one node to the memory of another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct NodeBench {
    pub measured_wall_ns: i64,
    pub cpu_node: u32,
    pub memory_node: u32,
    pub figures: Vec<BenchFigure>,
    pub loaded: Vec<LoadedPoint>,
    pub method: String,
    pub buffer_bytes: i64,
    pub huge_page_bytes: Option<i64>,
    pub skipped: Vec<BenchSkip>,
}

/// A figure that was not measured, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct BenchSkip {
    pub name: String,
    pub reason: String,
}

/// One figure of a bench: median and spread of its repetitions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct BenchFigure {
    pub name: String,
    pub unit: String,
    pub threads: u32,
    pub block_bytes: u32,
    pub pattern: String,
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
    pub repetitions: u32,
    pub disturbed: bool,
}

/// A point of the loaded-latency curve.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "see the contract")]
pub struct LoadedPoint {
    pub bandwidth_bytes_per_s: f64,
    pub latency_ns: f64,
    pub threads: u32,
    pub write_ratio: f64,
    pub utilisation_ratio: f64,
    pub latency_p10_ns: f64,
    pub latency_p90_ns: f64,
    pub repetitions: u32,
    pub disturbed: bool,
}

/// One NUMA node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    pub tier_certainty: String,
    pub parts: Vec<NodePart>,
}

/// Memory of another class within a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct NodePart {
    pub tier_class: String,
    pub bytes: i64,
    pub evidence: String,
}

/// One kernel memory tier; rank 0 is the fastest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Tier {
    pub kernel_number: u32,
    pub rank: u32,
    pub nodes: Vec<u32>,
}

/// A kernel setting as it stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Knob {
    pub path: String,
    pub value: Option<String>,
    pub unavailable: Option<String>,
}

/// A collector, on or off, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Collector {
    pub name: String,
    pub active: bool,
    pub reason: String,
    pub enable_hint: String,
    pub granularity: String,
    pub privilege: String,
    pub sees: String,
    pub cost: String,
    pub capabilities: Vec<String>,
}

/// A service found on the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct SwapDevice {
    pub name: String,
    pub kind: String,
    pub size_bytes: i64,
    pub used_bytes: i64,
    pub priority: i32,
    pub zoned: String,
    pub discard: Option<bool>,
    pub rotational: Option<bool>,
}

/// Pods of a node of a Kubernetes cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct PodList {
    pub pods: Vec<Pod>,
    pub left_out: u32,
    pub unavailable: String,
}

/// A pod; "" where something is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Pod {
    pub uid: String,
    pub namespace: String,
    pub name: String,
    pub owner_kind: String,
    pub owner: String,
    pub owner_source: String,
    pub service_namespace: String,
    pub service: String,
    pub labels: Vec<(String, String)>,
    pub labels_known: bool,
}

/// Something wrong or noteworthy, with cause and fix.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct Finding {
    pub id: String,
    pub severity: String,
    pub cause: String,
    pub fix: String,
    pub confidence: String,
}

/// A CXL memory device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "see the contract")]
pub struct CxlDevice {
    pub name: String,
    pub ram_bytes: Option<i64>,
    pub numa_node: Option<i32>,
    pub serial: String,
    pub pci_address: String,
    pub firmware_version: String,
    pub link_decigigatransfers: Option<u32>,
    pub link_width: Option<u32>,
    pub max_link_decigigatransfers: Option<u32>,
    pub max_link_width: Option<u32>,
    pub aer_correctable: Option<u64>,
    pub aer_nonfatal: Option<u64>,
    pub aer_fatal: Option<u64>,
}
