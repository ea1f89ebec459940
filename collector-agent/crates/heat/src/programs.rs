//! Which processes the owner's patterns mean: by path, by name, by text of the command line, or by process id.
//!
//! Packages call one program by several names: Debian's `/usr/bin/redis-server` is a link, and the kernel gives the path
//! behind it. So a pattern is held against everything that a process is called by, and one that means nobody is said.

use tierscope_host::services::Process;
use tierscope_sample::service::matches_glob;

/// Rounds in a row without a process after which a pattern that had one is said to have none: a restart is no news.
const MISSED_ROUNDS: u32 = 3;
/// What `tierscope up` and whoever starts it have in their command line beside the text that they ask for.
const ASKED_FOR: &str = "--heat";

/// Whether a pattern fits the path of the executable, the path or name that the process was called by, or its name.
///
/// A pattern with `/` is one for paths; `*/name` fits a bare name too. One without is a name.
pub(crate) fn is_named(pattern: &str, process: &Process) -> bool {
    let called = process.cmdline.split(' ').next().unwrap_or_default();
    let called = called.strip_suffix(':').unwrap_or(called);
    let fits = |name: &str| !name.is_empty() && matches_glob(pattern, name);
    let exe = process.exe.as_deref().unwrap_or_default();
    let names = [&process.comm, base(called)];
    if !pattern.contains('/') {
        return fits(exe) || fits(base(exe)) || names.into_iter().any(fits);
    }
    fits(exe)
        || (called.starts_with('/') && fits(called))
        || (pattern.starts_with("*/")
            && names
                .into_iter()
                .any(|name| !name.is_empty() && matches_glob(pattern, &format!("/{name}"))))
}

/// Whether the command line holds the pattern, in a process that does not merely ask for it.
fn is_argued(pattern: &str, process: &Process) -> bool {
    process.pid != std::process::id()
        && !process.cmdline.contains(ASKED_FOR)
        && matches_glob(&format!("*{pattern}*"), &process.cmdline)
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What an entry of `programs` under `[heat]` means.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Meaning {
    /// `pid:1234`, or `pid:1234@5678` with its start in clock ticks since boot.
    Pid(u32, Option<u64>),
    /// A path, a name, or text of the command line where nobody has that path or name.
    Pattern,
}

fn meaning(entry: &str) -> Option<Meaning> {
    let Some(rest) = entry.strip_prefix("pid:") else {
        return (!entry.is_empty()).then_some(Meaning::Pattern);
    };
    let (pid, start_time) = match rest.split_once('@') {
        Some((pid, start_time)) => (pid, Some(start_time.parse().ok()?)),
        None => (rest, None),
    };
    Some(Meaning::Pid(pid.parse().ok()?, start_time))
}

/// Whether an entry of `programs` can be understood.
pub fn is_program(entry: &str) -> bool {
    meaning(entry).is_some()
}

/// One of the owner's patterns, and when it last meant somebody.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The setting that holds it, such as `programs`.
    setting: &'static str,
    text: String,
    /// Processes have borne its path or name, so that text of command lines no longer counts.
    was_named: bool,
    ever_matched: bool,
    /// Rounds in a row without a process.
    missed: u32,
}

impl Pattern {
    /// One that has meant nobody yet.
    pub(crate) fn new(setting: &'static str, text: &str) -> Self {
        Self {
            setting,
            text: text.to_owned(),
            was_named: false,
            ever_matched: false,
            missed: 0,
        }
    }

    /// As the owner wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The processes that an entry of `programs` means, by their place in `found`. Text of a command line counts only
    /// until somebody bears the name: a pager that shows the program's log is not the program.
    pub(crate) fn program(&mut self, found: &[Process]) -> Vec<usize> {
        let places = |fits: &dyn Fn(&Process) -> bool| -> Vec<usize> {
            let each = found.iter().enumerate();
            each.filter(|(_, process)| fits(process))
                .map(|(at, _)| at)
                .collect()
        };
        match meaning(&self.text) {
            Some(Meaning::Pid(pid, start_time)) => places(&|process| {
                process.pid == pid && start_time.is_none_or(|start_time| start_time == process.start_time)
            }),
            Some(Meaning::Pattern) => {
                let named = places(&|process| is_named(&self.text, process));
                self.was_named |= !named.is_empty();
                if self.was_named {
                    return named;
                }
                places(&|process| is_argued(&self.text, process))
            }
            None => Vec::new(),
        }
    }

    /// Notes whether the pattern meant anybody in this round.
    pub(crate) fn note(&mut self, matched: bool) {
        self.ever_matched |= matched;
        self.missed = if matched { 0 } else { self.missed + 1 };
    }

