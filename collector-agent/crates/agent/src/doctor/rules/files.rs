//! Files that could not be understood: told by themselves, and no finding that stands on one of them is certain. Counts that
//! the kernel itself has wrong are told as what they are, and take certainty from nothing: they are left out.

use tierscope_rootfs::BELOW_ZERO;
use tierscope_sample::inventory::{FileProblem, Finding};

use super::finding::{CERTAIN, LIKELY, finding};
use crate::doctor::Facts;

const ID: &str = "file-not-understood";
const NAMED: usize = 5;

/// Findings that stand on few files, by the beginnings of their paths. All others stand on nodes, tiers and settings, that
/// is on every file that is not a process's own.
const STANDS_ON: [(&[&str], &[&str]); 9] = [
    (&["no-pressure"], &["/proc/pressure/"]),
    (&["numa-stat-off"], &["/proc/sys/vm/numa_stat"]),
    (&["swap-over-half"], &["/proc/swaps"]),
    (&["mglru-on", "mglru-off"], &["/sys/kernel/mm/lru_gen/enabled"]),
    (&["mglru-min-ttl"], &["/sys/kernel/mm/lru_gen/min_ttl_ms"]),
    (
        &[
            "cxl-link-degraded",
            "cxl-slot-limits-link",
            "cxl-errors",
            "cxl-errors-rising",
        ],
        &["/sys/devices/pci", "/sys/bus/cxl/"],
    ),
    (&["limited-rights"], &["/proc/self/", "/sys/kernel/debug/"]),
    (&["no-cgroup-v2"], &["/sys/fs/cgroup/"]),
    (
        &["damon-in-use", "damon-schemes-unseen"],
        &["/sys/kernel/mm/damon/", "/sys/module/damon_"],
    ),
];

/// Files that gave no value, or one that may be cut off.
pub(super) fn not_understood(facts: &Facts<'_>) -> Option<Finding> {
    let files = facts.problems.iter().filter(|problem| !is_below_zero(problem));
    let (doubtful, unreadable): (Vec<&FileProblem>, Vec<&FileProblem>) =
        files.partition(|problem| problem.has_value);
    let mut causes = Vec::new();
    if !unreadable.is_empty() {
        causes.push(format!(
            "{} could not be understood: {}",
            counted(unreadable.len()),
            named(&unreadable)
        ));
    }
    if !doubtful.is_empty() {
        causes.push(format!(
            "{} within a line and may be cut off: {}",
            match doubtful.len() {
                1 => "1 file ends".to_owned(),
                many => format!("{many} files end"),
            },
            named(&doubtful)
        ));
    }
    (!causes.is_empty()).then(|| {
        let severity = if unreadable.is_empty() { "info" } else { "warning" };
        let fix = "Collect the files again, each with all its bytes (`tierscope-agent fieldkit` does). What stands on them is likely at \
                   most, and not known where a file gave nothing.";
        finding(ID, severity, CERTAIN, causes.join("; "), fix)
    })
}

fn is_below_zero(problem: &FileProblem) -> bool {
    problem.reason.ends_with(BELOW_ZERO)
}

/// Counts below zero of the kernel. What a program makes up instead of a kernel is told as that.
pub(super) fn below_zero(facts: &Facts<'_>) -> Option<Finding> {
    let wrong: Vec<&FileProblem> = facts
        .problems
        .iter()
        .filter(|problem| is_below_zero(problem))
        .collect();
    (!wrong.is_empty() && facts.contradiction.is_none()).then(|| {
        let cause = format!(
            "a count of the kernel is below zero: {}. It is left out, as if the kernel had none",
            listed(&wrong, |problem| format!("{} ({})", problem.path, problem.reason))
        );
        let fix = "Update the kernel; a reboot counts anew. All other lines of these files stand.";
        finding("count-below-zero", "info", CERTAIN, cause, fix)
    })
}

/// A part of memory that the kernel counts above the whole.
pub(super) fn above_memory(facts: &Facts<'_>) -> Option<Finding> {
    let cause = facts.wrong_count.as_ref()?;
    let fix = "Update the kernel; a reboot counts anew. Until then programs that add such counts up see more memory than there is \
               (MemAvailable), and `assess` takes no more as movable than is in use.";
    Some(finding("count-above-memory", "warning", CERTAIN, cause, fix))
}

fn counted(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    }
}

fn named(problems: &[&FileProblem]) -> String {
    listed(problems, |problem| {
        if problem.has_value {
            problem.path.clone()
        } else {
            format!("{} ({})", problem.path, problem.reason)
        }
    })
}

fn listed(problems: &[&FileProblem], word: impl Fn(&FileProblem) -> String) -> String {
    let mut words: Vec<String> = problems.iter().take(NAMED).map(|problem| word(problem)).collect();
    if problems.len() > NAMED {
        words.push(format!("{} more", problems.len() - NAMED));
    }
    words.join(", ")
}

/// Takes certainty from findings that stand on a file with a problem.
pub(super) fn lower_certainty(facts: &Facts<'_>, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| finding.id != ID) {
        let mut problems = facts.problems.iter().filter(|problem| !is_below_zero(problem));
        if finding.confidence == CERTAIN && problems.any(|problem| stands_on(&finding.id, &problem.path)) {
            LIKELY.clone_into(&mut finding.confidence);
        }
    }
}

