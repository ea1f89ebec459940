//! Counter layouts: the sorted names behind the values of a counter block.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tierscope_sample::counters::{CounterSample, Key};

use crate::proto;

/// Length of a layout's hash.
pub const HASH_BYTES: usize = 16;

/// Sorted counter keys without repeats, and their hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    keys: Vec<Box<str>>,
    hash: [u8; HASH_BYTES],
}

impl Layout {
    /// Builds a layout; the keys are sorted by bytes, repeats are removed.
    pub fn new(mut keys: Vec<Box<str>>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        let mut digest = Sha256::new();
        for key in &keys {
            digest.update(key.as_bytes());
            digest.update(b"\n");
        }
        let mut hash = [0; HASH_BYTES];
        hash.copy_from_slice(&digest.finalize()[..HASH_BYTES]);
        Self { keys, hash }
    }

    /// The keys in the order of the values.
    pub fn keys(&self) -> &[Box<str>] {
        &self.keys
    }

    /// First 16 bytes of SHA-256 over the keys, each followed by a line feed.
    pub fn hash(&self) -> [u8; HASH_BYTES] {
        self.hash
    }

    /// The hash as 32 hexadecimal digits.
    pub fn hash_hex(&self) -> String {
        hex(&self.hash)
    }

    pub(crate) fn to_proto(&self) -> proto::CounterLayout {
        let keys = self.keys.iter().map(ToString::to_string).collect();
        proto::CounterLayout {
            hash: self.hash.to_vec(),
            keys,
        }
    }
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Gives equal samples the same layout object, so that names are hashed on change only.
#[derive(Debug, Default)]
pub struct LayoutCache {
    /// The last layout, with its keys as the samples share them.
    newest: Option<(Vec<Key>, Arc<Layout>)>,
}

impl LayoutCache {
    /// The layout of `sample`.
    pub fn layout_of(&mut self, sample: &CounterSample) -> Arc<Layout> {
        if let Some((keys, layout)) = &self.newest
            && have_keys(&sample.values, keys)
        {
            return Arc::clone(layout);
        }
        let keys: Vec<Key> = sample.values.iter().map(|(key, _)| key.clone()).collect();
        let names = keys.iter().map(|key| Box::from(key.as_str())).collect();
        let layout = Arc::new(Layout::new(names));
        self.newest = Some((keys, Arc::clone(&layout)));
        layout
    }
}

fn have_keys(values: &[(Key, Option<i64>)], keys: &[Key]) -> bool {
    values.len() == keys.len() && values.iter().zip(keys).all(|((key, _), other)| key.is(other))
}
