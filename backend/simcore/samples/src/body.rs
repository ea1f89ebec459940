//! Bodies: samples of many series of one target, packed. What comes out is exactly what went in, each (series, time) once.
//!
//! Sections, each with its length in front, then zstd over all: numbers of series as differences; samples per series
//! and whether all its values are whole; times as differences of differences; whole values as differences; the others
//! as the exclusive or with the value before, byte planes apart.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::io::Read as _;

use crate::varint;

const MAGIC: &[u8; 4] = b"TSB1";
const INFLATED_MAX: u64 = 1 << 30;
/// Whole numbers up to here are exact in floating point.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// One value of one series.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Id of the series.
    pub series: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The value; its bits are kept.
    pub value: f64,
}

/// A packed body and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Samples in it.
    pub samples: usize,
    /// Time of the oldest.
    pub first_ms: i64,
    /// Time of the newest.
    pub last_ms: i64,
    /// The bytes to keep.
    pub bytes: Vec<u8>,
}

/// Bytes that are no body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a body of samples: {0}")]
pub struct BodyError(&'static str);

/// Sorts samples by series and time, and drops repeats: the one that came first stays.
pub fn tidy(samples: &mut Vec<Sample>) {
    let key = |sample: &Sample| (sample.series, sample.at_ms);
    if !samples.is_sorted_by_key(key) {
        samples.sort_by_key(key);
    }
    samples.dedup_by_key(|sample| key(sample));
}

/// Packs tidy samples; `None` without any.
pub fn pack(samples: &[Sample], level: i32) -> Option<Body> {
    let first = samples.first()?;
    let runs = || samples.chunk_by(|a, b| a.series == b.series);
    let (mut ids, mut counts) = (Vec::new(), Vec::new());
    let (mut times, mut whole, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    let (mut series_before, mut start_before, mut n_series) = (0, 0, 0_u64);
    for run in runs() {
        n_series += 1;
        varint::put_signed(&mut ids, run[0].series.wrapping_sub(series_before));
        series_before = run[0].series;
        let all_whole = run.iter().all(|sample| is_whole(sample.value));
        varint::put(&mut counts, (run.len() as u64) << 1 | u64::from(all_whole));
        varint::put_signed(&mut times, run[0].at_ms.wrapping_sub(start_before));
        start_before = run[0].at_ms;
        put_times(&mut times, run);
        if all_whole {
            put_whole(&mut whole, run);
        } else {
            put_rest(&mut rest, run);
        }
    }
    let mut plain = Vec::with_capacity(samples.len() * 6);
    plain.extend_from_slice(MAGIC);
    varint::put(&mut plain, n_series);
    varint::put(&mut plain, samples.len() as u64);
    let planes = to_planes(&rest);
    for section in [&ids, &counts, &times, &whole, &planes] {
        varint::put(&mut plain, section.len() as u64);
        plain.extend_from_slice(section);
    }
    Some(Body {
        samples: samples.len(),
        first_ms: samples
            .iter()
            .map(|sample| sample.at_ms)
            .min()
            .unwrap_or(first.at_ms),
        last_ms: samples
            .iter()
            .map(|sample| sample.at_ms)
            .max()
            .unwrap_or(first.at_ms),
        // Fails only where memory cannot be had.
        bytes: zstd::bulk::compress(&plain, level).ok()?,
    })
}

fn is_whole(value: f64) -> bool {
    value.abs() <= WHOLE_MAX && value.fract() == 0.0 && (value != 0.0 || value.is_sign_positive())
}

fn put_times(out: &mut Vec<u8>, run: &[Sample]) {
    let mut step = 0;
    for pair in run.windows(2) {
        let next = pair[1].at_ms.wrapping_sub(pair[0].at_ms);
        varint::put_signed(out, next.wrapping_sub(step));
        step = next;
    }
}

fn put_whole(out: &mut Vec<u8>, run: &[Sample]) {
    let mut before = 0;
    for sample in run {
        let value = sample.value as i64;
        varint::put_signed(out, value - before);
        before = value;
    }
}

fn put_rest(out: &mut Vec<u64>, run: &[Sample]) {
    let mut before = 0;
    for sample in run {
        let bits = sample.value.to_bits();
        out.push(bits ^ before);
        before = bits;
    }
}

fn to_planes(words: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(words.len() * 8);
    for plane in 0..8 {
        out.extend(words.iter().map(|word| (word >> (8 * plane)) as u8));
    }
    out
}

/// Calls `each` with every sample of a body, by series and time.
///
/// # Errors
/// Where the bytes are no body.
pub fn unpack(bytes: &[u8], mut each: impl FnMut(Sample)) -> Result<(), BodyError> {
    let plain = inflate(bytes)?;
    let rest = plain
        .strip_prefix(MAGIC)
        .ok_or(BodyError("it begins with something else"))?;
    let cut = || BodyError("it is cut off");
    let mut at = 0;
    let n_series = varint::take(rest, &mut at).ok_or_else(cut)?;
    let _samples = varint::take(rest, &mut at).ok_or_else(cut)?;
    let mut sections = [&[][..]; 5];
    for section in &mut sections {
        let length = varint::take(rest, &mut at).ok_or_else(cut)?;
        let end = usize::try_from(length)
            .ok()
            .and_then(|length| at.checked_add(length))
            .ok_or_else(cut)?;
        *section = rest.get(at..end).ok_or_else(cut)?;
        at = end;
    }
    let mut reader = Reader {
        places: [0; 4],
        words: sections[4].len() / 8,
        word: 0,
        sections,
    };
    let (mut series, mut start_ms) = (0_i64, 0_i64);
    for _ in 0..n_series {
        series = series.wrapping_add(reader.signed(0).ok_or_else(cut)?);
        let head = reader.plain(1).ok_or_else(cut)?;
        start_ms = start_ms.wrapping_add(reader.signed(2).ok_or_else(cut)?);
        let (mut at_ms, mut step, mut before, mut bits) = (start_ms, 0_i64, 0_i64, 0_u64);
        for number in 0..head >> 1 {
            if number > 0 {
                step = step.wrapping_add(reader.signed(2).ok_or_else(cut)?);
                at_ms = at_ms.wrapping_add(step);
            }
            let value = if head & 1 == 1 {
                before = before.wrapping_add(reader.signed(3).ok_or_else(cut)?);
                before as f64
            } else {
                bits ^= reader.word().ok_or_else(cut)?;
                f64::from_bits(bits)
            };
            each(Sample {
                series,
                at_ms,
                value,
            });
        }
    }
    Ok(())
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, BodyError> {
    let wrong = BodyError("zstd cannot read it");
    let mut plain = Vec::new();
    let mut decoder = zstd::stream::read::Decoder::new(bytes).map_err(|_| wrong.clone())?;
    decoder
        .by_ref()
        .take(INFLATED_MAX)
        .read_to_end(&mut plain)
        .map_err(|_| wrong)?;
    Ok(plain)
}

struct Reader<'a> {
    sections: [&'a [u8]; 5],
    places: [usize; 4],
    words: usize,
    word: usize,
}

impl Reader<'_> {
    #[inline]
    fn plain(&mut self, section: usize) -> Option<u64> {
        varint::take(self.sections[section], &mut self.places[section])
    }

    #[inline]
    fn signed(&mut self, section: usize) -> Option<i64> {
        varint::take_signed(self.sections[section], &mut self.places[section])
    }

    #[inline]
    fn word(&mut self) -> Option<u64> {
        if self.word >= self.words {
            return None;
        }
        let planes = self.sections[4];
        let word = (0..8).fold(0, |word, plane| {
            word | u64::from(planes[plane * self.words + self.word]) << (8 * plane)
        });
        self.word += 1;
        Some(word)
    }
}

/// All samples of some bodies, tidy; of repeats the one in the earlier body stays.
///
/// # Errors
/// Where a body is none.
pub fn join<'a>(bodies: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Sample>, BodyError> {
    let mut samples = Vec::new();
    for bytes in bodies {
        unpack(bytes, |sample| samples.push(sample))?;
    }
    tidy(&mut samples);
    Ok(samples)
}

/// The samples of some series in (start, end], tidy; of repeats the one in the earlier body stays.
///
/// # Errors
/// Where a body is none.
pub fn choose<S: AsRef<[u8]>, H: BuildHasher>(
    bodies: &[S],
    series: &HashSet<i64, H>,
    start_ms: i64,
    end_ms: i64,
) -> Result<Vec<Sample>, BodyError> {
    let bodies: Vec<&[u8]> = bodies.iter().map(AsRef::as_ref).collect();
    choose_of(&bodies, series, start_ms, end_ms)
}

fn choose_of<H: BuildHasher>(
    bodies: &[&[u8]],
    series: &HashSet<i64, H>,
    start_ms: i64,
    end_ms: i64,
) -> Result<Vec<Sample>, BodyError> {
    let mut samples = Vec::new();
    for bytes in bodies {
        let (mut before, mut kept) = (i64::MIN, false);
        unpack(bytes, |sample| {
            if sample.series != before {
                before = sample.series;
                kept = series.contains(&sample.series);
            }
            if kept && sample.at_ms > start_ms && sample.at_ms <= end_ms {
                samples.push(sample);
            }
        })?;
    }
    tidy(&mut samples);
    Ok(samples)
}
