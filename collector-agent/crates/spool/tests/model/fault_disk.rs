//! A disk in memory that loses power, runs full and flips bits on demand.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tierscope_spool::Disk;

/// What goes wrong with the operations to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// The n-th changing operation from now on (0 = the next) takes effect only in part, here to `kept` of 256, and
    /// everything after it fails until the power is back.
    PowerCut { after: u8, kept: u8 },
    /// The next changing operation that needs space fails, having written `kept` of 256.
    Full { kept: u8 },
}

#[derive(Debug, Default)]
struct Content {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Removed since the power came on; a power cut may bring them back.
    removed: BTreeMap<PathBuf, Vec<u8>>,
}

#[derive(Debug)]
struct Inner {
    content: Content,
    fault: Fault,
    dark: bool,
}

/// Clones share the content: the spool is dropped and opened again on the same disk.
#[derive(Debug, Clone)]
pub(crate) struct FaultDisk(Arc<Mutex<Inner>>);

/// How much of an operation happens.
enum Effect {
    Whole,
    /// This share of 256, then an error.
    Part(u8, ErrorKind),
    Nothing,
}

impl FaultDisk {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Inner {
            content: Content::default(),
            fault: Fault::None,
            dark: false,
        })))
    }

    pub(crate) fn plan(&self, fault: Fault) {
        self.0.lock().expect("not poisoned").fault = fault;
    }

    /// The power is back. `restore` says whether removed files are there again.
    pub(crate) fn power_on(&self, restore: bool) {
        let mut inner = self.0.lock().expect("not poisoned");
        inner.dark = false;
        inner.fault = Fault::None;
        let removed = std::mem::take(&mut inner.content.removed);
        if restore {
            for (path, bytes) in removed {
                inner.content.files.entry(path).or_insert(bytes);
            }
        }
    }

    /// Flips one bit of one segment. Says whether there was one.
    pub(crate) fn flip_bit(&self, at: usize) -> bool {
        let mut inner = self.0.lock().expect("not poisoned");
        let is_segment = |path: &Path| path.extension().is_some_and(|extension| extension == "segment");
        let segments = inner
            .content
            .files
            .iter()
            .filter(|(path, bytes)| is_segment(path) && !bytes.is_empty());
        let paths: Vec<_> = segments.map(|(path, _)| path.clone()).collect();
        let Some(bytes) = paths
            .get(at % paths.len().max(1))
            .and_then(|path| inner.content.files.get_mut(path))
        else {
            return false;
        };
        let index = (at / 7) % bytes.len();
        bytes[index] ^= 1 << (at % 8);
        true
    }
}

impl Inner {
    fn effect(&mut self) -> Effect {
        if self.dark {
            return Effect::Nothing;
        }
        match self.fault {
            Fault::None => Effect::Whole,
            Fault::PowerCut { after: 0, kept } => {
                self.dark = true;
                Effect::Part(kept, ErrorKind::BrokenPipe)
            }
            Fault::PowerCut { after, kept } => {
                self.fault = Fault::PowerCut {
                    after: after - 1,
                    kept,
                };
                Effect::Whole
            }
            Fault::Full { kept } => {
                self.fault = Fault::None;
                Effect::Part(kept, ErrorKind::StorageFull)
            }
        }
    }

    fn check_power(&self) -> io::Result<()> {
        if self.dark {
            Err(io::Error::from(ErrorKind::BrokenPipe))
        } else {
            Ok(())
        }
    }
}

impl Disk for FaultDisk {
    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        self.0.lock().expect("not poisoned").check_power()
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<(String, u64)>> {
        let inner = self.0.lock().expect("not poisoned");
        inner.check_power()?;
        let inside = inner
            .content
            .files
            .iter()
            .filter(|(path, _)| path.parent() == Some(directory));
        let name = |path: &Path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        Ok(inside
            .map(|(path, bytes)| (name(path), bytes.len() as u64))
            .collect())
    }

    fn read(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let inner = self.0.lock().expect("not poisoned");
        inner.check_power()?;
        let bytes = inner.content.files.get(path).ok_or(ErrorKind::NotFound)?;
        let start = (offset as usize).min(bytes.len());
        let end = (start + length).min(bytes.len());
        Ok(bytes[start..end].to_vec())
    }

    fn write_at(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.0.lock().expect("not poisoned");
        let effect = inner.effect();
        if matches!(effect, Effect::Nothing) {
            return inner.check_power();
        }
        let file = inner.content.files.entry(path.to_owned()).or_default();
        file.truncate(offset as usize);
        assert_eq!(file.len() as u64, offset, "appends leave no hole");
        if let Effect::Part(kept, kind) = effect {
            file.extend_from_slice(&bytes[..bytes.len() * usize::from(kept) / 256]);
            Err(io::Error::from(kind))
        } else {
            file.extend_from_slice(bytes);
            Ok(())
        }
    }

    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.0.lock().expect("not poisoned");
        let (kept, result) = match inner.effect() {
            Effect::Nothing => return inner.check_power(),
            Effect::Part(kept, kind) => (bytes.len() * usize::from(kept) / 256, Err(io::Error::from(kind))),
            Effect::Whole => (bytes.len(), Ok(())),
        };
        let file = inner.content.files.entry(path.to_owned()).or_default();
        let behind = file.split_off(kept.min(file.len()));
        *file = [&bytes[..kept], &behind].concat();
        result
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.0.lock().expect("not poisoned");
        match inner.effect() {
            Effect::Nothing => inner.check_power(),
            // The new content may be there although the call failed.
            Effect::Part(kept, kind) => {
                if kept >= 128 {
                    inner.content.files.insert(path.to_owned(), bytes.to_vec());
                }
                Err(io::Error::from(kind))
            }
            Effect::Whole => {
                inner.content.files.insert(path.to_owned(), bytes.to_vec());
                Ok(())
            }
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.0.lock().expect("not poisoned");
        match inner.effect() {
            Effect::Nothing => inner.check_power(),
            Effect::Part(kept, kind) if kept < 128 => Err(io::Error::from(kind)),
            effect => {
                let bytes = inner.content.files.remove(path).ok_or(ErrorKind::NotFound)?;
                inner.content.removed.insert(path.to_owned(), bytes);
                match effect {
                    Effect::Part(_, kind) => Err(io::Error::from(kind)),
                    _ => Ok(()),
                }
            }
        }
    }
}
