//! `/proc/<pid>/smaps`, line by line: what is resident of each mapping, what was accessed since the last clearing, and
//! what is dirty.
//!
//! The kernel counts a page as dirty where its entry in the page table says so or the page itself is marked; hugetlb pages
//! it does not count at all (`fs/proc/task_mmu.c`).

use std::sync::Arc;

use tierscope_sample::heat::{Beside, PageKind};
use tierscope_sample::vma_fold::VmaReading;

pub use crate::maps::Namer;
use crate::maps::{MapsLine, shown_name};

/// All that 57 bits of address reach.
const MAX_KIB: i64 = 1 << 47;
const KIB: i64 = 1024;

/// The mapping whose lines are being read; sizes in KiB as the kernel prints them.
#[derive(Debug)]
struct Open {
    reading: VmaReading,
    rss_kib: i64,
    pss_kib: i64,
    referenced_kib: i64,
    anonymous_kib: i64,
    hugetlb_kib: i64,
    kernel_page_kib: i64,
    shared_clean_kib: Option<i64>,
    shared_dirty_kib: Option<i64>,
    private_dirty_kib: Option<i64>,
    /// Since Linux 6.0.
    pss_dirty_kib: Option<i64>,
}

impl Open {
    /// Dirty KiB, shared pages in parts as in `Pss`; `None` where the kernel does not print them.
    ///
    /// Before Linux 6.0 the parts of shared pages are those of all shared pages of the mapping.
    fn dirty_kib(&self) -> Option<i64> {
        let (shared, private) = (self.shared_dirty_kib?, self.private_dirty_kib?);
        let in_parts = || {
            let all_shared = shared + self.shared_clean_kib?;
            let parts = self.pss_kib - (self.rss_kib - all_shared);
            Some(private + share(shared, parts.max(0), all_shared))
        };
        self.pss_dirty_kib
            .or_else(in_parts)
            .map(|kib| kib.min(self.pss_kib.min(self.rss_kib)))
    }
}

/// Takes the lines of one smaps file.
pub struct SmapsParser<'a> {
    namer: &'a Namer,
    page_bytes: u32,
    unnamed: Arc<str>,
    open: Option<Open>,
    vmas: Vec<VmaReading>,
}

impl<'a> SmapsParser<'a> {
    /// A parser that names files by `namer`. Mappings whose page size is not printed have pages of `page_bytes`.
    pub fn new(namer: &'a Namer, page_bytes: u64) -> Self {
        Self {
            namer,
            page_bytes: u32::try_from(page_bytes).unwrap_or(u32::MAX),
            unnamed: Arc::from(""),
            open: None,
            vmas: Vec::new(),
        }
    }

    /// Takes the next line. Fields that are not used, and lines of a kernel to come, are passed over.
    pub fn line(&mut self, line: &str) {
        if let Some((field, value)) = line.split_once(':')
            && let Some(kib) = kib(value)
        {
            self.field(field, kib);
        } else if let Some(header) = MapsLine::parse(line) {
            self.close();
            self.open = header.kind().map(|kind| self.start(&header, kind));
        }
    }

    /// The mappings with memory in them or room for it, by address.
    pub fn finish(mut self) -> Vec<VmaReading> {
        self.close();
        self.vmas
    }

    fn field(&mut self, field: &str, kib: i64) {
        let Some(open) = &mut self.open else { return };
        match field {
            "Rss" => open.rss_kib = kib,
            "Pss" => open.pss_kib = kib,
            "Referenced" => open.referenced_kib = kib,
            "Anonymous" => open.anonymous_kib = kib,
            "Shared_Hugetlb" | "Private_Hugetlb" => open.hugetlb_kib += kib,
            "KernelPageSize" => open.kernel_page_kib = kib,
            "Shared_Clean" => open.shared_clean_kib = Some(kib),
            "Shared_Dirty" => open.shared_dirty_kib = Some(kib),
            "Private_Dirty" => open.private_dirty_kib = Some(kib),
            "Pss_Dirty" => open.pss_dirty_kib = Some(kib),
            _ => {}
        }
    }

    fn start(&self, header: &MapsLine, kind: PageKind) -> Open {
        let reading = VmaReading {
            start: header.start,
            end: header.end,
            offset_bytes: if kind == PageKind::Anon {
                0
            } else {
                header.offset_bytes as i64
            },
            mapping: shown_name(header.name, kind, self.namer, &self.unnamed),
            kind,
            page_size_bytes: self.page_bytes,
            resident_bytes: 0,
            referenced_bytes: 0,
            beside: Beside::default(),
        };
        Open {
            reading,
            rss_kib: 0,
            pss_kib: 0,
            referenced_kib: 0,
            anonymous_kib: 0,
            hugetlb_kib: 0,
            kernel_page_kib: 0,
            shared_clean_kib: None,
            shared_dirty_kib: None,
            private_dirty_kib: None,
            pss_dirty_kib: None,
        }
    }

    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        let dirty_kib = open.dirty_kib();
        let reading = &mut open.reading;
        if open.kernel_page_kib > 0 {
            reading.page_size_bytes =
                u32::try_from(open.kernel_page_kib * KIB).unwrap_or(reading.page_size_bytes);
        }
        if open.hugetlb_kib > 0 {
            reading.resident_bytes = open.hugetlb_kib * KIB;
        } else {
            // A private file mapping whose pages were all written holds anonymous memory alone.
            if reading.kind == PageKind::File && open.rss_kib > 0 && open.anonymous_kib >= open.rss_kib {
                reading.kind = PageKind::Anon;
            }
            let referenced_kib = open.referenced_kib.min(open.rss_kib);
            reading.resident_bytes = open.pss_kib.min(open.rss_kib) * KIB;
            reading.referenced_bytes = share(referenced_kib, open.pss_kib, open.rss_kib) * KIB;
            reading.beside.dirty_bytes = dirty_kib.map(|kib| kib * KIB);
        }
        self.vmas.push(open.reading);
    }
}

