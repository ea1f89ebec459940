//! Segments: files of records. A segment is written by one process life and removed as a whole.

use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::record::{self, HEADER_BYTES};
use crate::{Result, failed};

/// Ending of segment files.
const EXTENSION: &str = "segment";

/// Where a record lies in its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) seq: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

/// A segment and the places of its records, oldest first.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    pub(crate) file_bytes: u64,
    pub(crate) places: Vec<Place>,
    /// Stretches that hold no sound record. The beginning of a record whose append never returned counts too: it
    /// cannot be told from a record whose length was damaged.
    pub(crate) damaged: u64,
}

impl Segment {
    /// A segment that starts with `seq` and does not exist yet.
    pub(crate) fn new(directory: &Path, seq: u64) -> Self {
        let path = directory.join(format!("{seq:020}.{EXTENSION}"));
        Self {
            path,
            file_bytes: 0,
            places: Vec::new(),
            damaged: 0,
        }
    }

    /// Appends a record and makes it durable. After a failure the next append overwrites what is left of it.
    pub(crate) fn append(&mut self, disk: &dyn Disk, seq: u64, payload: &[u8]) -> Result<()> {
        let bytes = record::encode(seq, payload);
        disk.write_at(&self.path, self.file_bytes, &bytes)
            .map_err(failed("appending to", &self.path))?;
        self.places.push(Place {
            seq,
            offset: self.file_bytes,
            bytes: bytes.len(),
        });
        self.file_bytes += bytes.len() as u64;
        Ok(())
    }

    /// The payload of a record; `None` when it is damaged.
    pub(crate) fn read(&self, disk: &dyn Disk, place: Place) -> Result<Option<Vec<u8>>> {
        let bytes = disk
            .read(&self.path, place.offset, place.bytes)
            .map_err(failed("reading", &self.path))?;
        Ok(record::decode(&bytes)
            .filter(|(seq, _)| *seq == place.seq)
            .map(|(_, payload)| payload.to_vec()))
    }

    /// Records behind `acked_below`.
    pub(crate) fn pending_from(&self, acked_below: u64) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(move |place| place.seq >= acked_below)
    }
}

/// Paths and lengths of the segments of a directory, oldest first.
pub(crate) fn list(disk: &dyn Disk, directory: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let suffix = format!(".{EXTENSION}");
    let mut files = disk.list(directory).map_err(failed("listing", directory))?;
    files.retain(|(name, _)| name.ends_with(&suffix));
    files.sort();
    Ok(files
        .into_iter()
        .map(|(name, bytes)| (directory.join(name), bytes))
        .collect())
}

/// Finds the sound records of a segment file.
pub(crate) fn scan(disk: &dyn Disk, path: &Path, file_bytes: u64) -> Result<Segment> {
    let bytes = disk
        .read(path, 0, file_bytes as usize)
        .map_err(failed("reading", path))?;
    let mut segment = Segment {
        path: path.to_owned(),
        file_bytes,
        places: Vec::new(),
        damaged: 0,
    };
    let mut at = 0;
    while at < bytes.len() {
        if let Some((seq, payload)) = record::decode(&bytes[at..]) {
            let length = HEADER_BYTES + payload.len();
            segment.places.push(Place {
                seq,
                offset: at as u64,
                bytes: length,
            });
            at += length;
        } else if let Some(next) = next_sound(&bytes, at + 1) {
            segment.damaged += 1;
            at = next;
        } else {
            segment.damaged += 1;
            break;
        }
    }
    Ok(segment)
}

/// Start of the next sound record at or behind `from`.
fn next_sound(bytes: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let start = record::find_start(bytes, from)?;
        if record::decode(&bytes[start..]).is_some() {
            return Some(start);
        }
        from = start + 1;
    }
}