    /// What to say of a pattern that means nobody: at once if it never did.
    pub(crate) fn warning(&self) -> Option<String> {
        let (setting, text) = (self.setting, &self.text);
        if self.missed == 0 || (self.ever_matched && self.missed < MISSED_ROUNDS) {
            return None;
        }
        Some(match meaning(text) {
            _ if setting == "cgroups" => {
                format!("{text:?} under [heat] {setting} fits the control group of no process")
            }
            Some(Meaning::Pid(pid, _)) => {
                format!("process {pid} under [heat] {setting} does not run any more")
            }
            _ if self.ever_matched => {
                format!("no process that {text:?} under [heat] {setting} fits runs any more")
            }
            _ => format!(
                "{text:?} under [heat] {setting} fits no process: neither its path nor its name{}",
                if setting == "programs" {
                    " nor its command line"
                } else {
                    ""
                }
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_sample::service::{RuleKind, ServiceId};

    fn process(pid: u32, exe: Option<&str>, comm: &str, cmdline: &str) -> Process {
        Process {
            pid,
            start_time: 77,
            exe: exe.map(str::to_owned),
            comm: comm.to_owned(),
            cmdline: cmdline.to_owned(),
            cgroup: "/".to_owned(),
            service: ServiceId::new("host", comm),
            group: comm.to_owned(),
            rule: RuleKind::Executable,
        }
    }

    /// As Debian's runs: called by a link, with a title in place of its arguments.
    fn redis(pid: u32) -> Process {
        process(
            pid,
            Some("/usr/bin/redis-check-rdb"),
            "redis-server",
            "/usr/bin/redis-server 127.0.0.1:7001",
        )
    }

    fn places(entry: &str, found: &[Process]) -> Vec<usize> {
        Pattern::new("programs", entry).program(found)
    }

    #[test]
    fn a_program_is_known_by_its_path_and_by_every_name_it_bears() {
        let fits = |pattern: &str| is_named(pattern, &redis(1));
        for pattern in [
            "/usr/bin/redis-check-rdb",
            "/usr/bin/redis-server",
            "*/redis-server",
            "redis-server",
            "redis-*",
            "*",
        ] {
            assert!(fits(pattern), "{pattern}");
        }
        for pattern in ["redis", "/redis-server", "127.0.0.1:7001", "*/redis", "/opt/*"] {
            assert!(!fits(pattern), "{pattern}");
        }
        let unseen = process(2, None, "nginx", "nginx: worker process");
        assert!(is_named("nginx", &unseen) && is_named("*/nginx", &unseen));
        assert!(!is_named("", &unseen));
    }

    #[test]
    fn text_of_the_command_line_counts_while_nobody_bears_the_name() {
        let java = process(3, Some("/usr/bin/java"), "java", "java -jar search.jar");
        assert_eq!(places("search.jar", &[redis(1), java.clone()]), [1]);
        assert_eq!(places("-jar*search", &[java]), [0]);
        let pager = process(4, Some("/usr/bin/less"), "less", "less redis-server.log");
        let mut pattern = Pattern::new("programs", "redis-server");
        assert_eq!(pattern.program(std::slice::from_ref(&pager)), [0]);
        assert_eq!(pattern.program(&[pager.clone(), redis(5)]), [1]);
        assert!(pattern.program(&[pager]).is_empty(), "it restarts");
    }

    #[test]
    fn whoever_asks_for_a_program_is_not_that_program() {
        let asking = [
            process(1, None, "make", "make up ARGS=--heat search.jar"),
            process(
                2,
                None,
                "python3",
                "python3 -m tierscope.cli up --heat search.jar",
            ),
            process(
                std::process::id(),
                None,
                "tierscope-agent",
                "tierscope-agent run search.jar",
            ),
        ];
        assert!(places("search.jar", &asking).is_empty());
    }

    #[test]
    fn a_process_id_means_one_process() {
        let found = [redis(11), redis(12)];
        assert_eq!(places("pid:12", &found), [1]);
        assert_eq!(places("pid:12@77", &found), [1]);
        assert!(places("pid:12@78", &found).is_empty(), "the id was used again");
        assert!(is_program("pid:12@77") && is_program("redis-server"));
        assert!(!is_program("pid:x") && !is_program("pid:1@") && !is_program(""));
    }

    #[test]
    fn a_pattern_that_means_nobody_is_said_at_once_and_one_that_ended_after_a_while() {
        let mut pattern = Pattern::new("programs", "redsi-server");
        assert_eq!(pattern.warning(), None, "it was not tried yet");
        pattern.note(false);
        let warning = pattern.warning().expect("said");
        assert!(
            warning.contains("\"redsi-server\"") && warning.contains("command line"),
            "{warning}"
        );
        pattern.note(true);
        assert_eq!(pattern.warning(), None);
        for _ in 1..MISSED_ROUNDS {
            pattern.note(false);
            assert_eq!(pattern.warning(), None);
        }
        pattern.note(false);
        assert!(pattern.warning().expect("said").contains("any more"));
        let mut group = Pattern::new("cgroups", "/shop/*");
        group.note(false);
        assert!(group.warning().expect("said").contains("control group"));
    }
}
