//! Accessed bits of a real process whose accesses are known. Skipped, with the reason printed, where the kernel does
//! not allow it.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, LazyLock};

use tierscope_pagetable::probe::{ProbeError, probe_referenced, this_process};
use tierscope_pagetable::referenced::{ReferencedReader, Unmeasured};
use tierscope_rootfs::Root;
use tierscope_sample::heat::PageKind;
use tierscope_sample::vma_fold::{ProcessKey, VmaReading};

const PAGE_BYTES: usize = 4096;
const PAGES: usize = 4096;
/// Set in the child: this binary run again.
const ROLE: &str = "TIERSCOPE_TEST_TOUCHES";

/// Why the kernel cannot do this here; `None` where it can. Probed once: two probes of one process would clear each
/// other's bits.
static REFUSED: LazyLock<Option<String>> = LazyLock::new(|| {
    let thp = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    match probe_referenced(&Root::live()) {
        Ok(()) if thp.contains("[always]") => {
            Some("huge pages are on, so touches show in steps of 2 MiB".to_owned())
        }
        Ok(()) => None,
        Err(ProbeError::Refused(refused)) => Some(refused.to_string()),
        Err(error) => panic!("{error}"),
    }
});

/// Whether to run; prints why not.
fn supported() -> bool {
    if let Some(reason) = &*REFUSED {
        let _ = writeln!(std::io::stderr(), "skipped: {reason}");
    }
    REFUSED.is_none()
}

fn reader() -> ReferencedReader {
    ReferencedReader::new(Root::live(), u64::MAX, Box::new(|name: &str| Arc::from(name)))
}

/// The child's side: a mapping between two guards, so that it joins no other; touches as many pages as each line says.
#[test]
fn child_touches_pages_on_command() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let (guards, anon) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let bytes = PAGES * PAGE_BYTES;
    // SAFETY: a fresh anonymous mapping; its inside is made writable and used through `base` alone.
    let base = unsafe {
        let start = libc::mmap(std::ptr::null_mut(), bytes + 2 * PAGE_BYTES, guards, anon, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        let inside = start.cast::<u8>().add(PAGE_BYTES);
        assert_eq!(
            libc::mprotect(inside.cast(), bytes, libc::PROT_READ | libc::PROT_WRITE),
            0
        );
        inside
    };
    let touch = |pages: usize| {
        // Clearing leaves translations that the processor caches; touches through them set no bit. A change of
        // protection drops them, so that the test sees every touch.
        for protection in [libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE] {
            // SAFETY: the whole mapping made above, in which no reference is alive.
            assert_eq!(unsafe { libc::mprotect(base.cast(), bytes, protection) }, 0);
        }
        for page in 0..pages {
            // SAFETY: inside the mapping, which lives as long as the process.
            unsafe { base.add(page * PAGE_BYTES).write_volatile(1) };
        }
    };
    touch(PAGES);
    let mut out = std::io::stdout();
    writeln!(out, "\nat {}", base as usize).unwrap();
    for line in std::io::stdin().lock().lines() {
        touch(line.unwrap().parse().unwrap());
        writeln!(out, "done 0").unwrap();
    }
}

/// A running child and the two ends of the talk with it.
struct Toucher {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    address: u64,
}

impl Toucher {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "child_touches_pages_on_command",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ROLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut toucher = Self {
            child,
            input,
            output,
            address: 0,
        };
        toucher.address = toucher.answer("at ");
        toucher
    }

    /// The number of the next line that begins with `word`.
    fn answer(&mut self, word: &str) -> u64 {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the child ended");
            if let Some(number) = line.strip_prefix(word) {
                return number.trim().parse().unwrap();
            }
        }
    }

    fn touch(&mut self, pages: usize) {
        writeln!(self.input.as_mut().unwrap(), "{pages}").unwrap();
        self.answer("done ");
    }

    fn key(&self) -> ProcessKey {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1;
        let start_time_ticks = fields.split_ascii_whitespace().nth(19).unwrap().parse().unwrap();
        ProcessKey {
            pid: self.child.id(),
            start_time_ticks,
        }
    }

    fn mapping(&self, vmas: &[VmaReading]) -> VmaReading {
        vmas.iter()
            .find(|vma| vma.start == self.address)
            .expect("the mapping is listed")
            .clone()
    }

    fn end(&mut self) {
        self.input = None;
        self.child.wait().unwrap();
    }
}

