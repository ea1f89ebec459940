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

use crate::waiting::wait_for;
use crate::{Host, ROLE};

const PAGE: usize = 4096;
/// 64 MiB.
const PAGES: usize = 16_384;
/// Touched in between, so that translations which the processor caches are driven out: touches through them would set
/// no bit.
const OTHER_PAGES: usize = 8_192;

/// Longer than any window takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The child's side: touches the pages FIRST, FIRST + STEP, ... below END, for each line `FIRST STEP END`.
#[test]
#[ignore = "a child process of other tests"]
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
                "--ignored",
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

/// A page of the sample with its frame, and how often DAMON found it accessed.
struct Watched {
    page: usize,
    accesses: u32,
}

/// What a window says of sampled pages: of those alone that are in the same frames before and after it, because compaction
/// moves pages, and a frame is then another's.
fn watch_pages(
    damon: &Watcher,
    toucher: &Mutex<Toucher>,
    sampled: &[usize],
    window: Duration,
) -> Vec<Watched> {
    let before = toucher.lock().unwrap().frames();
    let watched: Vec<u64> = sampled.iter().map(|page| before[*page]).collect();
    damon.watch(Plan::pages(&watched, 4096, window).unwrap());
    let window = damon.take(PATIENCE).unwrap().unwrap();
    let after = toucher.lock().unwrap().frames();
    let regions = window.regions.iter().filter_map(|region| {
        let frame = region.range.start / 4096;
        let page = *sampled.iter().find(|page| before[**page] == frame).unwrap();
        let accesses = region.accesses.unwrap();
        assert!(accesses <= window.checks);
        (after[page] == frame).then_some(Watched { page, accesses })
    });
    let watched = regions.collect();
    let _ = writeln!(
        std::io::stderr(),
        "{} checks; kernel {} us, own {} us",
        window.checks,
        window.kernel_cpu_ns / 1000,
        window.cpu_ns / 1000
    );
    watched
}

#[test]
fn every_hot_page_of_a_sample_is_found_and_no_cold_one() {
    let Some(host) = Host::take() else { return };
    let toucher = Arc::new(Mutex::new(Toucher::start()));
    // Every eighth page is hot; the sample takes every fifth.
    let is_hot = |page: usize| page % 8 == 3;
    let _busy = Busy::start(&toucher, [3, 8, PAGES]);
    let sampled: Vec<usize> = (0..PAGES).step_by(5).collect();
    let damon = Watcher::new(host.begin());
    // On a busy machine the pages may not be touched in a whole window: a longer one follows.
    let mut missed = Vec::new();
    for seconds in [2, 4, 8, 16, 32] {
        let watched = watch_pages(&damon, &toucher, &sampled, Duration::from_secs(seconds));
        let (warm, cold): (Vec<_>, Vec<_>) = watched.iter().partition(|watched| is_hot(watched.page));
        for watched in &cold {
            assert_eq!(watched.accesses, 0, "page {} is cold", watched.page);
        }
        let unseen = warm.iter().filter(|watched| watched.accesses == 0);
        missed = unseen.map(|watched| watched.page).collect();
        if missed.is_empty() && warm.len() > 200 && cold.len() > 1500 {
            return;
        }
    }
    panic!("hot pages were not found: {missed:?}");
}

/// Long enough for the touches of one command on an idle machine.
const YOUNG_WINDOW: Duration = Duration::from_secs(1);

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
    match session.start(&Plan::young(&frames, 4096, YOUNG_WINDOW).unwrap()) {
        Err(error @ DamonError::Lacks { .. }) => {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            return;
        }
        started => started.unwrap(),
    }
    for (first, step, end) in [(0, 8, PAGES), (5, 3, 9_000), (0, 1, 1), (0, 1, PAGES), (0, 1, 0)] {
        let expected = (first..end).step_by(step).count() as u64;
        // On a busy machine an aggregation may end between touches, and a processor or the kernel may look at one page
        // more: the touches are then made again, all in one.
        wait_for(|| {
            wait_for(|| match young_pages(&session) {
                0 => Ok(()),
                young => Err(format!("{young} pages are touched by nobody")),
            });
            // Right after the end of an aggregation, so that all touches lie in the next one.
            toucher.touch(first, step, end);
            let young = young_pages(&session);
            (young == expected)
                .then_some(())
                .ok_or(format!("{young} of {expected} pages"))
        });
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
    // Regions take some aggregations to fit, and more where the pages are touched seldom because the machine is busy.
    wait_for(|| {
        let mut heat = [0.0; 2];
        for _ in 0..8 {
            for region in session.regions().unwrap() {
                let accesses = f64::from(region.accesses.unwrap());
                heat[0] += accesses * overlap(&region.range, &busy) as f64 / (busy.end - busy.start) as f64;
                heat[1] += accesses * overlap(&region.range, &idle) as f64 / (idle.end - idle.start) as f64;
            }
        }
        let shown = format!("hot {}, cold {}", heat[0], heat[1]);
        (heat[0] > 4.0 * heat[1]).then_some(()).ok_or(shown)
    });
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
