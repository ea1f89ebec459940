//! What can be wrong with a page trace.

use std::path::{Path, PathBuf};

/// A page trace that cannot be read, and why.
#[derive(Debug, thiserror::Error)]
#[error("page trace {}: {problem}", path.display())]
pub struct TraceError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: TraceProblem,
}

impl TraceError {
    pub(crate) fn new(path: &Path, problem: TraceProblem) -> Self {
        Self {
            path: path.to_owned(),
            problem,
        }
    }
}

/// The cause of a [`TraceError`].
#[derive(Debug, thiserror::Error)]
pub enum TraceProblem {
    /// The file cannot be opened.
    #[error("cannot be opened: {0}")]
    Open(std::io::Error),
    /// It is no Parquet file, or a damaged one.
    #[error("is not readable as Parquet: {0}")]
    Parquet(String),
    /// A column is missing or of a wrong type.
    #[error("column `{column}` {problem}")]
    Column {
        /// Name of the column.
        column: &'static str,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A value is wrong.
    #[error("row {row}, column `{column}`: {problem}")]
    Row {
        /// Name of the column.
        column: &'static str,
        /// Number of the row, counted from 1.
        row: u64,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A value of the file's metadata is wrong.
    #[error("metadata `{key}` is `{text}`, expected {expected}")]
    Metadata {
        /// The key.
        key: &'static str,
        /// Its value.
        text: String,
        /// What it should be.
        expected: &'static str,
    },
    /// More than a limit allows.
    #[error("has {found} {what}, the limit is {limit}: cut the trace into shorter ones")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is, as far as read.
        found: u64,
        /// How much is allowed.
        limit: u64,
    },
}
