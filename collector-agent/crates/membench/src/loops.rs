//! The loops over memory, by processor family, and what each of them can do.

#![allow(
    clippy::cast_ptr_alignment,
    reason = "every place handed to a loop is aligned to a line, which each function demands"
)]

#[cfg(not(target_arch = "x86_64"))]
#[path = "loops/portable.rs"]
mod family;
#[cfg(target_arch = "x86_64")]
#[path = "loops/x86.rs"]
mod family;

pub(crate) use family::{
    flush, non_temporal_line, read, settle, store_back_line, wait, write, write_non_temporal,
};

use crate::LINE_BYTES;
use crate::buffer::Region;

/// What the processor offers for these measurements, found out at run time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "abilities of a processor, each by itself"
)]
pub struct Features {
    /// A line can be thrown out of all caches.
    pub flush: bool,
    /// `clflushopt`: flushing without waiting for the flush before.
    pub flush_unordered: bool,
    /// `clwb`: a written line goes to memory and may stay in the cache.
    pub write_back: bool,
    /// Stores that go around the caches.
    pub non_temporal: bool,
}

impl Features {
    /// Asks the processor.
    pub fn detect() -> Self {
        family::detect()
    }

    /// Their names, for the description of the method; "" for none.
    pub fn names(self) -> String {
        let all = [
            (self.flush, "clflush"),
            (self.flush_unordered, "clflushopt"),
            (self.write_back, "clwb"),
            (self.non_temporal, "non-temporal stores"),
        ];
        let names: Vec<&str> = all
            .iter()
            .filter(|(has, _)| *has)
            .map(|(_, name)| *name)
            .collect();
        names.join(", ")
    }
}

/// Follows a chain for `steps` steps from `offset`; the offset where it ends. Each line of the region holds the offset
/// of the next one in its first eight bytes, so that no load can begin before the one before it is done.
///
/// # Safety
/// The region's buffer lives, no thread writes to the region meanwhile, `offset` and every offset in it is a multiple
/// of [`LINE_BYTES`] below the length of the region.
pub(crate) unsafe fn follow(region: Region, mut offset: usize, steps: usize) -> usize {
    let start = region.start();
    for _ in 0..steps {
        // SAFETY: the caller vouches for every offset.
        offset = unsafe { start.add(offset).cast::<usize>().read() };
    }
    offset
}

/// Writes the chain `next` (of line numbers) into a region.
///
/// # Safety
/// The region's buffer lives and no other thread uses the region meanwhile.
pub(crate) unsafe fn link(region: Region, next: &[u32]) {
    let lines = region.bytes() / LINE_BYTES;
    for (line, next) in next.iter().enumerate().take(lines) {
        // SAFETY: `line` is below the number of lines, so that the eight bytes lie within the region, aligned.
        unsafe {
            let place = region.start().add(line * LINE_BYTES).cast::<usize>();
            place.write(*next as usize * LINE_BYTES);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::buffer::{Buffer, Pages};
    use crate::chain::{Random, cycle};

    #[test]
    fn a_chase_comes_back_to_its_start_after_all_lines_and_not_before() {
        let buffer = Buffer::new(1 << 20, Pages::Small, None).unwrap();
        let (region, _) = buffer.region().split_at(1000 * LINE_BYTES);
        // SAFETY: this thread alone has the buffer, and the chain names the region's 1,000 lines.
        let (whole, short) = unsafe {
            link(region, &cycle(1000, &mut Random::new(3)));
            (follow(region, 0, 1000), follow(region, 0, 999))
        };
        assert_eq!(whole, 0);
        assert_ne!(short, 0);
    }

    #[test]
    fn blocks_are_written_whole_and_read_back() {
        let buffer = Buffer::new(1 << 20, Pages::Small, None).unwrap();
        let start = buffer.region().start();
        // SAFETY: the lines lie within the buffer, which this thread alone has.
        unsafe {
            write(start, 4096, 7);
            let written: Vec<u8> = (0..4096).map(|byte| start.add(byte).read()).collect();
            assert!(written.chunks(8).all(|word| word.iter().any(|byte| *byte != 0)));
            assert_ne!(read(start, 4096), 0);
            assert_eq!(
                read(start.add(4096), 4096),
                0,
                "nothing is written behind the block"
            );
            let features = Features::detect();
            if features.non_temporal {
                write_non_temporal(start.add(8192), 128, 9);
                non_temporal_line(start.add(8192 + 128), 9);
            }
            store_back_line(features, start.add(16384), 5);
            flush(features, start);
            settle();
            wait();
            assert_eq!(read(start.add(8192), 192) != 0, features.non_temporal);
            assert_eq!(read(start.add(8192 + 192), 64), 0);
            assert_eq!(read(start.add(16384), 64) != 0, features.write_back);
        }
    }
}
