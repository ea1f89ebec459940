//! Where the state lies on disk: two files that are written in turn, so that one of them is whole at any time.
//!
//! They keep their length, so that making a change durable costs one write of the disk and touches no directory. What may
//! be lost is written unsynced, into the file that is not the newest durable one.

use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::state::State;
use crate::{Result, failed};

/// Larger than any state.
const MAX_BYTES: usize = 4096;

/// The two files.
pub(crate) struct StateFile {
    paths: [PathBuf; 2],
    /// The one that is written next: never the newest whole one.
    next: usize,
    generation: u64,
}

/// What was found on disk.
pub(crate) struct Saved {
    pub(crate) state: Option<State>,
    /// Whether a file holds something that is not a state: what was written last may be lost.
    pub(crate) damaged: bool,
}

impl StateFile {
    /// Reads the newest state in `directory`.
    pub(crate) fn open(disk: &dyn Disk, directory: &Path) -> Result<(Self, Saved)> {
        let mut file = Self {
            paths: ["state.0", "state.1"].map(|name| directory.join(name)),
            next: 0,
            generation: 0,
        };
        let mut saved = Saved {
            state: None,
            damaged: false,
        };
        let mut newest = None;
        for (index, path) in file.paths.iter().enumerate() {
            let bytes = match disk.read(path, 0, MAX_BYTES) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed("reading", path)(error)),
            };
            match State::decode(&bytes) {
                Some((generation, state)) if saved.state.is_none() || generation > file.generation => {
                    file.generation = generation;
                    file.next = 1 - index;
                    saved.state = Some(state);
                    newest = Some((path.clone(), bytes));
                }
                Some(_) => {}
                None => saved.damaged = true,
            }
        }
        // It may have been written unsynced; the next write goes over the other one, which is then the durable one.
        if let Some((path, bytes)) = newest {
            disk.overwrite(&path, &bytes).map_err(failed("writing", &path))?;
        }
        Ok((file, saved))
    }

    /// Writes the state down for the end of this process. After a power cut it may be the newest durable one instead.
    pub(crate) fn note(&mut self, disk: &dyn Disk, state: &State) -> Result<()> {
        let path = &self.paths[self.next];
        disk.overwrite_unsynced(path, &state.encode(self.generation + 1))
            .map_err(failed("writing", path))?;
        self.generation += 1;
        Ok(())
    }

    /// Writes the state durably. After a failure the one before it, or this one, is on disk.
    pub(crate) fn save(&mut self, disk: &dyn Disk, state: &State) -> Result<()> {
        let path = &self.paths[self.next];
        disk.overwrite(path, &state.encode(self.generation + 1))
            .map_err(failed("writing", path))?;
        self.generation += 1;
        self.next = 1 - self.next;
        Ok(())
    }
}
