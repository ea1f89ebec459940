//! Reading of kernel files into one small buffer that is used again and again.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::plain::open_unwaiting;
use crate::{Missing, Outcome, ParseError, ReadError, Root, text};

/// Bytes asked for at once. Large buffers make `/proc/sys` fail with `ENOMEM`, and seq files hand out about one page
/// per call anyway.
const CHUNK_BYTES: usize = 16 << 10;
/// Most bytes kept of one file. `/proc/zoneinfo` of a host with 1,000 CPUs has about 3 MB.
const WHOLE_FILE_LIMIT_BYTES: usize = 8 << 20;
/// Capacity above which the buffer is given back after use, so that one large file does not stay in memory.
const KEPT_BYTES: usize = 256 << 10;
/// Files that stay open between readings: those of a host with some 60 nodes, far below the usual limit of 1,024.
const MAX_OPEN_FILES: usize = 200;
/// Most files whose problems are kept between two looks at them.
const MAX_PROBLEMS: usize = 200;
/// The kernel ends an empty list with a line end, so a file without a single byte was masked, cut off, or could not be
/// read by whoever collected it.
const EMPTY: &str = "is empty: masked, cut off, or not read by who collected it";
const TOO_LONG: &str = "is longer than 8 MiB: the rest was not read";
const NO_NUMBER: &str = "not a whole number of 63 bits";

/// Reads files beneath one root. Keeps its buffer, counts its bytes, and remembers what was wrong with files.
///
/// A file gives its value, nothing ([`Missing`]), or a problem; a problem is kept until [`Reader::take_problems`], also
/// where the caller goes on without the value. NUL bytes at the end are no part of a value: `tar` pads files of `/proc`
/// and `/sys` with them, because their size is announced as 4096 bytes. A recorded file that ends within a line may be
/// cut off there, which is a problem: the text of a single line is used all the same, the last of several is not.
#[derive(Debug)]
pub struct Reader {
    root: Root,
    /// Room for the text of a file; grows to the largest one.
    buffer: Vec<u8>,
    bytes_read: u64,
    open: HashMap<String, File>,
    /// Whether files may stay open. The kernel prints a live file anew for each reading from its start; a file of a
    /// recording may be replaced by another one of its name.
    keeps_open: bool,
    problems: BTreeMap<PathBuf, ParseError>,
}

/// How far a bounded line-by-line reading got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Bytes seen.
    pub bytes: u64,
    /// Whether the limit ended the reading before the end of the file.
    pub cut: bool,
}

impl Reader {
    /// A reader of the files beneath `root`.
    pub fn new(root: Root) -> Self {
        Self {
            keeps_open: root.is_live(),
            root,
            buffer: Vec::new(),
            bytes_read: 0,
            open: HashMap::new(),
            problems: BTreeMap::new(),
        }
    }

    /// The root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Bytes read since this reader was made.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// What was wrong with files since the last call, by path, one problem for each.
    pub fn take_problems(&mut self) -> Vec<ReadError> {
        let problems = std::mem::take(&mut self.problems);
        problems
            .into_iter()
            .map(|(path, cause)| cause.in_file(&path))
            .collect()
    }

    /// Remembers what is wrong with a file that was read.
    pub fn note(&mut self, kernel_path: &str, problem: ParseError) {
        let path = self.root.join(kernel_path);
        note(&mut self.problems, &path, problem);
    }

    /// The text of a whole file, valid until the next reading. Bytes that are not UTF-8 become `?`.
    pub fn read(&mut self, kernel_path: &str) -> Result<&str, Missing> {
        let path = self.root.join(kernel_path);
        self.read_path(&path)
    }

    /// As [`Reader::read`], for a path that already has its root.
    pub fn read_path(&mut self, path: &Path) -> Result<&str, Missing> {
        let length = self.load(path)?;
        Ok(sanitize(&mut self.buffer[..length]))
    }

