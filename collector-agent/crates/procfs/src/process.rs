//! What identifies a process: number, start time, executable, control groups.
//!
//! Command lines are read to identify, never handed on: only the base name of the first word leaves this module, and
//! the caller's own rules may look at the whole line on the host.

use tierscope_rootfs::{Missing, Outcome, ParseError, Reader, text};

/// `PF_KTHREAD`: the task is part of the kernel.
const KERNEL_THREAD_FLAG: u64 = 0x0020_0000;
/// Parent of all kernel threads.
const KTHREADD_PID: u32 = 2;

/// The fields of `/proc/<pid>/stat` that are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Process id.
    pub pid: u32,
    /// Name of the task, at most 15 bytes.
    pub comm: String,
    /// Process id of the parent.
    pub ppid: u32,
    /// Whether it is a kernel thread.
    pub kernel_thread: bool,
    /// When it started, in ticks of 1/100 s since boot. With the pid it names a process for good.
    pub start_time_ticks: u64,
}

/// Where a process is in the control-group hierarchies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cgroups {
    /// Path in the v2 hierarchy (`0::`).
    pub unified: Option<String>,
    /// Path in the v1 memory hierarchy.
    pub memory: Option<String>,
    /// Path in systemd's own v1 hierarchy.
    pub systemd: Option<String>,
}

impl Cgroups {
    /// The path whose memory files describe the process: the v1 memory hierarchy where there is one, else v2.
    pub fn memory_path(&self) -> &str {
        self.memory.as_deref().or(self.unified.as_deref()).unwrap_or("/")
    }

    /// The first path that says anything about identity, "/" where none does.
    pub fn identity_path(&self) -> &str {
        let paths = [&self.unified, &self.systemd, &self.memory];
        paths
            .into_iter()
            .flatten()
            .map(String::as_str)
            .find(|path| *path != "/")
            .unwrap_or("/")
    }
}

/// Process ids, ascending.
pub fn pids(reader: &Reader) -> Result<Vec<u32>, Missing> {
    let mut pids: Vec<u32> = reader
        .list("/proc")?
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    pids.sort_unstable();
    Ok(pids)
}

/// Reads `/proc/<pid>/stat`.
pub fn stat(reader: &mut Reader, pid: u32) -> Outcome<Stat> {
    reader.parse(&format!("/proc/{pid}/stat"), |text| {
        parse_stat(text).ok_or_else(|| ParseError::new(1, "stat", "not `pid (comm) state ppid ...`"))
    })
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name may itself hold spaces and parentheses, so it ends at the last one.
    let (head, fields) = text.rsplit_once(')')?;
    let (number, comm) = head.split_once('(')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let pid = number.trim().parse().ok()?;
    let parent = fields.get(1)?.parse().ok()?;
    let flags: u64 = fields.get(6)?.parse().ok()?;
    Some(Stat {
        pid,
        comm: comm.to_owned(),
        ppid: parent,
        kernel_thread: flags & KERNEL_THREAD_FLAG != 0 || pid == KTHREADD_PID || parent == KTHREADD_PID,
        start_time_ticks: fields.get(19)?.parse().ok()?,
    })
}

/// Nodes from which a process may get memory, as its cpuset allows; `None` where the kernel does not say.
pub fn allowed_nodes(reader: &mut Reader, pid: u32) -> Option<Vec<u32>> {
    status_line(reader, &pid.to_string(), "Mems_allowed_list:", |list| {
        text::list(list).ok()
    })
}

/// What follows `name` in the `status` of a process; `None` where there is none, and a problem where `parser` does not
/// understand it.
pub(crate) fn status_line<T>(
    reader: &mut Reader,
    pid: &str,
    name: &str,
    parser: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    let parsed = reader.parse(&format!("/proc/{pid}/status"), |status| {
        let mut lines = status.lines().enumerate();
        let found = lines.find_map(|(index, line)| Some((index, line.strip_prefix(name)?)));
        match found {
            Some((index, value)) => parser(value)
                .map(Some)
                .ok_or_else(|| ParseError::new(index + 1, name, "not what the kernel prints here")),
            None => Ok(None),
        }
    });
    parsed.ok()?.ok()?
}

/// The command line with its words separated by single spaces; "" for kernel threads. For rules on the host only.
pub fn cmdline(reader: &mut Reader, pid: u32) -> Result<String, Missing> {
    let text = reader.read(&format!("/proc/{pid}/cmdline"))?;
    Ok(text.trim_end_matches('\0').replace('\0', " "))
}

