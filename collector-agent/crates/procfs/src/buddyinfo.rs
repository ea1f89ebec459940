//! `/proc/buddyinfo`: free blocks of each order by zone, the kernel's view of fragmentation.

use tierscope_rootfs::{Outcome, ParseError, Reader, text};

/// Reads the free blocks of every zone: node, zone name, order, and the count of free blocks of `2^order` pages.
pub fn read(reader: &mut Reader, emit: impl FnMut(u32, &str, usize, i64)) -> Outcome<()> {
    reader.parse_again("/proc/buddyinfo", |text| parse(text, emit))
}

/// Parses lines such as `Node 0, zone    DMA32      1      2      4`.
pub fn parse(text: &str, mut emit: impl FnMut(u32, &str, usize, i64)) -> Result<(), ParseError> {
    let mut problem = text::FirstProblem::default();
    for (index, line) in text.lines().enumerate() {
        let Some((node, zone, counts)) = split(line) else {
            if !line.trim().is_empty() {
                problem.note(index, line, "not `Node <number>, zone <name> <counts>`");
            }
            continue;
        };
        for (order, word) in counts.split_ascii_whitespace().enumerate() {
            match text::number(word) {
                Some(blocks) => emit(node, zone, order, blocks),
                None => problem.note(index, zone, "not a whole number of 63 bits"),
            }
        }
    }
    problem.finish()
}

fn split(line: &str) -> Option<(u32, &str, &str)> {
    let (node, rest) = line.strip_prefix("Node ")?.split_once(',')?;
    let rest = rest.trim().strip_prefix("zone")?.trim_start();
    let (zone, counts) = rest.split_once(' ')?;
    Some((node.trim().parse().ok()?, zone, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_by_order() {
        let mut seen = Vec::new();
        let outcome = parse(
            "Node 0, zone      DMA      2      0      1 \nNode 1, zone  Movable      7 \n",
            |node, zone, order, blocks| seen.push((node, zone.to_owned(), order, blocks)),
        );
        assert_eq!(outcome, Ok(()));
        let expected = [
            (0, "DMA", 0, 2),
            (0, "DMA", 1, 0),
            (0, "DMA", 2, 1),
            (1, "Movable", 0, 7),
        ];
        assert_eq!(
            seen,
            expected.map(|(node, zone, order, blocks)| (node, zone.to_owned(), order, blocks))
        );
    }

    #[test]
    fn a_line_of_another_shape_is_named_and_the_rest_is_read() {
        let mut blocks = 0;
        let outcome = parse("nonsense\nNode 0, zone DMA 1 x 3\n", |_, _, _, count| {
            blocks += count;
        });
        assert_eq!(outcome.map_err(|error| error.line), Err(1));
        assert_eq!(blocks, 4);
    }
}