impl Drop for Toucher {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn referenced_bytes_equal_the_pages_touched() {
    if !supported() {
        return;
    }
    let (mut toucher, mut reader) = (Toucher::start(), reader());
    let process = toucher.key();
    for pages in [0, 700, 1, PAGES, 0] {
        reader.clear(process).unwrap();
        toucher.touch(pages);
        let mapping = toucher.mapping(&reader.read(process).unwrap());
        assert_eq!(mapping.referenced_bytes, (pages * PAGE_BYTES) as i64);
        assert_eq!(mapping.resident_bytes, (PAGES * PAGE_BYTES) as i64);
        assert_eq!((mapping.kind, &*mapping.mapping), (PageKind::Anon, ""));
    }
    toucher.end();
    assert_eq!(reader.clear(process), Err(Unmeasured::Gone));
    assert_eq!(reader.read(process), Err(Unmeasured::Gone));
}

#[test]
fn a_reused_id_is_another_process() {
    if !supported() {
        return;
    }
    let toucher = Toucher::start();
    let mut reader = reader();
    let key = toucher.key();
    let before = ProcessKey {
        start_time_ticks: key.start_time_ticks - 1,
        ..key
    };
    assert_eq!(reader.clear(before), Err(Unmeasured::Gone));
    assert_eq!(reader.read(before), Err(Unmeasured::Gone));
}

#[test]
fn a_process_above_the_limit_is_left_alone() {
    let mut reader = ReferencedReader::new(Root::live(), 4096, Box::new(|name: &str| Arc::from(name)));
    let this = this_process(&Root::live()).unwrap();
    assert!(matches!(
        reader.read(this),
        Err(Unmeasured::TooLarge {
            limit_bytes: 4096,
            ..
        })
    ));
}

/// A recorded tree: no kernel behind it.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

const STAT: &str = "9 (a) b) S 1 0 0 0 -1 0 1 0 0 0 2 1 0 0 20 0 3 0 3859 82 5";
const PROCESS: ProcessKey = ProcessKey {
    pid: 9,
    start_time_ticks: 3859,
};

fn reader_of(root: &Path) -> ReferencedReader {
    ReferencedReader::new(Root::new(root), 1 << 30, Box::new(|name: &str| Arc::from(name)))
}

#[test]
fn a_kernel_without_clear_refs_is_told_from_a_process_that_ended() {
    let directory = tree(&[("proc/9/stat", STAT)]);
    let mut reader = reader_of(directory.path());
    assert_eq!(reader.clear(PROCESS), Err(Unmeasured::NotSupported));
    assert_eq!(reader.read(PROCESS), Err(Unmeasured::NotSupported));
    let other = ProcessKey { pid: 10, ..PROCESS };
    assert_eq!(
        (reader.clear(other), reader.read(other)),
        (Err(Unmeasured::Gone), Err(Unmeasured::Gone))
    );
}

#[test]
fn clearing_writes_one_to_the_file_of_the_process() {
    let smaps = "1000-2000 rw-p 0 0:0 0\nRss: 4 kB\nPss: 4 kB\nReferenced: 4 kB\n";
    let files = [
        ("proc/9/stat", STAT),
        ("proc/9/clear_refs", ""),
        ("proc/9/smaps", smaps),
    ];
    let directory = tree(&files);
    let mut reader = reader_of(directory.path());
    reader.clear(PROCESS).unwrap();
    assert_eq!(
        std::fs::read_to_string(directory.path().join("proc/9/clear_refs")).unwrap(),
        "1"
    );
    assert_eq!(reader.read(PROCESS).unwrap()[0].referenced_bytes, 4096);
}
