//! Pressure stall information: `/proc/pressure/*`, and the `*.pressure` files of cgroups in the same format.

use tierscope_rootfs::{Outcome, ParseError, Reader, text};

/// Reads `/proc/pressure/<resource>` (`memory`, `cpu`, `io`). Absent or unreadable when the kernel was started
/// without it.
pub fn read(reader: &mut Reader, resource: &str, emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse(&format!("/proc/pressure/{resource}"), |text| parse(text, emit))
}

/// Gives `some_total_us` and `full_total_us`: monotonic stall time in microseconds. The averages in the file are the
/// kernel's own decaying means of these and are left out.
pub fn parse(text: &str, mut emit: impl FnMut(&str, i64)) -> Result<(), ParseError> {
    let mut problem = text::FirstProblem::default();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        let name = match words.next() {
            Some("some") => "some_total_us",
            Some("full") => "full_total_us",
            Some(other) => {
                problem.note(index, other, "neither `some` nor `full`");
                continue;
            }
            None => continue,
        };
        match words
            .find_map(|word| word.strip_prefix("total="))
            .and_then(text::number)
        {
            Some(total_us) => emit(name, total_us),
            None => problem.note(index, name, "no `total=<microseconds>`"),
        }
    }
    problem.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_and_averages_are_not() {
        let text = "some avg10=26.44 avg60=6.53 avg300=1.44 total=4649720\nfull avg10=0.00 total=7\n";
        let mut values = Vec::new();
        assert_eq!(
            parse(text, |name, value| values.push((name.to_owned(), value))),
            Ok(())
        );
        assert_eq!(
            values,
            [
                ("some_total_us".to_owned(), 4_649_720),
                ("full_total_us".to_owned(), 7)
            ]
        );
    }

    #[test]
    fn a_line_without_a_total_is_named() {
        let error = parse("some avg10=0.00\n", |_, _| {});
        assert!(error.is_err_and(|error| error.line == 1));
    }
}