    /// The trimmed text of a file with one line. A file without a byte is unreadable, and a problem.
    pub fn value(&mut self, kernel_path: &str) -> Result<&str, Missing> {
        let path = self.root.join(kernel_path);
        let length = self.load(&path)?;
        self.refuse_empty(&path, length)?;
        self.check_end(&path, length, false);
        Ok(sanitize(&mut self.buffer[..length]).trim())
    }

    /// The whole number in a file with one line; `None` where there is none. Other text is a problem.
    pub fn number(&mut self, kernel_path: &str) -> Option<i64> {
        self.parsed(kernel_path, NO_NUMBER, text::number)
    }

    /// What `parser` makes of a file with one line; `None` where there is none. Text that it does not understand is a
    /// problem: `expected` says what would do.
    pub fn parsed<T>(
        &mut self,
        kernel_path: &str,
        expected: &'static str,
        parser: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = self.value(kernel_path).ok()?;
        let parsed = parser(value);
        if parsed.is_none() {
            let problem = ParseError::new(1, value, expected);
            self.note(kernel_path, problem);
        }
        parsed
    }

    /// The numbers of a file that holds a kernel list such as `0-3,8`; `None` where there is none. Other text is a
    /// problem, never an empty list.
    pub fn list_value(&mut self, kernel_path: &str) -> Option<Vec<u32>> {
        self.parsed(kernel_path, "not a list such as `0-3,8`", |value| {
            text::list(value).ok()
        })
    }

