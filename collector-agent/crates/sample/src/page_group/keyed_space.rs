//! Whose pages a space holds: memory of a process, private copies of a file, or the file.

use std::sync::Arc;

use super::keyed_hash::{keyed_hash, words_of};
use super::space::Space;
use crate::vma::ProcessKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SpaceKey {
    /// Anonymous memory of a process, by address.
    Anon(ProcessKey),
    /// Private copies of file pages, by offset in the file.
    Copies(ProcessKey, FileKey),
    /// A file, by offset.
    File(FileKey),
}

/// A file for good, as far as the kernel's list of mappings tells.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileKey {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) name: Arc<str>,
}

impl SpaceKey {
    /// The process that alone has these pages.
    pub(super) fn process(&self) -> Option<ProcessKey> {
        match self {
            Self::Anon(process) | Self::Copies(process, _) => Some(*process),
            Self::File(_) => None,
        }
    }

    /// A hash under a secret, of which page ids are made.
    pub(super) fn keyed_hash(&self, key: [u64; 2]) -> u64 {
        let of_process = self
            .process()
            .map(|process| [u64::from(process.pid), process.start_time_ticks]);
        let mut words = vec![u64::from(of_process.is_some())];
        words.extend(of_process.into_iter().flatten());
        if let Self::Copies(_, file) | Self::File(file) = self {
            words.extend([file.device, file.inode]);
            words.extend(words_of(&file.name));
        }
        keyed_hash(key, &words)
    }
}

#[derive(Debug)]
pub(super) struct KeyedSpace {
    pub(super) key: SpaceKey,
    /// [`SpaceKey::keyed_hash`], where pages are sampled.
    pub(super) hash: u64,
    pub(super) space: Space,
}
