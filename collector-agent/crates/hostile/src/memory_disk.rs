//! Files in memory, so that a spool can be opened on bytes of any kind many times a second.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tierscope_spool::Disk;

/// Files by path; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryDisk(Arc<Mutex<BTreeMap<PathBuf, Vec<u8>>>>);

impl MemoryDisk {
    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) {
        self.files().insert(path.to_owned(), bytes.to_vec());
    }
}

impl Disk for MemoryDisk {
    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<(String, u64)>> {
        let files = self.files();
        let inside = files.iter().filter(|(path, _)| path.parent() == Some(directory));
        let named = inside.filter_map(|(path, bytes)| {
            let name = path.file_name()?.to_str()?.to_owned();
            Some((name, bytes.len() as u64))
        });
        Ok(named.collect())
    }

    fn read(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let files = self.files();
        let bytes = files.get(path).ok_or(io::ErrorKind::NotFound)?;
        let start = bytes.len().min(offset as usize);
        let end = bytes.len().min(start.saturating_add(length));
        Ok(bytes[start..end].to_vec())
    }

    fn write_at(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.files();
        let file = files.entry(path.to_owned()).or_default();
        file.resize(offset as usize, 0);
        file.extend_from_slice(bytes);
        Ok(())
    }

    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.files();
        let file = files.entry(path.to_owned()).or_default();
        if file.len() < bytes.len() {
            file.resize(bytes.len(), 0);
        }
        file[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn overwrite_unsynced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.overwrite(path, bytes)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.put(path, bytes);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files().remove(path);
        Ok(())
    }
}
