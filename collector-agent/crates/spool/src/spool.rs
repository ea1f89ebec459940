//! The queue over its segments.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::record::MAX_RECORD_BYTES;
use crate::segment::{self, Segment};
use crate::state::State;
use crate::state_file::StateFile;
use crate::{Result, SpoolError, failed, rejected};

/// How many sequence numbers are set aside with one write of the state.
const RESERVE: u64 = 256;

/// Bounds of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of all segments together.
    pub max_bytes: u64,
    /// A segment that has grown to this size is followed by a new one.
    pub segment_bytes: u64,
}

impl Limits {
    /// Limits for a queue of `max_bytes`: sixteen segments, none below 64 KiB or above 1 MiB.
    pub fn for_bytes(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            segment_bytes: (max_bytes / 16).clamp(64 << 10, 1 << 20),
        }
    }
}

/// A record that waits for its acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its sequence number.
    pub seq: u64,
    /// What was appended.
    pub payload: Vec<u8>,
}

/// State of the queue, for people and for the agent's self report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Records that wait.
    pub pending_records: u64,
    /// Bytes of all segments.
    pub bytes: u64,
    /// Records dropped because the queue was full, or because the disk did not take them, since the stream began.
    pub dropped: u64,
    /// Stretches of segments that could not be read.
    pub damaged: u64,
    /// Records that the service refused for good.
    pub rejected: u64,
    /// Bytes acknowledged since the stream began.
    pub sent_bytes: u64,
}

/// The queue. One process at a time owns its directory.
pub struct Spool {
    disk: Box<dyn Disk>,
    directory: PathBuf,
    limits: Limits,
    state: State,
    state_file: StateFile,
    next_seq: u64,
    segments: VecDeque<Segment>,
    /// Whether the newest segment was made by this process and may grow.
    growing: bool,
}

impl Spool {
    /// Opens the spool in `directory`, or makes one. `identity` names the machine: with another identity than the
    /// one that made the spool, as on a cloned disk, a new stream begins.
    pub fn open(disk: Box<dyn Disk>, directory: &Path, limits: Limits, identity: &str) -> Result<Self> {
        disk.create_dir(directory)
            .map_err(failed("creating", directory))?;
        let (state_file, saved) = StateFile::open(&*disk, directory)?;
        let (saved, damaged) = (saved.state, saved.damaged);
        let same_stream = saved.as_ref().is_some_and(|state| state.identity == identity);
        let mut state = saved.unwrap_or_default();
        if !same_stream {
            identity.clone_into(&mut state.identity);
            state = State {
                stream_id: random_stream_id()?,
                dropped: 0,
                sent_bytes: 0,
                rejected: 0,
                ..state
            };
        }
        if damaged {
            // The state that was written last may be lost, and with it one reservation.
            state.seq_floor = state.seq_floor.max(state.reserved_below + RESERVE);
        }
        let mut spool = Self {
            disk,
            directory: directory.to_owned(),
            limits,
            next_seq: state.seq_floor.max(state.acked_below),
            state,
            state_file,
            segments: VecDeque::new(),
            growing: false,
        };
        let finished = spool.scan_segments()?;
        spool.save()?;
        for path in finished {
            // Nothing is lost when this fails: the next start tries again.
            let _ = spool.disk.remove(&path);
        }
        Ok(spool)
    }

    /// Reads the segments that an earlier process left. Gives those in which nothing waits any more.
    fn scan_segments(&mut self) -> Result<Vec<PathBuf>> {
        let mut finished = Vec::new();
        for (path, bytes) in segment::list(&*self.disk, &self.directory)? {
            let segment = segment::scan(&*self.disk, &path, bytes)?;
            let newest = segment.places.last().map(|place| place.seq + 1);
            self.next_seq = self.next_seq.max(newest.unwrap_or(0));
            if segment.damaged > 0 {
                // A number that was sent may be hidden in the damage.
                self.next_seq = self.next_seq.max(self.state.reserved_below);
                self.state.seq_floor = self.next_seq;
            }
            if segment.pending_from(self.state.acked_below).next().is_some() {
                self.segments.push_back(segment);
            } else {
                self.state.damaged += segment.damaged;
                finished.push(path);
            }
        }
        Ok(finished)
    }

    /// Random id of this life of the spool.
    pub fn stream_id(&self) -> [u8; 16] {
        self.state.stream_id
    }

    /// The sequence number that the next record must carry.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Takes a sequence number for a message that is sent without being spooled. It is never given out again.
    pub fn reserve_seq(&mut self) -> Result<u64> {
        let seq = self.next_seq;
        self.state.seq_floor = seq + 1;
        self.reserve_below(seq + RESERVE)?;
        self.next_seq = seq + 1;
        Ok(seq)
    }

    /// Appends a record durably. `seq` must be [`Self::next_seq`], which goes up even when this fails once part of the
    /// record may be on disk. Drops the oldest segments when the queue is full. A record that it does not take counts as
    /// dropped.
    pub fn append(&mut self, seq: u64, payload: &[u8]) -> Result<()> {
        // The count is written down with the next change that the disk takes.
        self.try_append(seq, payload)
            .inspect_err(|_| self.state.dropped += 1)
    }

