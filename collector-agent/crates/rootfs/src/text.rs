//! Line shapes that kernel files share. Pure: text in, names and values out.
//!
//! Parsers deliver every line that they understand, in order, and return the first that they do not.

use crate::error::{BELOW_ZERO, ParseError};

/// A whole number as the kernel prints it. `None` for text and for what does not fit in 63 bits.
pub fn number(text: &str) -> Option<i64> {
    text.parse().ok()
}

const NO_NUMBER: &str = "not a whole number of 63 bits";
const NO_SIZE: &str = "not a whole number of 63 bits, alone or in kB";

/// Why a text is no [`number`] of this many bytes each; `otherwise` where it is no count below zero. Kernels print sizes below
/// zero as kB of 64 bits, or divide bytes of 64 bits by 1024.
fn refusal(text: &str, unit_bytes: u64, otherwise: &'static str) -> &'static str {
    let is_below = |count: u64| i64::try_from(count).is_err();
    match text.parse::<u64>() {
        Ok(count) if is_below(count) || count.checked_mul(unit_bytes).is_some_and(is_below) => BELOW_ZERO,
        _ => otherwise,
    }
}

/// A limit: `max` is `Ok(None)`.
pub fn limit(text: &str) -> Result<Option<i64>, ParseError> {
    if text == "max" {
        return Ok(None);
    }
    number(text)
        .map(Some)
        .ok_or_else(|| ParseError::new(1, text, "neither a number nor `max`"))
}

/// Remembers the first problem while the rest is read.
#[derive(Debug, Default)]
pub struct FirstProblem(Option<ParseError>);

impl FirstProblem {
    /// Notes a line (counted from 0) that could not be used.
    pub fn note(&mut self, line_index: usize, item: &str, reason: &'static str) {
        // A count below zero hides no line that cannot be understood.
        let hides_none = |told: &ParseError| told.is_below_zero() && reason != BELOW_ZERO;
        if self.0.as_ref().is_none_or(hides_none) {
            self.0 = Some(ParseError::new(line_index + 1, item, reason));
        }
    }

    /// `Err` with the first noted problem.
    pub fn finish(self) -> Result<(), ParseError> {
        self.0.map_or(Ok(()), Err)
    }
}

/// `name value` lines: vmstat, numastat, memory.stat, memory.events.
pub fn name_values(text: &str, mut emit: impl FnMut(&str, i64)) -> Result<(), ParseError> {
    let mut problem = FirstProblem::default();
    for (index, line) in text.lines().enumerate() {
        let Some((name, value)) = line.trim().split_once(' ') else {
            if !line.trim().is_empty() {
                problem.note(index, line, "no value");
            }
            continue;
        };
        match number(value.trim()) {
            Some(value) => emit(name, value),
            None => problem.note(index, name, refusal(value.trim(), 1, NO_NUMBER)),
        }
    }
    problem.finish()
}

/// `Name:  value kB` lines, with or without a `Node N ` prefix: meminfo and `smaps_rollup`. Values in kB are given in
/// bytes, all others as printed.
pub fn colon_values(text: &str, mut emit: impl FnMut(&str, i64)) -> Result<(), ParseError> {
    let mut problem = FirstProblem::default();
    for (index, line) in text.lines().enumerate() {
        let Some((name, rest)) = line.split_once(':') else {
            if !line.trim().is_empty() {
                problem.note(index, line, "no colon");
            }
            continue;
        };
        let name = without_node(name.trim());
        let mut words = rest.split_ascii_whitespace();
        let word = words.next().unwrap_or_default();
        let value = number(word);
        let factor = match words.next() {
            Some("kB") => Some(1024),
            Some(_) => None,
            None => Some(1),
        };
        let bytes = value.zip(factor);
        let unit_bytes = factor.map_or(1, i64::unsigned_abs);
        match bytes.and_then(|(value, factor)| value.checked_mul(factor)) {
            Some(value) => emit(name, value),
            None => problem.note(index, name, refusal(word, unit_bytes, NO_SIZE)),
        }
    }
    problem.finish()
}

/// `name N0=1 N1=2` lines of `memory.numa_stat`; v1 writes `name=3 N0=1 N1=2`. Values per node are given as
/// `name[N0]`, a total under its bare name.
pub fn node_values(text: &str, mut emit: impl FnMut(&str, i64)) -> Result<(), ParseError> {
    let mut problem = FirstProblem::default();
    let mut full_name = String::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        let (name, total) = first
            .split_once('=')
            .map_or((first, None), |(name, total)| (name, Some(total)));
        match total.map(number) {
            Some(Some(value)) => emit(name, value),
            Some(None) => problem.note(index, name, refusal(total.unwrap_or_default(), 1, NO_NUMBER)),
            None => {}
        }
        for word in words {
            let (node, text) = word.split_once('=').unwrap_or((word, ""));
            let Some(value) = number(text) else {
                problem.note(index, word, refusal(text, 1, "not `N<node>=<number>`"));
                continue;
            };
            full_name.clear();
            full_name.extend([name, "[", node, "]"]);
            emit(&full_name, value);
        }
    }
    problem.finish()
}

/// Pressure stall information: `some_total_us` and `full_total_us`, monotonic stall time in microseconds. The averages
/// in the file are the kernel's own decaying means of these and are left out.
pub fn pressure_totals(text: &str, mut emit: impl FnMut(&str, i64)) -> Result<(), ParseError> {
    let mut problem = FirstProblem::default();
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
            .and_then(number)
        {
            Some(total_us) => emit(name, total_us),
            None => problem.note(index, name, "no `total=<microseconds>`"),
        }
    }
    problem.finish()
}

