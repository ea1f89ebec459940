//! Latencies: by a pointer chase, and of single operations on flushed lines, each waited for.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::LINE_BYTES;
use crate::buffer::Region;
use crate::chain::Random;
use crate::loops::{self, Features};

/// Steps of a chase between two looks at the clock: some hundred microseconds.
const CHASE_STEPS: usize = 2000;
/// Lines that are flushed together and then used one by one.
const BATCH: usize = 64;
/// Most repetitions that are kept.
const MOST_REPETITIONS: usize = 20_000;

/// A single operation on a line that lies in no cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Single {
    Load,
    StoreWriteBack,
    NonTemporalStore,
}

impl Single {
    /// Whether the processor can do it and can flush lines before.
    pub(crate) fn is_supported(self, features: Features) -> bool {
        features.flush
            && match self {
                Self::Load => true,
                Self::StoreWriteBack => features.write_back,
                Self::NonTemporalStore => features.non_temporal,
            }
    }
}

/// Nanoseconds per load of a chase through a linked region, one value per 2,000 steps, for as long as `go_on` says.
///
/// # Safety
/// The region was linked ([`loops::link`]) and its buffer lives; nothing writes to it meanwhile.
pub(crate) unsafe fn chase(region: Region, mut go_on: impl FnMut() -> bool) -> Vec<f64> {
    let mut repetitions = Vec::new();
    let mut offset = 0;
    while go_on() && repetitions.len() < MOST_REPETITIONS {
        let begin = Instant::now();
        // SAFETY: as the caller vouches; a chain leads from its first line to its lines alone.
        offset = black_box(unsafe { loops::follow(region, offset, CHASE_STEPS) });
        repetitions.push(begin.elapsed().as_nanos() as f64 / CHASE_STEPS as f64);
    }
    repetitions
}

/// Nanoseconds per operation on random lines of a region that were flushed before, one value per 64 operations.
///
/// # Safety
/// The region's buffer lives, no other thread uses it, and `features` are those of this processor.
pub(crate) unsafe fn single(
    operation: Single,
    region: Region,
    features: Features,
    time: Duration,
) -> Vec<f64> {
    let lines = u32::try_from(region.bytes() / LINE_BYTES).unwrap_or(u32::MAX);
    let mut random = Random::new(region.bytes() as u64);
    let mut repetitions = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < time && repetitions.len() < MOST_REPETITIONS {
        let places: [*mut u8; BATCH] = std::array::from_fn(|_| {
            let offset = random.below(lines) as usize * LINE_BYTES;
            // SAFETY: the offset lies within the region.
            unsafe { region.start().add(offset) }
        });
        // SAFETY: all places are lines of the region, which this thread alone uses.
        unsafe {
            // Bring each address into the TLB, then its line out of the caches.
            for place in places {
                black_box(place.read_volatile());
                loops::flush(features, place);
            }
            loops::settle();
            let batch = Instant::now();
            for place in places {
                match operation {
                    Single::Load => {
                        black_box(place.read_volatile());
                        loops::wait();
                    }
                    Single::StoreWriteBack => loops::store_back_line(features, place, 1),
                    Single::NonTemporalStore => loops::non_temporal_line(place, 1),
                }
            }
            loops::settle();
            repetitions.push(batch.elapsed().as_nanos() as f64 / BATCH as f64);
        }
    }
    repetitions
}
