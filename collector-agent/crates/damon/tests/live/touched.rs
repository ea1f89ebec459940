//! What DAMON finds is what a process touched.

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tierscope_damon::plan::{Intervals, Plan};
use tierscope_damon::session::Session;
use tierscope_damon::window::Watcher;
use tierscope_damon::{DamonError, memory};
use tierscope_rootfs::{Reader, Root};

use crate::{Host, ROLE};

const PAGE: usize = 4096;
/// 64 MiB.
const PAGES: usize = 16_384;
/// Touched in between, so that translations which the processor caches are driven out: touches through them would set
/// no bit.
const OTHER_PAGES: usize = 8_192;

/// The child's side: touches the pages FIRST, FIRST + STEP, ... below END, for each line `FIRST STEP END`.
#[test]
fn child_touches_pages_on_command() {
    if std::env::var_os(ROLE).is_none_or(|role| role != "touch") {
        return;
    }
    let mut memory = vec![1_u8; (PAGES + 1) * PAGE];
    let mut other = vec![1_u8; OTHER_PAGES * PAGE];
    let base = memory.as_ptr().addr().next_multiple_of(PAGE) - memory.as_ptr().addr();
    let mut out = std::io::stdout();
    writeln!(out, "\nat {}", memory.as_ptr().addr() + base).unwrap();
    for line in std::io::stdin().lock().lines() {
        let numbers: Vec<usize> = line.unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
        for page in other.chunks_mut(PAGE) {
            page[0] = black_box(page[0].wrapping_add(1));
        }
        for page in (numbers[0]..numbers[2]).step_by(numbers[1]) {
            let byte = &mut memory[base + page * PAGE];
            *byte = black_box(byte.wrapping_add(1));
        }
        writeln!(out, "done 0").unwrap();
    }
}

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
                "touched::child_touches_pages_on_command",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ROLE, "touch")
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

    fn answer(&mut self, word: &str) -> u64 {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the child ended");
            if let Some(number) = line.strip_prefix(word) {
                return number.trim().parse().unwrap();
            }
        }
    }

    fn touch(&mut self, first: usize, step: usize, end: usize) {
        writeln!(self.input.as_mut().unwrap(), "{first} {step} {end}").unwrap();
        self.answer("done ");
    }

    /// The page frame of each of its pages.
    fn frames(&self) -> Vec<u64> {
        let pagemap = std::fs::File::open(format!("/proc/{}/pagemap", self.child.id())).unwrap();
        let mut entries = vec![0; PAGES * 8];
        pagemap
            .read_exact_at(&mut entries, self.address / 4096 * 8)
            .unwrap();
        let entries = entries.as_chunks::<8>().0.iter();
        entries
            .map(|entry| {
                let entry = u64::from_ne_bytes(*entry);
                let frame = entry & ((1 << 55) - 1);
                assert!(entry >> 63 == 1 && frame != 0, "resident and shown: {entry:x}");
                frame
            })
            .collect()
    }
}

