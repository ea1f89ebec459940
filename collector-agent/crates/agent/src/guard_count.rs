//! How many intervals went unmeasured because the host was busy, since the stream began: kept on disk, so that it
//! survives a restart.

use std::fs;
use std::path::{Path, PathBuf};

/// The count and its file.
#[derive(Debug)]
pub(crate) struct GuardCount {
    path: PathBuf,
    stream: String,
    intervals: u64,
}

impl GuardCount {
    /// The count of this stream; 0 where the file is missing, damaged or of another stream.
    pub(crate) fn open(state_dir: &Path, stream_id: [u8; 16]) -> Self {
        let path = state_dir.join("guard-paused");
        let stream = format!("{:032x}", u128::from_be_bytes(stream_id));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let intervals = text
            .split_once(' ')
            .filter(|(of, _)| *of == stream)
            .and_then(|(_, count)| count.trim().parse().ok());
        Self {
            path,
            stream,
            intervals: intervals.unwrap_or(0),
        }
    }

    /// The count.
    pub(crate) fn intervals(&self) -> u64 {
        self.intervals
    }

    /// Counts one more. A failure to write is passed over: it costs a count after the next start.
    pub(crate) fn add(&mut self) {
        self.intervals += 1;
        let temporary = self.path.with_extension("new");
        let _ = fs::write(&temporary, format!("{} {}\n", self.stream, self.intervals))
            .and_then(|()| fs::rename(&temporary, &self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_survives_a_restart_and_begins_anew_with_the_stream() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut count = GuardCount::open(directory.path(), [1; 16]);
        count.add();
        count.add();
        assert_eq!(GuardCount::open(directory.path(), [1; 16]).intervals(), 2);
        assert_eq!(GuardCount::open(directory.path(), [2; 16]).intervals(), 0);
        fs::write(directory.path().join("guard-paused"), "x").expect("written");
        assert_eq!(GuardCount::open(directory.path(), [1; 16]).intervals(), 0);
    }
}
