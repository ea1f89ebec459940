//! `/proc/<pid>/maps`, line by line: which addresses a process may touch, and what lies behind them.

use std::sync::Arc;

use tierscope_sample::heat::PageKind;
use tierscope_sample::mapping::mapping_kind;

/// Turns the kernel's name of a file into the name that may leave the host.
pub type Namer = dyn Fn(&str) -> Arc<str> + Send;

/// One line of maps, and the first line of each mapping in smaps: `start-end permissions offset device inode name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapsLine<'a> {
    /// First address.
    pub start: u64,
    /// The address after the last; above `start`.
    pub end: u64,
    /// Whether the process may touch it at all.
    pub accessible: bool,
    /// Whether the process may write to it.
    pub writable: bool,
    /// Whether writes go to the file (or are seen by others); otherwise written pages are copies of the process.
    pub shared: bool,
    /// Offset in the file, in bytes.
    pub offset_bytes: u64,
    /// Device of the file: major number in the upper 32 bits, minor in the lower; 0 without a file.
    pub device: u64,
    /// Inode of the file; 0 without a file.
    pub inode: u64,
    /// As the kernel prints it: a path, a name in brackets, or "".
    pub name: &'a str,
}

impl<'a> MapsLine<'a> {
    /// `None` for a line of another shape.
    pub fn parse(line: &'a str) -> Option<Self> {
        let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
        let permissions = fields.next()?.as_bytes();
        let offset_bytes = hexadecimal(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':').unwrap_or_default();
        let device = hexadecimal(major).unwrap_or(0) << 32 | hexadecimal(minor).unwrap_or(0);
        let inode = fields.next()?.parse().ok()?;
        let name = fields.next().unwrap_or_default().trim();
        (start < end).then_some(Self {
            start,
            end,
            accessible: permissions.get(..3) != Some(b"---"),
            writable: permissions.get(1) == Some(&b'w'),
            shared: permissions.get(3) == Some(&b's'),
            offset_bytes,
            device,
            inode,
            name,
        })
    }

    /// The kind of its pages as far as the name tells; `None` for pages that the kernel maps into every process.
    pub fn kind(&self) -> Option<PageKind> {
        mapping_kind(self.name, self.inode)
    }
}

/// The name of a mapping as it may leave the host. Heap and stack keep theirs; names that a program gives its
/// anonymous memory stay on the host.
pub(crate) fn shown_name(name: &str, kind: PageKind, namer: &Namer, unnamed: &Arc<str>) -> Arc<str> {
    match (kind, name) {
        (PageKind::Anon, "[heap]") => Arc::from("heap"),
        (PageKind::Anon, "[stack]") => Arc::from("stack"),
        (PageKind::Anon, _) => Arc::clone(unnamed),
        (PageKind::File | PageKind::Tmpfs, name) => namer(name),
    }
}
