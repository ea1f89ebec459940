//! What is known of a host's memory devices, and what a class of memory is.

use crate::cxl::Region;
use crate::devices::Dax;
use crate::dimms::Dimms;
use crate::gpus::Gpus;
use crate::nodes::Node;

/// Class of a node's memory, as the contract names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// High-bandwidth memory.
    Hbm,
    /// Ordinary memory, local to some CPU.
    Dram,
    /// Memory behind CXL.
    Cxl,
    /// Persistent memory used as memory.
    Pmem,
    /// Memory of a GPU that the kernel shows as a node.
    Gpu,
    /// Nothing tells.
    Unknown,
}

impl Class {
    /// The name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hbm => "hbm",
            Self::Dram => "dram",
            Self::Cxl => "cxl",
            Self::Pmem => "pmem",
            Self::Gpu => "gpu",
            Self::Unknown => "unknown",
        }
    }
}

/// How sure a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// A device or the kernel names it.
    Certain,
    /// Ratings of firmware or a known pattern fit it.
    Likely,
    /// Nothing tells.
    NotKnown,
}

impl Certainty {
    /// The name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::NotKnown => "not_known",
        }
    }
}

/// Memory of another class within a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its class.
    pub class: Class,
    /// Its size in bytes.
    pub bytes: u64,
    /// What tells it.
    pub evidence: String,
}

/// What is known of the host's memory devices.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// dax devices.
    pub dax: Vec<Dax>,
    /// CXL regions.
    pub regions: Vec<Region>,
    /// CXL windows of the firmware, as (start, length).
    pub windows: Vec<(u64, u64)>,
    /// The host's nodes.
    pub nodes: Vec<Node>,
    /// GPUs.
    pub gpus: Gpus,
    /// Memory modules as firmware lists them.
    pub dimms: Dimms,
    /// Model of the processors, "" where unknown.
    pub cpu_model: String,
    /// What keeps the kernel from running all processors, such as `nr_cpus=1`; `None` where nothing does.
    pub cpu_limit: Option<String>,
    /// The kind of virtual machine that this is, such as `kvm-guest`; `None` where it is none or nothing tells.
    pub guest: Option<&'static str>,
    /// Whether all NVDIMMs are DRAM that a battery keeps (NVDIMM-N).
    pub nvdimms_are_dram: bool,
    /// Memory that the command line calls special purpose (`efi_fake_mem=`), as (start, length).
    pub special_by_command: Vec<(u64, u64)>,
    /// Whether a CXL memory device is there.
    pub has_cxl: bool,
}

impl Facts {
    pub(super) fn with_cpus(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.has_cpu())
    }
}

pub(super) type Told = (Class, Certainty, String);

/// Where a region lies, as (start, length).
pub(super) fn extent(region: &Region) -> Option<(u64, u64)> {
    region.resource.zip(region.size_bytes)
}

/// Bytes that two stretches of memory share.
pub(super) fn overlap((start, length): (u64, u64), (other_start, other_length): (u64, u64)) -> u64 {
    let end = start
        .saturating_add(length)
        .min(other_start.saturating_add(other_length));
    end.saturating_sub(start.max(other_start))
}