/// `value * part / whole`, rounded; `value` where nothing is shared.
fn share(value: i64, part: i64, whole: i64) -> i64 {
    if part >= whole {
        value
    } else {
        let product = i128::from(value) * i128::from(part);
        ((product + i128::from(whole / 2)) / i128::from(whole)) as i64
    }
}

/// The number of a value such as `      12 kB`, if it is one that a kernel can print.
fn kib(value: &str) -> Option<i64> {
    let number: i64 = value.trim().strip_suffix(" kB")?.trim_end().parse().ok()?;
    (0..=MAX_KIB).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
55d0c8a00000-55d0c8a02000 rw-p 00003000 fe:00 41                         /usr/bin/a b
Size:                  8 kB
KernelPageSize:        4 kB
MMUPageSize:           4 kB
Rss:                   8 kB
Pss:                   8 kB
Referenced:            4 kB
Anonymous:             8 kB
VmFlags: rd wr mr mw me ac sd
55d0c9000000-55d0c9100000 rw-p 00000000 00:00 0                          [heap]
Rss:                 100 kB
Pss:                 100 kB
Pss_Dirty:            88 kB
Shared_Clean:          0 kB
Shared_Dirty:          0 kB
Private_Clean:        12 kB
Private_Dirty:        88 kB
Referenced:           60 kB
Anonymous:           100 kB
7f0000000000-7f0000100000 rw-s 00010000 00:01 1027                       /dev/shm/pool
Rss:                 400 kB
Pss:                 100 kB
Shared_Clean:        200 kB
Shared_Dirty:        200 kB
Private_Clean:         0 kB
Private_Dirty:         0 kB
Referenced:           40 kB
Anonymous:             0 kB
7f1000000000-7f1000400000 rw-p 00000000 00:0f 99                         /anon_hugepage (deleted)
KernelPageSize:     2048 kB
Rss:                   0 kB
Pss:                   0 kB
Shared_Clean:          0 kB
Shared_Dirty:          0 kB
Private_Clean:         0 kB
Private_Dirty:         0 kB
Referenced:            0 kB
Private_Hugetlb:    4096 kB
7f2000000000-7f2000100000 rw-p 00000000 00:00 0 
Rss:                   0 kB
FutureField:          12 kB
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
Rss:                   8 kB
Pss:                   0 kB
Referenced:            8 kB";

    fn parse(text: &str) -> Vec<VmaReading> {
        let namer = |name: &str| Arc::from(name.rsplit('/').next().unwrap_or(name));
        let mut parser = SmapsParser::new(&namer, 4096);
        text.lines().for_each(|line| parser.line(line));
        parser.finish()
    }

    #[test]
    fn mappings_have_kinds_names_and_sizes() {
        let vmas = parse(TEXT);
        let shown: Vec<_> = vmas
            .iter()
            .map(|vma| {
                (
                    &*vma.mapping,
                    vma.kind,
                    vma.resident_bytes / KIB,
                    vma.referenced_bytes / KIB,
                )
            })
            .collect();
        let expected = [
            ("a b", PageKind::Anon, 8, 4),
            ("heap", PageKind::Anon, 100, 60),
            ("pool", PageKind::Tmpfs, 100, 10),
            ("", PageKind::Anon, 4096, 0),
            ("", PageKind::Anon, 0, 0),
        ];
        assert_eq!(shown, expected, "the kernel's own mapping is left out");
        assert_eq!(
            (vmas[2].offset_bytes, vmas[2].end - vmas[2].start),
            (0x10000, 0x10_0000)
        );
        assert_eq!(
            (vmas[0].page_size_bytes, vmas[3].page_size_bytes),
            (4096, 2 << 20)
        );
    }

    #[test]
    fn dirty_bytes_are_those_of_the_kernel_and_absent_where_it_prints_none() {
        let dirty: Vec<_> = parse(TEXT)
            .iter()
            .map(|vma| vma.beside.dirty_bytes.map(|bytes| bytes / KIB))
            .collect();
        // A file without the lines, one with Pss_Dirty, shared pages in parts, hugetlb, and no lines again.
        assert_eq!(dirty, [None, Some(88), Some(50), None, None]);
        let mixed = parse(
            "1000-9000 rw-s 0 0:1 7 /a\nRss: 32 kB\nPss: 20 kB\nShared_Clean: 8 kB\nShared_Dirty: 16 kB\n\
             Private_Clean: 0 kB\nPrivate_Dirty: 8 kB\n",
        );
        // 24 shared KiB count 12, so 16 of them 8.
        assert_eq!(mixed[0].beside.dirty_bytes, Some(16 * KIB));
    }

    #[test]
    fn clean_memory_has_no_dirty_bytes_which_is_not_the_same_as_unknown() {
        let text = "1000-3000 r--p 0 0:1 7 /a\nRss: 8 kB\nPss: 8 kB\nShared_Clean: 0 kB\nShared_Dirty: 0 kB\n\
                    Private_Clean: 8 kB\nPrivate_Dirty: 0 kB\n";
        assert_eq!(parse(text)[0].beside.dirty_bytes, Some(0));
    }

    #[test]
    fn torn_and_foreign_lines_are_passed_over() {
        let vmas = parse(
            "Rss: 4 kB\nnonsense\n12-zz rw-p 0 0 0\n0-0 rw-p 0 0:0 0\n1000-2000 rw-p 0 0:0 0\nRss: x kB\n",
        );
        assert_eq!(vmas.len(), 1);
        assert_eq!(vmas[0].resident_bytes, 0);
    }
}
