//! A request of the remote-write protocol, version 1.0: snappy's block format around a protobuf `WriteRequest`.
//! `version2` reads those of version 2.0 into the same.

mod version2;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::body::Sample;
use crate::index::{Index, SeriesRef};
use crate::labels::{self, Labels};
use crate::message::{Fields, Value};

/// Most labels of the series of one request that nobody knew yet: they are read into memory, label by label.
pub const NEW_LABELS_MAX: usize = 131_072;
/// Most bytes of these labels.
pub const NEW_LABEL_BYTES_MAX: usize = 8 << 20;
/// Most texts that a request of version 2.0 may have in its table of symbols.
pub const SYMBOLS_MAX: usize = 1 << 18;

const SERIES: u64 = 1;

/// Bounds of a request, and which times are taken.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes after inflating.
    pub inflated_bytes: usize,
    /// Samples, and series, of one request.
    pub samples: usize,
    /// Milliseconds since 1970: samples before it are refused.
    pub oldest_ms: i64,
    /// Milliseconds since 1970: samples after it are refused.
    pub newest_ms: i64,
}

/// Why a whole request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// More bytes than allowed, by the length that stands at the front.
    #[error("the body says that it inflates to {claimed} bytes, the limit is {limit}")]
    TooLarge {
        /// What it says.
        claimed: usize,
        /// What is allowed.
        limit: usize,
    },
    /// Not snappy.
    #[error("the body is not in snappy's block format: {0}")]
    NotSnappy(String),
    /// Not the message.
    #[error("the body is not a WriteRequest: {0}")]
    NotARequest(&'static str),
    /// Not the message of remote read.
    #[error("the body is not a ReadRequest: {0}")]
    NotAReadRequest(&'static str),
    /// Too many queries, or conditions of one.
    #[error("the request has more than {0} queries, or conditions of one query")]
    TooManyQueries(usize),
    /// Too many samples.
    #[error("the request has more than {0} samples or series")]
    TooMany(usize),
    /// Too many texts in the table of symbols, or labels that repeat too many of their bytes.
    #[error(
        "the request has more than {SYMBOLS_MAX} symbols, or has more than {0} bytes with its labels written out"
    )]
    TooManySymbols(usize),
    /// Too many labels of series that are new.
    #[error(
        "the request brings new series with more than {NEW_LABELS_MAX} labels, or {NEW_LABEL_BYTES_MAX} bytes of them"
    )]
    TooManyLabels,
}

/// What of a request was left out; the rest is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Samples of series whose labels do not fit.
    pub labels: usize,
    /// The first such reason.
    pub labels_reason: Option<String>,
    /// Samples before the oldest time.
    pub too_old: usize,
    /// Samples after the newest time.
    pub too_new: usize,
}

#[derive(Debug, Clone)]
struct Series {
    key: u128,
    /// Where it is stored; known after `Request::resolve` at the latest.
    found: Option<SeriesRef>,
}

/// A request that was read: its samples, and the series that nobody knew yet.
#[derive(Debug, Default)]
pub struct Request {
    series: Vec<Series>,
    /// (place in `series`, milliseconds since 1970, value)
    samples: Vec<(u32, i64, f64)>,
    unknown: Vec<(u32, Labels)>,
    /// Places in `series` that brought native histograms, which the protocol allows and this store does not keep.
    histograms: Vec<u32>,
    /// What was left out.
    pub refusals: Refusals,
}

impl Request {
    /// Reads a request. Labels of series that `index` knows are not looked at.
    pub fn read(body: &[u8], index: &Index, limits: &Limits) -> Result<Self, Unreadable> {
        let message = inflate(body, limits.inflated_bytes)?;
        Self::read_message(&message, index, limits)
    }

    /// Reads an inflated request.
    pub fn read_message(
        message: &[u8],
        index: &Index,
        limits: &Limits,
    ) -> Result<Self, Unreadable> {
        Self::read_all(message, SERIES, index, limits, |request, series, place| {
            request.read_series(series, place, limits)
        })
    }

    /// Reads each field `number` of a message as a series; `read_one` takes its samples, and returns its labels as
    /// `Label` messages.
    fn read_all<'a>(
        message: &'a [u8],
        number: u64,
        index: &Index,
        limits: &Limits,
        mut read_one: impl FnMut(&mut Self, &'a [u8], u32) -> Result<Cow<'a, [u8]>, Unreadable>,
    ) -> Result<Self, Unreadable> {
        let mut request = Self::default();
        let mut regions = Vec::new();
        let mut fields = Fields::of(message);
        while let Some(field) = fields.next().map_err(|()| cut_off())? {
            let Value::Bytes(series) = field.value else {
                continue;
            };
            if field.number != number {
                continue;
            }
            let place = regions.len();
            if place == limits.samples {
                return Err(Unreadable::TooMany(limits.samples));
            }
            regions.push(read_one(&mut request, series, place as u32)?);
        }
        request.find(&regions, index)?;
        Ok(request)
    }

