//! x86-64. SSE2 is part of it, and one core with 16-byte accesses outruns the memory that is measured here.

use std::arch::asm;
use std::arch::x86_64::{
    __cpuid_count, __get_cpuid_max, __m128i, _mm_clflush, _mm_lfence, _mm_load_si128, _mm_mfence,
    _mm_or_si128, _mm_set1_epi64x, _mm_setzero_si128, _mm_sfence, _mm_store_si128, _mm_storeu_si128,
    _mm_stream_si128,
};

use super::Features;
use crate::LINE_BYTES;

/// Bytes of one access.
const WORD_BYTES: usize = 16;
/// Leaf 7 of `cpuid`, register EBX: clflushopt and clwb. The standard library's macro does not know these two.
const LEAF: u32 = 7;
const CLFLUSHOPT: u32 = 1 << 23;
const CLWB: u32 = 1 << 24;

#[allow(
    unused_unsafe,
    reason = "asking the processor is a safe call from Rust 1.94 on"
)]
pub(super) fn detect() -> Features {
    // SAFETY: every x86-64 processor has `cpuid`, and the leaf is asked for only where it exists.
    let bits = unsafe {
        let (highest, _) = __get_cpuid_max(0);
        if highest >= LEAF {
            __cpuid_count(LEAF, 0).ebx
        } else {
            0
        }
    };
    Features {
        flush: true,
        flush_unordered: bits & CLFLUSHOPT != 0,
        write_back: bits & CLWB != 0,
        non_temporal: true,
    }
}

/// Throws the line at `place` out of all caches.
///
/// # Safety
/// `place` is valid for reads, and `features` are those of this processor.
pub(crate) unsafe fn flush(features: Features, place: *mut u8) {
    // SAFETY: the address is valid; `clflushopt` is executed only where the processor has it.
    unsafe {
        if features.flush_unordered {
            asm!("clflushopt [{}]", in(reg) place, options(nostack, preserves_flags));
        } else {
            _mm_clflush(place);
        }
    }
}

/// Waits until every load and store before it is done.
pub(crate) fn settle() {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { _mm_mfence() }
}

/// Waits until every load before it is done; later instructions do not begin earlier.
pub(crate) fn wait() {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { _mm_lfence() }
}

/// Stores into the line at `place`, writes it back to memory and waits for that. Does nothing without `clwb`.
///
/// # Safety
/// `place` is valid for writes of a line, and `features` are those of this processor.
pub(crate) unsafe fn store_back_line(features: Features, place: *mut u8, value: i64) {
    if features.write_back {
        // SAFETY: the address is valid, and the processor has `clwb`.
        unsafe {
            place.cast::<i64>().write_volatile(value);
            asm!("clwb [{}]", in(reg) place, options(nostack, preserves_flags));
            _mm_sfence();
        }
    }
}

/// Writes the line at `place` around the caches and waits until it is on its way.
///
/// # Safety
/// `place` is valid for writes of a line and aligned to it.
pub(crate) unsafe fn non_temporal_line(place: *mut u8, value: i64) {
    // SAFETY: as the caller vouches.
    unsafe { write_non_temporal(place, LINE_BYTES, value) }
}

/// Reads a block; the value says nothing, and makes the reading necessary.
///
/// # Safety
/// `place` is aligned to a line and valid for reads of `bytes`, a multiple of the line.
pub(crate) unsafe fn read(place: *const u8, bytes: usize) -> u64 {
    // SAFETY: SSE2 is part of x86-64, and each access lies within the block, aligned.
    unsafe {
        let mut sums = [_mm_setzero_si128(); LINE_BYTES / WORD_BYTES];
        for line in (0..bytes).step_by(LINE_BYTES) {
            for (word, sum) in sums.iter_mut().enumerate() {
                let value = _mm_load_si128(place.add(line + word * WORD_BYTES).cast::<__m128i>());
                *sum = _mm_or_si128(*sum, value);
            }
        }
        let sum = sums
            .into_iter()
            .fold(_mm_setzero_si128(), |all, sum| _mm_or_si128(all, sum));
        let mut words = [0_u64; 2];
        _mm_storeu_si128(words.as_mut_ptr().cast(), sum);
        words[0] | words[1]
    }
}

/// Writes a block through the caches: each line is read first.
///
/// # Safety
/// `place` is aligned to a line and valid for writes of `bytes`, a multiple of the line.
pub(crate) unsafe fn write(place: *mut u8, bytes: usize, value: i64) {
    for offset in (0..bytes).step_by(WORD_BYTES) {
        // SAFETY: SSE2 is part of x86-64, and the access lies within the block, aligned. The value differs from word
        // to word, so that the loop does not become a call of memset, which may go around the caches.
        unsafe {
            let word = _mm_set1_epi64x(value + offset as i64);
            _mm_store_si128(place.add(offset).cast::<__m128i>(), word);
        }
    }
}

/// Writes a block around the caches and waits until it is on its way.
///
/// # Safety
/// `place` is aligned to a line and valid for writes of `bytes`, a multiple of the line.
pub(crate) unsafe fn write_non_temporal(place: *mut u8, bytes: usize, value: i64) {
    // SAFETY: SSE2 is part of x86-64, and each access lies within the block, aligned. The fence puts the stores in
    // order with all that follows, as the language's memory model demands.
    unsafe {
        let word = _mm_set1_epi64x(value);
        for offset in (0..bytes).step_by(WORD_BYTES) {
            _mm_stream_si128(place.add(offset).cast::<__m128i>(), word);
        }
        _mm_sfence();
    }
}
