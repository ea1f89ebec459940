//! Why a recording of snapshots cannot be read.

use std::io;
use std::path::PathBuf;

/// A recording that cannot be read, and why.
#[derive(Debug, thiserror::Error)]
#[error("{} {problem}", path.display())]
pub struct TreeError {
    /// File or directory.
    pub path: PathBuf,
    /// What is wrong. It stands in the text, so it is no source of the error as well.
    pub problem: TreeProblem,
}

/// The cause of a [`TreeError`].
#[derive(Debug, thiserror::Error)]
pub enum TreeProblem {
    /// It cannot be opened.
    #[error("cannot be opened: {0}")]
    Open(io::Error),
    /// It is a damaged archive.
    #[error("is a damaged archive: {0}")]
    Archive(io::Error),
    /// It is something else; what, and which command takes it.
    #[error("{0}")]
    NoArchive(String),
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
    #[error(
        "holds no snapshot: expected one directory with proc or sys in it, or several that are named by their Unix time"
    )]
    Empty,
    /// Roots of hosts are in it that are not named by their time.
    #[error(
        "holds {0} directories with proc or sys in them, which may be of several hosts: name one of them"
    )]
    SeveralRoots(usize),
}