/// Path of the executable: the `exe` link where it may be read, else the first word of the command line if that is an
/// absolute path, else `None`.
pub fn executable(reader: &mut Reader, pid: u32, cmdline: &str) -> Option<String> {
    let link = reader
        .link(&format!("/proc/{pid}/exe"))
        .ok()
        // No text of the command line stands for a path that is no UTF-8: it travels as a hash.
        .map(|path| path.to_string_lossy().into_owned());
    match link {
        Some(path) => Some(path.trim_end_matches(" (deleted)").to_owned()),
        None => cmdline
            .split(' ')
            .next()
            .filter(|word| word.starts_with('/'))
            .map(str::to_owned),
    }
}

/// Reads `/proc/<pid>/cgroup`.
pub fn cgroups(reader: &mut Reader, pid: u32) -> Result<Cgroups, Missing> {
    let cgroups = reader.parse(&format!("/proc/{pid}/cgroup"), |text| Ok(parse_cgroups(text)))?;
    Ok(cgroups.unwrap_or_default())
}

fn parse_cgroups(text: &str) -> Cgroups {
    let mut cgroups = Cgroups::default();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let place = if controllers.is_empty() {
            &mut cgroups.unified
        } else if controllers.split(',').any(|controller| controller == "memory") {
            &mut cgroups.memory
        } else if controllers == "name=systemd" {
            &mut cgroups.systemd
        } else {
            continue;
        };
        *place = Some(path.to_owned());
    }
    cgroups
}

/// Resident pages of a process from its `statm`; cheap, so it can order processes by size.
pub fn resident_pages(reader: &mut Reader, pid: u32) -> Option<i64> {
    let pages = reader.parse(&format!("/proc/{pid}/statm"), |text| {
        let pages = text.split_ascii_whitespace().nth(1).and_then(text::number);
        pages.ok_or_else(|| ParseError::new(1, text.trim(), "not whole numbers"))
    });
    pages.ok()?.ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_rootfs::Root;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let text = "7 (a) b (c)) S 3 0 0 0 -1 4194304 1 0 0 0 254 1905 0 0 20 0 3 0 3859 820137984 5";
        let stat = parse_stat(text).unwrap();
        assert_eq!(stat.comm, "a) b (c)");
        assert_eq!((stat.pid, stat.ppid, stat.start_time_ticks), (7, 3, 3859));
        assert!(!stat.kernel_thread);
    }

    #[test]
    fn children_of_kthreadd_are_kernel_threads() {
        let text = "53 (kswapd0) S 2 0 0 0 -1 10758208 0 0 0 0 0 0 0 0 20 0 1 0 60 0 0";
        assert!(parse_stat(text).unwrap().kernel_thread);
    }

    #[test]
    fn hierarchies_are_told_apart() {
        let text = "9:name=systemd:/system.slice/a.service\n4:memory,hugetlb:/m\n3:cpuset:/x\n0::/\n";
        let cgroups = parse_cgroups(text);
        assert_eq!(cgroups.unified.as_deref(), Some("/"));
        assert_eq!(cgroups.memory_path(), "/m");
        assert_eq!(cgroups.identity_path(), "/system.slice/a.service");
        assert_eq!(parse_cgroups("0::/load\n").memory_path(), "/load");
    }

    #[test]
    fn the_nodes_of_a_cpuset_are_read() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/5")).unwrap();
        std::fs::write(
            directory.path().join("proc/5/status"),
            "Name:\tx\nMems_allowed:\t00000005\nMems_allowed_list:\t0,2\n",
        )
        .unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(allowed_nodes(&mut reader, 5), Some(vec![0, 2]));
        assert_eq!(allowed_nodes(&mut reader, 6), None);
    }

    #[test]
    fn an_executable_whose_name_is_no_utf_8_is_not_told_by_its_command_line() {
        use std::os::unix::ffi::OsStrExt as _;
        let directory = tempfile::tempdir().unwrap();
        let process = directory.path().join("proc/7");
        std::fs::create_dir_all(&process).unwrap();
        let target = std::ffi::OsStr::from_bytes(b"/home/ann/\xff");
        std::os::unix::fs::symlink(target, process.join("exe")).unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        let found = executable(&mut reader, 7, "/usr/bin/innocent --secret");
        assert_eq!(found.as_deref(), Some("/home/ann/\u{fffd}"));
    }

    #[test]
    fn a_recording_without_exe_links_falls_back_to_the_first_word() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/182")).unwrap();
        std::fs::write(
            directory.path().join("proc/182/cmdline"),
            b"/tmp/tierload\0--anon\x00700\0",
        )
        .unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(pids(&reader).unwrap(), [182]);
        let line = cmdline(&mut reader, 182).unwrap();
        assert_eq!(line, "/tmp/tierload --anon 700");
        assert_eq!(
            executable(&mut reader, 182, &line).as_deref(),
            Some("/tmp/tierload")
        );
        assert_eq!(executable(&mut reader, 182, "relative --flag"), None);
    }
}
