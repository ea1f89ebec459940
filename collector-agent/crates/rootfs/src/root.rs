//! The directory that stands for `/`.

use std::path::{Path, PathBuf};

/// A directory that holds `proc` and `sys`: `/` on a live host, a snapshot directory in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    page_bytes: u64,
}

impl Root {
    /// Takes any directory; nothing is checked, because an absent file is an answer.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// The same, of a host whose kernel has base pages of this size. Without it they are as large as this kernel's.
    #[must_use]
    pub fn with_page_bytes(mut self, page_bytes: u64) -> Self {
        self.page_bytes = page_bytes;
        self
    }

    /// Bytes of a base page: what one entry of pagemap, of kpageflags and of the bitmap of idle pages stands for.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
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
        self.path == Path::new("/")
    }

    /// The place of a kernel path such as `/proc/vmstat`, with or without its leading `/`.
    pub fn join(&self, kernel_path: &str) -> PathBuf {
        self.path.join(kernel_path.trim_start_matches('/'))
    }

    /// The kernel path of a place beneath the root: what [`Root::join`] was given.
    pub fn kernel_path(&self, place: &Path) -> PathBuf {
        place
            .strip_prefix(&self.path)
            .map_or_else(|_| place.to_owned(), |path| Path::new("/").join(path))
    }

    /// The directory itself.
    pub fn as_path(&self) -> &Path {
        &self.path
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
        assert_eq!(root.with_page_bytes(65536).page_bytes(), 65536);
    }
}