    /// Looks up the series whose labels are `regions`, as `Label` messages, and reads those that are new.
    fn find(&mut self, regions: &[Cow<'_, [u8]>], index: &Index) -> Result<(), Unreadable> {
        let keys: Vec<u128> = regions.iter().map(|region| index.key(region)).collect();
        let found = index.find(keys.iter().copied());
        self.series = keys
            .into_iter()
            .zip(found)
            .map(|(key, found)| Series { key, found })
            .collect();
        self.read_unknown(regions)
    }

    /// Reads the samples of a series; returns the bytes of its labels: a stretch of the message, or pieces put together.
    fn read_series<'a>(
        &mut self,
        series: &'a [u8],
        place: u32,
        limits: &Limits,
    ) -> Result<Cow<'a, [u8]>, Unreadable> {
        let broken = |()| Unreadable::NotARequest("a series is cut off");
        let mut fields = Fields::of(series);
        let mut region = (0, 0);
        let mut pieces: Option<Vec<u8>> = None;
        loop {
            let start = fields.position();
            let Some(field) = fields.next().map_err(broken)? else {
                break;
            };
            match (field.number, field.value) {
                (1, Value::Bytes(_)) => {
                    let end = fields.position();
                    if let Some(pieces) = &mut pieces {
                        pieces.extend_from_slice(&series[start..end]);
                    } else if region.1 == start || region.1 == 0 {
                        region = (if region.1 == 0 { start } else { region.0 }, end);
                    } else {
                        // Labels with something between them: the protocol does not forbid it.
                        let mut joined = series[region.0..region.1].to_vec();
                        joined.extend_from_slice(&series[start..end]);
                        pieces = Some(joined);
                    }
                }
                (2, Value::Bytes(sample)) => self.read_sample(sample, place, limits)?,
                (4, Value::Bytes(_)) => self.note_histogram(place),
                _ => {}
            }
        }
        Ok(pieces.map_or(Cow::Borrowed(&series[region.0..region.1]), Cow::Owned))
    }

    fn note_histogram(&mut self, place: u32) {
        if self.histograms.last() != Some(&place) {
            self.histograms.push(place);
        }
    }

    #[inline]
    fn read_sample(
        &mut self,
        sample: &[u8],
        place: u32,
        limits: &Limits,
    ) -> Result<(), Unreadable> {
        let (mut value, mut at_ms) = (0_u64, 0_i64);
        let mut fields = Fields::of(sample);
        while let Some(field) = fields
            .next()
            .map_err(|()| Unreadable::NotARequest("a sample is cut off"))?
        {
            match (field.number, field.value) {
                (1, Value::Fixed64(bits)) => value = bits,
                (2, Value::Integer(raw)) => at_ms = raw as i64,
                _ => {}
            }
        }
        if at_ms < limits.oldest_ms {
            self.refusals.too_old += 1;
        } else if at_ms > limits.newest_ms {
            self.refusals.too_new += 1;
        } else if self.samples.len() == limits.samples {
            return Err(Unreadable::TooMany(limits.samples));
        } else {
            self.samples.push((place, at_ms, f64::from_bits(value)));
        }
        Ok(())
    }

    /// Reads the labels of series that are new here, and leaves out those that do not fit.
    fn read_unknown(&mut self, regions: &[Cow<'_, [u8]>]) -> Result<(), Unreadable> {
        let mut refused = vec![false; self.series.len()];
        let (mut labels_read, mut bytes_read) = (0, 0);
        for (place, refused) in refused.iter_mut().enumerate() {
            if self.series[place].found.is_some() {
                continue;
            }
            bytes_read += regions[place].len();
            match labels::read(&regions[place]) {
                Ok(labels) => {
                    labels_read += labels.len();
                    self.unknown.push((place as u32, labels));
                }
                Err(reason) => {
                    *refused = true;
                    self.refusals.labels_reason.get_or_insert(reason);
                }
            }
            if labels_read > NEW_LABELS_MAX || bytes_read > NEW_LABEL_BYTES_MAX {
                return Err(Unreadable::TooManyLabels);
            }
        }
        let before = self.samples.len();
        self.samples
            .retain(|(place, _, _)| !refused[*place as usize]);
        self.refusals.labels += before - self.samples.len();
        Ok(())
    }

    /// Label sets that nobody knows yet, in the order in which `resolve` takes their ids.
    pub fn unknown(&self) -> impl Iterator<Item = &Labels> {
        self.unknown.iter().map(|(_, labels)| labels)
    }

    /// Says where the unknown series are stored, and remembers it in `index`; `None` leaves a series out.
    ///
    /// # Errors
    /// Where there are not as many ids as unknown series.
    pub fn resolve(&mut self, found: &[Option<SeriesRef>], index: &Index) -> Result<(), String> {
        if found.len() != self.unknown.len() {
            return Err(format!(
                "{} ids for {} unknown series",
                found.len(),
                self.unknown.len()
            ));
        }
        let pairs = self.unknown.drain(..).zip(found);
        let mut known = Vec::new();
        for ((place, _), found) in pairs {
            let series = &mut self.series[place as usize];
            series.found = *found;
            known.extend(found.map(|found| (series.key, found)));
        }
        index.add(known);
        let series = &self.series;
        self.samples
            .retain(|(place, _, _)| series[*place as usize].found.is_some());
        Ok(())
    }

    /// Adds the samples whose series are stored to their parts, in the order in which they came.
    pub fn split_into(&self, parts: &mut BTreeMap<(i64, i64), Vec<Sample>>, hour_ms: i64) {
        let mut open: Option<((i64, i64), Vec<Sample>)> = None;
        for (place, at_ms, value) in &self.samples {
            let Some(found) = self.series[*place as usize].found else {
                continue;
            };
            let key = (
                found.target,
                at_ms.saturating_sub(1).div_euclid(hour_ms) * hour_ms,
            );
            if open.as_ref().is_none_or(|(before, _)| *before != key) {
                if let Some((before, samples)) = open.take() {
                    parts.insert(before, samples);
                }
                open = Some((key, parts.remove(&key).unwrap_or_default()));
            }
            if let Some((_, samples)) = &mut open {
                samples.push(Sample {
                    series: found.series,
                    at_ms: *at_ms,
                    value: *value,
                });
            }
        }
        if let Some((before, samples)) = open {
            parts.insert(before, samples);
        }
    }

    /// The stored series that brought native histograms.
    pub fn histogram_series(&self) -> impl Iterator<Item = i64> {
        let found = |place: &u32| self.series[*place as usize].found;
        self.histograms
            .iter()
            .filter_map(found)
            .map(|found| found.series)
    }

    /// How many samples are kept.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether no sample is kept.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }
}

