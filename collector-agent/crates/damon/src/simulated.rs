//! A kernel in memory, with the layouts of several versions.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::tree::{Files, KDAMONDS};

/// What a kernel offers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) operations: &'static str,
    /// Filters of two kinds, and counts of the bytes that pass.
    pub(crate) ops_filters: bool,
}

pub(crate) const OLD: Layout = Layout {
    operations: "vaddr\nfvaddr\npaddr\n",
    ops_filters: false,
};
pub(crate) const NEW: Layout = Layout {
    operations: "paddr\n",
    ops_filters: true,
};

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, String>,
    /// Every write, in order.
    writes: Vec<(String, String)>,
    /// Commands that are answered with `EBUSY` before one is taken.
    busy: u32,
    /// What the next tried regions say: accesses and passed bytes by start.
    accesses: BTreeMap<u64, (u32, u64)>,
    /// Writes that are allowed before the process is as good as killed; `None` for all.
    lives: Option<u32>,
}

/// Shared by the driver under test and the test.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    layout: Layout,
    root: PathBuf,
    state: Arc<Mutex<State>>,
}

impl Kernel {
    pub(crate) fn new(root: &Path, layout: Layout) -> Self {
        let kernel = Self {
            layout,
            root: root.to_owned(),
            state: Arc::default(),
        };
        kernel.set("nr_kdamonds", "0");
        kernel
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(&KDAMONDS[1..]).join(name)
    }

    pub(crate) fn set(&self, name: &str, text: &str) {
        let path = self.path(name);
        self.lock().files.insert(path, text.to_owned());
    }

    pub(crate) fn set_module(&self, module: &str, enabled: &str) {
        let path = self.root.join(format!("sys/module/{module}/parameters/enabled"));
        self.lock().files.insert(path, enabled.to_owned());
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let path = self.path(name);
        self.lock().files.get(&path).cloned()
    }

    pub(crate) fn be_busy(&self, commands: u32) {
        self.lock().busy = commands;
    }

    pub(crate) fn access(&self, start: u64, accesses: u32, young_bytes: u64) {
        self.lock().accesses.insert(start, (accesses, young_bytes));
    }

    /// Lets the process die after a number of writes: all later ones do nothing.
    pub(crate) fn kill_after(&self, writes: Option<u32>) {
        self.lock().lives = writes;
    }

