//! `/proc/zoneinfo`: watermarks and sizes per zone, and the node statistics printed with a node's first zone.
//!
//! The kernel takes each zone's lock with interrupts off to print it: every 5 s or slower. The format differs between
//! releases (6.1 has no `promo`, unpopulated zones print less, TPP kernels add words to the header and a `demote`
//! line), so the text is read by shape: an unknown `name value` line is kept under its name.

use tierscope_rootfs::{Outcome, ParseError, Reader, text};

/// What a line of zoneinfo belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// A node, by its number: lines under `per-node stats`.
    Node(u32),
    /// A zone of a node, by its name.
    Zone(u32, &'a str),
}

/// Reads the file. Units are the kernel's: pages, or counts for the `numa_` lines.
///
/// Lists of one value per CPU are summed over the CPUs: `pagesets_count` and `pagesets_high`, in pages. The reserve
/// `protection: (a, b)` becomes `protection[0]`, `protection[1]`.
pub fn read(reader: &mut Reader, emit: impl FnMut(Place<'_>, &str, i64)) -> Outcome<()> {
    reader.parse_again("/proc/zoneinfo", |text| parse(text, emit))
}

/// Which part of a zone's text a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    NodeStats,
    Zone,
    PerCpu,
}

/// Parses the text of `/proc/zoneinfo`.
pub fn parse(text: &str, mut emit: impl FnMut(Place<'_>, &str, i64)) -> Result<(), ParseError> {
    let mut problem = text::FirstProblem::default();
    let mut zone: Option<(u32, &str)> = None;
    let mut section = Section::Zone;
    let mut per_cpu = PerCpu::default();
    for (index, line) in text.lines().enumerate() {
        if let Some(header) = line.strip_prefix("Node ") {
            per_cpu.flush(zone, &mut emit);
            zone = parse_header(header);
            section = Section::Zone;
            if zone.is_none() {
                problem.note(index, line, "not `Node <number>, zone <name>`");
            }
            continue;
        }
        let Some((node, name)) = zone else {
            if index == 0 && !line.trim().is_empty() {
                problem.note(index, line, "not `Node <number>, zone <name>`");
            }
            continue;
        };
        let line = line.trim();
        match line {
            "per-node stats" => section = Section::NodeStats,
            "pagesets" => section = Section::PerCpu,
            _ => {
                let (item, value) = split_item(line);
                section = section_after(section, item, line);
                if let Some(list) = value.strip_prefix('(') {
                    if !emit_protection((node, name), list, &mut emit) {
                        problem.note(index, line, "not a list of whole numbers in brackets");
                    }
                } else if section == Section::PerCpu {
                    if !per_cpu.add(item, value) {
                        problem.note(index, line, "not a name and a whole number");
                    }
                } else if let Some(number) = text::number(value) {
                    let place = if section == Section::NodeStats {
                        Place::Node(node)
                    } else {
                        Place::Zone(node, name)
                    };
                    emit(place, item, number);
                } else if !line.is_empty() {
                    problem.note(index, line, "not a name and a whole number");
                }
            }
        }
    }
    if section == Section::PerCpu {
        problem.note(text.lines().count(), "pagesets", "ends before the last CPU");
        per_cpu.broken = true;
    }
    per_cpu.flush(zone, &mut emit);
    problem.finish()
}

/// `0, zone      DMA` or, on TPP kernels, `0, zone   Normal, toptier 1 next_demotion_node 1`.
fn parse_header(header: &str) -> Option<(u32, &str)> {
    let (node, rest) = header.split_once(',')?;
    let name = rest.trim().strip_prefix("zone")?.trim();
    let name = name.split([',', ' ']).next().filter(|name| !name.is_empty())?;
    Some((node.trim().parse().ok()?, name))
}

/// Name and value of a line; `pages free 12` is `free`, a colon after the name is dropped.
fn split_item(line: &str) -> (&str, &str) {
    let line = line.strip_prefix("pages ").unwrap_or(line);
    let (name, value) = match line.split_once(':') {
        Some((name, value)) => (name, value),
        None => line.rsplit_once(' ').unwrap_or((line, "")),
    };
    (name.trim(), value.trim())
}

/// The watermark block starts with `pages free`; what follows the per-CPU lists belongs to the zone again.
fn section_after(section: Section, item: &str, line: &str) -> Section {
    let ends_node_stats = section == Section::NodeStats && line.starts_with("pages ");
    let ends_per_cpu = section == Section::PerCpu && matches!(item, "node_unreclaimable" | "start_pfn");
    if ends_node_stats || ends_per_cpu {
        Section::Zone
    } else {
        section
    }
}

/// Hands out the reserves; whether all of them are numbers.
fn emit_protection(
    (node, zone): (u32, &str),
    list: &str,
    emit: &mut impl FnMut(Place<'_>, &str, i64),
) -> bool {
    let Some(list) = list.strip_suffix(')') else {
        return false;
    };
    let mut all_are_numbers = true;
    for (index, value) in list.split(',').enumerate() {
        match text::number(value.trim()) {
            Some(pages) => emit(Place::Zone(node, zone), &format!("protection[{index}]"), pages),
            None => all_are_numbers = false,
        }
    }
    all_are_numbers
}

/// Sums over the per-CPU page lists of a zone.
#[derive(Debug, Default)]
struct PerCpu {
    count_pages: i64,
    high_pages: i64,
    seen: bool,
    /// A line could not be understood or is missing, so that a sum would be too small.
    broken: bool,
}

impl PerCpu {
    /// Adds a line of a CPU; whether it can be understood.
    fn add(&mut self, item: &str, value: &str) -> bool {
        let sum = match item {
            "count" => &mut self.count_pages,
            "high" => &mut self.high_pages,
            _ => return true,
        };
        let Some(pages) = text::number(value) else {
            self.broken = true;
            return false;
        };
        *sum = sum.saturating_add(pages);
        self.seen = true;
        true
    }

    fn flush(&mut self, zone: Option<(u32, &str)>, emit: &mut impl FnMut(Place<'_>, &str, i64)) {
        if let (true, Some((node, name))) = (self.seen && !self.broken, zone) {
            emit(Place::Zone(node, name), "pagesets_count", self.count_pages);
            emit(Place::Zone(node, name), "pagesets_high", self.high_pages);
        }
        *self = Self::default();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Vec<(String, i64)> {
        let mut values = Vec::new();
        let emit = |place: Place<'_>, name: &str, value: i64| {
            let place = match place {
                Place::Node(node) => format!("{node}"),
                Place::Zone(node, zone) => format!("{node}/{zone}"),
            };
            values.push((format!("{place} {name}"), value));
        };
        parse(text, emit).unwrap();
        values
    }

    fn expected(values: &[(&str, i64)]) -> Vec<(String, i64)> {
        values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    #[test]
    fn node_statistics_and_zone_lines_are_kept_apart() {
        let text = "\
Node 0, zone      DMA
  per-node stats
      nr_anon_pages 5297
      nr_foll_pin_acquired 0
  pages free     3840
        boost    0
        min      52
        promo    91
        protection: (0, 2991, 4803)
      nr_free_pages 3840
      numa_hit     3
  pagesets
    cpu: 0
              count:    10
              high:     5
              batch:    1
  vm stats threshold: 4
    cpu: 1
              count:    32
              high:     7
              high_min: 2
  vm stats threshold: 4
  node_unreclaimable:  0
  start_pfn:           1
Node 0, zone   Normal
  pages free     0
        promo    0
";
        let values = read_all(text);
        assert_eq!(
            values,
            expected(&[
                ("0 nr_anon_pages", 5297),
                ("0 nr_foll_pin_acquired", 0),
                ("0/DMA free", 3840),
                ("0/DMA boost", 0),
                ("0/DMA min", 52),
                ("0/DMA promo", 91),
                ("0/DMA protection[0]", 0),
                ("0/DMA protection[1]", 2991),
                ("0/DMA protection[2]", 4803),
                ("0/DMA nr_free_pages", 3840),
                ("0/DMA numa_hit", 3),
                ("0/DMA node_unreclaimable", 0),
                ("0/DMA start_pfn", 1),
                ("0/DMA pagesets_count", 42),
                ("0/DMA pagesets_high", 12),
                ("0/Normal free", 0),
                ("0/Normal promo", 0),
            ])
        );
    }

    #[test]
    fn a_text_that_ends_among_the_cpus_gives_no_sum_over_them() {
        let text = "Node 0, zone DMA\n  pages free 1\n  pagesets\n    cpu: 0\n              count: 29\n";
        let mut names = Vec::new();
        let error = parse(text, |_, name, _| names.push(name.to_owned())).unwrap_err();
        assert_eq!(names, ["free"]);
        assert_eq!((error.line, error.item.as_str()), (6, "pagesets"));
    }

    #[test]
    fn tpp_headers_and_the_demote_line_are_read() {
        let text = "\
Node 0, zone   Normal, toptier 1 next_demotion_node 1
  pages free     10
        min      1
        low      2
        high     3
        demote   200
        spanned  5
Node 1, zone  Movable, toptier 0 next_demotion_node -1
  pages free     7
";
        let values = read_all(text);
        assert!(values.contains(&("0/Normal demote".to_owned(), 200)));
        assert!(values.contains(&("1/Movable free".to_owned(), 7)));
    }

    #[test]
    fn an_unknown_line_is_kept_and_a_broken_one_is_named() {
        let text = "Node 0, zone DMA\n  pages free 1\n    vendor_mark 9\n    broken one two\n    min 4\n";
        let mut names = Vec::new();
        let error = parse(text, |_, name, _| names.push(name.to_owned())).unwrap_err();
        assert_eq!(names, ["free", "vendor_mark", "min"]);
        assert_eq!(error.line, 4);
    }
}
