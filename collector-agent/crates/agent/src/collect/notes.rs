//! What a reading finds wrong, and what it leaves out.

use tierscope_rootfs::{Missing, ReadError};

/// A file that gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// Kernel path, without the root.
    pub path: String,
    /// Why.
    pub missing: Missing,
}

/// What a limit left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Counter names.
    pub names: usize,
    /// Control groups.
    pub cgroups: usize,
    /// Services.
    pub services: usize,
}

/// What a reading finds wrong, collected on the way.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) gone: Vec<Gone>,
    pub(super) problems: Vec<ReadError>,
}

impl Notes {
    /// Takes note of what reading `path` gave; true if there was a file.
    pub(super) fn take(&mut self, path: &str, outcome: tierscope_rootfs::Outcome<()>) -> bool {
        match outcome {
            Ok(Ok(())) => true,
            Ok(Err(problem)) => {
                self.problems.push(problem);
                true
            }
            Err(missing) => {
                self.gone.push(Gone {
                    path: path.to_owned(),
                    missing,
                });
                false
            }
        }
    }
}
