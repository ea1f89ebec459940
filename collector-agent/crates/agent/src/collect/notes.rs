//! What a reading does not find, and what it leaves out.

use tierscope_rootfs::Missing;

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

/// Files that a reading does not find, collected on the way. What is wrong with the others, their reader remembers.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) gone: Vec<Gone>,
}

impl Notes {
    /// Takes note of what reading `path` gave; true if there was a file.
    pub(super) fn take(&mut self, path: &str, outcome: tierscope_rootfs::Outcome<()>) -> bool {
        match outcome {
            Ok(_) => true,
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