/// Numbers of a kernel list such as `0-3,8` in order; an empty line is an empty list.
pub fn list(text: &str) -> Result<Vec<u32>, ParseError> {
    let mut numbers = Vec::new();
    let text = text.trim();
    let parts = (!text.is_empty()).then(|| text.split(','));
    for part in parts.into_iter().flatten() {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first
            .trim()
            .parse::<u32>()
            .ok()
            .zip(last.trim().parse::<u32>().ok());
        match range {
            Some((first, last))
                if first <= last && numbers.len() + ((last - first) as usize) < MAX_LIST_LENGTH =>
            {
                numbers.extend(first..=last);
            }
            _ => return Err(ParseError::new(1, part, "not a number or an ascending range")),
        }
    }
    Ok(numbers)
}

/// Longest list that is believed: far above any count of CPUs or nodes, far below what would hurt.
const MAX_LIST_LENGTH: usize = 1 << 16;

fn without_node(name: &str) -> &str {
    name.strip_prefix("Node ")
        .and_then(|rest| rest.split_once(' '))
        .map_or(name, |(_, name)| name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn collect(
        parse: impl FnOnce(&mut dyn FnMut(&str, i64)) -> Result<(), ParseError>,
    ) -> (Vec<(String, i64)>, Result<(), ParseError>) {
        let mut values = Vec::new();
        let result = parse(&mut |name: &str, value: i64| values.push((name.to_owned(), value)));
        (values, result)
    }

    fn pairs(values: &[(&str, i64)]) -> Vec<(String, i64)> {
        values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_are_kept() {
        let (values, result) = collect(|emit| name_values("a 1\nb x\nc 3\nd\n", emit));
        assert_eq!(values, pairs(&[("a", 1), ("c", 3)]));
        let error = result.unwrap_err();
        assert_eq!((error.line, error.item.as_str()), (2, "b"));
    }

    #[test]
    fn a_value_of_64_bits_is_refused_rather_than_wrapped() {
        let (values, result) = collect(|emit| name_values("huge 18446744073709551615\n", emit));
        assert!(values.is_empty());
        assert!(result.unwrap_err().is_below_zero());
    }

    #[test]
    fn a_count_below_zero_is_told_as_one_and_hides_no_line_that_is_broken() {
        let reason = |text: &str| colon_values(text, |_, _| {}).unwrap_err().reason;
        assert_eq!(reason("HugePages_Rsvd: 18446744073709551615\n"), BELOW_ZERO);
        assert_eq!(reason("MemUsed: 18446744073709551104 kB\n"), BELOW_ZERO);
        assert_eq!(
            reason("SwapFree:18014396678257232 kB\n"),
            BELOW_ZERO,
            "bytes by 1024"
        );
        assert_eq!(reason("SwapFree: 118014396678257232 kB\n"), NO_SIZE);
        assert_eq!(reason("SwapFree: 184467440737095516150 kB\n"), NO_SIZE);
        let (values, result) = collect(|emit| node_values("a N0=18446744073709551615 N1=2\nb N0=x\n", emit));
        assert_eq!(values, pairs(&[("a[N1]", 2)]));
        assert_eq!(result.unwrap_err().line, 2);
    }

    #[test]
    fn kib_become_bytes_and_bare_numbers_stay() {
        let text = "MemTotal:  4 kB\nHugePages_Total:   7\nNode 12 Active(anon):  2 kB\n";
        let (values, result) = collect(|emit| colon_values(text, emit));
        assert_eq!(
            values,
            pairs(&[("MemTotal", 4096), ("HugePages_Total", 7), ("Active(anon)", 2048)])
        );
        result.unwrap();
    }

    #[test]
    fn another_unit_is_no_value() {
        let (values, result) = collect(|emit| colon_values("MemTotal: 4 MB\nMemFree: 4 k", emit));
        assert!(values.is_empty());
        assert_eq!(result.unwrap_err().line, 1);
    }

    #[test]
    fn values_per_node_are_kept_apart_in_both_cgroup_versions() {
        let (values, result) = collect(|emit| node_values("anon N0=5 N1=6\ntotal=11 N0=5 N1=6\n", emit));
        assert_eq!(
            values,
            pairs(&[
                ("anon[N0]", 5),
                ("anon[N1]", 6),
                ("total", 11),
                ("total[N0]", 5),
                ("total[N1]", 6)
            ])
        );
        result.unwrap();
    }

    #[test]
    fn lists_are_expanded_and_an_empty_line_is_empty() {
        assert_eq!(list("0-2,8\n").unwrap(), [0, 1, 2, 8]);
        assert_eq!(list("\n").unwrap(), Vec::<u32>::new());
        assert!(list("3-1").is_err());
        assert!(list(",").is_err());
        assert!(list("0,\0\0").is_err());
        assert!(list("0-4294967295").is_err());
        assert!(list(&"0-60000,".repeat(3)).is_err());
    }

    #[test]
    fn max_is_no_limit() {
        assert_eq!(limit("max"), Ok(None));
        assert_eq!(limit("4096"), Ok(Some(4096)));
        assert!(limit("many").is_err());
    }

    #[test]
    fn totals_are_read_and_averages_are_not() {
        let text = "some avg10=26.44 avg60=6.53 avg300=1.44 total=4649720\nfull avg10=0.00 total=7\n";
        let mut values = Vec::new();
        assert_eq!(
            pressure_totals(text, |name, value| values.push((name.to_owned(), value))),
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
        let error = pressure_totals("some avg10=0.00\n", |_, _| {});
        assert!(error.is_err_and(|error| error.line == 1));
    }
}
