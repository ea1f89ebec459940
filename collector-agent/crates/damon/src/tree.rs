//! The files of DAMON in sysfs. What is there differs between kernels, so every use asks first.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tierscope_rootfs::Root;

use crate::DamonError;

/// Where the configuration of the host's DAMON is.
pub(crate) const KDAMONDS: &str = "/sys/kernel/mm/damon/admin/kdamonds";

/// Files of a kernel, or of what stands for one.
pub(crate) trait Files: Send + Sync + std::fmt::Debug {
    /// The text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;
    /// Writes a text with one call, as files of the kernel want it.
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;
    fn directories(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Whether there is such a file or directory.
    fn exists(&self, path: &Path) -> bool;
}

/// Files of a file system.
#[derive(Debug)]
pub(crate) struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(text.as_bytes())
    }

    fn directories(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Directory<'a> {
    files: &'a dyn Files,
    path: PathBuf,
}

impl<'a> Directory<'a> {
    pub(crate) fn kdamonds(files: &'a dyn Files, root: &Root) -> Self {
        Self::at(files, root, KDAMONDS)
    }

    pub(crate) fn at(files: &'a dyn Files, root: &Root, kernel_path: &str) -> Self {
        let path = root.join(kernel_path);
        Self { files, path }
    }

    pub(crate) fn below(&self, name: impl AsRef<Path>) -> Self {
        Self {
            files: self.files,
            path: self.path.join(name),
        }
    }

    pub(crate) fn exists(&self) -> bool {
        self.files.exists(&self.path)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.exists(&self.path.join(name))
    }

    /// The trimmed text of a file.
    pub(crate) fn read(&self, name: &str) -> Result<String, DamonError> {
        let path = self.path.join(name);
        let text = self
            .files
            .read(&path)
            .map_err(|error| DamonError::io(&path, error))?;
        Ok(text.trim().to_owned())
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64, DamonError> {
        let text = self.read(name)?;
        text.parse().map_err(|_| DamonError::NoResult {
            reason: format!(
                "{} holds `{text}` in place of a number",
                self.path.join(name).display()
            ),
        })
    }

    pub(crate) fn write(&self, name: &str, value: impl std::fmt::Display) -> Result<(), DamonError> {
        let path = self.path.join(name);
        let written = self.files.write(&path, &value.to_string());
        written.map_err(|error| DamonError::io(&path, error))
    }

    /// Makes `count` numbered directories, by the file that makes them.
    pub(crate) fn make(&self, counter: &str, count: usize) -> Result<(), DamonError> {
        self.write(counter, count)
    }

    /// The numbered directories in this one, in order of their numbers.
    pub(crate) fn numbered(&self) -> Result<Vec<Self>, DamonError> {
        let names = self.files.directories(&self.path);
        let names = names.map_err(|error| DamonError::io(&self.path, error))?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers
            .iter()
            .map(|number| self.below(number.to_string()))
            .collect())
    }
}
