//! Latency and bandwidth of memory, per node of processors and node of memory, in the manner of MEMO ("Demystifying
//! CXL Memory with Genuine CXL-Ready Systems and Devices", MICRO 2023): idle latency by a pointer chase, latency of
//! flushed loads, of stores with write-back and of non-temporal stores, bandwidth by threads and block size, and
//! latency under load. Bounded in time and in memory; nothing runs unless it is called.
//!
//! `unsafe` is confined to [`buffer`] (memory from the kernel) and to the loops over that memory.

mod bandwidth;
mod buffer;
mod chain;
mod figure;
mod latency;
mod loaded;
mod loops;
mod measure;
mod pages;
mod pin;
mod plan;

pub use loops::Features;
pub use measure::{allowed_cpus, measure};
pub use plan::{Cell, Operation, Pattern, Plan, Request, Step, Target, plan};

/// Bytes of a cache line, the unit of everything that is measured here.
pub const LINE_BYTES: usize = 64;

/// Why a pair of nodes is not measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MembenchError {
    /// A buffer beyond the caches would take too much of the node's available memory.
    #[error(
        "node {node} has {} MiB free or in clean inactive page cache, and a buffer beyond a cache of {} MiB takes {} MiB: \
         a quarter of the former is taken by itself, and half with --memory-mib {}",
        .available_bytes >> 20, .cache_bytes >> 20, .needed_bytes >> 20, .needed_bytes.div_ceil(1 << 20)
    )]
    TooLittleMemory {
        /// The memory node.
        node: u32,
        /// What of its memory is free, or clean inactive page cache.
        available_bytes: u64,
        /// The largest cache of a processor.
        cache_bytes: u64,
        /// Bytes of the buffer.
        needed_bytes: u64,
    },
    /// A buffer of the size that is asked for lies in the caches.
    #[error(
        "{} MiB of buffers lie in a cache of {} MiB: give --memory-mib {} or more",
        .asked_bytes >> 20, .cache_bytes >> 20, .needed_bytes.div_ceil(1 << 20)
    )]
    AskedForTooLittle {
        /// What is asked for.
        asked_bytes: u64,
        /// The largest cache of a processor.
        cache_bytes: u64,
        /// Bytes of a buffer beyond it.
        needed_bytes: u64,
    },
    /// Even the shortest plan takes longer.
    #[error(
        "{pairs} pairs of nodes need at least {needed_seconds} s: give --seconds {needed_seconds}, or one node with --node"
    )]
    TooLittleTime {
        /// Pairs of processors and memory.
        pairs: usize,
        /// The shortest time that is enough.
        needed_seconds: u64,
    },
    /// The process may use no processor of the node.
    #[error("this process may run on no processor of node {0}: widen its cpuset or affinity")]
    NoProcessor(u32),
    /// A thread could not be bound to a processor.
    #[error("a thread cannot be bound to processor {cpu}: {cause}")]
    NotPinned {
        /// The processor.
        cpu: u32,
        /// The kernel's reason.
        cause: String,
    },
    /// The kernel gave no memory.
    #[error("{bytes} bytes of memory are refused: {cause}")]
    NotMapped {
        /// Bytes asked for.
        bytes: usize,
        /// The kernel's reason.
        cause: String,
    },
    /// The memory could not be bound to the node.
    #[error(
        "memory cannot be bound to node {node} (mbind: {cause}): in a container allow mbind in its seccomp profile, or \
         run on the host"
    )]
    NotBound {
        /// The memory node.
        node: u32,
        /// The kernel's reason.
        cause: String,
    },
    /// A measuring thread did not start.
    #[error("a measuring thread cannot be started: {0}")]
    NoThread(String),
}