    pub(crate) fn writes(&self) -> Vec<(String, String)> {
        self.lock().writes.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Makes numbered directories with their files, in place of those before.
    fn make(&self, state: &mut State, directory: &str, count: usize, files: &[(&str, &str)]) {
        let base = self.path(directory);
        state.files.retain(|path, _| {
            !path
                .strip_prefix(&base)
                .is_ok_and(|rest| rest.components().count() > 1)
        });
        for number in 0..count {
            for (name, text) in files {
                let path = base.join(number.to_string()).join(name);
                state.files.insert(path, (*text).to_owned());
            }
        }
    }

    fn counted(&self, state: &mut State, name: &str, count: usize) {
        let (directory, counter) = name.rsplit_once('/').unwrap_or(("", name));
        match counter {
            "nr_kdamonds" => {
                let files = [("state", "off"), ("pid", "-1"), ("contexts/nr_contexts", "0")];
                self.make(state, directory, count, &files);
            }
            "nr_contexts" => self.make(
                state,
                directory,
                count,
                &[
                    ("avail_operations", self.layout.operations),
                    ("operations", "vaddr"),
                    ("monitoring_attrs/intervals/sample_us", "5000"),
                    ("monitoring_attrs/intervals/aggr_us", "100000"),
                    ("monitoring_attrs/intervals/update_us", "60000000"),
                    ("monitoring_attrs/nr_regions/min", "10"),
                    ("monitoring_attrs/nr_regions/max", "1000"),
                    ("targets/nr_targets", "0"),
                    ("schemes/nr_schemes", "0"),
                ],
            ),
            "nr_targets" => {
                self.make(
                    state,
                    directory,
                    count,
                    &[("pid_target", "0"), ("regions/nr_regions", "0")],
                );
            }
            "nr_regions" => self.make(state, directory, count, &[("start", "0"), ("end", "0")]),
            "nr_schemes" => {
                let mut files = vec![("action", "stat"), ("filters/nr_filters", "0")];
                for part in ["sz", "nr_accesses", "age"] {
                    files.push(match part {
                        "sz" => ("access_pattern/sz/min", "0"),
                        "age" => ("access_pattern/age/min", "0"),
                        _ => ("access_pattern/nr_accesses/min", "0"),
                    });
                    files.push(match part {
                        "sz" => ("access_pattern/sz/max", "0"),
                        "age" => ("access_pattern/age/max", "0"),
                        _ => ("access_pattern/nr_accesses/max", "0"),
                    });
                }
                if self.layout.ops_filters {
                    files.extend([
                        ("ops_filters/nr_filters", "0"),
                        ("stats/sz_ops_filter_passed", "0"),
                    ]);
                }
                self.make(state, directory, count, &files);
            }
            "nr_filters" => self.make(state, directory, count, &[("type", "anon"), ("matching", "Y")]),
            _ => {}
        }
    }

    /// One tried region for each target region.
    fn try_regions(&self, state: &mut State) {
        let base = self.path("0/contexts/0/targets");
        let starts: Vec<(u64, u64)> = state
            .files
            .iter()
            .filter(|(path, _)| path.starts_with(&base) && path.ends_with("start"))
            .filter_map(|(path, start)| {
                let end = state.files.get(&path.with_file_name("end"))?;
                Some((start.parse().ok()?, end.parse().ok()?))
            })
            .collect();
        for (number, (start, end)) in starts.into_iter().enumerate() {
            let (accesses, young) = state.accesses.get(&start).copied().unwrap_or_default();
            let mut files = vec![
                ("start", start.to_string()),
                ("end", end.to_string()),
                ("nr_accesses", accesses.to_string()),
                ("age", "3".to_owned()),
            ];
            if self.layout.ops_filters {
                files.push(("sz_filter_passed", young.to_string()));
            }
            for (name, text) in files {
                let path = self.path(&format!("0/contexts/0/schemes/0/tried_regions/{number}/{name}"));
                state.files.insert(path, text);
            }
        }
    }

    fn command(&self, state: &mut State, command: &str) -> io::Result<()> {
        if state.busy > 0 {
            state.busy -= 1;
            return Err(io::Error::from(io::ErrorKind::ResourceBusy));
        }
        let (now, pid) = (self.path("0/state"), self.path("0/pid"));
        let is_on = state.files.get(&now).is_some_and(|state| state == "on");
        match command {
            "on" | "off" => {
                let number = if command == "on" { "4242" } else { "-1" };
                state.files.insert(now, command.to_owned());
                state.files.insert(pid, number.to_owned());
            }
            "update_schemes_tried_regions" if is_on => self.try_regions(state),
            "clear_schemes_tried_regions" => {
                let tried = self.path("0/contexts/0/schemes/0/tried_regions");
                state.files.retain(|path, _| !path.starts_with(&tried));
            }
            _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
        Ok(())
    }
}

impl Files for Kernel {
    fn read(&self, path: &Path) -> io::Result<String> {
        let text = self.lock().files.get(path).cloned();
        text.map(|text| format!("{text}\n"))
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut state = self.lock();
        match &mut state.lives {
            Some(0) => return Err(io::Error::other("killed")),
            Some(lives) => *lives -= 1,
            None => {}
        }
        let base = self.root.join(&KDAMONDS[1..]);
        let name = path.strip_prefix(&base).map_err(io::Error::other)?;
        let name = name.to_string_lossy().into_owned();
        if !state.files.contains_key(path) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        state.writes.push((name.clone(), text.to_owned()));
        if name == "0/state" {
            return self.command(&mut state, text);
        }
        state.files.insert(path.to_owned(), text.to_owned());
        if let Ok(count) = text.parse() {
            self.counted(&mut state, &name, count);
        }
        Ok(())
    }

    fn directories(&self, path: &Path) -> io::Result<Vec<String>> {
        let state = self.lock();
        let mut names: Vec<String> = state
            .files
            .keys()
            .filter_map(|file| {
                let mut rest = file.strip_prefix(path).ok()?.components();
                let first = rest.next()?;
                rest.next()?;
                Some(first.as_os_str().to_string_lossy().into_owned())
            })
            .collect();
        names.dedup();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> bool {
        self.lock().files.keys().any(|file| file.starts_with(path))
    }
}
