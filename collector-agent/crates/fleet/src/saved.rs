//! What a fleet remembers between two runs: the credentials of its hosts, and how far each one has got.
//!
//! A fleet that is started again goes on where it stopped, as the same hosts. A crash between a batch and the next
//! write repeats at most the minutes of that batch, which readers of the store drop.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use crate::host::SimHost;

/// Between two writes of the file.
const WRITE_EVERY: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Document {
    seed: u64,
    first_minute: i64,
    detailed_from: i64,
    hosts: Vec<Member>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Member {
    host_id: String,
    credential: String,
    /// Minutes before this one have been taken by the service.
    sent_until: i64,
}

/// The fleet's memory; without a path it is forgotten at the end.
#[derive(Debug)]
pub(crate) struct Saved {
    path: Option<PathBuf>,
    state: Mutex<(Document, Instant)>,
}

impl Saved {
    /// Remembers a fleet that has just enrolled.
    pub(crate) fn new(
        path: Option<PathBuf>,
        seed: u64,
        (first_minute, detailed_from): (i64, i64),
        hosts: &[SimHost],
    ) -> anyhow::Result<Self> {
        let hosts = hosts
            .iter()
            .map(|host| Member {
                host_id: host.host_id.clone(),
                credential: host.credential.clone(),
                sent_until: first_minute,
            })
            .collect();
        let document = Document {
            seed,
            first_minute,
            detailed_from,
            hosts,
        };
        if let Some(path) = &path {
            write(path, &document).with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(Self {
            path,
            state: Mutex::new((document, Instant::now())),
        })
    }

    /// Goes on with the fleet of an earlier run: gives its hosts their credentials and places. `None` when there was none.
    pub(crate) fn resume(path: &Path, seed: u64, hosts: &mut [SimHost]) -> anyhow::Result<Option<Self>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
        };
        let document: Document = serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged; remove it to start a new fleet", path.display()))?;
        if document.seed != seed || document.hosts.len() != hosts.len() {
            bail!(
                "{} holds a fleet of {} hosts with seed {}: give the same numbers, or remove it to start a new fleet",
                path.display(),
                document.hosts.len(),
                document.seed
            );
        }
        for (host, member) in hosts.iter_mut().zip(&document.hosts) {
            host.host_id.clone_from(&member.host_id);
            host.credential.clone_from(&member.credential);
            host.start_at(document.first_minute, document.detailed_from);
            host.skip_to(member.sent_until);
        }
        Ok(Some(Self {
            path: Some(path.to_owned()),
            state: Mutex::new((document, Instant::now())),
        }))
    }

    /// The first minute of the history in detail.
    pub(crate) fn detailed_from(&self) -> i64 {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .detailed_from
    }

    /// Notes how far a host has got.
    pub(crate) fn advance(&self, host: &SimHost) {
        let Some(path) = &self.path else { return };
        let Ok(mut state) = self.state.lock() else { return };
        let (document, written) = &mut *state;
        if let Some(member) = document
            .hosts
            .iter_mut()
            .find(|member| member.host_id == host.host_id)
        {
            member.sent_until = host.next_minute();
        }
        if written.elapsed() >= WRITE_EVERY {
            *written = Instant::now();
            // A failed write costs a repeat after a restart, nothing now.
            let _ = write(path, document);
        }
    }

    /// Writes what has not been written.
    pub(crate) fn flush(&self) -> anyhow::Result<()> {
        if let (Some(path), Ok(state)) = (&self.path, self.state.lock()) {
            write(path, &state.0).with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(())
    }
}

fn write(path: &Path, document: &Document) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let temporary = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(serde_json::to_string(document)?.as_bytes())?;
    fs::rename(&temporary, path)
}
