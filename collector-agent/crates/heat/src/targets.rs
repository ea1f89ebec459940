//! Which processes are measured for heat: those that the owner lists, by pid, control group, executable or program, and
//! those that ask for it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tierscope_host::services::{Process, service_name};
use tierscope_rootfs::Root;
use tierscope_sample::service::matches_glob;
use tierscope_sample::vma_fold::ProcessKey;

use crate::backend::HeatProcess;
use crate::consent::Consent;
use crate::programs::{Pattern, is_named};
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

/// The owner's list, and which of its patterns mean nobody.
pub(crate) struct Targets {
    pids_file: Option<PathBuf>,
    cgroups: Vec<Pattern>,
    executables: Vec<Pattern>,
    programs: Vec<Pattern>,
    consent: Option<Consent>,
}

impl Targets {
    /// The list of the settings, over processes below `root`; an empty one where nobody is to be measured.
    pub(crate) fn new(heat: &Heat, root: &Root) -> Self {
        let is_off = heat.processes == HeatProcesses::None;
        let patterns = |setting: &'static str, texts: &[String]| -> Vec<Pattern> {
            let texts = if is_off { &[] } else { texts };
            texts.iter().map(|text| Pattern::new(setting, text)).collect()
        };
        Self {
            pids_file: heat.pids_file.clone().filter(|_| !is_off),
            cgroups: patterns("cgroups", &heat.cgroups),
            executables: patterns("executables", &heat.executables),
            programs: patterns("programs", &heat.programs),
            consent: (heat.opt_in_variable.as_deref())
                .filter(|_| !is_off)
                .map(|variable| Consent::new(root.clone(), variable)),
        }
    }

    /// The processes of `found` that are listed, each once. Also says what is wrong with the pid file, if anything.
    pub(crate) fn choose(&mut self, found: &[Process]) -> (Vec<HeatProcess>, Option<String>) {
        let (listed, problem) = match self.pids_file.as_deref().map(read_pids) {
            None => (Vec::new(), None),
            Some(Ok(listed)) => (listed, None),
            Some(Err(problem)) => (Vec::new(), Some(problem)),
        };
        let matched = self.matched(found);
        let chosen = found.iter().enumerate().filter_map(|(at, process)| {
            let line = listed.iter().find(|line| is_same(line, process));
            if line.is_none() && !matched.contains(&at) {
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

    /// What there is to say of patterns that mean nobody, in the order of the settings.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let patterns = self.cgroups.iter().chain(&self.executables).chain(&self.programs);
        patterns.filter_map(Pattern::warning).collect()
    }

    /// Places in `found` of those that patterns mean.
    fn matched(&mut self, found: &[Process]) -> HashSet<usize> {
        let mut matched = HashSet::new();
        let mut take = |pattern: &mut Pattern, places: Vec<usize>| {
            pattern.note(!places.is_empty());
            matched.extend(places);
        };
        for pattern in &mut self.cgroups {
            let places = places(found, |process| matches_glob(pattern.text(), &process.cgroup));
            take(pattern, places);
        }
        for pattern in &mut self.executables {
            let places = places(found, |process| is_named(pattern.text(), process));
            take(pattern, places);
        }
        for pattern in &mut self.programs {
            let places = pattern.program(found);
            take(pattern, places);
        }
        if let Some(consent) = &mut self.consent {
            matched.extend(consent.places(found));
        }
        matched
    }
}

fn places(found: &[Process], fits: impl Fn(&Process) -> bool) -> Vec<usize> {
    let each = found.iter().enumerate();
    each.filter(|(_, process)| fits(process))
        .map(|(at, _)| at)
        .collect()
}

fn is_same(line: &Listed, process: &Process) -> bool {
    line.pid == process.pid
        && line
            .start_time
            .is_none_or(|start_time| start_time == process.start_time)
}

/// Reads the pid file. A file that does not exist yet lists nothing.
fn read_pids(path: &Path) -> Result<Vec<Listed>, String> {
    let text = match tierscope_rootfs::open_plain(path).and_then(std::io::read_to_string) {
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
    use std::fs;

    use super::*;
    use tierscope_sample::service::{RuleKind, ServiceId};

    fn process(pid: u32, exe: &str, cgroup: &str) -> Process {
        Process {
            pid,
            start_time: u64::from(pid) * 10,
            exe: Some(exe.to_owned()),
            comm: exe.rsplit('/').next().unwrap_or(exe).to_owned(),
            cmdline: exe.to_owned(),
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
        Targets::new(heat, &Root::new("/does/not/exist"))
            .choose(&found())
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
    fn programs_are_listed_once_and_patterns_that_mean_nobody_are_named() {
        let heat = Heat {
            executables: vec!["cache".to_owned(), "*/absent".to_owned()],
            cgroups: vec!["/shop/*".to_owned()],
            programs: vec!["cache".to_owned(), "pid:3@30".to_owned(), "gone".to_owned()],
            ..Heat::default()
        };
        assert_eq!(pids(&heat), [2, 3]);
        let mut targets = Targets::new(&heat, &Root::live());
        assert!(targets.warnings().is_empty(), "nothing was tried yet");
        targets.choose(&found());
        let warnings = targets.warnings();
        let named: Vec<bool> = ["/shop/*", "*/absent", "gone"]
            .iter()
            .zip(&warnings)
            .map(|(text, warning)| warning.contains(text))
            .collect();
        assert_eq!((named, warnings.len()), (vec![true; 3], 3), "{warnings:?}");
        let off = Heat {
            processes: HeatProcesses::None,
            ..heat
        };
        let mut off = Targets::new(&off, &Root::live());
        assert_eq!(off.choose(&found()), (Vec::new(), None));
        assert!(off.warnings().is_empty());
    }

    #[test]
    fn a_reused_pid_is_not_the_listed_process() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), "# ours\n2 20 shop/cache\n3 31\n\n1\n").expect("written");
        let heat = Heat {
            pids_file: Some(file.path().to_owned()),
            ..Heat::default()
        };
        let (chosen, problem) = Targets::new(&heat, &Root::live()).choose(&found());
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
        let mut targets = Targets::new(&missing, &Root::live());
        assert_eq!(targets.choose(&found()), (Vec::new(), None));
    }

    #[test]
    fn processes_are_measured_that_were_started_with_the_variable_and_no_environment_is_read_without_it() {
        let root = tempfile::tempdir().expect("a directory");
        let environ = |pid: u32, bytes: &[u8]| {
            let directory = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&directory).expect("made");
            fs::write(directory.join("environ"), bytes).expect("written");
        };
        environ(1, b"PATH=/bin\0MEASURE_ME=0\0");
        environ(2, b"X_MEASURE_ME=1\0MEASURE_ME=On\0\xff\xfe");
        let heat = |variable: Option<&str>, processes| Heat {
            opt_in_variable: variable.map(str::to_owned),
            processes,
            ..Heat::default()
        };
        let chosen = |heat: &Heat| -> Vec<u32> {
            let (chosen, problem) = Targets::new(heat, &Root::new(root.path())).choose(&found());
            assert_eq!(problem, None);
            chosen.iter().map(|process| process.key.pid).collect()
        };
        assert_eq!(chosen(&heat(Some("MEASURE_ME"), HeatProcesses::Listed)), [2]);
        assert!(chosen(&heat(Some("MEASURE_ME"), HeatProcesses::None)).is_empty());
        assert!(chosen(&heat(None, HeatProcesses::Listed)).is_empty());
    }

    #[test]
    fn a_process_is_asked_once_and_another_with_its_pid_anew() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("proc/2/environ");
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, b"MEASURE_ME=1").expect("written");
        let mut consent = Consent::new(Root::new(root.path()), "MEASURE_ME");
        let first = [process(2, "/usr/bin/cache", "/a")];
        assert_eq!(consent.places(&first), [0]);
        fs::write(&path, b"MEASURE_ME=no").expect("written");
        assert_eq!(consent.places(&first), [0]);
        let mut later = first;
        later[0].start_time += 1;
        assert!(consent.places(&later).is_empty());
    }
}
