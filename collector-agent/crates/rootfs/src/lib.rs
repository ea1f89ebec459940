//! Kernel files beneath a root path: where they are, how they are read, and the line shapes they share.
//!
//! A live host has the root `/`; a recorded snapshot is a directory that mirrors the real paths. Every reader of the
//! agent takes a [`Root`], so that both are read by the same code. A file that does not exist or may not be read is a
//! [`Missing`], which is an answer; only text that cannot be understood is a [`ReadError`].

mod error;
mod plain;
mod reader;
mod root;
pub mod text;

/// What reading a file gives: nothing and why, text that could not be understood, or a value.
pub type Outcome<T> = Result<Result<T, ReadError>, Missing>;

pub use error::{BELOW_ZERO, DENIED, Missing, ParseError, ReadError};
pub use plain::{open_plain, read_plain};
pub use reader::{Counted, Reader};
pub use root::Root;
