//! Why DAMON does not measure, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why DAMON does not measure.
#[derive(Debug, thiserror::Error)]
pub enum DamonError {
    /// The kernel has no such interface.
    #[error("the kernel has no DAMON in sysfs: use one with CONFIG_DAMON_SYSFS, or another source of heat")]
    NotSupported,
    /// The interface is there and lacks what is asked for.
    #[error("DAMON of this kernel has no `{wanted}` (it has: {available}): choose another source of heat")]
    Lacks {
        /// What is asked for.
        wanted: &'static str,
        /// What there is.
        available: String,
    },
    /// Files may not be written.
    #[error("permission denied for {}: run the agent as root", path.display())]
    Permission {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else uses DAMON; there is one configuration for the whole host.
    #[error(
        "DAMON is in use by another program ({user}): stop that program (`damo stop` ends sessions of damo), or choose \
         another source of heat"
    )]
    InUse {
        /// What can be said about it: number of kdamonds, state, scheme actions.
        user: String,
    },
    /// A module of the kernel uses DAMON.
    #[error(
        "the kernel's module {module} uses DAMON: write N to /sys/module/{module}/parameters/enabled, or choose another \
         source of heat"
    )]
    Module {
        /// Its name.
        module: &'static str,
    },
    /// An agent left DAMON as it was when it was killed.
    #[error("a killed agent left DAMON running: run `tierscope-agent doctor --clean`")]
    Leftover,
    /// Nothing to measure was given.
    #[error("no pages to watch: none of the listed processes has resident memory")]
    Nothing,
    /// The kernel thread ended by itself, or its results did not come.
    #[error("DAMON gave no result: {reason}")]
    NoResult {
        /// What happened.
        reason: String,
    },
    /// The marker file or the watchdog cannot be made.
    #[error("{what} failed: {error}; make the agent's state directory writable")]
    Guard {
        /// What was tried.
        what: String,
        /// The cause.
        error: io::Error,
    },
    /// A file refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
}

impl DamonError {
    /// An error of the file at `path`.
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Permission { path },
            _ => Self::Io { path, error },
        }
    }

    /// Whether the kernel says that something else is under way.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::ResourceBusy)
    }
}
