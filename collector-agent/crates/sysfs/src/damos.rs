//! What the schemes of DAMON did: statistics of `/sys/kernel/mm/damon/admin/kdamonds/*` (root). Nothing is written there:
//! the files hold what the kernel put into them last, by itself (`refresh_ms`) or because somebody asked it to.

use tierscope_rootfs::{Missing, Reader};

use crate::damon_admin::{KDAMONDS, Target, target};

/// Files of a scheme's statistics, by the names of the catalogue.
pub const STATS: [&str; 6] = [
    "nr_applied",
    "nr_tried",
    "qt_exceeds",
    "sz_applied",
    "sz_ops_filter_passed",
    "sz_tried",
];
/// Most schemes that are read; a host has a handful.
const MAX_SCHEMES: usize = 64;
/// An action that only counts.
const STAT: &str = "stat";

/// One scheme of a kernel thread that is on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scheme {
    /// Numbers of kernel thread, context and scheme.
    pub place: [u32; 3],
    /// What it does: `migrate_hot`, `migrate_cold`, `pageout`, `lru_prio`, ...
    pub action: String,
    /// The one node that it moves memory to; `None` for other actions, and where it has several targets.
    pub target_node: Option<u32>,
    /// Whether the kernel refreshes the statistics by itself.
    pub is_refreshed: bool,
    /// Values in the order of [`STATS`]; `None` where the kernel has no such file.
    pub stats: [Option<i64>; STATS.len()],
}

impl Scheme {
    /// Its name within a counter: `k0.c0.s1.migrate_cold.N1`.
    pub fn label(&self) -> String {
        let [kdamond, context, scheme] = self.place;
        let target = self
            .target_node
            .map(|node| format!(".N{node}"))
            .unwrap_or_default();
        format!("k{kdamond}.c{context}.s{scheme}.{}{target}", self.action)
    }
}

/// What the name of a scheme within a counter says; [`Scheme::label`] writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label<'a> {
    /// Numbers of kernel thread, context and scheme.
    pub place: [u32; 3],
    /// What the scheme does.
    pub action: &'a str,
    /// The one node that it moves memory to.
    pub target_node: Option<u32>,
}

impl<'a> Label<'a> {
    /// Reads `k0.c0.s1.migrate_cold.N1`; `None` for any other text.
    pub fn parse(label: &'a str) -> Option<Self> {
        let mut parts = label.split('.');
        let mut number_after = |letter| parts.next()?.strip_prefix(letter)?.parse().ok();
        let place = [number_after('k')?, number_after('c')?, number_after('s')?];
        let action = parts.next().filter(|action| !action.is_empty())?;
        let target_node = match parts.next() {
            Some(target) => Some(target.strip_prefix('N')?.parse().ok()?),
            None => None,
        };
        parts.next().is_none().then_some(Self {
            place,
            action,
            target_node,
        })
    }
}

/// Schemes of all kernel threads that are on, without those that only count. `Absent` where the kernel has no DAMON in
/// sysfs, `Unreadable` where this user may not read it.
pub fn schemes(reader: &mut Reader) -> Result<Vec<Scheme>, Missing> {
    let mut found = Vec::new();
    for kdamond in numbers(reader, KDAMONDS)? {
        let directory = format!("{KDAMONDS}/{kdamond}");
        match reader.value(&format!("{directory}/state")) {
            Ok("on") => {}
            Err(missing @ Missing::Unreadable(_)) => return Err(missing),
            _ => continue,
        }
        let is_refreshed = reader
            .number(&format!("{directory}/refresh_ms"))
            .is_some_and(|wait_ms| wait_ms > 0);
        for context in numbers(reader, &format!("{directory}/contexts")).unwrap_or_default() {
            let schemes = format!("{directory}/contexts/{context}/schemes");
            for scheme in numbers(reader, &schemes).unwrap_or_default() {
                if found.len() == MAX_SCHEMES {
                    return Ok(found);
                }
                let place = [kdamond, context, scheme];
                found.extend(read(reader, &format!("{schemes}/{scheme}"), place, is_refreshed));
            }
        }
    }
    Ok(found)
}

fn read(reader: &mut Reader, directory: &str, place: [u32; 3], is_refreshed: bool) -> Option<Scheme> {
    let action = reader.value(&format!("{directory}/action")).ok()?.to_owned();
    let is_word = action
        .bytes()
        .all(|letter| letter == b'_' || letter.is_ascii_lowercase());
    if action == STAT || action.is_empty() || action.len() > 32 || !is_word {
        return None;
    }
    let target_node = match target(reader, directory, &action) {
        Target::Node(node) => Some(node),
        Target::NotTold | Target::Several => None,
    };
    Some(Scheme {
        place,
        action,
        target_node,
        is_refreshed,
        stats: STATS.map(|file| reader.number(&format!("{directory}/stats/{file}"))),
    })
}

fn numbers(reader: &Reader, path: &str) -> Result<Vec<u32>, Missing> {
    let names = reader.list(path)?;
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    fn file(path: &str) -> String {
        format!("sys/kernel/mm/damon/admin/kdamonds/{path}")
    }

    #[test]
    fn schemes_of_threads_that_are_on_are_read_with_where_they_move_memory() {
        let files = [
            ("nr_kdamonds", "2"),
            ("0/state", "off"),
            ("0/contexts/0/schemes/0/action", "migrate_hot"),
            ("1/state", "on"),
            ("1/refresh_ms", "1000"),
            ("1/contexts/0/schemes/0/action", "stat"),
            ("1/contexts/0/schemes/1/action", "migrate_cold"),
            ("1/contexts/0/schemes/1/target_nid", "1"),
            ("1/contexts/0/schemes/1/stats/sz_applied", "8192"),
            ("1/contexts/0/schemes/1/stats/nr_tried", "3"),
            ("1/contexts/0/schemes/2/action", "migrate_hot"),
            ("1/contexts/0/schemes/2/target_nid", "0"),
            ("1/contexts/0/schemes/2/dests/nr_dests", "2"),
            ("1/contexts/0/schemes/3/action", "pageout"),
            ("1/contexts/0/schemes/3/target_nid", "0"),
        ]
        .map(|(path, text)| (file(path), format!("{text}\n")));
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let (_directory, mut reader) = fake_root::reader(&files);
        let found = schemes(&mut reader).expect("DAMON");
        let labels: Vec<String> = found.iter().map(Scheme::label).collect();
        assert_eq!(
            labels,
            [
                "k1.c0.s1.migrate_cold.N1",
                "k1.c0.s2.migrate_hot",
                "k1.c0.s3.pageout"
            ]
        );
        for (scheme, label) in found.iter().zip(&labels) {
            let expected = Label {
                place: scheme.place,
                action: &scheme.action,
                target_node: scheme.target_node,
            };
            assert_eq!(Label::parse(label), Some(expected), "{label}");
        }
        assert_eq!(found[0].stats, [None, Some(3), None, Some(8192), None, None]);
        assert!(found.iter().all(|scheme| scheme.is_refreshed));
    }

    #[test]
    fn other_texts_are_no_names_of_schemes() {
        for text in [
            "",
            "k0.c0.s1",
            "k0.c0.s1.",
            "0.c0.s1.stat",
            "k0.c0.s1.stat.1",
            "k0.c0.s1.stat.N1.x",
        ] {
            assert_eq!(Label::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_kernel_without_it_says_so() {
        let (_directory, mut reader) = fake_root::reader(&[]);
        assert_eq!(schemes(&mut reader), Err(Missing::Absent));
    }
}
