//! Any other processor: plain loads and stores. Flushing, writing back and going around the caches are not supported.

use std::hint::black_box;
use std::sync::atomic::{Ordering, fence};

use super::Features;

const WORD_BYTES: usize = 8;

pub(super) fn detect() -> Features {
    Features::default()
}

/// Not supported: does nothing.
///
/// # Safety
/// None is needed.
pub(crate) unsafe fn flush(_features: Features, _place: *mut u8) {}

/// Waits until loads and stores before it are in order.
pub(crate) fn settle() {
    fence(Ordering::SeqCst);
}

/// Waits until loads before it are in order.
pub(crate) fn wait() {
    fence(Ordering::SeqCst);
}

/// Not supported: does nothing.
///
/// # Safety
/// None is needed.
pub(crate) unsafe fn store_back_line(_features: Features, _place: *mut u8, _value: i64) {}

/// Not supported: does nothing.
///
/// # Safety
/// None is needed.
pub(crate) unsafe fn non_temporal_line(_place: *mut u8, _value: i64) {}

/// Reads a block; the value says nothing, and makes the reading necessary.
///
/// # Safety
/// `place` is aligned to a line and valid for reads of `bytes`, a multiple of the line.
pub(crate) unsafe fn read(place: *const u8, bytes: usize) -> u64 {
    // SAFETY: the caller vouches for address, alignment and length.
    let words = unsafe { std::slice::from_raw_parts(place.cast::<u64>(), bytes / WORD_BYTES) };
    words.iter().fold(0, |all, word| all | word)
}

/// Writes a block through the caches.
///
/// # Safety
/// `place` is aligned to a line and valid for writes of `bytes`, a multiple of the line.
pub(crate) unsafe fn write(place: *mut u8, bytes: usize, value: i64) {
    // SAFETY: the caller vouches for address, alignment and length.
    let words = unsafe { std::slice::from_raw_parts_mut(place.cast::<i64>(), bytes / WORD_BYTES) };
    for (index, word) in words.iter_mut().enumerate() {
        *word = value + index as i64;
    }
    black_box(words);
}

/// Not supported: does nothing.
///
/// # Safety
/// None is needed.
pub(crate) unsafe fn write_non_temporal(_place: *mut u8, _bytes: usize, _value: i64) {}
