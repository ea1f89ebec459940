//! Idle marks on a recorded tree: files that stand for the kernel's. Marks never change there by themselves, so the test
//! takes them away as an access would.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::PathBuf;
use std::sync::Arc;

use tierscope_pagetable::idle::{FrameFlags, IdleError, IdleReader, probe_idle};
use tierscope_pagetable::page_sizes::PageSizes;
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::Unmeasured;
use tierscope_rootfs::Root;
use tierscope_sample::heat::PageKind;
use tierscope_sample::page_group::{PageState, TierIndex};
use tierscope_sample::vma_fold::ProcessKey;

const PRESENT: u64 = 1 << 63;
const FILE: u64 = 1 << 61;
const PROCESS: ProcessKey = ProcessKey {
    pid: 9,
    start_time_ticks: 3859,
};

/// A host with one process: a huge page and three small ones of anonymous memory, and a private mapping of a file of
/// which one page was written.
struct Host {
    directory: tempfile::TempDir,
    sizes: PageSizes,
}

impl Host {
    /// A host whose kernel has base pages of so many KiB.
    fn new(page_kib: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let sizes = PageSizes::of(&Root::new(directory.path()).with_page_bytes(page_kib << 10));
        let host = Self { directory, sizes };
        let (page, huge, in_huge) = (host.page(), host.huge(), host.in_huge());
        let (anon_at, file_at) = (host.anon_at(), host.file_at());
        let write = |path: &str, bytes: &[u8]| {
            let path = host.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        write(
            "proc/9/stat",
            b"9 (a) S 1 0 0 0 -1 0 1 0 0 0 2 1 0 0 20 0 3 0 3859 82 5",
        );
        write("proc/9/status", b"VmRSS:\t    2072 kB\n");
        let maps = format!(
            "{anon_at:x}-{:x} rw-p 00000000 00:00 0 \n{file_at:x}-{:x} rw-p 00000000 fe:01 7 /srv/data\n",
            anon_at + huge + 4 * page,
            file_at + 2 * page
        );
        write("proc/9/maps", maps.as_bytes());
        let mut pagemap = vec![0_u64; (file_at / page) as usize + 2];
        let anon = (anon_at / page) as usize;
        for number in 0..in_huge {
            pagemap[anon + number as usize] = PRESENT | (host.head() + number);
        }
        for (number, frame) in [(0, 77), (2, host.many() + 5), (3, 60)] {
            pagemap[anon + in_huge as usize + number] = PRESENT | frame;
        }
        let file = (file_at / page) as usize;
        pagemap[file] = PRESENT | FILE | 0x7d0;
        pagemap[file + 1] = PRESENT | 0x7d1;
        write("proc/9/pagemap", &bytes_of(&pagemap));
        let mut flags = vec![FrameFlags::LRU; host.frames() as usize];
        let head = host.head() as usize;
        flags[head] |= FrameFlags::HEAD | FrameFlags::HUGE;
        flags[head + 1..head + in_huge as usize].fill(FrameFlags::TAIL | FrameFlags::HUGE);
        flags[60] = FrameFlags::ZERO;
        // A page of eight frames, of which the process maps the sixth.
        let many = host.many() as usize;
        flags[many] |= FrameFlags::HEAD | FrameFlags::HUGE;
        flags[many + 1..many + 8].fill(FrameFlags::TAIL);
        write("proc/kpageflags", &bytes_of(&flags));
        write(
            "sys/kernel/mm/page_idle/bitmap",
            &vec![0; host.frames() as usize / 8],
        );
        host
    }

    fn page(&self) -> u64 {
        u64::from(self.sizes.base.bytes())
    }

    fn huge(&self) -> u64 {
        u64::from(self.sizes.huge.bytes())
    }

    fn in_huge(&self) -> u64 {
        self.huge() / self.page()
    }

    fn anon_at(&self) -> u64 {
        self.huge()
    }

    fn file_at(&self) -> u64 {
        4 * self.huge()
    }

    /// The frame that the huge page begins at.
    fn head(&self) -> u64 {
        8 * self.in_huge()
    }

    /// The frame that a page of eight frames begins at.
    fn many(&self) -> u64 {
        10 * self.in_huge() - 16
    }

    fn frames(&self) -> u64 {
        10 * self.in_huge()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn root(&self) -> Root {
        Root::new(self.directory.path()).with_page_bytes(self.page())
    }

    fn bitmap(&self) -> Vec<u8> {
        std::fs::read(self.path("sys/kernel/mm/page_idle/bitmap")).unwrap()
    }

    fn marked(&self) -> Vec<u64> {
        let bitmap = self.bitmap();
        let is_marked = |frame: &u64| bitmap[*frame as usize / 8] >> (frame % 8) & 1 != 0;
        (0..self.frames()).filter(is_marked).collect()
    }

    fn touch(&self, frame: u64) {
        let mut bitmap = self.bitmap();
        bitmap[frame as usize / 8] &= !(1 << (frame % 8));
        std::fs::write(self.path("sys/kernel/mm/page_idle/bitmap"), bitmap).unwrap();
    }
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn read(reader: &mut IdleReader) -> Vec<(PageKind, PageState)> {
    let mut pages = Vec::new();
    let result = reader.read_and_mark(PROCESS, |mapping, states| {
        pages.extend(states.iter().map(|state| (mapping.kind, *state)));
    });
    result.unwrap();
    pages
}

fn reader(host: &Host, rss_limit_bytes: u64) -> IdleReader {
    let namer = Box::new(|name: &str| Arc::from(name));
    let placement = Placement::only(Some(TierIndex(1)));
    IdleReader::new(&host.root(), rss_limit_bytes, namer, placement).unwrap()
}

#[test]
fn pages_of_every_size_are_active_until_their_mark_stays() {
    for page_kib in [4, 16, 64] {
        let host = Host::new(page_kib);
        let (anon_at, file_at) = (host.anon_at(), host.file_at());
        let mut reader = reader(&host, u64::MAX);
        let first = read(&mut reader);
        let shown: Vec<_> = first
            .iter()
            .map(|(kind, page)| (*kind, page.address, page.size, page.anon, page.active))
            .collect();
        let small = host.sizes.base;
        let after = anon_at + host.huge();
        let expected = [
            (PageKind::Anon, anon_at, host.sizes.huge, true, true),
            (PageKind::Anon, after, small, true, true),
            (PageKind::Anon, after + 2 * host.page(), small, true, true),
            (PageKind::File, file_at, small, false, true),
            (PageKind::File, file_at + host.page(), small, true, true),
        ];
        assert_eq!(
            shown, expected,
            "{page_kib} KiB: the shared page of zeros is left out"
        );
        assert_eq!(
            host.marked(),
            [77, 0x7d0, 0x7d1, host.head(), host.many()],
            "{page_kib} KiB: heads alone are marked"
        );
        host.touch(host.head());
        host.touch(0x7d1);
        let second = read(&mut reader);
        let active: Vec<u64> = second
            .iter()
            .filter(|(_, page)| page.active)
            .map(|(_, page)| page.address)
            .collect();
        assert_eq!(active, [anon_at, file_at + host.page()]);
        assert!(second.iter().all(|(_, page)| page.tier == Some(TierIndex(1))));
        assert!(
            read(&mut reader).iter().all(|(_, page)| !page.active),
            "all are marked again"
        );
    }
}

#[test]
fn what_is_not_the_process_is_not_read() {
    let host = Host::new(4);
    let too_large = reader(&host, 4096).read_and_mark(PROCESS, |_, _| panic!("handed out"));
    assert!(matches!(too_large, Err(Unmeasured::TooLarge { .. })));
    let other = ProcessKey { pid: 10, ..PROCESS };
    let gone = reader(&host, u64::MAX).read_and_mark(other, |_, _| panic!("handed out"));
    assert_eq!(gone, Err(Unmeasured::Gone));
    assert!(host.marked().is_empty());
}

#[test]
fn a_kernel_without_idle_pages_says_so() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(
        probe_idle(&Root::new(directory.path())),
        Err(IdleError::NotSupported)
    );
    match probe_idle(&Root::live()) {
        Err(IdleError::NotSupported) => {
            assert!(!PathBuf::from("/sys/kernel/mm/page_idle/bitmap").exists());
        }
        result => result.unwrap(),
    }
}
