//! The address space of a recorded process: its mappings as the recording tells them, and stretches of which it tells
//! nothing.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tierscope_sample::heat::PageKind;
use tierscope_sample::mapping::mapping_kind;
use tierscope_sample::page_group::PageMapping;
use tierscope_sample::page_size;

use crate::trace_fold::MAPPING_GAP_BYTES;

const PAGE_BYTES: u64 = page_size::MODEL_BYTES;

/// What lies at some addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    end: u64,
    /// `None` for pages that the kernel maps into every process.
    kind: Option<PageKind>,
    name: Arc<str>,
    file: (u64, u64),
    offset_bytes: u64,
}

impl Piece {
    /// Whether an address in both this piece, which begins at `at`, and `other`, which begins at `other_at`, has the same
    /// page behind it.
    fn is_backed_alike(&self, at: u64, other: &Self, other_at: u64) -> bool {
        let same_file = self.kind == other.kind && self.file == other.file;
        match self.kind {
            Some(PageKind::File | PageKind::Tmpfs) => {
                let (begin, other_begin) = (
                    at.wrapping_sub(self.offset_bytes),
                    other_at.wrapping_sub(other.offset_bytes),
                );
                same_file && self.name == other.name && begin == other_begin
            }
            _ => same_file,
        }
    }
}

/// Mappings by their first address, none overlapping another.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddressSpace {
    pieces: BTreeMap<u64, Piece>,
}

impl AddressSpace {
    /// Maps something, in place of what was there. Gives the stretches whose pages are others than before: the kernel
    /// also reports a mapping when it grows, is joined with its neighbour or changes its protection, and then the pages
    /// stay.
    pub(crate) fn map(
        &mut self,
        start: u64,
        size_bytes: u64,
        offset_bytes: u64,
        file: (u64, u64),
        name: &Arc<str>,
    ) -> Vec<Range<u64>> {
        let end = start.saturating_add(size_bytes);
        if end <= start {
            return Vec::new();
        }
        // Names such as `//anon` stand for memory without a file.
        let kind = mapping_kind(name, file.1);
        let is_file = matches!(kind, Some(PageKind::File | PageKind::Tmpfs));
        let piece = Piece {
            end,
            kind,
            name: Arc::clone(name),
            file: if is_file { file } else { (0, 0) },
            offset_bytes: if is_file { offset_bytes } else { 0 },
        };
        let before = self.pieces.range(..end).rev();
        let overlapping = before.take_while(|(_, old)| old.end > start);
        let replaced = overlapping
            .filter(|(at, old)| !old.is_backed_alike(**at, &piece, start))
            .map(|(at, old)| (*at).max(start)..old.end.min(end))
            .collect();
        self.clear(start, end);
        self.pieces.insert(start, piece);
        replaced
    }

    /// Makes sure that something lies at the address of a sample: where the recording tells of no mapping it is taken as
    /// anonymous memory, together with what lies near. `None` for pages of the kernel.
    pub(crate) fn kind_at(&mut self, address: u64) -> Option<PageKind> {
        if let Some(piece) = self.at(address) {
            return piece.kind;
        }
        let page = address / PAGE_BYTES * PAGE_BYTES;
        let before = self.pieces.range(..page).next_back();
        let joined = before.filter(|(_, piece)| is_loose(piece) && page - piece.end <= MAPPING_GAP_BYTES);
        if let Some((&start, _)) = joined {
            if let Some(piece) = self.pieces.get_mut(&start) {
                piece.end = page + PAGE_BYTES;
            }
            return Some(PageKind::Anon);
        }
        let piece = Piece {
            end: page + PAGE_BYTES,
            kind: Some(PageKind::Anon),
            name: Arc::from(""),
            file: (0, 0),
            offset_bytes: 0,
        };
        self.pieces.insert(page, piece);
        Some(PageKind::Anon)
    }

    /// File and offset of a page of a file, for telling pages of several processes apart.
    pub(crate) fn file_page(&self, address: u64) -> Option<(Arc<str>, (u64, u64), u64)> {
        let (start, piece) = self.pieces.range(..=address).next_back()?;
        let offset = piece.offset_bytes + (address - start);
        let is_file = matches!(piece.kind, Some(PageKind::File | PageKind::Tmpfs));
        is_file.then(|| (Arc::clone(&piece.name), piece.file, offset / PAGE_BYTES))
    }

    pub(crate) fn mappings(&self) -> impl Iterator<Item = PageMapping> {
        self.pieces.iter().filter_map(|(start, piece)| {
            let kind = piece.kind?;
            Some(PageMapping {
                start: *start,
                end: piece.end,
                kind,
                name: shown_name(&piece.name, kind),
                device: piece.file.0,
                // A file that the recording gives no inode is told by its name.
                inode: if kind == PageKind::Anon {
                    0
                } else {
                    piece.file.1.max(1)
                },
                offset_bytes: piece.offset_bytes,
            })
        })
    }

    fn at(&self, address: u64) -> Option<&Piece> {
        let (_, piece) = self.pieces.range(..=address).next_back()?;
        (address < piece.end).then_some(piece)
    }

