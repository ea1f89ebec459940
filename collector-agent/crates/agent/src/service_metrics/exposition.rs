//! The text format of Prometheus: samples in, and selectors that choose among them. Tolerant: a line that cannot be
//! understood is skipped and the first of them is told.

use std::borrow::Cow;

use serde::Deserialize;

/// Labels of a sample, in the order of the text.
pub(super) type Labels<'a> = Vec<(&'a str, Cow<'a, str>)>;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) name: &'a str,
    pub(super) labels: Labels<'a>,
    pub(super) value: f64,
}

impl Sample<'_> {
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        let label = self.labels.iter().find(|(own, _)| *own == name);
        label.map(|(_, value)| value.as_ref())
    }
}

/// Hands out all samples; `Err` names the first line that is none.
pub(super) fn parse<'a>(text: &'a str, mut emit: impl FnMut(&Sample<'a>)) -> Result<(), String> {
    let mut problem = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match parse_sample(line) {
            Some(sample) => emit(&sample),
            None if problem.is_none() => {
                problem = Some(format!("line {} is not `name{{labels}} value`", index + 1));
            }
            None => {}
        }
    }
    problem.map_or(Ok(()), Err)
}

fn parse_sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(|character: char| character == '{' || character.is_ascii_whitespace())?;
    let name = Some(&line[..end]).filter(|name| is_name(name))?;
    let (labels, rest) = parse_labels(&line[end..])?;
    // A time stamp may follow, and in OpenMetrics an exemplar.
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Sample { name, labels, value })
}

fn is_name(name: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | ':');
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Labels in braces, if any, and what follows them.
fn parse_labels(text: &str) -> Option<(Labels<'_>, &str)> {
    let mut labels = Labels::new();
    let Some(mut rest) = text.trim_start().strip_prefix('{') else {
        return Some((labels, text));
    };
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start().strip_prefix('"')?;
        let (value, after) = quoted(after)?;
        labels.push((name.trim(), value));
        rest = after;
    }
}

/// A value up to its closing quote, without its escapes, and what follows.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut plain = String::new();
    let mut is_escaped = false;
    let mut has_escapes = false;
    for (index, character) in text.char_indices() {
        match character {
            _ if is_escaped => {
                plain.push(if character == 'n' { '\n' } else { character });
                is_escaped = false;
            }
            '\\' => (is_escaped, has_escapes) = (true, true),
            '"' => {
                let value = if has_escapes {
                    Cow::Owned(plain)
                } else {
                    Cow::Borrowed(&text[..index])
                };
                return Some((value, &text[index + 1..]));
            }
            _ => plain.push(character),
        }
    }
    None
}

/// Chooses samples: by name, and by labels that must have these values. Further labels do not matter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Selector {
    name: String,
    labels: Vec<(String, String)>,
}

impl TryFrom<String> for Selector {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let fix = || format!("{text:?} is not a metric such as `requests_total{{code=\"200\"}}`");
        let end = text.find('{').unwrap_or(text.len());
        let name = text[..end].trim();
        let (labels, rest) = parse_labels(&text[end..]).ok_or_else(fix)?;
        if !is_name(name) || !rest.trim().is_empty() {
            return Err(fix());
        }
        Ok(Self {
            name: name.to_owned(),
            labels: labels
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.into_owned()))
                .collect(),
        })
    }
}

impl Selector {
    /// Whether a sample is of this metric, whose name may have a suffix such as `_bucket`.
    pub(super) fn fits(&self, sample: &Sample<'_>, suffix: &str) -> bool {
        sample.name.strip_suffix(suffix) == Some(&self.name)
            && self
                .labels
                .iter()
                .all(|(name, value)| sample.label(name) == Some(value.as_str()))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn samples_of_all_shapes_are_read() {
        let text = "\
# HELP http_requests_total Requests.
# TYPE http_requests_total counter
http_requests_total{method=\"post\",path=\"a \\\"b\\\"\\\\\\n\",} 1027 1395066363000
plain 3.5e2
nothing{} NaN
endless{le=\"+Inf\"} +Inf # {trace=\"x\"} 1
{} 5
broken{a=\"b\" 5
9name 4
";
        let mut seen = Vec::new();
        let problem = parse(text, |sample| seen.push(sample.clone())).unwrap_err();
        assert!(problem.starts_with("line 7"), "{problem}");
        assert_eq!(seen.len(), 4);
        assert_eq!(seen[0].label("path"), Some("a \"b\"\\\n"));
        assert_eq!(
            (seen[0].label("method"), seen[0].label("x")),
            (Some("post"), None)
        );
        assert!(
            (seen[1].value - 350.0).abs() < 1e-9 && seen[2].value.is_nan() && seen[3].value.is_infinite()
        );
    }

    #[test]
    fn a_selector_names_the_labels_that_matter() {
        let selector = Selector::try_from("requests_total{code=\"200\"}".to_owned()).unwrap();
        let mut fitting = 0;
        parse(
            "requests_total{code=\"200\",path=\"/\"} 1\nrequests_total{code=\"500\"} 1\nrequests_total_bucket{code=\"200\"} 1\n",
            |sample| fitting += u32::from(selector.fits(sample, "")),
        )
        .unwrap();
        assert_eq!(fitting, 1);
        for wrong in ["", "a b", "a{b}", "a{b=\"c\"", "a{b=\"c\"} x", "{a=\"b\"}"] {
            assert!(Selector::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_text_breaks_the_parser() {
        for text in [
            "a{",
            "a{b=",
            "a{b=\"",
            "a{b=\"\\",
            "a{,,,}",
            "{",
            "a",
            "a{}",
            "\u{fffd} 1",
            "a{b=\"c\"}\u{a0}1",
        ] {
            let _outcome = parse(text, |_| {});
        }
    }
}
