//! A request of Prometheus' remote-read protocol and its answer, both in snappy's block format.
//!
//! Answers are of the kind `SAMPLES`, which every client takes; streamed chunks are not written.

use crate::labels::Labels;
use crate::message::{Fields, Value};
use crate::request::{Unreadable, bytes_field, deflate, inflate, put_series};

/// Bytes of a request after inflating: selectors are short.
const REQUEST_BYTES_MAX: usize = 1 << 20;

/// How a matcher compares: the words of `PromQL`, in the protocol's order.
const OPERATORS: [&str; 4] = ["=", "!=", "=~", "!~"];

const SAMPLES: u64 = 0;

/// A condition on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher {
    /// `=`, `!=`, `=~` or `!~`.
    pub operator: &'static str,
    /// The label.
    pub label: String,
    /// What it is compared with.
    pub value: String,
}

/// One selector over [start, end], milliseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// The oldest sample that is wanted.
    pub start_ms: i64,
    /// The newest one.
    pub end_ms: i64,
    /// Every condition holds.
    pub matchers: Vec<Matcher>,
}

/// Reads a request; at most `most` queries, and as many matchers of each.
///
/// # Errors
/// Where the body is not a `ReadRequest`, is too large, or its client takes no samples.
pub fn read(body: &[u8], most: usize) -> Result<Vec<Query>, Unreadable> {
    let message = inflate(body, REQUEST_BYTES_MAX)?;
    let mut queries = Vec::new();
    // Of answers that its sender takes; it may leave them out.
    let mut kinds: Option<Vec<u64>> = None;
    let mut fields = Fields::of(&message);
    while let Some(field) = fields.next().map_err(cut("a field is cut off"))? {
        match (field.number, field.value) {
            (1, Value::Bytes(query)) if queries.len() < most => {
                queries.push(read_query(query, most)?);
            }
            (1, Value::Bytes(_)) => return Err(Unreadable::TooManyQueries(most)),
            (2, Value::Integer(kind)) => kinds.get_or_insert_default().push(kind),
            // Packed: kinds are below 128, a byte each.
            (2, Value::Bytes(packed)) => kinds
                .get_or_insert_default()
                .extend(packed.iter().copied().map(u64::from)),
            _ => {}
        }
    }
    if kinds.is_some_and(|kinds| !kinds.contains(&SAMPLES)) {
        return Err(Unreadable::NotAReadRequest(
            "its sender takes streamed chunks alone, not samples",
        ));
    }
    Ok(queries)
}

fn read_query(bytes: &[u8], most: usize) -> Result<Query, Unreadable> {
    let mut query = Query::default();
    let mut fields = Fields::of(bytes);
    while let Some(field) = fields.next().map_err(cut("a query is cut off"))? {
        match (field.number, field.value) {
            (1, Value::Integer(raw)) => query.start_ms = raw as i64,
            (2, Value::Integer(raw)) => query.end_ms = raw as i64,
            (3, Value::Bytes(matcher)) if query.matchers.len() < most => {
                query.matchers.push(read_matcher(matcher)?);
            }
            (3, Value::Bytes(_)) => return Err(Unreadable::TooManyQueries(most)),
            _ => {}
        }
    }
    Ok(query)
}

fn read_matcher(bytes: &[u8]) -> Result<Matcher, Unreadable> {
    let (mut kind, mut label, mut value) = (0, String::new(), String::new());
    let mut fields = Fields::of(bytes);
    while let Some(field) = fields.next().map_err(cut("a matcher is cut off"))? {
        match (field.number, field.value) {
            (1, Value::Integer(raw)) => kind = raw,
            (2, Value::Bytes(raw)) => label = text(raw)?,
            (3, Value::Bytes(raw)) => value = text(raw)?,
            _ => {}
        }
    }
    let operator = usize::try_from(kind)
        .ok()
        .and_then(|kind| OPERATORS.get(kind))
        .ok_or(Unreadable::NotAReadRequest("a matcher has an unknown type"))?;
    Ok(Matcher {
        operator,
        label,
        value,
    })
}

fn text(raw: &[u8]) -> Result<String, Unreadable> {
    String::from_utf8(raw.to_vec())
        .map_err(|_| Unreadable::NotAReadRequest("a matcher is not in UTF-8"))
}

fn cut(reason: &'static str) -> impl Fn(()) -> Unreadable {
    move |()| Unreadable::NotAReadRequest(reason)
}

/// One series of an answer: labels by name, milliseconds, values.
pub type Series = (Labels, Vec<i64>, Vec<f64>);

/// Writes the answer: the series of each query, in the order of the queries.
#[must_use]
pub fn answer(results: &[Vec<Series>]) -> Vec<u8> {
    let mut message = Vec::new();
    for series in results {
        let mut result = Vec::new();
        for (labels, times_ms, values) in series {
            put_series(&mut result, labels, times_ms, values);
        }
        bytes_field(&mut message, 1, &result);
    }
    deflate(&message)
}
