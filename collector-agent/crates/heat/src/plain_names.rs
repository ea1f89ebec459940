//! Names as the service knows them: what could deceive a reader or a path is written out at its door. A plan names
//! services so, and the agent compares in the same form. `domain/base/names.py` is the other side; both are held against
//! `contract/examples/escaped_names.json`.

use std::borrow::Cow;
use std::fmt::Write as _;

const PARENT: &str = "..";

/// A name with its control characters, marks of direction and `..` as a part of a path written out.
pub(crate) fn escaped_name(name: &str) -> Cow<'_, str> {
    if !name.contains(deceives) && !name.contains(PARENT) {
        return Cow::Borrowed(name);
    }
    let mut written = String::with_capacity(name.len() + 8);
    for character in name.chars() {
        let code = u32::from(character);
        // Writing to a string does not fail.
        let _ = if !deceives(character) {
            written.write_char(character)
        } else if code < 0x100 {
            write!(written, "\\x{code:02x}")
        } else {
            write!(written, "\\u{code:04x}")
        };
    }
    Cow::Owned(without_parents(&written))
}

fn without_parents(name: &str) -> String {
    let mut parts = String::with_capacity(name.len());
    let mut rest = name;
    loop {
        let end = rest.find(['/', '\\']).unwrap_or(rest.len());
        let part = &rest[..end];
        parts.push_str(if part == PARENT { "\\x2e\\x2e" } else { part });
        let Some(separator) = rest[end..].chars().next() else {
            return parts;
        };
        parts.push(separator);
        rest = &rest[end + 1..];
    }
}

fn deceives(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn names_are_written_out_as_the_service_does() {
        let text = include_str!("../../../../contract/examples/escaped_names.json");
        let names: BTreeMap<String, String> = serde_json::from_str(text).expect("an object");
        assert!(names.len() > 10);
        for (name, escaped) in names {
            assert_eq!(escaped_name(&name), escaped, "{name:?}");
            assert_eq!(escaped_name(&escaped), escaped, "once is enough");
        }
    }
}
