//! What may be wrong with laws.

/// Why laws cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LawError {
    /// The file cannot be read.
    #[error("cannot read the laws {path}: {cause}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
    /// Not the TOML that is expected.
    #[error("the laws cannot be understood: {0}")]
    Toml(#[from] toml::de::Error),
    /// A value that contradicts another, or is out of its range.
    #[error("{place}: {problem}")]
    Wrong {
        /// Table and name.
        place: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

impl LawError {
    pub(super) fn wrong(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Wrong {
            place: place.into(),
            problem: problem.into(),
        }
    }
}
