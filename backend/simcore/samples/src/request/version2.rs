//! Requests of remote write 2.0: `io.prometheus.write.v2.Request`, whose labels are numbers of texts in one table.
//!
//! Labels are written out as the `Label` messages of version 1.0, so that a series is the same one by either version.
//! Metadata, exemplars and times of creation are stepped over: the store has no place for them.

use std::borrow::Cow;

use super::{Limits, Request, SYMBOLS_MAX, Unreadable, bytes_field, cut_off, inflate};
use crate::index::Index;
use crate::message::{Fields, Value};
use crate::varint;

const SYMBOL: u64 = 4;
const SERIES: u64 = 5;

impl Request {
    /// Reads a request of version 2.0. Labels of series that `index` knows are not checked.
    pub fn read_v2(body: &[u8], index: &Index, limits: &Limits) -> Result<Self, Unreadable> {
        let message = inflate(body, limits.inflated_bytes)?;
        Self::read_message_v2(&message, index, limits)
    }

    /// Reads an inflated request of version 2.0.
    pub fn read_message_v2(
        message: &[u8],
        index: &Index,
        limits: &Limits,
    ) -> Result<Self, Unreadable> {
        let symbols = read_symbols(message, limits)?;
        // Labels are written out beside the message: both together are what one request may hold.
        let mut bytes_left = limits.inflated_bytes.saturating_sub(message.len());
        Self::read_all(message, SERIES, index, limits, |request, series, place| {
            let references = request.read_series_v2(series, place, limits)?;
            let region = write_labels(&references, &symbols, bytes_left, limits)?;
            bytes_left -= region.len();
            Ok(Cow::Owned(region))
        })
    }

    /// Reads the samples of a series; returns the references of its labels.
    fn read_series_v2(
        &mut self,
        series: &[u8],
        place: u32,
        limits: &Limits,
    ) -> Result<Vec<u64>, Unreadable> {
        let mut references = Vec::new();
        let mut fields = Fields::of(series);
        while let Some(field) = fields.next().map_err(|()| cut_off())? {
            match (field.number, field.value) {
                (1, Value::Integer(reference)) => references.push(reference),
                (1, Value::Bytes(packed)) => {
                    let mut at = 0;
                    while at < packed.len() {
                        references.push(varint::take(packed, &mut at).ok_or_else(cut_off)?);
                    }
                }
                (2, Value::Bytes(sample)) => self.read_sample(sample, place, limits)?,
                (3, Value::Bytes(_)) => self.note_histogram(place),
                _ => {}
            }
        }
        Ok(references)
    }
}

/// The texts of the table, wherever in the message they stand.
fn read_symbols<'a>(message: &'a [u8], limits: &Limits) -> Result<Vec<&'a [u8]>, Unreadable> {
    let mut symbols = Vec::new();
    let mut fields = Fields::of(message);
    while let Some(field) = fields.next().map_err(|()| cut_off())? {
        if let (SYMBOL, Value::Bytes(text)) = (field.number, field.value) {
            if symbols.len() == SYMBOLS_MAX {
                return Err(Unreadable::TooManySymbols(limits.inflated_bytes));
            }
            symbols.push(text);
        }
    }
    Ok(symbols)
}

/// `Label` messages of pairs of references, of at most `most` bytes.
fn write_labels(
    references: &[u64],
    symbols: &[&[u8]],
    most: usize,
    limits: &Limits,
) -> Result<Vec<u8>, Unreadable> {
    let missing = Unreadable::NotARequest("a label refers to a symbol that is not there");
    let text = |reference: u64| {
        let place = usize::try_from(reference).ok()?;
        symbols.get(place).copied()
    };
    let mut region = Vec::new();
    for pair in references.chunks(2) {
        let &[name, value] = pair else {
            return Err(Unreadable::NotARequest(
                "the references of labels are not pairs of name and value",
            ));
        };
        let (Some(name), Some(value)) = (text(name), text(value)) else {
            return Err(missing);
        };
        let mut label = Vec::with_capacity(name.len() + value.len() + 8);
        bytes_field(&mut label, 1, name);
        bytes_field(&mut label, 2, value);
        bytes_field(&mut region, 1, &label);
        if region.len() > most {
            return Err(Unreadable::TooManySymbols(limits.inflated_bytes));
        }
    }
    Ok(region)
}
