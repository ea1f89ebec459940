//! Which processes are measured for heat: those that the owner lists, by pid, control group or executable.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tierscope_host::services::{Process, service_name};
use tierscope_sample::service::matches_glob;
use tierscope_sample::vma_fold::ProcessKey;

use crate::backend::HeatProcess;
use crate::settings::{Heat, HeatProcesses};

/// A line of the pid file: `pid [start_time [service]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    pid: u32,
    /// In clock ticks since boot; without it the pid alone counts.
    start_time: Option<u64>,
    /// `[namespace/]name`; without it the rules name the service.
    service: Option<Arc<str>>,
}

/// The processes of `found` that are listed, each once. Also says what is wrong with the pid file, if anything.
pub(crate) fn choose(heat: &Heat, found: &[Process]) -> (Vec<HeatProcess>, Option<String>) {
    if heat.processes == HeatProcesses::None {
        return (Vec::new(), None);
    }
    let (listed, problem) = match heat.pids_file.as_deref().map(read_pids) {
        None => (Vec::new(), None),
        Some(Ok(listed)) => (listed, None),
        Some(Err(problem)) => (Vec::new(), Some(problem)),
    };
    let chosen = found.iter().filter_map(|process| {
        let line = listed.iter().find(|line| is_same(line, process));
        if line.is_none() && !is_matched(heat, process) {
            return None;
        }
        let service = line.and_then(|line| line.service.clone());
        Some(HeatProcess {
            key: ProcessKey {
                pid: process.pid,
                start_time_ticks: process.start_time,
            },
            service: service.unwrap_or_else(|| Arc::from(process.service.to_string())),
            group: Arc::from(process.group.as_str()),
        })
    });
    (chosen.collect(), problem)
}

fn is_same(line: &Listed, process: &Process) -> bool {
    line.pid == process.pid
        && line
            .start_time
            .is_none_or(|start_time| start_time == process.start_time)
}

fn is_matched(heat: &Heat, process: &Process) -> bool {
    let by_cgroup = heat
        .cgroups
        .iter()
        .any(|pattern| matches_glob(pattern, &process.cgroup));
    let exe = process.exe.as_deref();
    by_cgroup
        || heat
            .executables
            .iter()
            .any(|pattern| exe.is_some_and(|exe| matches_glob(pattern, exe)))
}

/// Reads the pid file. A file that does not exist yet lists nothing.
fn read_pids(path: &Path) -> Result<Vec<Listed>, String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
    };
    parse_pids(&text).map_err(|line| {
        format!(
            "{}, line {line}: expected `pid [start_time [service]]`",
            path.display()
        )
    })
}

/// The lines of a pid file, or the number of the first that is wrong.
fn parse_pids(text: &str) -> Result<Vec<Listed>, usize> {
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| parse_line(line).ok_or(number))
        .collect()
}

fn parse_line(line: &str) -> Option<Listed> {
    let mut words = line.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    let start_time = words.next().map(str::parse).transpose().ok()?;
    let service = words.next().map(service_name);
    words.next().is_none().then_some(Listed {
        pid,
        start_time,
        service,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_sample::service::{RuleKind, ServiceId};

    fn process(pid: u32, exe: &str, cgroup: &str) -> Process {
        Process {
            pid,
            start_time: u64::from(pid) * 10,
            exe: Some(exe.to_owned()),
            cgroup: cgroup.to_owned(),
            service: ServiceId::new("host", "found"),
            group: "program".to_owned(),
            rule: RuleKind::Executable,
        }
    }

    fn found() -> [Process; 3] {
        [
            process(1, "/sbin/init", "/init"),
            process(2, "/usr/bin/cache", "/a"),
            process(3, "/usr/bin/db", "/b/c"),
        ]
    }

    fn pids(heat: &Heat) -> Vec<u32> {
        choose(heat, &found())
            .0
            .iter()
            .map(|process| process.key.pid)
            .collect()
    }

    #[test]
    fn nothing_is_measured_unless_it_is_listed() {
        assert!(pids(&Heat::default()).is_empty());
        let by_name = Heat {
            executables: vec!["*/cache".to_owned()],
            ..Heat::default()
        };
        assert_eq!(pids(&by_name), [2]);
        let by_cgroup = Heat {
            cgroups: vec!["/b/*".to_owned()],
            ..Heat::default()
        };
        assert_eq!(pids(&by_cgroup), [3]);
        assert!(
            pids(&Heat {
                processes: HeatProcesses::None,
                ..by_name
            })
            .is_empty()
        );
    }

    #[test]
    fn a_reused_pid_is_not_the_listed_process() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), "# ours\n2 20 shop/cache\n3 31\n\n1\n").expect("written");
        let heat = Heat {
            pids_file: Some(file.path().to_owned()),
            ..Heat::default()
        };
        let (chosen, problem) = choose(&heat, &found());
        assert_eq!(problem, None);
        let services: Vec<_> = chosen
            .iter()
            .map(|process| (process.key.pid, &*process.service))
            .collect();
        assert_eq!(services, [(1, "host/found"), (2, "shop/cache")]);
    }

    #[test]
    fn a_wrong_line_is_named_and_a_missing_file_lists_nothing() {
        assert_eq!(parse_pids("1 2 a\nx\n"), Err(2));
        assert_eq!(parse_pids("1 2 a b\n"), Err(1));
        let missing = Heat {
            pids_file: Some("/does/not/exist".into()),
            ..Heat::default()
        };
        assert_eq!(choose(&missing, &found()), (Vec::new(), None));
    }
}
