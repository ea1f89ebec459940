//! One simulated host.

use std::sync::Arc;

use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::inventory::Inventory;
use tierscope_wire::{Content, Header, Origin, Sealed, Sealer, WireError};

use crate::simulated::minutes::{MINUTE_NS, Minutes};
use crate::simulated::seeds::mix;

/// The simulated hosts have been up for a week when their history begins.
const UPTIME_MINUTES: i64 = 7 * 24 * 60;

/// One simulated host.
#[derive(Debug)]
pub(crate) struct SimHost {
    pub(crate) name: String,
    pub(crate) inventory: Inventory,
    pub(crate) host_id: String,
    pub(crate) credential: String,
    minutes: Box<dyn Minutes>,
    /// The next minute to give, since the Unix epoch.
    minute: i64,
    booted_minute: i64,
    stream_id: [u8; 16],
    boot_id: Arc<str>,
    seq: u64,
    sealer: Sealer,
}

impl SimHost {
    /// A host that has not enrolled.
    pub(crate) fn new(name: String, inventory: Inventory, minutes: Box<dyn Minutes>, seed: u64) -> Self {
        Self {
            stream_id: stream_id(seed),
            boot_id: Arc::from(format!("simulated-{seed:016x}")),
            name,
            inventory,
            minutes,
            host_id: String::new(),
            credential: String::new(),
            minute: 0,
            booted_minute: 0,
            seq: 0,
            sealer: Sealer::default(),
        }
    }

    /// Sets the minute with which its history begins.
    pub(crate) fn start_at(&mut self, minute: i64) {
        self.minute = minute;
        self.booted_minute = minute - UPTIME_MINUTES;
        self.minutes.start_at(minute);
    }

    /// Passes over the minutes before `minute`; never goes back.
    pub(crate) fn skip_to(&mut self, minute: i64) {
        let skipped = (minute - self.minute).max(0);
        self.minutes.skip(skipped.unsigned_abs());
        self.minute += skipped;
    }

    /// The next minute that it will give.
    pub(crate) fn next_minute(&self) -> i64 {
        self.minute
    }

    /// Gives the minutes from its next one up to `end` (exclusive) as sealed batches.
    pub(crate) fn seal_until(&mut self, end: i64) -> Result<Vec<Sealed>, WireError> {
        let mut content = Content::default();
        if self.seq == 0 {
            content.inventory = Some(self.inventory.clone());
        }
        while self.minute < end {
            self.add_minute(&mut content);
        }
        let header = Header {
            host_id: self.host_id.clone(),
            stream_id: self.stream_id,
            seq: self.seq,
            boot_id: self.boot_id.to_string(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            origin: Origin::Simulated,
            sealed_wall_ns: (self.minute - 1) * MINUTE_NS,
            sealed_boottime_ns: Some((self.minute - 1 - self.booted_minute) * MINUTE_NS),
        };
        let sealed = self.sealer.seal(content, &header)?;
        self.seq += sealed.len() as u64;
        Ok(sealed)
    }

    fn add_minute(&mut self, content: &mut Content) {
        let end = IntervalEnd {
            wall_ns: self.minute * MINUTE_NS,
            boottime_ns: Some((self.minute - self.booted_minute) * MINUTE_NS),
        };
        self.minutes.add(content, end, &self.boot_id);
        self.minute += 1;
    }
}

fn stream_id(seed: u64) -> [u8; 16] {
    let mut id = [0; 16];
    // The time parts the streams of two runs that use one seed.
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64);
    id[..8].copy_from_slice(&mix(seed, now).to_le_bytes());
    id[8..].copy_from_slice(&mix(now, seed).to_le_bytes());
    id
}
