//! Reading of kernel files into one small buffer that is used again and again.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::{Missing, Outcome, ParseError, Root, text};

/// Bytes asked for at once. Large buffers make `/proc/sys` fail with `ENOMEM`, and seq files hand out about one page
/// per call anyway.
const CHUNK_BYTES: usize = 16 << 10;
/// Most bytes kept of one file. `/proc/zoneinfo` of a host with 1,000 CPUs has about 3 MB.
const WHOLE_FILE_LIMIT_BYTES: usize = 8 << 20;
/// Capacity above which the buffer is given back after use, so that one large file does not stay in memory.
const KEPT_BYTES: usize = 256 << 10;
/// Files that stay open between readings: those of a host with some 60 nodes, far below the usual limit of 1,024.
const MAX_OPEN_FILES: usize = 200;

/// Reads files beneath one root. Keeps its buffer and counts its bytes.
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

    /// The text of a whole file, valid until the next reading. Bytes that are not UTF-8 become `?`.
    pub fn read(&mut self, kernel_path: &str) -> Result<&str, Missing> {
        let path = self.root.join(kernel_path);
        self.read_path(&path)
    }

    /// As [`Reader::read`], for a path that already has its root.
    pub fn read_path(&mut self, path: &Path) -> Result<&str, Missing> {
        let file = File::open(path).map_err(|error| Missing::from_io(&error))?;
        let length = fill(&mut self.buffer, &file).map_err(|error| Missing::from_io(&error))?;
        self.bytes_read += length as u64;
        Ok(sanitize(&mut self.buffer[..length]))
    }

    /// The trimmed text of a file with one line.
    pub fn value(&mut self, kernel_path: &str) -> Result<&str, Missing> {
        self.read(kernel_path).map(str::trim)
    }

    /// The whole number in a file with one line; `None` where there is none.
    pub fn number(&mut self, kernel_path: &str) -> Option<i64> {
        self.value(kernel_path).ok().and_then(text::number)
    }

    /// Reads a file and parses it; a [`ParseError`] gets the file's name.
    pub fn parse<T>(
        &mut self,
        kernel_path: &str,
        parser: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Outcome<T> {
        let path = self.root.join(kernel_path);
        let text = self.read_path(&path)?;
        Ok(parser(text).map_err(|error| error.in_file(&path)))
    }

    /// As [`Reader::parse`], for a file of the kernel that is read again and again: it stays open.
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
        let length = match again {
            Some(Ok(length)) => length,
            _ => self.open_and_read(kernel_path)?,
        };
        self.bytes_read += length as u64;
        let parsed = parser(sanitize(&mut self.buffer[..length]));
        Ok(parsed.map_err(|error| error.in_file(&self.root.join(kernel_path))))
    }

    /// Hands out a file line by line without keeping it, until `limit_bytes` are read. For files that grow with the
    /// number of mappings of a process.
    pub fn each_line(
        &mut self,
        path: &Path,
        limit_bytes: u64,
        mut line: impl FnMut(&str),
    ) -> Result<Counted, Missing> {
        let mut file = File::open(path).map_err(|error| Missing::from_io(&error))?;
        let mut counted = Counted { bytes: 0, cut: false };
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
                if !self.buffer.is_empty() {
                    line(sanitize(&mut self.buffer));
                }
                return Ok(counted);
            }
            self.hand_out_lines(&mut line);
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

    fn open_and_read(&mut self, kernel_path: &str) -> Result<usize, Missing> {
        self.open.remove(kernel_path);
        let file = File::open(self.root.join(kernel_path)).map_err(|error| Missing::from_io(&error))?;
        let length = fill(&mut self.buffer, &file).map_err(|error| Missing::from_io(&error))?;
        if self.keeps_open && self.open.len() < MAX_OPEN_FILES {
            self.open.insert(kernel_path.to_owned(), file);
        }
        Ok(length)
    }

    fn hand_out_lines(&mut self, line: &mut impl FnMut(&str)) {
        let mut start = 0;
        while let Some(length) = self.buffer[start..].iter().position(|byte| *byte == b'\n') {
            line(sanitize(&mut self.buffer[start..start + length]));
            start += length + 1;
        }
        self.buffer.drain(..start);
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
        let mut reader = Reader::new(Root::new(directory.path()));
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
}