impl Drop for Toucher {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Touches the same pages again and again until it is dropped.
struct Busy {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Busy {
    fn start(toucher: &Arc<Mutex<Toucher>>, pages: [usize; 3]) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let (toucher, ended) = (Arc::clone(toucher), Arc::clone(&end));
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                toucher.lock().unwrap().touch(pages[0], pages[1], pages[2]);
            }
        });
        Self {
            end,
            thread: Some(thread),
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

#[test]
fn every_hot_page_of_a_sample_is_found_and_no_cold_one() {
    let Some(host) = Host::take() else { return };
    let toucher = Arc::new(Mutex::new(Toucher::start()));
    let frames = toucher.lock().unwrap().frames();
    // Every eighth page is hot; the sample takes every fifth.
    let is_hot = |page: usize| page % 8 == 3;
    let _busy = Busy::start(&toucher, [3, 8, PAGES]);
    let sampled: Vec<usize> = (0..PAGES).step_by(5).collect();
    let watched: Vec<u64> = sampled.iter().map(|page| frames[*page]).collect();
    let damon = Watcher::new(host.begin());
    damon.watch(Plan::pages(&watched, Duration::from_secs(2)).unwrap());
    let window = damon.take(Duration::from_secs(120)).unwrap().unwrap();
    let (mut found, mut cold, mut sum) = (0, 0, 0);
    for region in &window.regions {
        let frame = region.range.start / 4096;
        let page = sampled.iter().find(|page| frames[**page] == frame).unwrap();
        let accesses = region.accesses.unwrap();
        assert!(accesses <= window.checks);
        assert_eq!(
            accesses > 0,
            is_hot(*page),
            "page {page}: {accesses} of {}",
            window.checks
        );
        found += u32::from(accesses > 0);
        cold += u32::from(accesses == 0);
        sum += accesses;
    }
    assert!(found > 200 && cold > 1500, "{found} hot, {cold} cold");
    let _ = writeln!(
        std::io::stderr(),
        "{found} of {found} hot pages found, 0 of {cold} cold ones; {:.1} of {} checks; kernel {} us, own {} us",
        f64::from(sum) / f64::from(found),
        window.checks,
        window.kernel_cpu_ns / 1000,
        window.cpu_ns / 1000
    );
}

fn young_pages(session: &Session) -> u64 {
    let regions = session.regions().unwrap();
    regions
        .iter()
        .map(|region| region.young_bytes.unwrap())
        .sum::<u64>()
        / 4096
}

#[test]
fn bytes_that_pass_the_young_filter_are_the_bytes_touched() {
    let Some(host) = Host::take() else { return };
    let mut toucher = Toucher::start();
    let frames: Vec<Range<u64>> = toucher.frames().iter().map(|frame| *frame..frame + 1).collect();
    let mut session = host.begin();
    match session.start(&Plan::young(&frames, Duration::from_secs(3)).unwrap()) {
        Err(error @ DamonError::Lacks { .. }) => {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            return;
        }
        started => started.unwrap(),
    }
    young_pages(&session);
    for (first, step, end) in [(0, 8, PAGES), (5, 3, 9_000), (0, 1, 1), (0, 1, PAGES), (0, 1, 0)] {
        // Right after the end of an aggregation, so that all touches lie in the next one.
        toucher.touch(first, step, end);
        assert_eq!(young_pages(&session), (first..end).step_by(step).count() as u64);
    }
}

const ADAPTIVE: Intervals = Intervals {
    sample: Duration::from_millis(5),
    aggregation: Duration::from_millis(200),
};

#[test]
fn adaptive_regions_of_a_process_show_where_it_is_hot() {
    let Some(host) = Host::take() else { return };
    let toucher = Arc::new(Mutex::new(Toucher::start()));
    let (address, pid) = {
        let toucher = toucher.lock().unwrap();
        (toucher.address, toucher.child.id())
    };
    let mut session = host.begin();
    match session.start(&Plan::virtual_of(&[pid], ADAPTIVE, (100, 1000)).unwrap()) {
        Err(error @ DamonError::Lacks { .. }) => {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            return;
        }
        started => started.unwrap(),
    }
    // The first quarter is touched all the time.
    let _busy = Busy::start(&toucher, [0, 1, PAGES / 4]);
    let part =
        |range: Range<usize>| address + (range.start * PAGE) as u64..address + (range.end * PAGE) as u64;
    let (busy, idle) = (part(0..PAGES / 4), part(PAGES / 4..PAGES));
    let overlap = |a: &Range<u64>, b: &Range<u64>| a.end.min(b.end).saturating_sub(a.start.max(b.start));
    let mut heat = [0.0; 2];
    for snapshot in 0..16 {
        let regions = session.regions().unwrap();
        for region in regions.iter().filter(|_| snapshot >= 8) {
            let accesses = f64::from(region.accesses.unwrap());
            heat[0] += accesses * overlap(&region.range, &busy) as f64 / (busy.end - busy.start) as f64;
            heat[1] += accesses * overlap(&region.range, &idle) as f64 / (idle.end - idle.start) as f64;
        }
    }
    assert!(heat[0] > 4.0 * heat[1], "hot {}, cold {}", heat[0], heat[1]);
}

#[test]
fn adaptive_regions_cover_the_memory_of_the_host() {
    let Some(host) = Host::take() else { return };
    let mut reader = Reader::new(Root::live());
    let ram = memory::system_ram(reader.read("/proc/iomem").unwrap());
    let bytes: u64 = ram.iter().map(|range| range.end - range.start).sum();
    let mut session = host.begin();
    session
        .start(&Plan::physical(ram, ADAPTIVE, (10, 1000)).unwrap())
        .unwrap();
    let regions = session.regions().unwrap();
    let covered: u64 = regions
        .iter()
        .map(|region| region.range.end - region.range.start)
        .sum();
    // The kernel rounds ranges to pages.
    assert!(covered.abs_diff(bytes) < 1 << 20, "{covered} of {bytes}");
    assert!(
        regions
            .iter()
            .all(|region| region.accesses.is_some() && region.age.is_some())
    );
    assert!(session.kernel_cpu_ns().is_some());
}
