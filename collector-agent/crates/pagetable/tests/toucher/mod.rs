//! A child process whose touches of memory are known: this test binary run again.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;

use tierscope_pagetable::process::process_key;
use tierscope_pagetable::rivals::who_clears_accessed_bits;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::vma_fold::ProcessKey;

pub(crate) const PAGE_BYTES: usize = 4096;
/// Set in the child: kind and pages of its memory.
const ROLE: &str = "TIERSCOPE_TEST_TOUCHES";
const HUGE_BYTES: usize = 2 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    Anon,
    Huge,
    Shmem,
    /// A private mapping of a file, all of whose pages were written.
    PrivateFile,
    /// A private mapping of a file, all of whose pages were read.
    ReadFile,
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [
            Self::Anon,
            Self::Huge,
            Self::Shmem,
            Self::PrivateFile,
            Self::ReadFile,
        ];
        let found = all.into_iter().find(|memory| format!("{memory:?}") == text);
        found.ok_or_else(|| text.to_owned())
    }
}

/// The pages that `set <seed>` touches: about 1 in 16, everywhere.
pub(crate) fn is_in_set(seed: u64, page: usize) -> bool {
    let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ page as u64;
    mixed = (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31).is_multiple_of(16)
}

/// The child's memory, between two guards, so that it joins no other.
struct Inside {
    base: *mut u8,
    bytes: usize,
}

impl Inside {
    fn map(memory: Memory, bytes: usize) -> Self {
        let guarded = bytes + 2 * HUGE_BYTES;
        let (no_access, anon) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping; its inside is replaced below and used through `base` alone.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), guarded, no_access, anon, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let base = (start as usize).next_multiple_of(HUGE_BYTES);
        let base = if base == start as usize {
            base + HUGE_BYTES
        } else {
            base
        };
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes as u64).unwrap();
        let (flags, fd) = match memory {
            Memory::Anon | Memory::Huge => (anon, -1),
            Memory::Shmem => (libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1),
            Memory::PrivateFile | Memory::ReadFile => (libc::MAP_PRIVATE, file.as_raw_fd()),
        };
        let both = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: inside the mapping made above, to which nothing refers.
        unsafe {
            let at = libc::mmap(
                base as *mut libc::c_void,
                bytes,
                both,
                flags | libc::MAP_FIXED,
                fd,
                0,
            );
            assert_ne!(at, libc::MAP_FAILED);
            let advice = if memory == Memory::Huge {
                libc::MADV_HUGEPAGE
            } else {
                libc::MADV_NOHUGEPAGE
            };
            libc::madvise(at, bytes, advice);
            Self {
                base: at.cast(),
                bytes,
            }
        }
    }

    /// Clearing leaves translations that the processor caches; touches through them set no bit. A change of protection
    /// drops them, so that the test sees every touch.
    fn drop_cached_translations(&self) {
        for protection in [libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE] {
            // SAFETY: the whole mapping made in `map`, in which no reference is alive.
            assert_eq!(
                unsafe { libc::mprotect(self.base.cast(), self.bytes, protection) },
                0
            );
        }
    }

    fn write(&self, page: usize) {
        assert!(page * PAGE_BYTES < self.bytes);
        // SAFETY: inside the mapping, which lives as long as the process.
        unsafe { self.base.add(page * PAGE_BYTES).write_volatile(1) };
    }

    fn read(&self, page: usize) {
        assert!(page * PAGE_BYTES < self.bytes);
        // SAFETY: inside the mapping, which lives as long as the process.
        unsafe { self.base.add(page * PAGE_BYTES).read_volatile() };
    }

    fn pages(&self) -> usize {
        self.bytes / PAGE_BYTES
    }

    /// `first n`, `set seed` (writes), `read seed` (reads the set), `cached seed` (reads, with cached translations kept).
    fn obey(&self, command: &str) {
        let (verb, number) = command.split_once(' ').unwrap();
        let number: u64 = number.parse().unwrap();
        if verb != "cached" {
            self.drop_cached_translations();
        }
        match verb {
            "first" => (0..number as usize).for_each(|page| self.write(page)),
            _ => (0..self.pages())
                .filter(|page| is_in_set(number, *page))
                .for_each(|page| {
                    if verb == "set" {
                        self.write(page);
                    } else {
                        self.read(page);
                    }
                }),
        }
    }
}

