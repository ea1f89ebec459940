//! Idle marks on a recorded tree: files that stand for the kernel's. Marks never change there by themselves, so the test
//! takes them away as an access would.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::PathBuf;
use std::sync::Arc;

use tierscope_pagetable::PAGE_BYTES;
use tierscope_pagetable::idle::{FrameFlags, IdleError, IdleReader, probe_idle};
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::Unmeasured;
use tierscope_rootfs::Root;
use tierscope_sample::heat::PageKind;
use tierscope_sample::page_group::{PageSize, PageState, TierIndex};
use tierscope_sample::vma_fold::ProcessKey;

const FRAMES: u64 = 4096;
const PRESENT: u64 = 1 << 63;
const FILE: u64 = 1 << 61;
const ANON_AT: u64 = 0x20_0000;
const FILE_AT: u64 = 0x80_0000;
const PROCESS: ProcessKey = ProcessKey {
    pid: 9,
    start_time_ticks: 3859,
};

/// A host with one process: a huge page and three small ones of anonymous memory, and a private mapping of a file of
/// which one page was written.
struct Host {
    directory: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        let host = Self {
            directory: tempfile::tempdir().unwrap(),
        };
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
            "{ANON_AT:x}-{:x} rw-p 00000000 00:00 0 \n{FILE_AT:x}-{:x} rw-p 00000000 fe:01 7 /srv/data\n",
            ANON_AT + 0x20_4000,
            FILE_AT + 0x2000
        );
        write("proc/9/maps", maps.as_bytes());
        let mut pagemap = vec![0_u64; (FILE_AT / PAGE_BYTES) as usize + 2];
        let anon = (ANON_AT / PAGE_BYTES) as usize;
        for page in 0..512 {
            pagemap[anon + page] = PRESENT | (1024 + page as u64);
        }
        for (page, frame) in [(512, 77), (514, 2997), (515, 60)] {
            pagemap[anon + page] = PRESENT | frame;
        }
        let file = (FILE_AT / PAGE_BYTES) as usize;
        pagemap[file] = PRESENT | FILE | 0x7d0;
        pagemap[file + 1] = PRESENT | 0x7d1;
        write("proc/9/pagemap", &bytes_of(&pagemap));
        let mut flags = vec![FrameFlags::LRU; FRAMES as usize];
        flags[1024] |= FrameFlags::HEAD | FrameFlags::HUGE;
        flags[1025..1536].fill(FrameFlags::TAIL | FrameFlags::HUGE);
        flags[60] = FrameFlags::ZERO;
        // A page of eight frames, of which the process maps the sixth.
        flags[2992] |= FrameFlags::HEAD | FrameFlags::HUGE;
        flags[2993..3000].fill(FrameFlags::TAIL);
        write("proc/kpageflags", &bytes_of(&flags));
        write("sys/kernel/mm/page_idle/bitmap", &vec![0; FRAMES as usize / 8]);
        host
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn root(&self) -> Root {
        Root::new(self.directory.path())
    }

    fn bitmap(&self) -> Vec<u8> {
        std::fs::read(self.path("sys/kernel/mm/page_idle/bitmap")).unwrap()
    }

    fn marked(&self) -> Vec<u64> {
        let bitmap = self.bitmap();
        let is_marked = |frame: &u64| bitmap[*frame as usize / 8] >> (frame % 8) & 1 != 0;
        (0..FRAMES).filter(is_marked).collect()
    }

    /// What an access to a frame does.
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
fn pages_are_active_until_their_mark_stays() {
    let host = Host::new();
    let mut reader = reader(&host, u64::MAX);
    let first = read(&mut reader);
    let shown: Vec<_> = first
        .iter()
        .map(|(kind, page)| (*kind, page.address, page.size, page.anon, page.active))
        .collect();
    let small = PageSize::Small4K;
    let expected = [
        (PageKind::Anon, ANON_AT, PageSize::Huge2M, true, true),
        (PageKind::Anon, ANON_AT + 0x20_0000, small, true, true),
        (PageKind::Anon, ANON_AT + 0x20_2000, small, true, true),
        (PageKind::File, FILE_AT, small, false, true),
        (PageKind::File, FILE_AT + 0x1000, small, true, true),
    ];
    assert_eq!(shown, expected, "the shared page of zeros is left out");
    assert_eq!(
        host.marked(),
        [77, 1024, 0x7d0, 0x7d1, 2992],
        "heads alone are marked"
    );
    host.touch(1024);
    host.touch(0x7d1);
    let second = read(&mut reader);
    let active: Vec<u64> = second
        .iter()
        .filter(|(_, page)| page.active)
        .map(|(_, page)| page.address)
        .collect();
    assert_eq!(active, [ANON_AT, FILE_AT + 0x1000]);
    assert!(second.iter().all(|(_, page)| page.tier == Some(TierIndex(1))));
    assert!(
        read(&mut reader).iter().all(|(_, page)| !page.active),
        "all are marked again"
    );
}

#[test]
fn what_is_not_the_process_is_not_read() {
    let host = Host::new();
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
