//! Who uses DAMON now: kernel threads that were set up through `/sys/kernel/mm/damon/admin` (root).

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
    /// What its schemes do: `stat`, `migrate_hot`, ...
    pub actions: Vec<String>,
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
            let action = reader.value(&format!("{context}/schemes/{scheme}/action"));
            actions.extend(action.ok().map(str::to_owned));
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
            (&file("1/contexts/0/schemes/nr_schemes"), "1\n"),
            (&file("1/contexts/0/schemes/0/action"), "migrate_hot\n"),
        ]);
        let expected = Kdamond {
            index: 1,
            pid: Some(77),
            refresh_ms: Some(0),
            operations: "paddr".into(),
            actions: vec!["migrate_hot".into()],
        };
        assert_eq!(running(&mut reader), Ok(vec![expected]));
        let (_directory, mut reader) = fake_root::reader(&[]);
        assert_eq!(running(&mut reader), Err(Missing::Absent));
    }
}
