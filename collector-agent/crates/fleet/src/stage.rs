//! What all stages of a run share.

use tierscope_upload::{Client, Settings};

use crate::progress::Progress;
use crate::report::Report;
use crate::saved::Saved;

/// What all stages of a run share.
pub(crate) struct Stage {
    pub(crate) settings: Settings,
    pub(crate) connections: usize,
    /// Minutes of each live batch; `None`: as the plan of each host says.
    pub(crate) send_minutes: Option<u32>,
    pub(crate) report: Report,
    pub(crate) progress: Progress,
    pub(crate) saved: Saved,
}

impl Stage {
    /// A client of its own for each thread: one keeps a single connection open.
    pub(crate) fn connect(&self) -> anyhow::Result<Client> {
        Ok(Client::new(&self.settings)?)
    }
}
