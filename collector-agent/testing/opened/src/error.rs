//! Why a batch cannot be read.

use tierscope_wire::{SCHEMA_VERSION, WireError};

/// Why a batch cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It does not inflate.
    #[error(transparent)]
    Inflate(#[from] WireError),
    /// Not a protobuf message of this schema.
    #[error("the body is no batch: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// A schema of another major version.
    #[error("schema version {0} is not known; this program reads version {SCHEMA_VERSION}")]
    Version(u32),
    /// Columns that do not fit each other, or a value outside its enumeration.
    #[error("{0}")]
    Invalid(String),
    /// A counter block names a layout that the batch does not carry and the reader does not know.
    #[error("layout {0} is not known")]
    UnknownLayout(String),
}
