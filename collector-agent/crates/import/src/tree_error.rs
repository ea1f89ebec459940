//! Why a recording of snapshots cannot be read.

use std::io;
use std::path::PathBuf;

/// A recording that cannot be read, and why.
#[derive(Debug, thiserror::Error)]
#[error("recording {}: {problem}", path.display())]
pub struct TreeError {
    /// File or directory.
    pub path: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: TreeProblem,
}

/// The cause of a [`TreeError`].
#[derive(Debug, thiserror::Error)]
pub enum TreeProblem {
    /// It cannot be opened.
    #[error("cannot be opened: {0}")]
    Open(io::Error),
    /// It is no `.tar.zst`, or a damaged one.
    #[error("is not readable as .tar.zst: {0}")]
    Archive(io::Error),
    /// The disk refuses.
    #[error("cannot be unpacked: {0}; set TMPDIR to a place with space")]
    Unpack(io::Error),
    /// A path in the archive leads out of it.
    #[error("holds the path {0:?}, which leads out of it: the archive is not to be trusted")]
    Escapes(String),
    /// More than a limit allows.
    #[error("has {found} {what}, the limit is {limit}: cut it into shorter ones")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is, as far as read.
        found: u64,
        /// How much is allowed.
        limit: u64,
    },
    /// No snapshot is in it.
    #[error("holds no snapshot: expected directories named by their Unix time, each with proc or sys in it")]
    Empty,
}
