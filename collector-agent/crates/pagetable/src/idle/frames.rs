//! The kernel's files with one word or one bit for each page frame.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;

use tierscope_rootfs::Root;

use super::IdleError;

const BITMAP: &str = "/sys/kernel/mm/page_idle/bitmap";
const FLAGS: &str = "/proc/kpageflags";
const WORD_BYTES: u64 = 8;
const FRAMES_PER_WORD: u64 = 64;
/// Words read or written at once: 64 KiB.
const MAX_WORDS: u64 = 8192;

/// Runs of neighbours in a sorted list: start and length. `place` is what must be adjacent.
fn runs(places: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for place in places {
        match runs.last_mut() {
            Some((start, length)) if place < *start + *length => {}
            Some((start, length)) if place == *start + *length && *length < MAX_WORDS => *length += 1,
            _ => runs.push((place, 1)),
        }
    }
    runs
}

/// Words of a file with their positions, for the positions given in ascending order.
fn read_words(
    file: &File,
    positions: impl Iterator<Item = u64>,
    mut each: impl FnMut(u64, u64),
) -> io::Result<()> {
    let mut buffer = Vec::new();
    for (start, length) in runs(positions) {
        buffer.resize((length * WORD_BYTES) as usize, 0);
        let got = file.read_at(&mut buffer, start * WORD_BYTES)?;
        let (words, _) = buffer[..got].as_chunks::<8>();
        for (position, word) in (start..).zip(words) {
            each(position, u64::from_ne_bytes(*word));
        }
    }
    Ok(())
}

/// What the kernel keeps of each page frame.
#[derive(Debug)]
pub struct FrameFlags {
    file: File,
}

impl FrameFlags {
    /// On a list of reclaim, so that it can be marked idle.
    pub const LRU: u64 = 1 << 5;
    /// The first of several frames that are one page.
    pub const HEAD: u64 = 1 << 15;
    /// One of the others.
    pub const TAIL: u64 = 1 << 16;
    /// Of a hugetlb page.
    pub const HUGETLB: u64 = 1 << 17;
    /// Of a transparent huge page, of 2 MiB or less.
    pub const HUGE: u64 = 1 << 22;
    /// The shared page of zeros.
    pub const ZERO: u64 = 1 << 24;

    /// Opens `/proc/kpageflags`.
    pub fn open(root: &Root) -> Result<Self, IdleError> {
        let file = File::open(root.join(FLAGS)).map_err(|error| IdleError::Refused {
            file: FLAGS,
            reason: error.to_string(),
        })?;
        Ok(Self { file })
    }

    /// Frames and their flags, for frames given in ascending order. Frames that do not exist are left out.
    pub fn read(&self, frames: &[u64], mut each: impl FnMut(u64, u64)) -> io::Result<()> {
        read_words(&self.file, frames.iter().copied(), &mut each)
    }

    /// The first frame of the page that a tail frame belongs to: the nearest aligned one that is a head.
    pub fn head_of(&self, tail: u64) -> io::Result<u64> {
        for bits in 1..=18 {
            let candidate = tail >> bits << bits;
            let mut is_head = false;
            self.read(&[candidate], |_, flags| is_head = flags & Self::HEAD != 0)?;
            if is_head {
                return Ok(candidate);
            }
        }
        Ok(tail)
    }
}

/// One bit for each page frame: set where it was marked idle and not touched since.
#[derive(Debug)]
pub struct IdleBitmap {
    file: File,
}

