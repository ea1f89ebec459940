//! Why a kernel file yields nothing, and what is wrong with one that cannot be understood.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a file is unreadable to those who may not look at it.
pub const DENIED: &str = "permission denied";

/// A file that yields nothing. Not an error: hosts differ in what they have and what they allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The kernel has no such file (or the process is gone).
    Absent,
    /// The file exists and cannot be read; the text says why.
    Unreadable(String),
}

/// `ESRCH`: the process went away between listing and reading.
const NO_SUCH_PROCESS: i32 = 3;
/// `ENODEV` and `ENXIO`: the file is there, what it describes is not.
const NO_SUCH_DEVICE: [i32; 2] = [19, 6];

impl Missing {
    /// Sorts an I/O error into "not there" and "there, but not for us".
    pub fn from_io(error: &io::Error) -> Self {
        let gone = matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ) || error
            .raw_os_error()
            .is_some_and(|code| code == NO_SUCH_PROCESS || NO_SUCH_DEVICE.contains(&code));
        if gone {
            return Self::Absent;
        }
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Unreadable(DENIED.to_owned()),
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Unreadable(reason) => write!(f, "unreadable: {reason}"),
        }
    }
}

/// Why a count is no number of 63 bits: it fell below zero, and the kernel, which counts without a sign, prints 2^64 less what
/// is missing.
pub const BELOW_ZERO: &str = "counts below zero: more was taken away than added, by a fault of the kernel";
const CUT: &str = "ends within a line: it may be cut off, so its value may be another one";
const LAST_LINE_CUT: &str = "ends within a line: it may be cut off, so that line was left out";

/// What is wrong with a file: the first line that could not be understood, or the file as a whole. Whatever could be
/// understood was delivered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct ParseError {
    /// Counted from 1; 0 where the file as a whole is meant.
    pub line: usize,
    /// The name on that line, or its beginning.
    pub item: String,
    /// What was expected.
    pub reason: &'static str,
}

impl ParseError {
    /// An error at `line` about `item`, shortened to what fits in a message.
    pub fn new(line: usize, item: &str, reason: &'static str) -> Self {
        Self {
            line,
            item: item.chars().take(60).collect(),
            reason,
        }
    }

    /// An error of the whole file.
    pub fn of_file(reason: &'static str) -> Self {
        Self::new(0, "", reason)
    }

    /// An error of a file that ends within a line, which was handed out where it has no other one.
    pub(crate) fn cut_off(after_others: bool) -> Self {
        Self::of_file(if after_others { LAST_LINE_CUT } else { CUT })
    }

    /// Whether the file gave something all the same, which may not be all of it.
    pub fn is_doubt(&self) -> bool {
        self.is_below_zero() || (self.line == 0 && [CUT, LAST_LINE_CUT].contains(&self.reason))
    }

    /// Whether the file is as the kernel printed it, with a count below zero, which was left out.
    pub fn is_below_zero(&self) -> bool {
        self.reason == BELOW_ZERO
    }

    /// Adds the file.
    pub fn in_file(self, path: &Path) -> ReadError {
        ReadError {
            path: path.to_owned(),
            cause: self,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(self.reason),
            line => write!(f, "line {line}, `{}`: {}", self.item, self.reason),
        }
    }
}

/// A [`ParseError`] with its file. The line was skipped, the rest of the file was used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct ReadError {
    /// The file, with its root.
    pub path: PathBuf,
    /// Where in it, and why.
    pub cause: ParseError,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = match self.cause.line {
            0 => "",
            _ if self.cause.is_below_zero() => "; it was left out",
            _ => "; the line was skipped, all others were read",
        };
        write!(f, "{}: {}{rest}", self.path.display(), self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_file_line_and_item() {
        let error = ParseError::new(7, "nr_free_pages", "not a number").in_file(Path::new("/proc/vmstat"));
        assert_eq!(
            error.to_string(),
            "/proc/vmstat: line 7, `nr_free_pages`: not a number; the line was skipped, all others were read"
        );
    }

    #[test]
    fn a_vanished_process_is_absent_and_a_forbidden_file_is_not() {
        assert_eq!(
            Missing::from_io(&io::Error::from_raw_os_error(3)),
            Missing::Absent
        );
        assert_eq!(
            Missing::from_io(&io::Error::from_raw_os_error(2)),
            Missing::Absent
        );
        assert_eq!(
            Missing::from_io(&io::Error::from_raw_os_error(13)),
            Missing::Unreadable("permission denied".into())
        );
    }
}
