//! A bounded queue of opaque records on disk, between the collectors and the upload.
//!
//! What [`Spool::append`] returned `Ok` for survives crashes and power cuts until it is acknowledged, or is counted
//! as dropped when the queue outgrows its limit. An acknowledgement survives the end of the process, and power cuts
//! once its segment is finished: before, a power cut or a full disk may bring a record back, with its number. Records
//! come back in the order of their sequence numbers, which are never used twice. The stream id is made with the spool
//! and changes with the machine's identity.

mod disk;
mod record;
mod rejected;
mod segment;
mod spool;
mod state;
mod state_file;

use std::io;
use std::path::PathBuf;

pub use disk::{Disk, OsDisk};
pub use record::MAX_RECORD_BYTES;
pub use spool::{Limits, Record, Spool, Stats};

/// Why the spool cannot do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// A file operation failed.
    #[error("{what} {}: {source}; check that the disk has space and that the agent may write there", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A record larger than the spool may be.
    #[error(
        "a record of {bytes} bytes does not fit into a spool of {limit_bytes} bytes; raise spool_max_bytes"
    )]
    TooLarge {
        /// Size of the record.
        bytes: usize,
        /// The limit.
        limit_bytes: u64,
    },
    /// The record was made for another sequence number than the next one.
    #[error("the record carries the sequence number {given}, the next one is {next}")]
    WrongSequence {
        /// Of the record.
        given: u64,
        /// Expected.
        next: u64,
    },
    /// No random bytes for a stream id.
    #[error("the system gives no random bytes: {0}")]
    Random(String),
}

/// Shorthand of this crate.
pub type Result<T> = std::result::Result<T, SpoolError>;

/// Names the operation and the file of an I/O error.
pub(crate) fn failed(what: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |source| SpoolError::Io { what, path, source }
}
