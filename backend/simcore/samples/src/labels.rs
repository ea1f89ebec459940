//! Label sets: read from a series, checked, in order of their names.

use crate::message::{Fields, Value};

/// Most labels of a series.
const LABELS_MAX: usize = 64;
/// Longest name of a label, in bytes.
const NAME_BYTES_MAX: usize = 256;
/// Longest value of a label, in bytes.
const VALUE_BYTES_MAX: usize = 4096;
/// The label that holds the name of the metric.
const METRIC: &str = "__name__";

/// Labels of a series, by name; none has an empty value.
pub type Labels = Vec<(String, String)>;

/// Reads the labels of a series from its `Label` messages. The error says what a sender has to change.
pub(crate) fn read(messages: &[u8]) -> Result<Labels, String> {
    let mut labels = Labels::new();
    let mut fields = Fields::of(messages);
    while let Ok(Some(field)) = fields.next() {
        let (1, Value::Bytes(label)) = (field.number, field.value) else {
            continue;
        };
        let (name, value) = read_one(label)?;
        if !value.is_empty() {
            labels.push((name, value));
        }
        if labels.len() > LABELS_MAX {
            return Err(format!("a series has more than {LABELS_MAX} labels"));
        }
    }
    labels.sort_unstable();
    if let Some(pair) = labels.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("label {:?} is given twice", pair[0].0));
    }
    let Some((_, metric)) = labels.iter().find(|(name, _)| name == METRIC) else {
        return Err("a series has no name: the label __name__ is missing".to_owned());
    };
    if !is_name(metric, true) {
        return Err(format!("{:?} is not the name of a metric", shown(metric)));
    }
    Ok(labels)
}

fn read_one(label: &[u8]) -> Result<(String, String), String> {
    let (mut name, mut value) = (&[][..], &[][..]);
    let mut fields = Fields::of(label);
    loop {
        match fields.next() {
            Ok(None) => break,
            Ok(Some(field)) => match (field.number, field.value) {
                (1, Value::Bytes(bytes)) => name = bytes,
                (2, Value::Bytes(bytes)) => value = bytes,
                _ => {}
            },
            Err(()) => return Err("a label is not readable".to_owned()),
        }
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(format!(
            "the name of a label has more than {NAME_BYTES_MAX} bytes"
        ));
    }
    if value.len() > VALUE_BYTES_MAX {
        return Err(format!(
            "the value of a label has more than {VALUE_BYTES_MAX} bytes"
        ));
    }
    let name = std::str::from_utf8(name).map_err(|_| "the name of a label is not UTF-8")?;
    let value = std::str::from_utf8(value)
        .map_err(|_| format!("the value of label {name:?} is not UTF-8"))?;
    if !is_name(name, false) {
        return Err(format!("{:?} is not the name of a label", shown(name)));
    }
    if value.contains('\0') {
        return Err(format!("the value of label {name:?} holds a NUL"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// `[a-zA-Z_][a-zA-Z0-9_]*`, for metrics with colons too.
fn is_name(text: &str, colons: bool) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || (colons && byte == b':');
    let mut bytes = text.bytes();
    bytes.next().is_some_and(fits) && bytes.all(|byte| fits(byte) || byte.is_ascii_digit())
}

fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}
