//! `/proc/stat`: time of all CPUs together, and what the scheduler counts.

use tierscope_rootfs::{Outcome, ParseError, Reader, text};

/// Names of the columns of the `cpu` line, in order. Unit: ticks of 1/100 s, whatever the kernel's own clock.
const CPU_COLUMNS: [&str; 10] = [
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "irq",
    "softirq",
    "steal",
    "guest",
    "guest_nice",
];

/// Single counters that are kept; the long `intr` and `softirq` lines are not.
const COUNTERS: [&str; 4] = ["ctxt", "processes", "procs_running", "procs_blocked"];

/// Reads the totals.
pub fn read(reader: &mut Reader, emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse_again("/proc/stat", |text| parse(text, emit))
}

/// Parses the text of `/proc/stat`: `cpu_user`, `cpu_system`, ... in ticks, `ctxt`, `processes`, and two gauges.
pub fn parse(text: &str, mut emit: impl FnMut(&str, i64)) -> Result<(), ParseError> {
    let mut problem = text::FirstProblem::default();
    let mut name = String::with_capacity(16);
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if first == "cpu" {
            for (column, word) in CPU_COLUMNS.iter().zip(words) {
                name.clear();
                name.extend(["cpu_", column]);
                match text::number(word) {
                    Some(ticks) => emit(&name, ticks),
                    None => problem.note(index, &name, "not a whole number of 63 bits"),
                }
            }
        } else if COUNTERS.contains(&first) {
            match words.next().and_then(text::number) {
                Some(value) => emit(first, value),
                None => problem.note(index, first, "not a whole number of 63 bits"),
            }
        }
    }
    problem.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_and_single_cpus_are_not() {
        let text = "cpu  1 2 3 4\ncpu0 9 9 9 9\nintr 5 6 7\nctxt 8\nprocs_running 2\n";
        let mut values = Vec::new();
        assert_eq!(
            parse(text, |name, value| values.push((name.to_owned(), value))),
            Ok(())
        );
        let names: Vec<(&str, i64)> = values
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        let expected = [
            ("cpu_user", 1),
            ("cpu_nice", 2),
            ("cpu_system", 3),
            ("cpu_idle", 4),
            ("ctxt", 8),
            ("procs_running", 2),
        ];
        assert_eq!(names, expected);
    }
}
