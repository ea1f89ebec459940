//! A directory that looks like a host, for tests.

use tierscope_rootfs::Root;

/// A temporary directory with kernel files in it.
#[derive(Debug)]
pub(crate) struct FakeRoot(tempfile::TempDir);

#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
impl FakeRoot {
    /// An empty host.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file at its kernel path.
    pub(crate) fn write(&self, kernel_path: &str, content: &str) {
        self.write_bytes(kernel_path, content.as_bytes());
    }

    /// Writes a file that need not be text.
    #[allow(
        dead_code,
        reason = "some of the crates that share this file write text alone"
    )]
    pub(crate) fn write_bytes(&self, kernel_path: &str, content: &[u8]) {
        let path = self.root().join(kernel_path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn root(&self) -> Root {
        Root::new(self.0.path())
    }
}
