//! Labels that a cluster gives: a file of the downward API, a `key="value"` per line, values quoted as Go quotes them.

use std::io::Read as _;
use std::path::Path;

use super::KubernetesConfig;

/// A file of labels is far smaller; what lies beyond is not read.
const MAX_BYTES: u64 = 1 << 20;
/// Most characters of a label.
const MAX_CHARS: usize = 200;

/// Whether a text can be the key or the value of a label.
pub(crate) fn fits(text: &str) -> bool {
    text.chars().count() <= MAX_CHARS && !text.chars().any(char::is_control)
}

/// The listed labels, by key. Empty where no file is configured or it cannot be read: labels never stop an agent.
pub(crate) fn read(config: &KubernetesConfig) -> Vec<(String, String)> {
    let Some(text) = config.labels_file.as_deref().and_then(text_of) else {
        return Vec::new();
    };
    let mut found: Vec<_> = text
        .lines()
        .filter_map(parse_line)
        .filter(|(key, _)| config.labels.contains(key))
        .collect();
    found.sort();
    found.dedup_by(|later, earlier| later.0 == earlier.0);
    found
}

fn text_of(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = tierscope_rootfs::open_plain(path).ok()?;
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Key and value of a line; `None` for what is no label or does not fit one.
fn parse_line(line: &str) -> Option<(String, String)> {
    let (key, quoted) = line.split_once('=')?;
    let value = unquote(quoted.trim_end())?;
    (!key.is_empty() && fits(key) && fits(&value)).then(|| (key.to_owned(), value))
}

/// The text that Go's `strconv.Quote` made `quoted` of.
fn unquote(quoted: &str) -> Option<String> {
    let mut rest = quoted.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut value = String::new();
    while let Some(character) = rest.next() {
        match character {
            '\\' => value.push(unescape(&mut rest)?),
            '"' => return None,
            other => value.push(other),
        }
    }
    Some(value)
}

fn unescape(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let digits = match rest.next()? {
        same @ ('\\' | '"') => return Some(same),
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let code = rest
        .by_ref()
        .take(digits)
        .try_fold((0, 0), |(code, count), digit| {
            Some((code * 16 + digit.to_digit(16)?, count + 1))
        })
        .filter(|(_, count)| *count == digits)?;
    char::from_u32(code.0)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn with_file(text: &str, labels: &[&str]) -> Vec<(String, String)> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("labels");
        std::fs::write(&path, text).expect("written");
        read(&KubernetesConfig {
            labels_file: Some(path),
            labels: labels.iter().map(|&key| key.to_owned()).collect(),
            ..KubernetesConfig::default()
        })
    }

    #[test]
    fn only_listed_labels_travel() {
        let text = "app=\"agent\"\nrack=\"r17\"\ntopology.kubernetes.io/zone=\"eu-1a\"\n";
        assert_eq!(
            with_file(text, &["topology.kubernetes.io/zone", "rack", "sku"]),
            [
                ("rack".to_owned(), "r17".to_owned()),
                ("topology.kubernetes.io/zone".to_owned(), "eu-1a".to_owned())
            ]
        );
        assert_eq!(with_file(text, &[]), []);
    }

    #[test]
    fn values_are_unquoted_as_go_quotes_them() {
        let cases = [
            (r#""plain""#, Some("plain")),
            (r#""a \"word\" and \\""#, Some("a \"word\" and \\")),
            (r#""\u00e9\U0001f600\x41""#, Some("é😀A")),
            (r#""""#, Some("")),
            (r#""half\u00""#, None),
            (r#""bad\q""#, None),
            (r#""inner"quote""#, None),
            ("plain", None),
            ("\"", None),
        ];
        for (quoted, wanted) in cases {
            assert_eq!(unquote(quoted).as_deref(), wanted, "{quoted}");
        }
    }

    #[test]
    fn lines_that_hold_no_label_are_left_out() {
        let long = format!("rack=\"{}\"", "x".repeat(MAX_CHARS + 1));
        for line in ["", "rack", "=\"x\"", "rack=x", r#"rack="a\nb""#, &long] {
            assert_eq!(with_file(line, &["rack", ""]), [], "{line}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_gives_no_labels() {
        let config = KubernetesConfig {
            labels_file: Some(PathBuf::from("/nowhere/labels")),
            labels: vec!["rack".to_owned()],
            ..KubernetesConfig::default()
        };
        assert_eq!(read(&config), []);
        assert_eq!(read(&KubernetesConfig::default()), []);
    }
}