/// The child's side: touches all of its memory, then what each line says.
#[test]
#[ignore = "a child process of other tests"]
fn child_touches_pages_on_command() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (memory, pages) = role.split_once(' ').unwrap();
    let pages: usize = pages.parse().unwrap();
    let memory = memory.parse().unwrap();
    let inside = Inside::map(memory, pages * PAGE_BYTES);
    if memory == Memory::ReadFile {
        (0..pages).for_each(|page| inside.read(page));
    } else {
        (0..pages).for_each(|page| inside.write(page));
    }
    let mut out = std::io::stdout();
    writeln!(out, "\nat {}", inside.base as usize).unwrap();
    for line in std::io::stdin().lock().lines() {
        inside.obey(&line.unwrap());
        writeln!(out, "done 0").unwrap();
    }
}

/// A running child and the two ends of the talk with it.
pub(crate) struct Toucher {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    pub(crate) address: u64,
    pub(crate) pages: usize,
}

impl Toucher {
    pub(crate) fn start(memory: Memory, pages: usize) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "toucher::child_touches_pages_on_command",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ROLE, format!("{memory:?} {pages}"))
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
            pages,
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

    /// Has the child do it, and waits until it is done.
    pub(crate) fn tell(&mut self, command: &str) {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
        self.answer("done ");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn key(&self) -> ProcessKey {
        process_key(&Root::live(), self.child.id()).unwrap()
    }

    pub(crate) fn end_address(&self) -> u64 {
        self.address + (self.pages * PAGE_BYTES) as u64
    }

    /// Which page of the memory an address is in.
    pub(crate) fn page_of(&self, address: u64) -> Option<usize> {
        let inside = (self.address..self.end_address()).contains(&address);
        inside.then(|| (address - self.address) as usize / PAGE_BYTES)
    }

    pub(crate) fn end(&mut self) {
        self.input = None;
        self.child.wait().unwrap();
    }
}

impl Drop for Toucher {
    fn drop(&mut self) {
        self.end();
    }
}

/// Prints why a test cannot run here.
pub(crate) fn skip(reason: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// Keeps tests away that have DAMON on, in whatever checkout of this host they run: it clears accessed bits.
pub(crate) fn keep_damon_away() -> File {
    let lock = File::create("/tmp/tierscope-damon.lock").unwrap();
    lock.lock().unwrap();
    lock
}

/// Observations before what the kernel took away counts as an error.
const OBSERVATIONS: usize = 20;

/// Observes until the pages found are those expected. Between a touch and its reading reclaim may age a page or compaction
/// move it, so an observation that misses pages is made again; one that adds a page is wrong at once. Where DAMON is on for
/// other reasons it takes some bits in every observation: so many may be missed.
pub(crate) fn observe(what: &str, expected: &[usize], mut observation: impl FnMut() -> Vec<usize>) {
    let mut found = Vec::new();
    for _ in 0..OBSERVATIONS {
        found = observation();
        let mut rest = expected.iter();
        let is_expected = |page: &usize| rest.any(|other| other == page);
        assert!(
            found.iter().all(is_expected),
            "{what}: {found:?}, and no others than {expected:?}"
        );
        if found.len() == expected.len() {
            return;
        }
    }
    let missed = expected.len() - found.len();
    let rival = who_clears_accessed_bits(&mut Reader::new(Root::live()));
    let Some(rival) = rival.filter(|_| missed <= 1 + expected.len() / 100) else {
        return assert_eq!(found, expected, "{what}, in {OBSERVATIONS} observations");
    };
    skip(format_args!(
        "exactness: {} took {missed} of {} accessed bits",
        rival.name,
        expected.len()
    ));
}
