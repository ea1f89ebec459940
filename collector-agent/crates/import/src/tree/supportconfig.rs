//! Reports of SUSE's supportconfig: text files of sections, each a file of the host or the output of a command. Files of
//! `/proc` and `/sys` in them are written as a directory that stands for `/`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// What `version.txt` of a root says that was made of a report.
pub const NAME: &str = "supportconfig";
/// What stands before the version in its texts.
const VERSION: &str = "Script Version: ";
/// One of these is in every report.
const NAMES: [&str; 2] = ["basic-environment.txt", "supportconfig.txt"];
/// What a section begins with: `#==[ Command ]====#`, `#==[ Configuration File ]====#`.
const SECTION: &str = "#==[ ";
/// Bytes of a text file that are read; logs may be longer and hold no files of the kernel.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// Files that are written.
const MAX_FILES: usize = 20_000;

pub(crate) fn report_in(directory: &Path) -> Option<PathBuf> {
    let is_report = |place: &Path| NAMES.iter().any(|name| place.join(name).is_file());
    if is_report(directory) {
        return Some(directory.to_owned());
    }
    let mut children = fs::read_dir(directory).ok()?.filter_map(Result::ok);
    let only = children.next().map(|entry| entry.path())?;
    (children.next().is_none() && is_report(&only)).then_some(only)
}

/// Writes the files of `/proc` and `/sys` that a report holds below `target`; how many there were.
pub(crate) fn write_root(report: &Path, target: &Path) -> io::Result<usize> {
    let mut texts: Vec<PathBuf> = fs::read_dir(report)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "txt") && path.is_file())
        .collect();
    texts.sort();
    let mut files: BTreeMap<PathBuf, (String, SystemTime)> = BTreeMap::new();
    let mut version = String::new();
    for text in texts {
        let metadata = fs::metadata(&text)?;
        if metadata.len() > MAX_TEXT_BYTES {
            continue;
        }
        let content = String::from_utf8_lossy(&fs::read(&text)?).into_owned();
        if let Some((_, told)) = content.split_once(VERSION).filter(|_| version.is_empty()) {
            told.lines()
                .next()
                .unwrap_or_default()
                .trim()
                .clone_into(&mut version);
        }
        for (path, lines) in sections(&content) {
            // The first one counts: later parts repeat files.
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.entry(path).or_insert((lines, modified));
        }
    }
    for (path, (lines, modified)) in files.iter().take(MAX_FILES) {
        let place = target.join(path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&place, lines)?;
        File::options()
            .write(true)
            .open(&place)?
            .set_modified(*modified)?;
    }
    fs::write(target.join("version.txt"), format!("{NAME}: {version}\n"))?;
    Ok(files.len())
}

/// Files of the kernel in a text, by their path without the first `/`.
fn sections(text: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for section in text.split(SECTION).skip(1) {
        let Some((_, after_heading)) = section.split_once('\n') else {
            continue;
        };
        let (title, lines) = after_heading.split_once('\n').unwrap_or((after_heading, ""));
        let Some(title) = title.strip_prefix("# ") else {
            continue;
        };
        let lines = lines.trim_end();
        if let Some(path) = kernel_file(title) {
            found.push((path, format!("{lines}\n")));
        } else if is_uname(title) {
            let mut words = lines.split_ascii_whitespace().skip(1);
            for name in ["hostname", "osrelease"] {
                let word = words.next().unwrap_or_default();
                found.push((Path::new("proc/sys/kernel").join(name), format!("{word}\n")));
            }
        }
    }
    found
}

/// The file that a title names, as `/proc/meminfo` or `/bin/cat /proc/meminfo` does.
fn kernel_file(title: &str) -> Option<PathBuf> {
    let words: Vec<&str> = title.split_ascii_whitespace().collect();
    let path = match words.as_slice() {
        [path] => path,
        [command, path] if command.rsplit('/').next() == Some("cat") => path,
        _ => return None,
    };
    let path = Path::new(path.strip_prefix('/')?);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && (path.starts_with("proc") || path.starts_with("sys")) && path.components().count() > 1)
        .then(|| path.to_owned())
}

fn is_uname(title: &str) -> bool {
    let mut words = title.split_ascii_whitespace();
    let command = words.next().and_then(|word| word.rsplit('/').next());
    command == Some("uname") && words.eq(["-a"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_become_files() {
        let text = "\
=====
#==[ Command ]======================================#
# /bin/uname -a
Linux node7 6.4.0-150600.23-default #1 SMP x86_64 GNU/Linux

#==[ Command ]======================================#
# /bin/cat /proc/vmstat
pgdemote_kswapd 7

#==[ Configuration File ]===========================#
# /proc/meminfo
MemTotal:       4096 kB
MemFree:         512 kB


#==[ Configuration File ]===========================#
# /proc/pressure/memory - File not found

#==[ Command ]======================================#
# /bin/cat /proc/../etc/passwd
no
#==[ Command ]======================================#
# /usr/bin/numactl --hardware
available: 1 nodes (0)
";
        let expected = [
            ("proc/sys/kernel/hostname", "node7\n"),
            ("proc/sys/kernel/osrelease", "6.4.0-150600.23-default\n"),
            ("proc/vmstat", "pgdemote_kswapd 7\n"),
            (
                "proc/meminfo",
                "MemTotal:       4096 kB\nMemFree:         512 kB\n",
            ),
        ];
        let expected = expected.map(|(path, lines)| (PathBuf::from(path), lines.to_owned()));
        assert_eq!(sections(text), expected);
    }
}
