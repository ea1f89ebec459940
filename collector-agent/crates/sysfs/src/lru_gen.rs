//! `/sys/kernel/debug/lru_gen`: pages of each control group and node by the age of their generation (root, debugfs).
//!
//! A page is in the generation that was the youngest when the kernel last saw it used, so it has not been seen in use
//! since the next younger generation was made. Pages used after that and not yet looked at again count as idle here:
//! the sums are upper bounds of idle memory, and as fresh as the kernel's last aging.

use std::collections::BTreeMap;

use tierscope_rootfs::{Outcome, ParseError, Reader, text};

/// Ages in seconds for which sums are given.
pub const IDLE_SECONDS: [i64; 3] = [60, 600, 3600];

/// Pages by how long they have not been seen in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdlePages {
    /// Anonymous pages idle for at least each of [`IDLE_SECONDS`].
    pub anon: [i64; 3],
    /// File pages, likewise.
    pub file: [i64; 3],
}

impl IdlePages {
    /// Adds the pages of another group.
    pub fn add(&mut self, other: &Self) {
        for (sums, more) in [(&mut self.anon, &other.anon), (&mut self.file, &other.file)] {
            for (sum, pages) in sums.iter_mut().zip(more) {
                *sum = sum.saturating_add(*pages);
            }
        }
    }

    fn add_generation(&mut self, idle_ms: i64, anon: i64, file: i64) {
        for (index, seconds) in IDLE_SECONDS.iter().enumerate() {
            if idle_ms >= seconds * 1000 {
                self.anon[index] = self.anon[index].saturating_add(anon);
                self.file[index] = self.file[index].saturating_add(file);
            }
        }
    }
}

/// Idle pages by path of the control group and node.
pub type ByGroup = BTreeMap<(String, u32), IdlePages>;

/// Reads the file. It is absent where debugfs is not mounted or the kernel has no multi-generational LRU.
pub fn read(reader: &mut Reader) -> Outcome<ByGroup> {
    reader.parse("/sys/kernel/debug/lru_gen", parse)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Group(&'a str),
    Node(u32),
    Generation { age_ms: i64, anon: i64, file: i64 },
}

/// Parses the text: `memcg <id> <path>`, ` node <number>`, and generations from the oldest to the youngest, each
/// `<sequence> <age in ms> <anonymous pages> <file pages>`.
pub fn parse(text: &str) -> Result<ByGroup, ParseError> {
    let mut groups = ByGroup::new();
    let mut path = "";
    let mut node = None;
    let mut older: Option<(i64, i64)> = None;
    for (index, line) in text.lines().enumerate() {
        match line_of(line)
            .ok_or_else(|| ParseError::new(index + 1, line, "not a group, node or generation"))?
        {
            Line::Group(next) => (path, node, older) = (next, None, None),
            Line::Node(next) => {
                groups.entry((path.to_owned(), next)).or_default();
                (node, older) = (Some(next), None);
            }
            Line::Generation { age_ms, anon, file } => {
                let (Some(node), Some((older_anon, older_file))) = (node, older.replace((anon, file))) else {
                    continue;
                };
                let pages = groups.entry((path.to_owned(), node)).or_default();
                pages.add_generation(age_ms, older_anon, older_file);
            }
        }
    }
    Ok(groups)
}

fn line_of(line: &str) -> Option<Line<'_>> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("memcg ") {
        // A path may hold spaces, and is missing for a group that is being removed.
        let path = rest
            .trim_start()
            .split_once(' ')
            .map_or("", |(_, path)| path.trim());
        return Some(Line::Group(path));
    }
    if let Some(rest) = line.strip_prefix("node ") {
        return rest.trim().parse().ok().map(Line::Node);
    }
    let mut words = line.split_ascii_whitespace();
    let _sequence = text::number(words.next()?)?;
    let mut next = || text::number(words.next()?);
    Some(Line::Generation {
        age_ms: next()?,
        anon: pages(next()?),
        file: pages(next()?),
    })
}

/// The kernel sums per-CPU parts without a lock, and may print a small negative number.
fn pages(count: i64) -> i64 {
    count.max(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_idle_since_the_next_younger_generation() {
        let text = "\
memcg     1 /
 node     0
          3     700000       1562           8 
          4     650000        174           0 
          5      23448          5           0 
memcg     2 /load with space
 node     1
          0     4000000      10           1 
          1     3700000      20           2 
";
        let groups = parse(text).unwrap();
        // The oldest generation has been idle since 650 s, the second since 23 s, the youngest is in use.
        assert_eq!(
            groups[&("/".to_owned(), 0)],
            IdlePages {
                anon: [1562, 1562, 0],
                file: [8, 8, 0]
            }
        );
        assert_eq!(groups[&("/load with space".to_owned(), 1)].anon, [10, 10, 10]);
    }

    #[test]
    fn text_of_another_shape_is_refused_with_its_line() {
        assert_eq!(parse("memcg 1 /\n node x\n").map_err(|error| error.line), Err(2));
        assert_eq!(parse(""), Ok(ByGroup::new()));
    }
}
