//! Prometheus' text format (version 0.0.4): metrics announced once, their samples below, labels escaped.

use std::fmt::Write as _;

#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    /// The metric whose samples follow.
    name: String,
    /// Its announcement, until its first sample: a metric without samples is not announced.
    header: String,
}

impl Page {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Begins a metric, whose samples follow. `kind` is `counter` or `gauge`; names of counters end with `_total`.
    pub(super) fn metric(&mut self, name: &str, kind: &str, help: &str) {
        name.clone_into(&mut self.name);
        self.header = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(&std::mem::take(&mut self.header));
        self.text.push_str(&self.name);
        for (place, (label, text)) in labels.iter().enumerate() {
            let _ = write!(
                self.text,
                "{}{label}=\"{}\"",
                if place == 0 { '{' } else { ',' },
                escaped(text)
            );
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.metric(name, "gauge", help);
        self.sample(&[], value);
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.metric(name, "counter", help);
        self.sample(&[], value);
    }

    /// 1 for the state that holds, 0 for the others.
    pub(super) fn states(&mut self, name: &str, help: &str, states: &[&str], holds: &str) {
        self.metric(name, "gauge", help);
        for state in states {
            let value = f64::from(u8::from(*state == holds));
            self.sample(&[("state", state)], value);
        }
    }
}

/// The text of a label as the format wants it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// `name` with `_` for what a metric's name may not hold.
pub(super) fn plain(name: &str) -> String {
    name.chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_without_samples_is_not_announced() {
        let mut page = Page::default();
        page.metric("down", "gauge", "Help.");
        page.counter("up_total", "Help.", 2.0);
        assert_eq!(
            page.into_text(),
            "# HELP up_total Help.\n# TYPE up_total counter\nup_total 2\n"
        );
    }

    #[test]
    fn labels_of_any_text_are_escaped() {
        let mut page = Page::default();
        page.metric("up", "gauge", "Help.");
        page.sample(&[("a", "x\\\"y\nz"), ("b", "é")], 1.5);
        assert_eq!(
            page.into_text(),
            "# HELP up Help.\n# TYPE up gauge\nup{a=\"x\\\\\\\"y\\nz\",b=\"é\"} 1.5\n"
        );
        assert_eq!(plain("nr-x.y"), "nr_x_y");
    }
}
