//! The mappings of a process, as the folding of pages takes them.

use std::sync::Arc;

use tierscope_rootfs::Root;
use tierscope_sample::heat::PageKind;
use tierscope_sample::page_group::PageMapping;
use tierscope_sample::vma_fold::ProcessKey;

pub use crate::maps::Namer;
use crate::maps::{MapsLine, shown_name};
use crate::process::{ProcessFiles, Unmeasured};

/// A mapping whose pages can be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Where it lies and what it maps.
    pub page_mapping: PageMapping,
    /// Whether the process may touch it: memory that it has but reserved takes address space alone.
    pub accessible: bool,
    /// Whether the process may write to it.
    pub writable: bool,
    /// Whether it is shared: see [`MapsLine::shared`].
    pub shared: bool,
}

impl Mapping {
    /// Whether its pages may be of both kinds: those of the file, and copies that were written, which are anonymous.
    pub fn is_mixed(&self) -> bool {
        !self.shared && self.page_mapping.kind != PageKind::Anon
    }
}

/// The mappings in the text of a maps file, by address, without those that the kernel maps into every process. Lines
/// of another shape are passed over.
pub fn parse_maps(text: &str, namer: &Namer) -> Vec<Mapping> {
    let mut parser = MapsParser::new(namer);
    text.lines().for_each(|line| parser.line(line));
    parser.found
}

struct MapsParser<'a> {
    namer: &'a Namer,
    unnamed: Arc<str>,
    found: Vec<Mapping>,
}

impl<'a> MapsParser<'a> {
    fn new(namer: &'a Namer) -> Self {
        Self {
            namer,
            unnamed: Arc::from(""),
            found: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) {
        let Some(line) = MapsLine::parse(line) else { return };
        let Some(kind) = line.kind() else { return };
        let page_mapping = PageMapping {
            start: line.start,
            end: line.end,
            kind,
            name: shown_name(line.name, kind, self.namer, &self.unnamed),
            device: line.device,
            inode: line.inode,
            offset_bytes: line.offset_bytes,
        };
        self.found.push(Mapping {
            page_mapping,
            accessible: line.accessible,
            writable: line.writable,
            shared: line.shared,
        });
    }
}

/// Reads the mappings of processes beneath one root.
pub struct MapsReader {
    files: ProcessFiles,
    namer: Box<Namer>,
}

impl MapsReader {
    /// `namer` names files.
    pub fn new(root: Root, namer: Box<Namer>) -> Self {
        Self {
            files: ProcessFiles::new(root),
            namer,
        }
    }

    /// Bytes read from `/proc` so far.
    pub fn bytes_read(&self) -> u64 {
        self.files.bytes_read()
    }

    /// The mappings of a process, by address.
    pub fn read(&mut self, process: ProcessKey) -> Result<Vec<Mapping>, Unmeasured> {
        let mut parser = MapsParser::new(&*self.namer);
        self.files.each_line(process, "maps", |line| parser.line(line))?;
        Ok(parser.found)
    }

    /// Fails for a process whose resident memory is above the limit.
    pub fn check_size(&mut self, process: ProcessKey, limit_bytes: u64) -> Result<(), Unmeasured> {
        self.files.check_size(process, limit_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
55d0c8a00000-55d0c8a02000 rw-p 00003000 fe:01 41                         /usr/bin/a b
55d0c9000000-55d0c9100000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000100000 r--s 00010000 00:1f 1027                       /dev/shm/pool
7f2000000000-7f2000100000 ---p 00000000 00:00 0 
7f3000000000-7f3000100000 rw-p 00000000 00:00 0                          [anon:arena of a customer]
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]";

    fn parse(text: &str) -> Vec<Mapping> {
        parse_maps(text, &|name: &str| {
            Arc::from(name.rsplit('/').next().unwrap_or(name))
        })
    }

    #[test]
    fn mappings_have_places_kinds_and_names() {
        let mappings = parse(TEXT);
        let shown: Vec<_> = mappings
            .iter()
            .map(|mapping| {
                let place = &mapping.page_mapping;
                (
                    &*place.name,
                    place.kind,
                    mapping.writable,
                    mapping.shared,
                    mapping.is_mixed(),
                )
            })
            .collect();
        let expected = [
            ("a b", PageKind::File, true, false, true),
            ("heap", PageKind::Anon, true, false, false),
            ("pool", PageKind::Tmpfs, false, true, false),
            ("", PageKind::Anon, false, false, false),
            ("", PageKind::Anon, true, false, false),
        ];
        assert_eq!(shown, expected, "the kernel's own mapping is left out");
        let file = &mappings[0].page_mapping;
        assert_eq!(
            (file.device, file.inode, file.offset_bytes),
            (0xfe << 32 | 1, 41, 0x3000)
        );
        assert_eq!((file.start, file.end), (0x55d0_c8a0_0000, 0x55d0_c8a0_2000));
    }

    #[test]
    fn torn_and_foreign_lines_are_passed_over() {
        let text = "nonsense\n12-zz rw-p 0 0:0 0\n2000-1000 rw-p 0 0:0 0\n1000-2000\n1000-2000 r 0 x 0\n";
        let mappings = parse(text);
        assert_eq!(mappings.len(), 1);
        assert!(!mappings[0].writable && mappings[0].page_mapping.device == 0);
        let accessible: Vec<bool> = parse(TEXT).iter().map(|mapping| mapping.accessible).collect();
        assert_eq!(accessible, [true, true, true, false, true]);
    }
}
