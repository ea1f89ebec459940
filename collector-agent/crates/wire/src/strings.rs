//! The string table of a batch: text travels once, index 0 is "".

use std::collections::HashMap;
use std::sync::Arc;

/// Collects the texts of a batch while its blocks are written.
pub(crate) struct StringTable {
    indices: HashMap<Arc<str>, u32>,
    texts: Vec<String>,
}

impl StringTable {
    pub(crate) fn new() -> Self {
        Self {
            indices: HashMap::from([(Arc::from(""), 0)]),
            texts: vec![String::new()],
        }
    }

    /// Index of `text`, which is added when it is new.
    pub(crate) fn refer(&mut self, text: &Arc<str>) -> u32 {
        if let Some(&index) = self.indices.get(text) {
            return index;
        }
        let index = self.texts.len() as u32;
        self.texts.push(text.to_string());
        self.indices.insert(Arc::clone(text), index);
        index
    }

    pub(crate) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}
