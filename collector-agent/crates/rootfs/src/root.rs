//! The directory that stands for `/`.

use std::path::{Path, PathBuf};

/// A directory that holds `proc` and `sys`: `/` on a live host, a snapshot directory in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// Takes any directory; nothing is checked, because an absent file is an answer.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Takes a directory that somebody gave as the root of a host.
    ///
    /// # Errors
    /// It holds neither `proc` nor `sys`, in words for that somebody.
    pub fn named(path: &Path) -> Result<Self, String> {
        let root = Self::new(path);
        if root.join("/proc").is_dir() || root.join("/sys").is_dir() {
            return Ok(root);
        }
        Err(format!(
            "{} holds neither proc nor sys: give a directory that stands for the root of a host",
            path.display()
        ))
    }

    /// The root of the running host.
    pub fn live() -> Self {
        Self::new("/")
    }

    /// Whether this is the running host, whose clocks and processes are real.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// The place of a kernel path such as `/proc/vmstat`, with or without its leading `/`.
    pub fn join(&self, kernel_path: &str) -> PathBuf {
        self.0.join(kernel_path.trim_start_matches('/'))
    }

    /// The kernel path of a place beneath the root: what [`Root::join`] was given.
    pub fn kernel_path(&self, place: &Path) -> PathBuf {
        place
            .strip_prefix(&self.0)
            .map_or_else(|_| place.to_owned(), |path| Path::new("/").join(path))
    }

    /// The directory itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl Default for Root {
    fn default() -> Self {
        Self::live()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_paths_stay_beneath_the_root() {
        let root = Root::new("/tmp/tree");
        assert_eq!(root.join("/proc/vmstat"), Path::new("/tmp/tree/proc/vmstat"));
        assert_eq!(root.join("proc/vmstat"), Path::new("/tmp/tree/proc/vmstat"));
        assert_eq!(
            root.kernel_path(&root.join("proc/vmstat")),
            Path::new("/proc/vmstat")
        );
        assert!(!root.is_live());
        assert!(Root::default().is_live());
    }
}
