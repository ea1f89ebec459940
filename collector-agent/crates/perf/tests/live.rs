//! The whole path on a real kernel: page faults, of which each is a sample with its exact address. Skipped, with the
//! reason printed, where perf is not permitted.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use tierscope_perf::counting::CountingGroup;
use tierscope_perf::groups::GroupPlan;
use tierscope_perf::pmu::Pmu;
use tierscope_perf::probe::probe;
use tierscope_perf::{
    EventSet, EventSpec, IntervalStats, Meaning, PerfError, SampleTable, Sampler, SamplerOptions, Scope,
    Served,
};
use tierscope_rootfs::Root;

const PAGE_BYTES: usize = 4096;
/// Set in the child: this binary run again.
const ROLE: &str = "TIERSCOPE_TEST_FAULTS";

/// Whether to run; prints why not.
fn supported() -> bool {
    match probe(&Root::live(), &EventSet::page_faults()) {
        Ok(()) => true,
        Err(error @ (PerfError::Privilege { .. } | PerfError::NoPmu { .. } | PerfError::NoRing { .. })) => {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// The child's side: each line asks for pages; a fresh mapping of so many is made and each page touched once. Answers
/// with its address and with the faults that the kernel counted for it. Each line is also a pause, in which the child may
/// move to another CPU.
#[test]
#[ignore = "a child process of other tests"]
fn child_faults_on_command() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let mut out = std::io::stdout();
    let mut mappings = Vec::new();
    writeln!(out, "\nready").unwrap();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let pages: usize = line.parse().unwrap();
        let base = map_fresh(pages);
        let before = faults();
        touch_all(base, pages);
        let faulted = faults() - before;
        mappings.push(base);
        writeln!(out, "{} {faulted}", base as usize).unwrap();
    }
}

/// Pages that nobody has touched, left in place until the process ends. The heap may give pages that were touched before.
fn map_fresh(pages: usize) -> *mut u8 {
    let bytes = pages * PAGE_BYTES;
    let (rights, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a fresh anonymous mapping, to which nothing else refers.
    unsafe {
        let base = libc::mmap(std::ptr::null_mut(), bytes, rights, kind, -1, 0);
        assert_ne!(base, libc::MAP_FAILED);
        assert_eq!(libc::madvise(base, bytes, libc::MADV_NOHUGEPAGE), 0);
        base.cast()
    }
}

/// Touches each of the pages that [`map_fresh`] gave.
fn touch_all(base: *mut u8, pages: usize) {
    for page in 0..pages {
        // SAFETY: inside the mapping.
        unsafe { base.add(page * PAGE_BYTES).write_volatile(1) };
    }
}

/// Minor and major page faults of a process since it began.
fn faults_of(pid: &str) -> [u64; 2] {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let mut fields = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace();
    [7, 1].map(|skipped| fields.nth(skipped).unwrap().parse().unwrap())
}

fn faults() -> u64 {
    faults_of("self").iter().sum()
}

/// A process that touches fresh pages when told.
struct Toucher {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Toucher {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "child_faults_on_command", "--nocapture"])
            .env(ROLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while line.trim() != "ready" {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "the child ended");
        }
        Self { child, input, output }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Keeps all its threads on one CPU.
    fn pin(&self, cpu: u32) {
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap() {
            let thread: i32 = thread.unwrap().file_name().to_str().unwrap().parse().unwrap();
            // SAFETY: a set of CPUs is plain bits, of which all zero is one.
            let mut cpus: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: the set lives on this stack, and the CPU is one of this host.
            let pinned = unsafe {
                libc::CPU_SET(cpu as usize, &mut cpus);
                libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const cpus)
            };
            assert_eq!(pinned, 0);
        }
    }

    /// Touches fresh pages; their first address, and the faults that the kernel counted.
    fn touch(&mut self, pages: usize) -> (u64, u64) {
        writeln!(self.input, "{pages}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let (address, faults) = line.trim().split_once(' ').unwrap();
        (address.parse().unwrap(), faults.parse().unwrap())
    }
}

impl Drop for Toucher {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn options(scope: Scope, ring_bytes: usize) -> SamplerOptions {
    let options = SamplerOptions::new(&Root::live(), EventSet::page_faults(), scope).unwrap();
    SamplerOptions {
        ring_bytes,
        ..options
    }
}

/// Samples by page between two addresses.
fn counts(table: &SampleTable, pid: u32, address: u64, pages: usize) -> BTreeMap<u64, u32> {
    let end = address + (pages * PAGE_BYTES) as u64;
    let pages = table.pages_of(pid).into_iter();
    pages
        .filter(|(page, _)| (address..end).contains(page))
        .map(|(page, count)| (page, count.loads + count.stores))
        .collect()
}

#[test]
fn every_fault_is_delivered_with_its_address() {
    const PAGES: usize = 100_000;
    if !supported() {
        return;
    }
    for _ in 0..3 {
        let mut toucher = Toucher::start();
        let pid = toucher.pid();
        // Each ring holds all samples: nothing is lost if the sampling thread gets no processor meanwhile.
        let mut sampler = Sampler::start(options(Scope::Processes(vec![pid]), 8 << 20)).unwrap();
        let mut table = sampler.new_table();
        let (address, faults) = toucher.touch(PAGES);
        let stats = sampler.swap(&mut table).unwrap();
        let seen = counts(&table, pid, address, PAGES);
        assert_eq!(stats.samples_lost, 0);
        assert_eq!(seen.len(), PAGES, "each page once");
        assert!(faults >= PAGES as u64);
        // A page that the kernel takes away before its touch is over faults once more, and the kernel counts that too.
        let taken: u64 = seen.values().map(|count| u64::from(*count)).sum();
        assert!(taken <= faults, "{taken} samples of {faults} faults");
        assert!(
            stats.samples_taken >= faults,
            "{} of {faults}",
            stats.samples_taken
        );
        assert_eq!((stats.malformed_records, stats.samples_untabled), (0, 0));
        assert!(stats.cpu_ns > 0 && stats.events[0].samples >= faults);
        let event = &stats.events[0];
        assert!(event.duty_ratio > 0.9, "{event:?}");
        assert_eq!(event.period_events, Some(1.0));
    }
}

#[test]
fn memory_that_grows_keeps_what_was_seen_of_it() {
    if !supported() {
        return;
    }
    let mut toucher = Toucher::start();
    let pid = toucher.pid();
    let mut sampler = Sampler::start(options(Scope::Processes(vec![pid]), 1 << 20)).unwrap();
    let mut table = sampler.new_table();
    // Fresh mappings lie beside each other, and the kernel joins them to one.
    let begins = [(); 3].map(|()| toucher.touch(1000).0);
    sampler.swap(&mut table).unwrap();
    for address in begins {
        assert_eq!(counts(&table, pid, address, 1000).len(), 1000);
    }
}

#[test]
fn what_a_small_ring_loses_is_reported() {
    const PAGES: usize = 20_000;
    if !supported() {
        return;
    }
    let mut toucher = Toucher::start();
    let pid = toucher.pid();
    // The thread looks too seldom for a ring of one page.
    let options = SamplerOptions {
        drain_interval: Duration::from_secs(60),
        mini_interval: Duration::from_secs(600),
        ..options(Scope::Processes(vec![pid]), PAGE_BYTES)
    };
    // The count of what a CPU's ring lost comes with its next record: all on one, so that there is a next one.
    toucher.pin(options.cpus[0]);
    let mut sampler = Sampler::start(options).unwrap();
    let mut table = sampler.new_table();
    sampler.swap(&mut table).unwrap();
    let (mut delivered, mut lost, mut faulted, mut swaps) = (0, 0, 0, 0);
    let mut seen = PAGES;
    // A thread that happens to run whenever the ring is half full loses nothing, so that more is touched then.
    while lost == 0 && swaps < 1000 {
        let (first, faults) = toucher.touch(PAGES);
        faulted += faults;
        seen = 0;
        for _ in 0..200 {
            swaps += 1;
            let stats = sampler.swap(&mut table).unwrap();
            delivered += stats.samples_taken;
            lost += stats.samples_lost;
            seen += counts(&table, pid, first, PAGES).len();
            if delivered + lost >= faulted {
                break;
            }
            faulted += toucher.touch(4).1;
        }
    }
    assert!(
        lost > 0 && seen < PAGES,
        "a ring of one page holds {PAGES} samples"
    );
    assert!(delivered + lost >= faulted, "{delivered} + {lost} of {faulted}");
    // Some faults of the child lie outside of what it counts, and records other than samples can be lost.
    assert!(
        delivered + lost <= faulted + 500 + 4 * swaps,
        "{delivered} + {lost} of {faulted}"
    );
}

/// Touches 1,000 fresh pages of both processes and ends the interval. Whatever else runs on this host may fill the rings:
/// an interval that lost samples is begun again.
fn touch_both(
    sampler: &mut Sampler,
    table: &mut SampleTable,
    toucher: &mut Toucher,
    other: &mut Toucher,
) -> (u64, IntervalStats) {
    for _ in 0..1000 {
        sampler.swap(table).unwrap();
        let (address, _) = toucher.touch(1000);
        other.touch(1000);
        let stats = sampler.swap(table).unwrap();
        if stats.samples_lost == 0 {
            return (address, stats);
        }
    }
    panic!("samples were lost in 1,000 intervals");
}

#[test]
fn a_whole_host_is_sampled_and_filtered_by_process() {
    if !supported() {
        return;
    }
    let mut toucher = Toucher::start();
    let mut other = Toucher::start();
    let mut sampler = match Sampler::start(options(Scope::System, 4 << 20)) {
        Ok(sampler) => sampler,
        Err(error @ PerfError::Privilege { .. }) => {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    sampler.follow(Some(vec![toucher.pid()])).unwrap();
    let mut table = sampler.new_table();
    let (address, stats) = touch_both(&mut sampler, &mut table, &mut toucher, &mut other);
    assert_eq!(counts(&table, toucher.pid(), address, 1000).len(), 1000);
    assert_eq!(table.processes().collect::<Vec<u32>>(), [toucher.pid()]);
    assert!(stats.samples_unfollowed >= 1000);
    // Paused, nothing is seen; then it goes on.
    sampler.pause(true).unwrap();
    let (_, stats) = touch_both(&mut sampler, &mut table, &mut toucher, &mut other);
    assert_eq!((stats.samples_taken, table.pages()), (0, 0));
    assert!(stats.events[0].duty_ratio < 1e-9 && stats.events[0].period_events.is_none());
    sampler.pause(false).unwrap();
    let (address, _) = touch_both(&mut sampler, &mut table, &mut toucher, &mut other);
    assert_eq!(counts(&table, toucher.pid(), address, 1000).len(), 1000);
}

#[test]
fn core_groups_take_turns_and_the_duty_cycle_is_that_of_the_clock() {
    const LINES: usize = 500;
    const PAGES_PER_LINE: usize = 8;
    if !supported() {
        return;
    }
    let mut toucher = Toucher::start();
    let pid = toucher.pid();
    let mut options = options(Scope::Processes(vec![pid]), 1 << 20);
    let cores = options.cpus.len();
    options.events = EventSet::page_faults_apart();
    // Two events in turn on one group: each is on for half of the time, on every core.
    options.plan = GroupPlan::in_turn(1, 1, vec![vec![0], vec![1]]);
    options.mini_interval = Duration::from_millis(1);
    let mut sampler = Sampler::start(options).unwrap();
    let mut table = sampler.new_table();
    let mut seen_last = String::new();
    // On a busy machine a turn takes as long as the thread waits for a processor: then the turns are of unequal length.
    for _ in 0..100 {
        let [_, major_before] = faults_of(&pid.to_string());
        sampler.swap(&mut table).unwrap();
        // Some tens of milliseconds: tens of turns.
        let lines: Vec<(u64, u64)> = (0..LINES).map(|_| toucher.touch(PAGES_PER_LINE)).collect();
        let stats = sampler.swap(&mut table).unwrap();
        let [minor, major] = &stats.events[..] else {
            panic!("two events");
        };
        let duty = minor.duty_ratio + major.duty_ratio;
        assert!((0.9..=1.0 + 1e-9).contains(&duty), "{stats:?} on {cores} cores");
        // Fresh memory makes minor faults alone; the program's own pages may be read from disk again.
        let [_, major_after] = faults_of(&pid.to_string());
        assert!(major.samples <= major_after - major_before, "{stats:?}");
        // The minor ones are seen in their turns.
        let pages = lines
            .iter()
            .map(|(address, _)| counts(&table, pid, *address, PAGES_PER_LINE).len());
        let seen = pages.sum::<usize>() as f64 / (LINES * PAGES_PER_LINE) as f64;
        let faults: u64 = lines.iter().map(|(_, faults)| faults).sum();
        let is_shared = minor.duty_ratio > 0.2 && major.duty_ratio > 0.2;
        if is_shared && (seen - minor.duty_ratio).abs() < 0.3 && minor.samples < faults {
            return;
        }
        seen_last = format!("{seen} of {faults} faults: {stats:?}");
    }
    panic!("{seen_last}");
}

#[test]
fn a_period_thins_samples_out_and_randomising_keeps_its_mean() {
    const PAGES: usize = 100_000;
    if !supported() {
        return;
    }
    let mut toucher = Toucher::start();
    let mut options = options(Scope::Processes(vec![toucher.pid()]), 1 << 20);
    // Each CPU has an unfinished period of its own: all on one, so that there is one.
    toucher.pin(options.cpus[0]);
    options.events = EventSet::page_faults().with_period(200);
    options.seed = 42;
    let mut sampler = Sampler::start(options).unwrap();
    let mut table = sampler.new_table();
    let (_, faults) = toucher.touch(PAGES);
    let stats = sampler.swap(&mut table).unwrap();
    let period = stats.events[0].period_events.unwrap();
    assert!((190.0..=210.0).contains(&period), "{period}");
    // One sample for each period, less an unfinished one.
    let expected = faults as f64 / period;
    let taken = stats.samples_taken as f64;
    assert!(
        (taken - expected).abs() < 0.06 * expected + 4.0,
        "{taken} of {expected}"
    );
}

#[test]
fn an_ended_process_is_no_error_and_takes_no_processor_time() {
    if !supported() {
        return;
    }
    let toucher = Toucher::start();
    let pid = toucher.pid();
    let mut sampler = Sampler::start(options(Scope::Processes(vec![pid]), 1 << 16)).unwrap();
    let mut table = sampler.new_table();
    sampler.swap(&mut table).unwrap();
    drop(toucher);
    // Time in which a thread that never sleeps would use its processor; how long it takes is of no account.
    std::thread::sleep(Duration::from_millis(300));
    let stats = sampler.swap(&mut table).unwrap();
    // A descriptor of an ended process is always ready; a thread that waited for it would never sleep.
    assert!(stats.cpu_ns < stats.elapsed_ns / 4, "{stats:?}");
    let again = Sampler::start(options(Scope::Processes(vec![pid]), 1 << 16));
    assert!(matches!(again, Err(PerfError::Option(_))), "{again:?}");
}

#[test]
fn raw_events_say_why_they_do_not_open() {
    let root = Root::live();
    match EventSet::for_host(&root) {
        Ok(events) => {
            if let Err(error) = probe(&root, &events) {
                let _ = writeln!(std::io::stderr(), "skipped: {error}");
            }
        }
        Err(error) => assert!(
            matches!(
                error,
                PerfError::NoPmu { .. } | PerfError::UnknownProcessor { .. }
            ),
            "{error}"
        ),
    }
    let mut events = EventSet::page_faults();
    // A unit that does not exist.
    events.events[0].pmu_type = 0x7fff_0000;
    let scope = Scope::Processes(vec![std::process::id()]);
    let options = SamplerOptions::new(&root, events, scope).unwrap();
    let error = Sampler::start(options).unwrap_err();
    assert!(
        matches!(error, PerfError::NoPmu { .. } | PerfError::Privilege { .. }),
        "{error}"
    );
}

/// Page faults as if they said what served them, in the group of an event that counts: a page fault has no data source.
#[test]
fn what_served_is_counted_by_process_beside_the_pages() {
    if !supported() {
        return;
    }
    let mut events = EventSet::page_faults();
    events.events[0].meaning = Meaning::Served;
    // `PERF_COUNT_SW_DUMMY` of the same unit.
    events.events[0].leader = Some([9, 0, 0, 0]);
    let mut toucher = Toucher::start();
    let pid = toucher.pid();
    let options = SamplerOptions {
        events,
        ..options(Scope::Processes(vec![pid]), 1 << 20)
    };
    let mut sampler = Sampler::start(options).unwrap();
    assert!(sampler.tells_served());
    let mut table = sampler.new_table();
    let (address, faults) = toucher.touch(1000);
    let stats = sampler.swap(&mut table).unwrap();
    let loads = table.served_of(pid);
    assert!(counts(&table, pid, address, 1000).is_empty());
    assert_eq!(loads.total(), stats.events[0].samples);
    assert!(
        loads.total() + stats.samples_lost >= faults,
        "{loads:?} of {faults}"
    );
    assert_eq!(loads.of(Served::Unknown), loads.total());
    assert_eq!(loads.slow_ratio(), None);
}

#[test]
fn heat_is_measured_where_nothing_says_what_served() {
    if !supported() {
        return;
    }
    let mut events = EventSet::page_faults();
    // A unit that does not exist.
    events.events.push(EventSpec {
        pmu_type: 0x7fff_0000,
        meaning: Meaning::Served,
        ..events.events[0].clone()
    });
    let mut toucher = Toucher::start();
    let pid = toucher.pid();
    let options = SamplerOptions {
        plan: GroupPlan::always(2),
        events,
        ..options(Scope::Processes(vec![pid]), 1 << 20)
    };
    let mut sampler = Sampler::start(options).unwrap();
    assert!(!sampler.tells_served());
    let mut table = sampler.new_table();
    let (address, _) = toucher.touch(1000);
    let stats = sampler.swap(&mut table).unwrap();
    let seen = counts(&table, pid, address, 1000).len() as u64;
    assert!(seen + stats.samples_lost >= 1000);
    assert_eq!(
        (stats.events[1].samples, stats.events[1].period_events),
        (0, None)
    );
}

#[test]
fn impossible_options_are_refused_with_their_reason() {
    let bad = |change: fn(&mut SamplerOptions)| {
        let mut options = options(Scope::Processes(vec![std::process::id()]), 1 << 16);
        change(&mut options);
        Sampler::start(options).unwrap_err().to_string()
    };
    assert!(bad(|options| options.ring_bytes = 3 * 4096).contains("power of two"));
    assert!(bad(|options| options.cpus.clear()).contains("no CPU"));
    assert!(bad(|options| options.plan = GroupPlan::in_turn(2, 3, vec![vec![0]])).contains("core groups"));
}

#[test]
fn a_software_event_is_counted_by_the_description_of_its_unit() {
    let pmu = Pmu::read(&Root::live(), "software").unwrap();
    let mut toucher = Toucher::start();
    let group = match CountingGroup::open_thread(&pmu, &["config=2", "config=6"], toucher.pid()) {
        Ok(group) => group,
        Err(error @ PerfError::Privilege { .. }) => {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    // The first thread of the child waits for the one that touches.
    let counted = group.read().unwrap();
    assert_eq!(counted.len(), 2);
    let (_, faults) = toucher.touch(100);
    assert!(faults >= 100);
    let own = CountingGroup::open_thread(&pmu, &["config=2"], 0).unwrap();
    let before = own.read().unwrap()[0];
    touch_all(map_fresh(400), 400);
    let after = own.read().unwrap()[0];
    assert!(after.raw - before.raw >= 400 && after.running_ns > before.running_ns);
    assert_eq!(after.scaled(), Some(after.raw));
}
