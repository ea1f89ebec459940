//! The host's id and credential: bought once with a join token, kept in a file for its owner alone, and changed daily.

mod file;
mod store;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::{Client, Enrolment, UploadError};
use anyhow::{Context as _, Result, bail};

pub use file::Credential;
use file::{load_file, previous, save};
pub use store::CredentialStore;

/// What a host says of itself when it enrols.
pub struct Introduction<'a> {
    /// Name under which it is shown.
    pub hostname: &'a str,
    /// What fleets are filtered by.
    pub labels: &'a BTreeMap<String, String>,
    /// `live`, `import` or `simulated`.
    pub origin: &'static str,
}

/// Reads the credential; `None` when there is none yet. Where its file is damaged, the one before serves, which the
/// service takes for a day.
pub fn load(path: &Path) -> Result<Option<Credential>> {
    load_file(path).or_else(|error| match load_file(&previous(path)) {
        Ok(Some(previous)) => Ok(Some(previous)),
        _ => Err(error),
    })
}

/// The text of a join token file.
pub fn read_join_token(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("join token file {} cannot be read", path.display()))?;
    let token = text.trim();
    if token.is_empty() {
        bail!(
            "join token file {} is empty; make a token with `tierscope token join`",
            path.display()
        );
    }
    Ok(token.to_owned())
}

/// Whether enrolling again later may succeed.
pub fn is_temporary(error: &UploadError) -> bool {
    match error {
        UploadError::Unreachable { .. } => true,
        UploadError::Refused { problem, .. } => matches!(problem.status, 408 | 425 | 429 | 500..),
        _ => false,
    }
}

/// Buys a credential without keeping it.
pub fn enrol(
    client: &Client,
    join_token: &str,
    introduction: &Introduction<'_>,
) -> Result<Credential, UploadError> {
    let enrolled = client.enrol(&Enrolment {
        join_token: join_token.to_owned(),
        hostname: introduction.hostname.to_owned(),
        labels: introduction.labels.clone(),
        origin: introduction.origin,
    })?;
    Ok(enrolled.into())
}

/// Buys a credential and keeps it at `path`.
pub fn enrol_and_save(
    client: &Client,
    join_token: &str,
    introduction: &Introduction<'_>,
    path: &Path,
) -> Result<Credential> {
    let credential = enrol(client, join_token, introduction)?;
    save(path, &credential)?;
    // It belonged to another host.
    let _ = fs::remove_file(previous(path));
    Ok(credential)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_credential_is_kept_for_its_owner_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state/credential.json");
        assert!(load(&path).expect("no file is fine").is_none());
        let credential = Credential {
            host_id: "h1".to_owned(),
            secret: "secret".to_owned(),
            obtained_wall_ns: 0,
        };
        save(&path, &credential).expect("saved");
        assert!(
            load(&path)
                .expect("readable")
                .is_some_and(|loaded| loaded == credential)
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("changed");
        let error = load(&path).err().expect("refused").to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn an_empty_join_token_is_named() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let error = read_join_token(file.path()).expect_err("refused").to_string();
        assert!(error.contains("tierscope token join"), "{error}");
    }
}
