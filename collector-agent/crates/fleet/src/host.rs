//! One simulated host.

use std::sync::Arc;

use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::inventory::Inventory;
use tierscope_upload::{Client, PlanAnswer};
use tierscope_wire::{Content, Header, Origin, Sealed, Sealer, WireError};

use crate::seeds::mix;
use crate::twin::{MINUTE_NS, TwinHost};

/// The simulated hosts have been up for a week when their history begins.
const UPTIME_MINUTES: i64 = 7 * 24 * 60;

/// The longest time between batches that a host takes, in minutes.
const MOST_SEND_MINUTES: u32 = 10;

/// Minutes per batch of history.
const BATCH_MINUTES: i64 = 120;
/// The same where it is told by the hour.
const OLDER_BATCH_MINUTES: i64 = 4 * 24 * 60;

#[derive(Debug)]
pub(crate) struct SimHost {
    pub(crate) name: String,
    pub(crate) inventory: Inventory,
    pub(crate) host_id: String,
    pub(crate) credential: String,
    twin: TwinHost,
    /// The next minute to give, since the Unix epoch.
    minute: i64,
    /// The minute in which it has its next turn: later than `minute` where it holds minutes back.
    turn: i64,
    /// Its plan as it was told last, and the turn in which it was.
    plan: Option<(i64, u32, Option<String>)>,
    /// Before this minute little is told.
    detailed_from: i64,
    /// When it booted, and as what, in order.
    boots: Vec<(i64, Arc<str>)>,
    stream_id: [u8; 16],
    seed: u64,
    seq: u64,
    sealer: Sealer,
}

impl SimHost {
    /// A host that has not enrolled.
    pub(crate) fn new(twin: TwinHost, seed: u64) -> Self {
        let inventory = twin.inventory();
        Self {
            stream_id: stream_id(seed),
            seed,
            name: inventory.hostname.clone(),
            inventory,
            twin,
            host_id: String::new(),
            credential: String::new(),
            minute: 0,
            turn: 0,
            plan: None,
            detailed_from: 0,
            boots: Vec::new(),
            seq: 0,
            sealer: Sealer::default(),
        }
    }

    /// Sets the minute with which its history begins. What is older than `detailed_from` is told in less detail; where
    /// there is such history, the host boots anew after it.
    pub(crate) fn start_at(&mut self, minute: i64, detailed_from: i64) {
        self.minute = minute;
        self.detailed_from = detailed_from;
        // Its memory was measured before its history begins.
        for bench in &mut self.inventory.benches {
            bench.measured_wall_ns = minute * MINUTE_NS;
        }
        let boot = |minute: i64, number: u32| {
            (
                minute,
                Arc::from(format!("simulated-{:016x}-{number}", self.seed)),
            )
        };
        self.boots = vec![boot(minute - UPTIME_MINUTES, 1)];
        if detailed_from > minute {
            self.boots.push(boot(detailed_from - 1, 2));
        }
        self.turn = minute;
        self.twin.start_at(minute, detailed_from);
    }

    /// Passes over the minutes before `minute`; never goes back.
    pub(crate) fn skip_to(&mut self, minute: i64) {
        let skipped = (minute - self.minute).max(0);
        self.twin.skip(skipped.unsigned_abs());
        self.minute += skipped;
        self.turn = self.minute;
    }

    /// The minute of its next turn.
    pub(crate) fn turn(&self) -> i64 {
        self.turn
    }

    /// Goes without sending in its turn.
    pub(crate) fn pass(&mut self) {
        self.turn += 1;
    }

    /// Whether a batch of so many minutes is due in its turn: hosts send at minutes of their own.
    pub(crate) fn is_due(&self, send_minutes: u32) -> bool {
        let shift = (self.seed % 1024) as i64;
        (self.turn + shift).rem_euclid(i64::from(send_minutes.max(1))) == 0
    }

    /// Asks for its plan as an agent does, each minute or, while it holds minutes back, each second one; minutes of a
    /// batch. What is not answered changes nothing.
    pub(crate) fn ask_send_minutes(&mut self, client: &Client) -> u32 {
        let (asked, minutes, etag) = self.plan.take().unwrap_or((i64::MIN, 1, None));
        let every = if minutes > 1 { 2 } else { 1 };
        if self.turn < asked.saturating_add(every) {
            self.plan = Some((asked, minutes, etag));
            return minutes;
        }
        let answer = client.plan(&self.credential, etag.as_deref(), MOST_SEND_MINUTES);
        let (minutes, etag) = match answer {
            Ok(PlanAnswer::Changed(plan, etag)) => (plan.send_minutes.clamp(1, MOST_SEND_MINUTES), etag),
            Ok(PlanAnswer::Unchanged) | Err(_) => (minutes, etag),
        };
        self.plan = Some((self.turn, minutes, etag));
        minutes
    }

    pub(crate) fn next_minute(&self) -> i64 {
        self.minute
    }

    /// Whether its older history is told, and the detailed one not begun.
    pub(crate) fn begins_in_detail(&self) -> bool {
        self.minute == self.detailed_from
    }

    /// Where the next batch of history ends at the latest: far below the size limits for hosts of usual width; the sealer
    /// splits what is not.
    pub(crate) fn batch_end(&self) -> i64 {
        if self.minute < self.detailed_from {
            (self.minute + OLDER_BATCH_MINUTES).min(self.detailed_from)
        } else {
            self.minute + BATCH_MINUTES
        }
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
        self.turn = self.minute;
        let last = self.minute - 1;
        let (booted, boot_id) = self.boot(last);
        let header = Header {
            host_id: self.host_id.clone(),
            stream_id: self.stream_id,
            seq: self.seq,
            boot_id: boot_id.to_string(),
            agent_version: self
                .twin
                .agent_version()
                .unwrap_or(env!("CARGO_PKG_VERSION"))
                .to_owned(),
            origin: Origin::Simulated,
            sealed_wall_ns: last * MINUTE_NS,
            sealed_boottime_ns: Some((last - booted) * MINUTE_NS),
        };
        let sealed = self.sealer.seal(content, &header)?;
        self.seq += sealed.len() as u64;
        Ok(sealed)
    }

    fn boot(&self, minute: i64) -> (i64, Arc<str>) {
        let boot = self.boots.iter().rfind(|(begin, _)| *begin < minute);
        boot.map_or_else(|| (minute, Arc::from("simulated")), Clone::clone)
    }

    fn add_minute(&mut self, content: &mut Content) {
        let (booted, boot_id) = self.boot(self.minute);
        let end = IntervalEnd {
            wall_ns: self.minute * MINUTE_NS,
            boottime_ns: Some((self.minute - booted) * MINUTE_NS),
        };
        self.twin.add(content, end, &boot_id);
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
