//! The string table of a batch.

use std::sync::Arc;

use crate::error::OpenError;

/// The texts of a batch that is being read.
pub(crate) struct Texts(Vec<Arc<str>>);

impl Texts {
    pub(crate) fn new(texts: &[String]) -> Self {
        Self(texts.iter().map(|text| Arc::from(text.as_str())).collect())
    }

    /// The text at `index`.
    pub(crate) fn get(&self, index: u32) -> Result<Arc<str>, OpenError> {
        let text = self.0.get(index as usize);
        text.cloned()
            .ok_or_else(|| OpenError::Invalid(format!("no string has the index {index}")))
    }
}
