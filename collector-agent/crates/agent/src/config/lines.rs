//! Where a setting stands in the text of the file, for messages.

/// The number of the line that sets `path`, such as `heat.backends`, or opens the table of that name. `None` where the
/// text does not hold it, as for defaults.
pub(super) fn of(text: &str, path: &str) -> Option<usize> {
    let mut table = String::new();
    let mut opened = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = table_name(line) {
            table = name;
            if table == path {
                opened.get_or_insert(index + 1);
            }
        } else if let Some((key, _)) = line.split_once('=')
            && is_at(&table, key, path)
        {
            return Some(index + 1);
        }
    }
    opened
}

/// The name in `[name]` or `[[name]]`.
fn table_name(line: &str) -> Option<String> {
    let line = line.split('#').next().unwrap_or_default().trim_end();
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    let inner = inner.strip_suffix(']').unwrap_or(inner);
    Some(plain(inner))
}

/// Whether `key` in `table` is the setting at `path`, or an inline table that holds it.
fn is_at(table: &str, key: &str, path: &str) -> bool {
    let key = plain(key);
    let full = if table.is_empty() {
        key
    } else {
        format!("{table}.{key}")
    };
    path == full || path.strip_prefix(&full).is_some_and(|rest| rest.starts_with('.'))
}

/// A name without blanks and quotes.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|letter| !letter.is_whitespace() && *letter != '"' && *letter != '\'')
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_however_they_are_written() {
        let text =
            "nice = 1\n[heat] # whose\n  backends = []\n[[services]]\nname = \"x\"\n[limits]\nservices=1\n";
        assert_eq!(of(text, "nice"), Some(1));
        assert_eq!(of(text, "heat.backends"), Some(3));
        assert_eq!(of(text, "limits.services"), Some(7));
        assert_eq!(of(text, "services"), Some(4));
        assert_eq!(of(text, "guard.cpu_max_ratio"), None);
        assert_eq!(of("\nheat = { backends = [] }\n", "heat.backends"), Some(2));
        assert_eq!(of("heat.\"backends\" = []\n", "heat.backends"), Some(1));
    }
}
