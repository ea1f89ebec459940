//! `/proc/swaps`: the swap devices in use.

use tierscope_rootfs::{Outcome, ParseError, Reader, text};

/// One swap device or file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// Path as the kernel prints it, with `\040` for a space.
    pub name: String,
    /// `partition` or `file`.
    pub kind: String,
    /// Size in bytes.
    pub size_bytes: i64,
    /// Bytes in use.
    pub used_bytes: i64,
    /// Higher is used first.
    pub priority: i32,
}

/// Size and use of all devices together, in bytes.
pub fn totals(swaps: &[Swap]) -> (i64, i64) {
    let add = |(size_bytes, used_bytes): (i64, i64), swap: &Swap| {
        (
            size_bytes.saturating_add(swap.size_bytes),
            used_bytes.saturating_add(swap.used_bytes),
        )
    };
    swaps.iter().fold((0, 0), add)
}

/// Reads the swap devices; a host without swap has an empty list.
pub fn read(reader: &mut Reader) -> Outcome<Vec<Swap>> {
    reader.parse_again("/proc/swaps", parse)
}

/// Parses the text of `/proc/swaps`, whose first line is a heading and whose sizes are in KiB.
pub fn parse(text: &str) -> Result<Vec<Swap>, ParseError> {
    // The kernel prints the heading of a host without swap, too.
    let heading = text.lines().next().unwrap_or_default();
    if !heading.starts_with("Filename") {
        return Err(ParseError::new(
            1,
            heading,
            "not the heading `Filename Type Size Used Priority`",
        ));
    }
    let mut swaps = Vec::new();
    for (index, line) in text.lines().enumerate().skip(1) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let swap = match words[..] {
            [name, kind, size_kib, used_kib, priority] => swap(name, kind, size_kib, used_kib, priority),
            _ => None,
        };
        swaps.push(
            swap.ok_or_else(|| ParseError::new(index + 1, line, "not `name type size used priority`"))?,
        );
    }
    Ok(swaps)
}

fn swap(name: &str, kind: &str, size_kib: &str, used_kib: &str, priority: &str) -> Option<Swap> {
    Some(Swap {
        name: name.to_owned(),
        kind: kind.to_owned(),
        size_bytes: text::number(size_kib)?.checked_mul(1024)?,
        used_bytes: text::number(used_kib)?.checked_mul(1024)?,
        priority: priority.parse().ok()?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes() {
        let swaps = parse("Filename Type Size Used Priority\n/dev/zram0   partition 4 2 -2\n").unwrap();
        assert_eq!(swaps[0].size_bytes, 4096);
        assert_eq!(swaps[0].used_bytes, 2048);
        assert_eq!(swaps[0].priority, -2);
        assert_eq!(totals(&swaps), (4096, 2048));
    }

    #[test]
    fn no_swap_is_an_empty_list() {
        assert!(parse("").is_err(), "an empty file says nothing");
        assert_eq!(parse("Filename\t\t\t\tType\t\tSize\n"), Ok(Vec::new()));
    }
}