pub(crate) fn inflate(body: &[u8], limit: usize) -> Result<Vec<u8>, Unreadable> {
    let wrong = |error: snap::Error| Unreadable::NotSnappy(error.to_string());
    let claimed = snap::raw::decompress_len(body).map_err(wrong)?;
    if claimed > limit {
        return Err(Unreadable::TooLarge { claimed, limit });
    }
    snap::raw::Decoder::new()
        .decompress_vec(body)
        .map_err(wrong)
}

/// The message in snappy's block format. Only one of more than 4 GiB is refused.
pub(crate) fn deflate(message: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new()
        .compress_vec(message)
        .unwrap_or_default()
}

fn cut_off() -> Unreadable {
    Unreadable::NotARequest("a field is cut off")
}

/// Writes a request of these series, as a sender does.
pub fn write<'a>(
    series: impl IntoIterator<Item = (&'a [(String, String)], &'a [i64], &'a [f64])>,
) -> Vec<u8> {
    let mut message = Vec::new();
    for (labels, times_ms, values) in series {
        put_series(&mut message, labels, times_ms, values);
    }
    deflate(&message)
}

/// Appends a series as field 1, as requests to write and answers to reads have it.
pub(crate) fn put_series(
    out: &mut Vec<u8>,
    labels: &[(String, String)],
    times_ms: &[i64],
    values: &[f64],
) {
    let mut inner = Vec::new();
    for (name, value) in labels {
        let mut label = Vec::new();
        bytes_field(&mut label, 1, name.as_bytes());
        bytes_field(&mut label, 2, value.as_bytes());
        bytes_field(&mut inner, 1, &label);
    }
    for (at_ms, value) in times_ms.iter().zip(values) {
        let mut sample = vec![9];
        sample.extend_from_slice(&value.to_bits().to_le_bytes());
        sample.push(16);
        crate::varint::put(&mut sample, *at_ms as u64);
        bytes_field(&mut inner, 2, &sample);
    }
    bytes_field(out, 1, &inner);
}

pub(crate) fn bytes_field(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    crate::varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