    fn try_append(&mut self, seq: u64, payload: &[u8]) -> Result<()> {
        if seq != self.next_seq {
            return Err(SpoolError::WrongSequence {
                given: seq,
                next: self.next_seq,
            });
        }
        if payload.len() as u64 > self.limits.max_bytes / 2 || payload.len() > MAX_RECORD_BYTES {
            return Err(SpoolError::TooLarge {
                bytes: payload.len(),
                limit_bytes: self.limits.max_bytes,
            });
        }
        self.make_room(payload.len() as u64);
        if seq >= self.state.reserved_below {
            self.reserve_below(seq + RESERVE)?;
        }
        self.next_seq = seq + 1;
        let full = self
            .segments
            .back()
            .is_none_or(|newest| newest.file_bytes >= self.limits.segment_bytes);
        if full || !self.growing {
            self.segments.push_back(Segment::new(&self.directory, seq));
            self.growing = true;
        }
        let Some(newest) = self.segments.back_mut() else {
            return Ok(());
        };
        newest.append(&*self.disk, seq, payload)
    }

    /// Writes down that numbers below `limit` may be given out from now on.
    fn reserve_below(&mut self, limit: u64) -> Result<()> {
        let before = self.state.reserved_below;
        self.state.reserved_below = before.max(limit);
        self.save().inspect_err(|_| self.state.reserved_below = before)
    }

    /// Drops the oldest segments until `new_bytes` fit, and counts their records.
    fn make_room(&mut self, new_bytes: u64) {
        while self.bytes() + new_bytes > self.limits.max_bytes {
            let Some(oldest) = self.segments.pop_front() else {
                return;
            };
            self.growing &= !self.segments.is_empty();
            self.state.dropped += oldest.pending_from(self.state.acked_below).count() as u64;
            self.state.damaged += oldest.damaged;
            // Counted first, so that a crash in between cannot hide the loss. On a full disk the count can only be
            // written once the segment is gone.
            let counted = self.save().is_ok();
            let _ = self.disk.remove(&oldest.path);
            if !counted {
                let _ = self.save();
            }
        }
    }

    /// The oldest record that waits; `None` when there is none. Records that turn out damaged are counted and passed
    /// over.
    pub fn peek(&mut self) -> Result<Option<Record>> {
        loop {
            let acked_below = self.state.acked_below;
            let first = |segment: &Segment| segment.pending_from(acked_below).next().copied();
            let oldest = self
                .segments
                .iter_mut()
                .find_map(|segment| first(segment).map(|place| (segment, place)));
            let Some((segment, place)) = oldest else {
                return Ok(None);
            };
            if let Some(payload) = segment.read(&*self.disk, place)? {
                return Ok(Some(Record {
                    seq: place.seq,
                    payload,
                }));
            }
            segment.damaged += 1;
            self.advance(place.seq)?;
        }
    }

    /// Marks a record as stored by the service: it and all before it are done with. A power cut may bring back those of
    /// the newest segments, which the service then knows already; nothing else does.
    pub fn acknowledge(&mut self, record: &Record) -> Result<()> {
        self.state.sent_bytes += record.payload.len() as u64;
        let finished = self.finish_below(record.seq + 1);
        if finished.is_empty() {
            return self.state_file.note(&*self.disk, &self.state);
        }
        self.save_and_remove(finished)
    }

    /// Sets a record aside that the service refuses for good, so that it does not block the queue.
    pub fn reject(&mut self, record: &Record, reason: &str) -> Result<()> {
        let directory = self.directory.join("rejected");
        rejected::keep(&*self.disk, &directory, record.seq, &record.payload, reason);
        self.state.rejected += 1;
        self.advance(record.seq)
    }

    /// Counts bytes that were sent and acknowledged without being spooled.
    pub fn count_sent(&mut self, bytes: u64) {
        self.state.sent_bytes += bytes;
    }

    fn advance(&mut self, seq: u64) -> Result<()> {
        let finished = self.finish_below(seq + 1);
        self.save_and_remove(finished)
    }

    /// Takes note that nothing below `limit` waits any more. Gives the segments that are finished.
    fn finish_below(&mut self, limit: u64) -> Vec<PathBuf> {
        self.state.acked_below = self.state.acked_below.max(limit);
        let mut finished = Vec::new();
        while self
            .segments
            .front()
            .is_some_and(|oldest| self.is_finished(oldest))
        {
            if let Some(segment) = self.segments.pop_front() {
                self.state.damaged += segment.damaged;
                finished.push(segment.path);
            }
        }
        self.growing &= !self.segments.is_empty();
        finished
    }

    /// Removes finished segments, once it is durable that they are: their numbers must not be given out again.
    fn save_and_remove(&mut self, finished: Vec<PathBuf>) -> Result<()> {
        self.save()?;
        for path in finished {
            // Nothing is lost when this fails: the next start tries again.
            let _ = self.disk.remove(&path);
        }
        Ok(())
    }

    /// Whether nothing waits in a segment and nothing more will be appended to it.
    fn is_finished(&self, segment: &Segment) -> bool {
        let may_grow =
            self.growing && self.segments.len() == 1 && segment.file_bytes < self.limits.segment_bytes;
        !may_grow && segment.pending_from(self.state.acked_below).next().is_none()
    }

    fn save(&mut self) -> Result<()> {
        self.state_file.save(&*self.disk, &self.state)
    }

    fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.file_bytes).sum()
    }

    /// Counts of the queue.
    pub fn stats(&self) -> Stats {
        let pending = |segment: &Segment| segment.pending_from(self.state.acked_below).count() as u64;
        Stats {
            pending_records: self.segments.iter().map(pending).sum(),
            bytes: self.bytes(),
            dropped: self.state.dropped,
            damaged: self.state.damaged + self.segments.iter().map(|segment| segment.damaged).sum::<u64>(),
            rejected: self.state.rejected,
            sent_bytes: self.state.sent_bytes,
        }
    }
}

fn random_stream_id() -> Result<[u8; 16]> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| SpoolError::Random(error.to_string()))?;
    Ok(id)
}
