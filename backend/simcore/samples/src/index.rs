//! Which series is which: from the bytes of a label set to its id, remembered in the process.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{PoisonError, RwLock};

use std::collections::HashMap;
use twox_hash::XxHash3_128;

/// A stored series and the target that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesRef {
    /// Id of the series.
    pub series: i64,
    /// Id of its target.
    pub target: i64,
}

/// Keys are hashes already.
#[derive(Debug, Default, Clone, Copy)]
struct Folded(u64);

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, value: u128) {
        self.0 = (value >> 64) as u64 ^ value as u64;
    }
}

type SeriesByHash = HashMap<u128, SeriesRef, BuildHasherDefault<Folded>>;

/// Ids by the bytes of label sets. Only a 128-bit hash under a seed of this process is kept of the bytes.
#[derive(Debug)]
pub struct Index {
    seed: u64,
    most: usize,
    known: RwLock<SeriesByHash>,
}

impl Index {
    /// An empty index that forgets everything once it holds more than `most` series. `seed` is random.
    pub fn new(seed: u64, most: usize) -> Self {
        Self {
            seed,
            most,
            known: RwLock::default(),
        }
    }

    /// The key of a label set as it was sent.
    pub(crate) fn key(&self, labels: &[u8]) -> u128 {
        XxHash3_128::oneshot_with_seed(self.seed, labels)
    }

    /// Looks many keys up under one lock.
    pub(crate) fn find(&self, keys: impl Iterator<Item = u128>) -> Vec<Option<SeriesRef>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        keys.map(|key| known.get(&key).copied()).collect()
    }

    pub(crate) fn add(&self, found: impl IntoIterator<Item = (u128, SeriesRef)>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() > self.most {
            known.clear();
        }
        known.extend(found);
    }

    /// How many series are remembered.
    pub fn len(&self) -> usize {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.known
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}