    /// Unmaps a stretch; mappings that reach out of it keep the rest.
    fn clear(&mut self, start: u64, end: u64) {
        let overlapping = |(at, piece): (&u64, &Piece)| (piece.end > start).then_some(*at);
        while let Some(at) = self.pieces.range(..end).next_back().and_then(overlapping) {
            let Some(piece) = self.pieces.remove(&at) else {
                return;
            };
            if piece.end > end {
                let right = Piece {
                    offset_bytes: shifted(&piece, end - at),
                    ..piece.clone()
                };
                self.pieces.insert(end, right);
            }
            if at < start {
                self.pieces.insert(at, Piece { end: start, ..piece });
            }
        }
    }
}

fn shifted(piece: &Piece, bytes: u64) -> u64 {
    match piece.kind {
        Some(PageKind::File | PageKind::Tmpfs) => piece.offset_bytes.saturating_add(bytes),
        _ => 0,
    }
}

/// Memory of which the recording does not tell.
fn is_loose(piece: &Piece) -> bool {
    piece.kind == Some(PageKind::Anon) && piece.name.is_empty()
}

/// As for a live process: files by their base name, heap and stack by theirs, other memory without one.
fn shown_name(name: &Arc<str>, kind: PageKind) -> Arc<str> {
    match (kind, &**name) {
        (PageKind::Anon, "[heap]") => Arc::from("heap"),
        (PageKind::Anon, "[stack]") => Arc::from("stack"),
        (PageKind::Anon, _) => Arc::from(""),
        (_, name) => {
            let path = name.trim_end_matches(" (deleted)");
            Arc::from(path.rsplit('/').next().unwrap_or(path))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(space: &AddressSpace) -> Vec<(u64, u64, PageKind, String, u64)> {
        let mappings = space.mappings();
        mappings
            .map(|mapping| {
                let name = mapping.name.to_string();
                (
                    mapping.start,
                    mapping.end,
                    mapping.kind,
                    name,
                    mapping.offset_bytes,
                )
            })
            .collect()
    }

    #[test]
    fn a_new_mapping_cuts_out_what_was_there() {
        let mut space = AddressSpace::default();
        let name: Arc<str> = Arc::from("/usr/lib/libz.so");
        space.map(0x1000, 0x9000, 0x4000, (1, 7), &name);
        space.map(0x3000, 0x2000, 0, (0, 0), &Arc::from("//anon"));
        let (file, library) = (PageKind::File, "libz.so".to_owned());
        assert_eq!(
            shown(&space),
            [
                (0x1000, 0x3000, file, library.clone(), 0x4000),
                (0x3000, 0x5000, PageKind::Anon, String::new(), 0),
                (0x5000, 0xa000, file, library, 0x8000),
            ]
        );
        let page = space.file_page(0x6123);
        assert_eq!(page, Some((name, (1, 7), 9)));
        space.map(0, 0x10_0000, 0, (0, 0), &Arc::from("[heap]"));
        assert_eq!(shown(&space).len(), 1);
        assert_eq!(shown(&space)[0].3, "heap");
        space.map(5, 0, 0, (0, 0), &Arc::from(""));
        assert_eq!(shown(&space).len(), 1);
    }

    #[test]
    fn pages_stay_when_a_mapping_grows_or_changes_its_protection() {
        let mut space = AddressSpace::default();
        let (heap, library): (Arc<str>, Arc<str>) = (Arc::from("[heap]"), Arc::from("/usr/lib/libz.so"));
        assert!(space.map(0x1000, 0x2000, 0, (0, 0), &heap).is_empty());
        assert!(space.map(0x1000, 0x9000, 0, (0, 0), &heap).is_empty());
        space.map(0x2_0000, 0x8000, 0x4000, (1, 7), &library);
        assert!(space.map(0x2_2000, 0x1000, 0x6000, (1, 7), &library).is_empty());
        // The same file at another offset, and memory in place of a file, are other pages.
        let moved = space.map(0x2_4000, 0x1000, 0x4000, (1, 7), &library);
        assert_eq!((moved.len(), &moved[0]), (1, &(0x2_4000..0x2_5000)));
        let replaced = space.map(0x9000, 0x1_8000, 0, (0, 0), &Arc::from("//anon"));
        assert_eq!((replaced.len(), &replaced[0]), (1, &(0x2_0000..0x2_1000)));
        let replaced = space.map(0x8000, 0x4000, 0, (1, 9), &library);
        assert_eq!(replaced, [0x9000..0xc000, 0x8000..0x9000]);
    }

    #[test]
    fn memory_that_is_not_told_of_is_anonymous_and_joined_with_its_neighbours() {
        let mut space = AddressSpace::default();
        space.map(0x50_0000, 0x1000, 0, (0, 0), &Arc::from("[vdso]"));
        assert_eq!(space.kind_at(0x50_0010), None);
        for address in [0x10_0000, 0x18_0008, 0x90_0000] {
            assert_eq!(space.kind_at(address), Some(PageKind::Anon));
        }
        let places: Vec<(u64, u64)> = shown(&space).iter().map(|piece| (piece.0, piece.1)).collect();
        assert_eq!(places, [(0x10_0000, 0x18_1000), (0x90_0000, 0x90_1000)]);
        assert_eq!(space.kind_at(0x17_0000), Some(PageKind::Anon), "within");
        assert_eq!(shown(&space).len(), 2);
    }
}