impl IdleBitmap {
    /// Opens the bitmap for reading and writing.
    pub fn open(root: &Root) -> Result<Self, IdleError> {
        let opened = OpenOptions::new().read(true).write(true).open(root.join(BITMAP));
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => IdleError::NotSupported,
            _ => IdleError::Refused {
                file: BITMAP,
                reason: error.to_string(),
            },
        })?;
        Ok(Self { file })
    }

    /// Whether each of the frames, given in ascending order, is idle.
    pub fn idle(&self, frames: &[u64]) -> io::Result<Vec<bool>> {
        let mut idle = Vec::with_capacity(frames.len());
        let positions = frames.iter().map(|frame| frame / FRAMES_PER_WORD);
        let mut rest = frames.iter().peekable();
        read_words(&self.file, positions, |position, word| {
            while let Some(frame) = rest.next_if(|frame| **frame / FRAMES_PER_WORD == position) {
                idle.push(word >> (frame % FRAMES_PER_WORD) & 1 != 0);
            }
        })?;
        idle.resize(frames.len(), false);
        Ok(idle)
    }

    /// Marks frames, given in ascending order. The kernel leaves alone the frames whose bit is not set.
    pub fn mark(&self, frames: &[u64]) -> io::Result<()> {
        let mut rest = frames.iter().peekable();
        for (start, length) in runs(frames.iter().map(|frame| frame / FRAMES_PER_WORD)) {
            let mut buffer = Vec::with_capacity((length * WORD_BYTES) as usize);
            for position in start..start + length {
                let mut word = 0_u64;
                while let Some(frame) = rest.next_if(|frame| **frame / FRAMES_PER_WORD == position) {
                    word |= 1 << (frame % FRAMES_PER_WORD);
                }
                buffer.extend(word.to_ne_bytes());
            }
            self.file.write_all_at(&buffer, start * WORD_BYTES)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_read_at_once_and_holes_are_not() {
        assert_eq!(runs([3, 3, 4, 5, 7, 7, 8].into_iter()), [(3, 3), (7, 2)]);
        assert_eq!(runs(std::iter::empty()), []);
        let long = runs(0..=MAX_WORDS);
        assert_eq!(long, [(0, MAX_WORDS), (MAX_WORDS, 1)]);
    }

    #[test]
    fn bits_are_written_and_read_by_frame_in_whole_words() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path());
        assert_eq!(IdleBitmap::open(&root).unwrap_err(), IdleError::NotSupported);
        let path = root.join(BITMAP);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, [0; 64]).unwrap();
        let bitmap = IdleBitmap::open(&root).unwrap();
        bitmap.mark(&[1, 63, 64, 300]).unwrap();
        let (words, rest) = (std::fs::read(&path).unwrap(), 64);
        let word = |index: usize| u64::from_ne_bytes(words[8 * index..8 * index + 8].try_into().unwrap());
        assert_eq!(words.len(), rest);
        assert_eq!((word(0), word(1), word(2)), (1 << 63 | 2, 1, 0));
        assert_eq!(word(4), 1 << (300 - 256));
        let idle = bitmap.idle(&[0, 1, 2, 63, 64, 65, 300, 9000]).unwrap();
        assert_eq!(idle, [false, true, false, true, true, false, true, false]);
    }

    #[test]
    fn the_head_of_a_page_is_the_nearest_aligned_one() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path());
        std::fs::create_dir_all(root.join("/proc")).unwrap();
        let mut flags = vec![FrameFlags::LRU; 64];
        flags[16] |= FrameFlags::HEAD;
        flags[17..32].fill(FrameFlags::TAIL);
        let bytes: Vec<u8> = flags.iter().flat_map(|flags: &u64| flags.to_ne_bytes()).collect();
        std::fs::write(root.join(FLAGS), bytes).unwrap();
        let flags = FrameFlags::open(&root).unwrap();
        assert_eq!(flags.head_of(29).unwrap(), 16);
        assert_eq!(flags.head_of(17).unwrap(), 16);
        let mut seen = Vec::new();
        flags
            .read(&[15, 16, 99], |frame, flags| seen.push((frame, flags)))
            .unwrap();
        assert_eq!(
            seen,
            [(15, FrameFlags::LRU), (16, FrameFlags::LRU | FrameFlags::HEAD)]
        );
    }
}
