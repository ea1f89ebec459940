//! Sends the batches of a recording one after the other and insists.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::Serialize;
use tierscope_upload::{Backoff, Client, Outcome, Receipt};
use tierscope_wire::{Content, Header, Origin, Sealer};

use tierscope_clock::wall_ns;
use tierscope_upload::credential::Credential;

/// A service that cannot take a batch for this long is down.
const PATIENCE: Duration = Duration::from_secs(300);

/// What the service made of the batches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Delivered {
    /// Batches stored.
    pub(crate) accepted: u64,
    /// Batches that were stored by an earlier replay.
    pub(crate) duplicates: u64,
    /// Bytes of all batches, compressed.
    pub(crate) sent_bytes: u64,
    /// Rows stored, by kind.
    pub(crate) stored: BTreeMap<String, u64>,
    /// Points older than the service keeps raw data.
    pub(crate) too_late: u64,
    /// Points in the future.
    pub(crate) set_aside: u64,
    /// What the service has to say.
    pub(crate) warnings: Vec<String>,
}

/// One stream of batches to the service.
pub(crate) struct Delivery<'a> {
    client: &'a Client,
    credential: &'a Credential,
    stream_id: [u8; 16],
    next_seq: u64,
    sealer: Sealer,
    /// What was made of the batches so far.
    pub(crate) delivered: Delivered,
}

impl<'a> Delivery<'a> {
    /// A stream that begins. The same recording sent again to the same host at the same times has the same id, so that
    /// the service knows every batch.
    pub(crate) fn new(client: &'a Client, credential: &'a Credential, stream_id: [u8; 16]) -> Self {
        Self {
            client,
            credential,
            stream_id,
            next_seq: 0,
            sealer: Sealer::default(),
            delivered: Delivered::default(),
        }
    }

    /// Sends a content in as many batches as it takes.
    pub(crate) fn send(&mut self, content: Content, boot_id: &str) -> Result<()> {
        let header = Header {
            host_id: self.credential.host_id.clone(),
            stream_id: self.stream_id,
            seq: self.next_seq,
            boot_id: boot_id.to_owned(),
            agent_version: crate::VERSION.to_owned(),
            origin: Origin::Import,
            sealed_wall_ns: wall_ns(),
            // The recorded kernel's clock does not run here.
            sealed_boottime_ns: None,
        };
        for batch in self.sealer.seal(content, &header)? {
            self.send_one(&batch.body)?;
            self.next_seq = batch.seq + 1;
        }
        Ok(())
    }

    /// Whose stream it is.
    pub(crate) fn host_id(&self) -> &str {
        &self.credential.host_id
    }

    pub(crate) fn stream_id(&self) -> [u8; 16] {
        self.stream_id
    }

    /// Sends a batch that was sealed for this stream elsewhere.
    pub(crate) fn send_sealed(&mut self, body: &[u8]) -> Result<()> {
        self.send_one(body)?;
        self.next_seq += 1;
        Ok(())
    }

    fn send_one(&mut self, body: &[u8]) -> Result<()> {
        let first_try = Instant::now();
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10), self.next_seq);
        loop {
            match self.client.send_batch(&self.credential.secret, body, None) {
                Outcome::Accepted(receipt) => {
                    self.delivered.accepted += 1;
                    self.count(body, receipt);
                    return Ok(());
                }
                Outcome::Duplicate(receipt) => {
                    self.delivered.duplicates += 1;
                    self.count(body, receipt);
                    return Ok(());
                }
                Outcome::Rejected(problem) | Outcome::UnknownLayout(problem) | Outcome::Held(problem) => {
                    bail!("the service refused batch {}: {problem}", self.next_seq);
                }
                Outcome::Retry { cause, .. } if first_try.elapsed() > PATIENCE => {
                    bail!(
                        "the service did not take a batch for {} s: {cause}",
                        PATIENCE.as_secs()
                    );
                }
                Outcome::Retry { after, .. } => std::thread::sleep(backoff.next_wait(after)),
            }
        }
    }

    fn count(&mut self, body: &[u8], receipt: Receipt) {
        let delivered = &mut self.delivered;
        delivered.sent_bytes += body.len() as u64;
        delivered.too_late += receipt.too_late;
        delivered.set_aside += receipt.set_aside;
        for (kind, rows) in receipt.stored {
            *delivered.stored.entry(kind).or_default() += rows;
        }
        for warning in receipt.warnings {
            if !delivered.warnings.contains(&warning) {
                delivered.warnings.push(warning);
            }
        }
    }
}

impl Delivered {
    pub(crate) fn add(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.duplicates += other.duplicates;
        self.sent_bytes += other.sent_bytes;
        self.too_late += other.too_late;
        self.set_aside += other.set_aside;
        for (kind, rows) in other.stored {
            *self.stored.entry(kind).or_default() += rows;
        }
        self.warnings.extend(other.warnings);
    }
}
