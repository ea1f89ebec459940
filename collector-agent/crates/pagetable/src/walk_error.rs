//! Why page tables cannot be walked.

use crate::bpf::btf::BtfError;
use crate::process::Unmeasured;

/// Where the kernel describes its types.
pub(crate) const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

/// Why page tables cannot be walked here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The layout of page tables is known for one architecture alone.
    #[error("page tables are walked on x86-64 only; use another heat source here")]
    Architecture,
    /// A recording has no page tables.
    #[error("page tables are those of the running host; there are none in a recording")]
    Recording,
    /// The kernel does not describe its types.
    #[error("{KERNEL_BTF} cannot be read ({reason}): use a kernel with CONFIG_DEBUG_INFO_BTF")]
    NoBtf {
        /// Why.
        reason: String,
    },
    /// The description is not understood.
    #[error("{KERNEL_BTF} is not understood: {0}")]
    Btf(#[from] BtfError),
    /// The kernel lacks something.
    #[error("the kernel has no `{missing}`: this source needs Linux 6.2 or later")]
    Lacks {
        /// A function or a member of a structure.
        missing: &'static str,
    },
    /// The kernel refuses a step.
    #[error(
        "{step} was refused: {reason}; run with CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN, on a kernel that is not \
         locked down for confidentiality"
    )]
    Refused {
        /// What was tried.
        step: &'static str,
        /// The error, and the kernel's explanation where it gives one.
        reason: String,
    },
    /// Known pages of this process were not found where the kernel says they are.
    #[error(
        "the tables of this process do not lead to its pages: the process may be in a namespace of process ids of its \
         own (run it in that of the host), or the kernel keeps its tables in an unknown way"
    )]
    NotFound,
    /// The numbers of page frames are needed once, to find the tables.
    #[error("{0}; run with CAP_SYS_ADMIN")]
    NoFrames(&'static str),
    /// The walk does not show the touches of this process.
    #[error(
        "accessed bits do not follow accesses: {wrong_pages} of {pages} pages are wrong; use another heat source"
    )]
    NotFollowing {
        /// Pages that were tried.
        pages: usize,
        /// Pages whose bit was wrong.
        wrong_pages: usize,
    },
    /// A file of this process cannot be used.
    #[error(transparent)]
    Process(#[from] Unmeasured),
}
