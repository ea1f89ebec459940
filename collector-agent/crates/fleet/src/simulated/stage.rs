//! What all stages of a run share.

use tierscope_upload::{Client, Settings};

use crate::simulated::progress::Progress;
use crate::simulated::report::Report;
use crate::simulated::saved::Saved;

/// Writes down that the service has taken a batch.
pub type DeliveryNote = Box<dyn Fn() + Send + Sync>;

/// What all stages of a run share.
pub(crate) struct Stage {
    pub(crate) settings: Settings,
    pub(crate) connections: usize,
    /// Minutes of each live batch; `None`: as the plan of each host says.
    pub(crate) send_minutes: Option<u32>,
    pub(crate) report: Report,
    pub(crate) progress: Progress,
    pub(crate) saved: Saved,
    /// Called after each batch that the service has taken.
    pub(crate) note_delivery: Option<DeliveryNote>,
}

impl Stage {
    /// A client of its own for each thread: one keeps a single connection open.
    pub(crate) fn connect(&self) -> anyhow::Result<Client> {
        Ok(Client::new(&self.settings)?)
    }
}