    /// Reads a file and parses it; a [`ParseError`] gets the file's name.
    pub fn parse<T>(
        &mut self,
        kernel_path: &str,
        parser: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Outcome<T> {
        let path = self.root.join(kernel_path);
        let length = self.load(&path)?;
        Ok(self.parse_loaded(&path, length, parser))
    }

    /// As [`Reader::parse`], for a file of the kernel that is read again and again: it stays open. The kernel leaves none
    /// of these empty, so that one without a byte is unreadable, and a problem.
    pub fn parse_again<T>(
        &mut self,
        kernel_path: &str,
        parser: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Outcome<T> {
        // What an open file describes may have gone, and come back as another one.
        let again = self
            .open
            .get(kernel_path)
            .map(|file| fill(&mut self.buffer, file));
        let path = self.root.join(kernel_path);
        let length = match again {
            Some(Ok(length)) => self.filled(&path, length),
            _ => self.open_and_read(kernel_path, &path)?,
        };
        self.refuse_empty(&path, length)?;
        Ok(self.parse_loaded(&path, length, parser))
    }

    /// The first bytes of a file, in one read: of a file that the kernel makes as it is read, it makes no more than that.
    pub fn beginning(&mut self, kernel_path: &str, bytes: usize) -> Result<&str, Missing> {
        let mut file =
            open_unwaiting(&self.root.join(kernel_path)).map_err(|error| Missing::from_io(&error))?;
        self.buffer.clear();
        self.buffer.resize(bytes, 0);
        let got = file
            .read(&mut self.buffer)
            .map_err(|error| Missing::from_io(&error))?;
        self.bytes_read += got as u64;
        self.buffer.truncate(got);
        Ok(sanitize(&mut self.buffer))
    }

    /// Hands out a file line by line without keeping it, until `limit_bytes` are read. For files that grow with the
    /// number of mappings of a process.
    pub fn each_line(
        &mut self,
        path: &Path,
        limit_bytes: u64,
        mut line: impl FnMut(&str),
    ) -> Result<Counted, Missing> {
        let mut file = open_unwaiting(path).map_err(|error| Missing::from_io(&error))?;
        let mut counted = Counted { bytes: 0, cut: false };
        let mut handed_out = false;
        self.buffer.clear();
        loop {
            let kept = self.buffer.len();
            self.buffer.resize(kept + CHUNK_BYTES, 0);
            let got = match file.read(&mut self.buffer[kept..]) {
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    self.buffer.truncate(kept);
                    continue;
                }
                Err(error) => return Err(Missing::from_io(&error)),
            };
            self.buffer.truncate(kept + got);
            counted.bytes += got as u64;
            self.bytes_read += got as u64;
            if got == 0 {
                let length = without_padding(&self.buffer);
                if length > 0 && self.check_end(path, length, handed_out) {
                    line(sanitize(&mut self.buffer[..length]).trim_end_matches('\r'));
                }
                return Ok(counted);
            }
            handed_out |= self.hand_out_lines(&mut line);
            if counted.bytes >= limit_bytes || self.buffer.len() > WHOLE_FILE_LIMIT_BYTES {
                counted.cut = true;
                return Ok(counted);
            }
        }
    }

    /// Names in a directory, sorted.
    pub fn list(&self, kernel_path: &str) -> Result<Vec<String>, Missing> {
        let entries =
            std::fs::read_dir(self.root.join(kernel_path)).map_err(|error| Missing::from_io(&error))?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The target of a symbolic link, as written.
    pub fn link(&self, kernel_path: &str) -> Result<PathBuf, Missing> {
        std::fs::read_link(self.root.join(kernel_path)).map_err(|error| Missing::from_io(&error))
    }

    /// Opens a file and reads it whole into the buffer; its length without padding.
    fn load(&mut self, path: &Path) -> Result<usize, Missing> {
        let file = open_unwaiting(path).map_err(|error| Missing::from_io(&error))?;
        let length = fill_opened(&mut self.buffer, &file).map_err(|error| Missing::from_io(&error))?;
        Ok(self.filled(path, length))
    }

    fn open_and_read(&mut self, kernel_path: &str, path: &Path) -> Result<usize, Missing> {
        self.open.remove(kernel_path);
        let file = open_unwaiting(path).map_err(|error| Missing::from_io(&error))?;
        let length = fill_opened(&mut self.buffer, &file).map_err(|error| Missing::from_io(&error))?;
        if self.keeps_open && self.open.len() < MAX_OPEN_FILES {
            self.open.insert(kernel_path.to_owned(), file);
        }
        Ok(self.filled(path, length))
    }

    fn refuse_empty(&mut self, path: &Path, length: usize) -> Result<(), Missing> {
        if length > 0 {
            return Ok(());
        }
        note(&mut self.problems, path, ParseError::of_file(EMPTY));
        Err(Missing::Unreadable(EMPTY.to_owned()))
    }

    /// Counts what was read; its length without padding.
    fn filled(&mut self, path: &Path, length: usize) -> usize {
        self.bytes_read += length as u64;
        if length > WHOLE_FILE_LIMIT_BYTES {
            note(&mut self.problems, path, ParseError::of_file(TOO_LONG));
        }
        without_padding(&self.buffer[..length])
    }

    fn parse_loaded<T>(
        &mut self,
        path: &Path,
        length: usize,
        parser: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<T, ReadError> {
        let newline = self.buffer[..length].iter().rposition(|byte| *byte == b'\n');
        let lines = newline.map_or(0, |last| last + 1);
        let is_whole = self.check_end(path, length, lines > 0);
        let used = if is_whole { length } else { lines };
        let parsed = parser(sanitize(&mut self.buffer[..used]));
        let parsed = parsed.and_then(|value| {
            if is_whole {
                Ok(value)
            } else {
                Err(ParseError::cut_off(true))
            }
        });
        parsed.map_err(|problem| {
            note(&mut self.problems, path, problem.clone());
            problem.in_file(path)
        })
    }

    /// Whether the last line may be used. A recorded file that ends within a line may have lost the rest of it: the kernel
    /// itself cuts nothing off, but for a device without statistics at the end of `io.stat` (Linux 5.15 and 5.18, and while
    /// a group is being made: `blkcg_print_one_stat`).
    fn check_end(&mut self, path: &Path, length: usize, after_others: bool) -> bool {
        let text = &self.buffer[..length];
        let last = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_device_alone = path.ends_with("io.stat") && !last.contains(&b'=');
        if last.is_empty() || is_device_alone || self.root.is_live() {
            return true;
        }
        note(&mut self.problems, path, ParseError::cut_off(after_others));
        !after_others
    }

    fn hand_out_lines(&mut self, line: &mut impl FnMut(&str)) -> bool {
        let mut start = 0;
        while let Some(length) = self.buffer[start..].iter().position(|byte| *byte == b'\n') {
            line(sanitize(&mut self.buffer[start..start + length]).trim_end_matches('\r'));
            start += length + 1;
        }
        self.buffer.drain(..start);
        start > 0
    }
}

/// Reads a file from its start into the buffer; its length.
fn fill(buffer: &mut Vec<u8>, file: &File) -> io::Result<usize> {
    if buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    }
    let mut length = 0;
    loop {
        let room = length + CHUNK_BYTES;
        if buffer.len() < room {
            buffer.resize(room, 0);
        }
        match file.read_at(&mut buffer[length..room], length as u64) {
            Ok(got) => {
                length += got;
                if got == 0 || length > WHOLE_FILE_LIMIT_BYTES {
                    return Ok(length);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads a file that was just opened. Attributes of debugfs have no positions (`simple_attr_open`, fs/libfs.c): they are
/// read from where they stand, once.
fn fill_opened(buffer: &mut Vec<u8>, file: &File) -> io::Result<usize> {
    match fill(buffer, file) {
        Err(error) if error.kind() == io::ErrorKind::NotSeekable => {
            buffer.clear();
            match file.take(WHOLE_FILE_LIMIT_BYTES as u64 + 1).read_to_end(buffer) {
                // What somebody may yet write into a named pipe is not waited for.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(buffer.len()),
                done => done,
            }
        }
        done => done,
    }
}

/// Keeps the first problem of a file, and one with its text before a count of its kernel that is below zero.
fn note(problems: &mut BTreeMap<PathBuf, ParseError>, path: &Path, problem: ParseError) {
    let told = problems.get(path);
    let is_new = told.is_none_or(|told| told.is_below_zero() && !problem.is_below_zero());
    if is_new && (problems.len() < MAX_PROBLEMS || told.is_some()) {
        problems.insert(path.to_owned(), problem);
    }
}

/// Length of a text without the NUL bytes after it.
fn without_padding(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1)
}

/// The bytes as text; bytes that are not UTF-8 are replaced in place.
fn sanitize(bytes: &mut [u8]) -> &str {
    if std::str::from_utf8(bytes).is_err() {
        for byte in bytes.iter_mut().filter(|byte| !byte.is_ascii()) {
            *byte = b'?';
        }
    }
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        directory
    }

    #[test]
    fn a_file_without_positions_is_read_each_time_it_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("scan_size_mb");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let mut reader = Reader::new(Root::new(directory.path()));
        assert!(reader.value("/scan_size_mb").is_err(), "nobody writes into it");
        let mut both_ends = std::fs::OpenOptions::new();
        let mut writer = both_ends.read(true).write(true).open(&pipe).unwrap();
        for value in ["256\n", "128\n"] {
            writer.write_all(value.as_bytes()).unwrap();
            assert_eq!(reader.value("/scan_size_mb").unwrap(), value.trim());
        }
        assert!(reader.beginning("/scan_size_mb", 10).is_err(), "it would wait");
        assert!(reader.each_line(&pipe, 10, |_| ()).is_err());
    }

    #[test]
    fn a_device_without_statistics_ends_io_stat_without_a_line_end() {
        let whole = "8:0 rbytes=1 wbytes=2\n11:0 2:0 ";
        let directory = tree(&[("io.stat", whole.as_bytes()), ("cut/io.stat", b"8:0 rbytes=1")]);
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(
            reader.parse("io.stat", |text| Ok(text.len())),
            Ok(Ok(whole.len()))
        );
        assert_eq!(reader.take_problems(), []);
        assert_eq!(reader.parse("cut/io.stat", |_| Ok(())), Ok(Ok(())));
        assert_eq!(reader.take_problems().len(), 1);
    }

    #[test]
    fn text_longer_than_a_chunk_is_read_whole() {
        let long = "x".repeat(3 * CHUNK_BYTES + 5);
        let directory = tree(&[("proc/long", long.as_bytes())]);
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(reader.read("/proc/long").unwrap(), long);
        assert_eq!(reader.bytes_read(), long.len() as u64);
    }

    #[test]
    fn an_absent_file_is_an_answer() {
        let directory = tree(&[]);
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(reader.read("proc/vmstat"), Err(Missing::Absent));
        assert_eq!(reader.list("proc"), Err(Missing::Absent));
    }

    #[test]
    fn hostile_bytes_become_question_marks() {
        let directory = tree(&[("comm", b"a\xff\xfeb\n")]);
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(reader.value("comm").unwrap(), "a??b");
    }

    #[test]
    fn lines_survive_chunk_borders_and_the_last_needs_no_newline() {
        let text = (0..5000).fold(String::new(), |text, number| text + &format!("line {number}\n")) + "end";
        let directory = tree(&[("maps", text.as_bytes())]);
        let mut reader = Reader::new(Root::live());
        let mut lines = Vec::new();
        let path = directory.path().join("maps");
        let counted = reader
            .each_line(&path, u64::MAX, |line| lines.push(line.to_owned()))
            .unwrap();
        assert_eq!(lines.len(), 5001);
        assert_eq!(lines[4999], "line 4999");
        assert_eq!(lines[5000], "end");
        assert_eq!(
            counted,
            Counted {
                bytes: text.len() as u64,
                cut: false
            }
        );
    }

    #[test]
    fn a_limit_cuts_and_says_so() {
        let text = "0123456789\n".repeat(10_000);
        let directory = tree(&[("maps", text.as_bytes())]);
        let mut reader = Reader::new(Root::new(directory.path()));
        let counted = reader
            .each_line(&directory.path().join("maps"), 1000, |_| {})
            .unwrap();
        assert!(counted.cut);
        assert!(counted.bytes < text.len() as u64);
    }

    #[test]
    fn a_file_that_stays_open_gives_what_is_in_it_now() {
        let directory = tree(&[("proc/vmstat", b"a 1\nb 22\n")]);
        let mut reader = Reader::new(Root::new(directory.path()));
        reader.keeps_open = true;
        let read = |reader: &mut Reader| {
            reader
                .parse_again("/proc/vmstat", |text| Ok(text.to_owned()))
                .unwrap()
        };
        assert_eq!(read(&mut reader).unwrap(), "a 1\nb 22\n");
        std::fs::write(directory.path().join("proc/vmstat"), "a 2\n").unwrap();
        assert_eq!(read(&mut reader).unwrap(), "a 2\n");
        assert_eq!(reader.bytes_read(), 13);
        assert_eq!(reader.open.len(), 1);
    }

    #[test]
    fn a_file_that_gives_an_error_is_opened_again() {
        let directory = tree(&[("sys/vmstat", b"a 1\n")]);
        let mut reader = Reader::new(Root::new(directory.path()));
        reader.keeps_open = true;
        let unreadable = File::open(directory.path()).unwrap();
        reader.open.insert("/sys/vmstat".to_owned(), unreadable);
        let read = |reader: &mut Reader| reader.parse_again("/sys/vmstat", |text| Ok(text.to_owned()));
        assert_eq!(read(&mut reader), Ok(Ok("a 1\n".to_owned())));
        std::fs::remove_file(directory.path().join("sys/vmstat")).unwrap();
        reader
            .open
            .insert("/sys/vmstat".to_owned(), File::open(directory.path()).unwrap());
        assert_eq!(read(&mut reader), Err(Missing::Absent));
        assert!(reader.open.is_empty());
    }

    #[test]
    fn a_recording_is_opened_anew_each_time() {
        let directory = tree(&[("proc/vmstat", b"a 1\n")]);
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(reader.parse_again("/proc/vmstat", |_| Ok(())), Ok(Ok(())));
        assert!(reader.open.is_empty());
    }

    fn problems(reader: &mut Reader) -> Vec<(String, usize)> {
        let problems = reader.take_problems().into_iter();
        problems
            .map(|problem| {
                let name = problem.path.file_name().unwrap().to_string_lossy().into_owned();
                (name, problem.cause.line)
            })
            .collect()
    }

    #[test]
    fn padding_of_tar_is_no_part_of_a_value() {
        let padded = |text: &str| [text.as_bytes(), &[0; 4000]].concat();
        let directory = tree(&[
            ("flag", &padded("true\n")),
            ("list", &padded("0-1,4\r\n")),
            ("number", &padded("12\n")),
            ("lines", &padded("a 1\nb 2\n")),
        ]);
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(reader.value("flag"), Ok("true"));
        assert_eq!(reader.list_value("list"), Some(vec![0, 1, 4]));
        assert_eq!(reader.number("number"), Some(12));
        let mut lines = 0;
        reader
            .each_line(&directory.path().join("lines"), u64::MAX, |_| lines += 1)
            .unwrap();
        assert_eq!(lines, 2);
        assert_eq!(
            reader
                .parse("lines", |text| Ok(text.to_owned()))
                .unwrap()
                .unwrap(),
            "a 1\nb 2\n"
        );
        assert_eq!(problems(&mut reader), []);
    }

    #[test]
    fn what_cannot_be_understood_is_a_problem_and_no_empty_value() {
        let directory = tree(&[
            ("empty", b""),
            ("nothing", &[0; 4096]),
            ("no-list", b"0-\n"),
            ("no-number", b"12\x004\n"),
            ("no-cpus", b"\n"),
        ]);
        let mut reader = Reader::new(Root::new(directory.path()));
        assert!(matches!(reader.value("empty"), Err(Missing::Unreadable(_))));
        assert_eq!(reader.list_value("nothing"), None);
        assert_eq!(reader.list_value("no-list"), None);
        assert_eq!(reader.number("no-number"), None);
        assert_eq!(reader.list_value("no-cpus"), Some(Vec::new()));
        assert_eq!(reader.number("absent"), None);
        let expected = [("empty", 0), ("no-list", 1), ("no-number", 1), ("nothing", 0)];
        assert_eq!(
            problems(&mut reader),
            expected.map(|(name, line)| (name.to_owned(), line))
        );
        assert_eq!(problems(&mut reader), [], "told once");
    }

    #[test]
    fn the_cut_off_line_of_a_recorded_file_is_no_value_unless_it_is_the_only_one() {
        let directory = tree(&[
            ("number", b"12"),
            ("line", b"a 1"),
            ("lines", b"a 1\nb 2"),
            ("last", b"x\ny"),
        ]);
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(reader.number("number"), Some(12));
        let parsed = |reader: &mut Reader, file: &str| {
            let mut seen = String::new();
            let outcome = reader.parse(file, |text| {
                text.clone_into(&mut seen);
                Ok(())
            });
            (seen, outcome.unwrap().is_ok())
        };
        assert_eq!(parsed(&mut reader, "line"), ("a 1".to_owned(), true));
        assert_eq!(parsed(&mut reader, "lines"), ("a 1\n".to_owned(), false));
        let mut lines = Vec::new();
        reader
            .each_line(&directory.path().join("last"), u64::MAX, |line| {
                lines.push(line.to_owned());
            })
            .unwrap();
        assert_eq!(lines, ["x"]);
        let doubts: Vec<bool> = reader.problems.values().map(ParseError::is_doubt).collect();
        assert_eq!(doubts, [true; 4]);
        let expected = ["last", "line", "lines", "number"].map(|name| (name.to_owned(), 0));
        assert_eq!(problems(&mut reader), expected);
    }
}