fn stands_on(id: &str, path: &str) -> bool {
    let narrow = STANDS_ON.iter().find(|(ids, _)| ids.contains(&id));
    match narrow {
        Some((_, beginnings)) => beginnings.iter().any(|beginning| path.starts_with(beginning)),
        None => id == "cpuset-bars-slow-tier" || !is_of_process(path),
    }
}

/// Whether a file is a process's own: `/proc/<pid>/...`.
fn is_of_process(path: &str) -> bool {
    let pid = path
        .strip_prefix("/proc/")
        .and_then(|path| path.split('/').next());
    pid.is_some_and(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;
    use crate::inventory::describe_root;
    use tierscope_host::services::Discovered;
    use tierscope_rootfs::Reader;
    use tierscope_sample::inventory::Inventory;

    const DEMOTION: &str = "sys/kernel/mm/numa/demotion_enabled";
    const SLOW_TIER: &str = "sys/devices/virtual/memory_tiering/memory_tier22/nodelist";

    /// A host with two tiers whose demotion is off, with one file changed.
    fn host(path: &str, text: &str) -> (Inventory, &'static str) {
        host_with(|own, usual| {
            if own == path {
                text.to_owned()
            } else {
                usual.to_owned()
            }
        })
    }

    fn host_with(change: impl Fn(&str, &str) -> String) -> (Inventory, &'static str) {
        let root = FakeRoot::new();
        let files = [
            ("proc/meminfo", "MemTotal: 2048 kB\n"),
            ("proc/vmstat", "nr_free_pages 1\n"),
            ("proc/swaps", "Filename Type Size Used Priority\n"),
            ("proc/sys/kernel/numa_balancing", "0\n"),
            (DEMOTION, "false\n"),
            ("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0\n"),
            (SLOW_TIER, "1\n"),
            ("sys/devices/system/node/online", "0-1\n"),
            ("sys/devices/system/node/node0/cpulist", "0-3\n"),
            (
                "sys/devices/system/node/node0/meminfo",
                "Node 0 MemTotal: 1024 kB\n",
            ),
            ("sys/devices/system/node/node1/cpulist", "\n"),
            (
                "sys/devices/system/node/node1/meminfo",
                "Node 1 MemTotal: 1024 kB\n",
            ),
        ];
        for (path, text) in files {
            root.write(path, &change(path, text));
        }
        let mut reader = Reader::new(root.root());
        let inventory = describe_root(&mut reader, &Discovered::default());
        let state = crate::doctor::judge(&inventory, crate::doctor::Moves::default()).state;
        (inventory, state)
    }

    fn confidence<'i>(inventory: &'i Inventory, id: &str) -> Option<&'i str> {
        let mut findings = inventory.findings.iter();
        findings
            .find(|finding| finding.id == id)
            .map(|finding| finding.confidence.as_str())
    }

    #[test]
    fn padded_files_are_those_of_the_host() {
        let (plain, state) = host_with(|_, usual| usual.to_owned());
        assert_eq!(
            (state, confidence(&plain, "lower-tier-not-known")),
            ("off", Some(CERTAIN))
        );
        assert_eq!(confidence(&plain, ID), None);
        let padded = |_: &str, usual: &str| usual.to_owned() + &"\0".repeat(4096 - usual.len());
        assert_eq!(host_with(padded), (plain.clone(), "off"));
        let of_another_editor = |_: &str, usual: &str| usual.replace('\n', "\r\n");
        assert_eq!(host_with(of_another_editor), (plain, "off"));
    }

    #[test]
    fn a_tier_that_cannot_be_read_is_not_a_tier_that_is_not_there() {
        for broken in ["", "1-\n", "\0\0\0\0", "one\n"] {
            let (inventory, state) = host(SLOW_TIER, broken);
            assert_eq!(state, "unknown", "{broken:?}");
            assert_eq!(confidence(&inventory, "one-tier"), None);
            let told = inventory.findings.iter().find(|finding| finding.id == ID);
            assert!(told.is_some_and(|finding| finding.cause.contains(SLOW_TIER)));
        }
    }

    #[test]
    fn a_value_that_may_be_cut_off_is_used_and_not_certain() {
        let (inventory, state) = host(DEMOTION, "false");
        assert_eq!(
            (state, confidence(&inventory, "lower-tier-not-known")),
            ("off", Some(LIKELY))
        );
        assert_eq!(host(DEMOTION, "fal").1, "unknown");
    }

    #[test]
    fn swap_that_cannot_be_read_is_not_no_swap() {
        let heading = "Filename Type Size Used Priority";
        for lines in [
            "",
            "\n/dev/sda1 partition many 0 -2\n",
            "\n/dev/sda1 partition 8388604 0 -2",
        ] {
            let (inventory, _) = host("proc/swaps", &format!("{heading}{lines}"));
            assert_eq!(confidence(&inventory, "no-swap"), None);
            assert_eq!(inventory.swaps, []);
        }
    }

    #[test]
    fn files_of_processes_bear_on_findings_about_processes_alone() {
        assert!(!stands_on("demotion-off", "/proc/77/status"));
        assert!(stands_on("cpuset-bars-slow-tier", "/proc/77/status"));
        assert!(stands_on("demotion-off", "/sys/devices/system/node/online"));
        assert!(!stands_on("no-pressure", "/sys/devices/system/node/online"));
    }
}
