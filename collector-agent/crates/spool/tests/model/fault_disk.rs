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
    /// The next `count` + 1 changing operations that need space fail, each having written `kept` of 256.
    Full { kept: u8, count: u8 },
    /// The next write happens, but to make it durable fails: it can be read until the power goes, and then `kept` of 256
    /// are left of it, whatever was reported as durable in the same file since.
    SyncFails { kept: u8 },
    /// The next file that is put in place of another is not, or is although that is not known for sure.
    RenameFails { happened: bool },
    /// The next read fails.
    ReadFails,
}

/// A write of which nobody knows whether it is durable: undone in part when the power goes.
#[derive(Debug)]
struct Unsure {
    path: PathBuf,
    /// The file as it is left by a power cut.
    left: Vec<u8>,
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
    /// Undone, unless the same file was written as a whole or cut before it since.
    unsure: Option<Unsure>,
    /// Files as a power cut leaves them that were written unsynced since their last durable write.
    unsynced: BTreeMap<PathBuf, Vec<u8>>,
    /// Whether a write that failed went over one of these.
    unsynced_gone: bool,
}

/// Clones share the content: the spool is dropped and opened again on the same disk.
#[derive(Debug, Clone)]
pub(crate) struct FaultDisk(Arc<Mutex<Inner>>);

/// How much of an operation happens.
enum Effect {
    Whole,
    /// This share of 256, then an error.
    Part(u8, ErrorKind),
    /// All of it for now, then an error; this share of 256 after a power cut.
    Undurable(u8),
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Write,
    Rename,
    Remove,
}

