//! The file of a credential, and the one before it.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::Enrolled;
use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use tierscope_clock::wall_ns;

/// What the service knows this host by.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// Goes into every batch.
    pub host_id: String,
    /// What it shows the service.
    #[serde(rename = "credential")]
    pub secret: String,
    /// When the service gave it (`CLOCK_REALTIME`, nanoseconds); 0 where that was not written down.
    #[serde(default)]
    pub obtained_wall_ns: i64,
}

impl From<Enrolled> for Credential {
    fn from(enrolled: Enrolled) -> Self {
        Self {
            host_id: enrolled.host_id,
            secret: enrolled.credential,
            obtained_wall_ns: wall_ns(),
        }
    }
}

pub(super) fn load_file(path: &Path) -> Result<Option<Credential>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        bail!(
            "{} can be read by others; run `chmod 600 {}`",
            path.display(),
            path.display()
        );
    }
    let credential = serde_json::from_str(&text).with_context(|| {
        format!(
            "{} is damaged; remove it and enrol again with a join token",
            path.display()
        )
    })?;
    Ok(Some(credential))
}

/// Writes the file as a whole, for its owner alone.
pub(super) fn save(path: &Path, credential: &Credential) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
    }
    let temporary = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(serde_json::to_string(credential)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// Where the one before is kept.
pub(super) fn previous(path: &Path) -> PathBuf {
    path.with_extension("previous")
}
