//! One simulated host.

use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_sample::inventory::Inventory;
use tierscope_wire::{Content, CounterRow, Header, Origin, Sealed, Sealer, WireError};

use crate::simulated::looped_heat::LoopedHeat;
use crate::simulated::looped_recording::LoopedRecording;
use crate::simulated::trace::Playing;
use crate::simulated::twin::TwinHost;

/// Nanoseconds of a minute: the length of an interval.
pub(crate) const MINUTE_NS: i64 = 60_000_000_000;
/// The simulated hosts have been up for a week when their history begins.
const UPTIME_MINUTES: i64 = 7 * 24 * 60;

/// Where the minutes of a host come from.
#[derive(Debug)]
pub(crate) enum Minutes {
    /// From a recording that is played again and again.
    Recorded(Recorded),
    /// From a host of the twin.
    Twin(Box<TwinHost>),
}

/// A recording that is played again and again.
#[derive(Debug)]
pub(crate) struct Recorded {
    recording: Arc<LoopedRecording>,
    heat: Option<Heat>,
    /// Position in the endless recording.
    step: u64,
}

impl Recorded {
    /// `seed` says where in its recordings it begins.
    pub(crate) fn new(recording: Arc<LoopedRecording>, heat: Option<Heat>, seed: u64) -> Self {
        Self {
            step: mix(seed, 5) % recording.len(),
            recording,
            heat,
        }
    }

    fn add_minute(&mut self, content: &mut Content, end: IntervalEnd, boot_id: &Arc<str>) {
        content.counters.push(CounterRow {
            layout: Arc::clone(&self.recording.layout),
            end_wall_ns: end.wall_ns,
            end_boottime_ns: end.boottime_ns,
            boot_id: Arc::clone(boot_id),
            values: self.recording.values(self.step),
        });
        match &mut self.heat {
            None => {}
            Some(Heat::Own(playing)) => add_folded(content, playing.minute(end)),
            Some(Heat::Shared(recordings)) => {
                for recording in recordings {
                    let (rows, gaps) = recording.minute(self.step, end);
                    content.heat.extend(rows);
                    content.gaps.extend(gaps);
                }
            }
        }
        self.step += 1;
    }
}

/// Adds everything that a fold gave.
pub(crate) fn add_folded(content: &mut Content, folded: Folded) {
    content.heat.extend(folded.rows);
    content.gaps.extend(folded.gaps);
    content.tile_epochs.extend(folded.tile_epochs);
    content.tile_columns.extend(folded.tile_columns);
    content.page_samples.extend(folded.page_samples);
}

/// Where a host's heat comes from.
#[derive(Debug)]
pub(crate) enum Heat {
    /// Folded for this host alone, with everything that a fold gives.
    Own(Box<Playing>),
    /// Folded once for all hosts: heat rows and gaps of each service.
    Shared(Vec<Arc<LoopedHeat>>),
}

/// One simulated host.
#[derive(Debug)]
pub(crate) struct SimHost {
    pub(crate) name: String,
    pub(crate) inventory: Inventory,
    pub(crate) host_id: String,
    pub(crate) credential: String,
    minutes: Minutes,
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
    pub(crate) fn new(name: String, inventory: Inventory, minutes: Minutes, seed: u64) -> Self {
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
        if let Minutes::Twin(host) = &mut self.minutes {
            host.start_at(minute);
        }
    }

    /// Passes over the minutes before `minute`; never goes back.
    pub(crate) fn skip_to(&mut self, minute: i64) {
        let skipped = (minute - self.minute).max(0);
        match &mut self.minutes {
            Minutes::Recorded(recorded) => recorded.step += skipped as u64,
            Minutes::Twin(host) => host.skip(skipped as u64),
        }
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
        match &mut self.minutes {
            Minutes::Recorded(recorded) => recorded.add_minute(content, end, &self.boot_id),
            Minutes::Twin(host) => host.add_minute(content, end, &self.boot_id),
        }
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

/// A number that depends on both arguments and looks random (`SplitMix64` finaliser).
pub(crate) fn mix(seed: u64, number: u64) -> u64 {
    let mut mixed = seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        assert_eq!(mix(7, 3), mix(7, 3));
        assert_ne!(mix(7, 3), mix(8, 3));
        assert_ne!(mix(7, 3), mix(7, 4));
    }
}