impl FaultDisk {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Inner {
            content: Content::default(),
            fault: Fault::None,
            dark: false,
            unsure: None,
            unsynced: BTreeMap::new(),
            unsynced_gone: false,
        })))
    }

    pub(crate) fn plan(&self, fault: Fault) {
        self.0.lock().expect("not poisoned").fault = fault;
    }

    /// The power is back. `restore` says whether removed files are there again. Says whether what was written unsynced may be gone.
    pub(crate) fn power_on(&self, restore: bool) -> bool {
        let mut inner = self.0.lock().expect("not poisoned");
        let was_dark = std::mem::take(&mut inner.dark);
        inner.fault = Fault::None;
        // A program that ends leaves its writes with the system; they are lost with the power alone.
        if let Some(unsure) = inner.unsure.take()
            && was_dark
        {
            inner.content.files.insert(unsure.path, unsure.left);
        }
        if was_dark {
            let unsynced = std::mem::take(&mut inner.unsynced);
            inner.content.files.extend(unsynced);
        }
        let removed = std::mem::take(&mut inner.content.removed);
        if restore {
            for (path, bytes) in removed {
                inner.content.files.entry(path).or_insert(bytes);
            }
        }
        was_dark | std::mem::take(&mut inner.unsynced_gone)
    }

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
    fn effect(&mut self, operation: Operation) -> Effect {
        if self.dark {
            return Effect::Nothing;
        }
        let (effect, next) = match (self.fault, operation) {
            (Fault::PowerCut { after: 0, kept }, _) => {
                self.dark = true;
                (Effect::Part(kept, ErrorKind::BrokenPipe), Fault::None)
            }
            (Fault::PowerCut { after, kept }, _) => {
                let after = after - 1;
                (Effect::Whole, Fault::PowerCut { after, kept })
            }
            (Fault::Full { kept, count }, Operation::Write | Operation::Rename) => {
                let next = count.checked_sub(1).map(|count| Fault::Full { kept, count });
                (
                    Effect::Part(kept, ErrorKind::StorageFull),
                    next.unwrap_or(Fault::None),
                )
            }
            (Fault::SyncFails { kept }, Operation::Write) => (Effect::Undurable(kept), Fault::None),
            (Fault::RenameFails { happened }, Operation::Rename) => {
                let kept = if happened { u8::MAX } else { 0 };
                (Effect::Part(kept, ErrorKind::Other), Fault::None)
            }
            (fault, _) => (Effect::Whole, fault),
        };
        self.fault = next;
        effect
    }

    /// Notes that the present content of a file may be `left` after a power cut.
    fn doubt(&mut self, path: &Path, left: Vec<u8>) {
        self.unsure = Some(Unsure {
            path: path.to_owned(),
            left,
        });
    }

    /// A later durable write makes the file what it says, but for what lies before `from` in it and was in doubt.
    fn settle(&mut self, path: &Path, from: usize, bytes: &[u8]) {
        let Some(unsure) = self.unsure.take_if(|unsure| unsure.path == path) else {
            return;
        };
        let mut left = unsure.left;
        if from <= left.len() {
            return;
        }
        // Durable behind bytes that are not: a hole, which reads as zeros.
        left.resize(from, 0);
        left.extend_from_slice(bytes);
        self.doubt(path, left);
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
        let mut inner = self.0.lock().expect("not poisoned");
        inner.check_power()?;
        if inner.fault == Fault::ReadFails {
            inner.fault = Fault::None;
            return Err(io::Error::other("a read error"));
        }
        let bytes = inner.content.files.get(path).ok_or(ErrorKind::NotFound)?;
        let start = (offset as usize).min(bytes.len());
        let end = (start + length).min(bytes.len());
        Ok(bytes[start..end].to_vec())
    }

    fn write_at(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.0.lock().expect("not poisoned");
        let effect = inner.effect(Operation::Write);
        if matches!(effect, Effect::Nothing) {
            return inner.check_power();
        }
        let file = inner.content.files.entry(path.to_owned()).or_default();
        file.truncate(offset as usize);
        assert_eq!(file.len() as u64, offset, "appends leave no hole");
        match effect {
            Effect::Part(kept, kind) => {
                file.extend_from_slice(share(bytes, kept));
                inner.settle(path, offset as usize, &[]);
                Err(io::Error::from(kind))
            }
            Effect::Undurable(kept) => {
                let left = [&file[..], share(bytes, kept)].concat();
                file.extend_from_slice(bytes);
                inner.doubt(path, left);
                Err(io::Error::other("the disk did not take it"))
            }
            _ => {
                file.extend_from_slice(bytes);
                inner.settle(path, offset as usize, bytes);
                Ok(())
            }
        }
    }

    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.0.lock().expect("not poisoned");
        let effect = inner.effect(Operation::Write);
        if matches!(effect, Effect::Nothing) {
            return inner.check_power();
        }
        let file = inner.content.files.entry(path.to_owned()).or_default();
        let over = |new: &[u8], old: &[u8]| [new, old.get(new.len()..).unwrap_or_default()].concat();
        match effect {
            Effect::Part(kept, kind) => {
                *file = over(share(bytes, kept), file);
                // Nothing but its beginning is left of what was written unsynced there.
                inner.unsynced_gone |= inner.unsynced.contains_key(path);
                inner.settle(path, 0, &[]);
                Err(io::Error::from(kind))
            }
            Effect::Undurable(kept) => {
                let left = over(share(bytes, kept), file);
                *file = over(bytes, file);
                inner.doubt(path, left);
                Err(io::Error::other("the disk did not take it"))
            }
            _ => {
                *file = over(bytes, file);
                inner.settle(path, 0, bytes);
                inner.unsynced.remove(path);
                Ok(())
            }
        }
    }

    fn overwrite_unsynced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.0.lock().expect("not poisoned");
        let effect = inner.effect(Operation::Write);
        if matches!(effect, Effect::Nothing) {
            return inner.check_power();
        }
        // What a power cut leaves of it differs from write to write.
        let left_share = bytes.iter().copied().fold(0, u8::wrapping_add);
        let file = inner.content.files.entry(path.to_owned()).or_default();
        let over = |new: &[u8], old: &[u8]| [new, old.get(new.len()..).unwrap_or_default()].concat();
        let left = over(share(bytes, left_share), file);
        let outcome = if let Effect::Part(kept, kind) = effect {
            *file = over(share(bytes, kept), file);
            Err(io::Error::from(kind))
        } else {
            *file = over(bytes, file);
            Ok(())
        };
        inner.unsynced_gone |= outcome.is_err() && inner.unsynced.contains_key(path);
        inner.unsynced.insert(path.to_owned(), left);
        outcome
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.0.lock().expect("not poisoned");
        match inner.effect(Operation::Rename) {
            Effect::Nothing => inner.check_power(),
            // The new content may be there although the call failed.
            Effect::Part(kept, kind) => {
                if kept >= 128 {
                    inner.content.files.insert(path.to_owned(), bytes.to_vec());
                }
                Err(io::Error::from(kind))
            }
            Effect::Whole | Effect::Undurable(_) => {
                inner.content.files.insert(path.to_owned(), bytes.to_vec());
                Ok(())
            }
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.0.lock().expect("not poisoned");
        match inner.effect(Operation::Remove) {
            Effect::Nothing => inner.check_power(),
            Effect::Part(kept, kind) if kept < 128 => Err(io::Error::from(kind)),
            effect => {
                let bytes = inner.content.files.remove(path).ok_or(ErrorKind::NotFound)?;
                inner.content.removed.insert(path.to_owned(), bytes);
                inner.unsure.take_if(|unsure| unsure.path == path);
                match effect {
                    Effect::Part(_, kind) => Err(io::Error::from(kind)),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// The first `kept` of 256 of `bytes`.
fn share(bytes: &[u8], kept: u8) -> &[u8] {
    &bytes[..bytes.len() * usize::from(kept) / 256]
}
