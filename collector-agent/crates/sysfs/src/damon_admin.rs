//! Who uses DAMON now: kernel threads that were set up through `/sys/kernel/mm/damon/admin` (root).

use std::fmt;

use tierscope_rootfs::{Missing, Reader};

pub(crate) const KDAMONDS: &str = "/sys/kernel/mm/damon/admin/kdamonds";

/// A monitoring thread that is on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kdamond {
    /// Its number in sysfs.
    pub index: u32,
    /// Its process id; `None` where the kernel does not say.
    pub pid: Option<u32>,
    /// `vaddr`, `fvaddr` or `paddr`.
    pub operations: String,
    /// How often the kernel refreshes the statistics of its schemes by itself; 0 never, `None` where it cannot.
    pub refresh_ms: Option<u32>,
    /// What its schemes do.
    pub actions: Vec<Action>,
}

/// What a scheme does, and to which nodes it moves memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Action {
    /// `stat`, `migrate_hot`, ...
    pub name: String,
    /// Where it moves memory to.
    pub target: Target,
}

/// Where a scheme moves memory to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Target {
    /// It moves none, or the kernel does not say where to.
    #[default]
    NotTold,
    /// One node.
    Node(u32),
    /// Several nodes, by weights.
    Several,
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            Target::NotTold => write!(out, "{}", self.name),
            Target::Node(node) => write!(out, "{} to node {node}", self.name),
            Target::Several => write!(out, "{} to several nodes", self.name),
        }
    }
}

/// Where the scheme of a directory moves memory to.
pub(crate) fn target(reader: &mut Reader, directory: &str, action: &str) -> Target {
    let mut number = |file: &str| reader.number(&format!("{directory}/{file}"));
    if !action.starts_with("migrate_") {
        return Target::NotTold;
    }
    if number("dests/nr_dests").is_some_and(|dests| dests > 0) {
        return Target::Several;
    }
    let node = number("target_nid").and_then(|node| u32::try_from(node).ok());
    node.map_or(Target::NotTold, Target::Node)
}

/// All threads that are on. `Absent` where the kernel has no DAMON in sysfs.
pub fn running(reader: &mut Reader) -> Result<Vec<Kdamond>, Missing> {
    let mut running = Vec::new();
    for name in reader.list(KDAMONDS)? {
        let Ok(index) = name.parse() else { continue };
        let directory = format!("{KDAMONDS}/{name}");
        if reader.value(&format!("{directory}/state")) != Ok("on") {
            continue;
        }
        let context = format!("{directory}/contexts/0");
        let mut actions = Vec::new();
        for scheme in reader.list(&format!("{context}/schemes")).unwrap_or_default() {
            let scheme = format!("{context}/schemes/{scheme}");
            let Ok(name) = reader.value(&format!("{scheme}/action")).map(str::to_owned) else {
                continue;
            };
            let target = target(reader, &scheme, &name);
            actions.push(Action { name, target });
        }
        let operations = reader.value(&format!("{context}/operations"));
        let operations = operations.map(str::to_owned).unwrap_or_default();
        let mut number = |file: &str| {
            let number = reader.number(&format!("{directory}/{file}"));
            number.and_then(|number| u32::try_from(number).ok())
        };
        running.push(Kdamond {
            index,
            operations,
            pid: number("pid"),
            refresh_ms: number("refresh_ms"),
            actions,
        });
    }
    Ok(running)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn threads_that_are_on_are_listed_with_what_they_do() {
        let base = "sys/kernel/mm/damon/admin/kdamonds";
        let file = |name: &str| format!("{base}/{name}");
        let (_directory, mut reader) = fake_root::reader(&[
            (&file("nr_kdamonds"), "2\n"),
            (&file("0/state"), "off\n"),
            (&file("1/state"), "on\n"),
            (&file("1/pid"), "77\n"),
            (&file("1/refresh_ms"), "0\n"),
            (&file("1/contexts/0/operations"), "paddr\n"),
            (&file("1/contexts/0/schemes/nr_schemes"), "3\n"),
            (&file("1/contexts/0/schemes/0/action"), "migrate_hot\n"),
            (&file("1/contexts/0/schemes/0/target_nid"), "1\n"),
            (&file("1/contexts/0/schemes/0/dests/nr_dests"), "0\n"),
            (&file("1/contexts/0/schemes/1/action"), "migrate_hot\n"),
            (&file("1/contexts/0/schemes/1/dests/nr_dests"), "2\n"),
            (&file("1/contexts/0/schemes/2/action"), "stat\n"),
            (&file("1/contexts/0/schemes/2/target_nid"), "0\n"),
        ]);
        let expected = Kdamond {
            index: 1,
            pid: Some(77),
            refresh_ms: Some(0),
            operations: "paddr".into(),
            actions: [
                ("migrate_hot", Target::Node(1)),
                ("migrate_hot", Target::Several),
                ("stat", Target::NotTold),
            ]
            .map(|(name, target)| Action {
                name: name.into(),
                target,
            })
            .into(),
        };
        assert_eq!(running(&mut reader), Ok(vec![expected]));
        let (_directory, mut reader) = fake_root::reader(&[]);
        assert_eq!(running(&mut reader), Err(Missing::Absent));
    }
}
