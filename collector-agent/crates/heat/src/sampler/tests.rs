use tierscope_sample::heat::PageKind;

use super::*;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use tierscope_pagetable::process::process_key;
use tierscope_perf::{EventStats, Served};
use tierscope_sample::heat::{Granularity, HeatRow};
use tierscope_sample::page_group::TierIndex;

use crate::backend::DEFAULT_RSS_LIMIT_BYTES;

const MINUTE_NS: i64 = 60_000_000_000;
const PAGE_BYTES: usize = 4096;

fn settings() -> HeatSettings {
    HeatSettings {
        interval_ns: MINUTE_NS,
        rss_limit_bytes: DEFAULT_RSS_LIMIT_BYTES,
        tier: Some(Arc::from("dram")),
        epoch_seed: 7,
        sampling: SamplingSettings::default(),
    }
}

fn end(minutes: i64) -> IntervalEnd {
    IntervalEnd {
        wall_ns: minutes * MINUTE_NS,
        boottime_ns: Some(minutes * MINUTE_NS),
    }
}

fn event(meaning: Meaning, duty_ratio: f64, period_events: Option<f64>) -> EventStats {
    EventStats {
        name: String::new(),
        meaning,
        samples: 0,
        duty_ratio,
        period_events,
    }
}

#[test]
fn coverage_is_judged_by_loads_and_what_was_lost_was_not_observed() {
    let mut stats = IntervalStats {
        events: vec![
            event(Meaning::Load, 0.5, Some(198.0)),
            event(Meaning::Load, 0.3, Some(202.0)),
            event(Meaning::Store, 1.0, Some(500.0)),
            event(Meaning::Served, 0.1, Some(1000.0)),
        ],
        samples_taken: 75,
        samples_lost: 25,
        ..IntervalStats::default()
    };
    let observed = Observed::of(&stats);
    assert!((observed.duty_ratio - 0.4 * 0.75).abs() < 1e-12);
    assert_eq!(observed.period_events, Some(200.0));
    stats.events.drain(..2);
    assert_eq!(Observed::of(&stats).period_events, Some(500.0));
    stats.events = vec![event(Meaning::IbsOp, 0.0, None)];
    let nothing = Observed {
        duty_ratio: 0.0,
        period_events: None,
    };
    assert_eq!(Observed::of(&stats), nothing);
}

#[test]
fn large_hosts_are_sampled_on_a_part_of_their_cores() {
    let (pair, usual) = (EventSet::page_faults_apart(), SamplingSettings::default());
    assert_eq!(plan(&pair, 8, &usual), GroupPlan::always(2));
    let mut loads_and_stores = pair;
    loads_and_stores.events[0].meaning = Meaning::Load;
    loads_and_stores.events[1].meaning = Meaning::Store;
    let plan_of_many = plan(&loads_and_stores, 64, &usual);
    assert_eq!(plan_of_many.problem(2), None);
    assert!(
        [0, 1]
            .iter()
            .all(|event| (plan_of_many.duty_ratio(*event) - 0.25).abs() < 1e-12)
    );
    let single = plan(&EventSet::page_faults(), 64, &usual);
    assert!((single.duty_ratio(0) - 0.25).abs() < 1e-12);
    let all_of_two = SamplingSettings {
        core_groups: Some(2),
        active_core_groups: Some(2),
        ..usual
    };
    assert!((plan(&EventSet::page_faults(), 4, &all_of_two).duty_ratio(0) - 1.0).abs() < 1e-12);
    assert_eq!(
        plan(&EventSet::page_faults(), 1, &all_of_two),
        GroupPlan::always(1),
        "a core is not shared out"
    );
}

#[test]
fn pages_that_lie_close_are_looked_up_together() {
    let page = |address| (address, PageCount::default());
    assert!(lookup_ranges(&[]).is_empty());
    let pages = [page(0x1000), page(0x2000), page(0x3_0000), page(0x100_0000)];
    assert_eq!(lookup_ranges(&pages), [0x1000..0x3_1000, 0x100_0000..0x100_1000]);
}

#[test]
fn samples_in_one_large_base_page_are_all_of_that_page() {
    const PRESENT: u64 = 1 << 63;
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    write(
        "proc/9/stat",
        b"9 (a) S 1 0 0 0 -1 0 1 0 0 0 2 1 0 0 20 0 3 0 77 82 5",
    );
    let entries = [0, PRESENT | 3, 0, PRESENT | 4].map(u64::to_ne_bytes).concat();
    write("proc/9/pagemap", &entries);
    let root = Root::new(directory.path()).with_page_bytes(65536);
    let key = tierscope_sample::vma_fold::ProcessKey {
        pid: 9,
        start_time_ticks: 77,
    };
    let mut reader = PagemapReader::new(root);
    let pagemap = reader.open(key).unwrap();
    // Two in the page of frame 3, one where nothing is, one in the page of frame 4.
    let pages = [0x1_1000, 0x1_f000, 0x2_0000, 0x3_2000].map(|address| (address, PageCount::default()));
    let ranges = lookup_ranges(&pages);
    let placement = Placement::of_ranges(
        [(3 << 16, 1 << 16, TierIndex(0)), (4 << 16, 1 << 16, TierIndex(1))],
        65536,
    );
    let states = look_up(&mut reader, &pagemap, &pages, &ranges, &placement).unwrap();
    let shown: Vec<_> = states
        .iter()
        .map(|page| (page.address, page.size, page.tier))
        .collect();
    let (top, lower, size) = (Some(TierIndex(0)), Some(TierIndex(1)), PageSize::Small64K);
    let expected = [
        (0x1_1000, size, top),
        (0x1_f000, size, top),
        (0x3_2000, size, lower),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_recording_and_a_processor_of_another_kind_are_refused() {
    let refused = events_of(&Root::new("/nowhere"), SamplerKind::Pebs).unwrap_err();
    assert!(refused.reason.contains("recording"));
    let probed =
        [SamplerKind::Pebs, SamplerKind::Ibs, SamplerKind::Spe].map(|kind| probe(&Root::live(), kind));
    let refused: Vec<&Refusal> = probed.iter().filter_map(|probed| probed.as_ref().err()).collect();
    assert!(refused.len() >= 2, "a processor has one sampler");
    assert!(refused.iter().all(|refusal| !refusal.reason.is_empty()));
}

/// Set in the child: this test binary run again.
const ROLE: &str = "TIERSCOPE_TEST_TOUCHES_FRESH_PAGES";

/// The child's side: for each line as many pages of fresh memory, each of which is one page fault. Allocations of this
/// size are mapped anew each time.
#[test]
#[ignore = "a child process of other tests"]
fn child_touches_fresh_pages() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let mut kept = Vec::new();
    let mut out = std::io::stdout();
    writeln!(out, "\ndone").unwrap();
    for line in std::io::stdin().lock().lines() {
        let pages = line.unwrap().parse().unwrap();
        let mut memory = vec![0_u8; 40 << 20];
        for page in memory.chunks_mut(PAGE_BYTES).take(pages) {
            page[0] = std::hint::black_box(1);
        }
        kept.push(memory);
        writeln!(out, "done").unwrap();
    }
}

/// A process whose page faults are known, apart from those of the tests beside this one.
struct Toucher {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Toucher {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "sampler::tests::child_touches_fresh_pages",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ROLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut toucher = Self { child, output };
        toucher.wait_until_done();
        toucher
    }

    fn touch(&mut self, pages: usize) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{pages}").unwrap();
        self.wait_until_done();
    }

    fn wait_until_done(&mut self) {
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the child ended");
        }
    }
}

impl Drop for Toucher {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A back end on page faults instead of misses of the processor; `None`, and the reason printed, where that is not
/// permitted.
fn by_page_faults() -> Option<(SamplerBackend, HeatProcess, Toucher)> {
    sampling(EventSet::page_faults())
}

fn sampling(events: EventSet) -> Option<(SamplerBackend, HeatProcess, Toucher)> {
    let root = Root::live();
    let made = SamplerBackend::new(&root, &settings(), NamePolicy::plain(), events, Backend::Pebs);
    let backend = match made {
        Ok(backend) => backend,
        Err(error @ (PerfError::Privilege { .. } | PerfError::NoPmu { .. } | PerfError::NoRing { .. })) => {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let toucher = Toucher::start();
    let process = HeatProcess {
        key: process_key(&root, toucher.child.id()).unwrap(),
        service: Arc::from("host/shop"),
        group: Arc::from("server"),
    };
    Some((backend, process, toucher))
}

fn anon(round: &HeatRound) -> HeatRow {
    let row = round.folded.rows.iter().find(|row| row.kind == PageKind::Anon);
    row.cloned().unwrap()
}

/// The whole way from the kernel to rows.
#[test]
fn a_real_process_goes_through_two_rounds() {
    let Some((mut backend, process, mut toucher)) = by_page_faults() else {
        return;
    };
    let processes = [process];
    let first = backend.collect(&processes, end(1));
    assert_eq!((first.measured, first.skipped.len()), (1, 0));
    assert!(first.folded.rows.iter().all(|row| row.validity == 0));
    toucher.touch(2000);
    let round = backend.collect(&processes, end(2));
    let row = anon(&round);
    assert_eq!(
        (row.backend, row.granularity, row.validity),
        (Backend::Pebs, Granularity::Page, 1)
    );
    let seen = row.distinct_pages.unwrap()[0];
    let sampling = round.sampling.unwrap();
    assert!(seen + sampling.lost as i64 >= 2000, "{seen} pages, {sampling:?}");
    let samples = row.samples.unwrap();
    assert!(samples.loads as i64 >= seen && samples.stores == 0);
    assert_eq!(row.period_events, Some(1.0));
    assert!(row.duty_ratio.is_some_and(|duty| duty > 0.0 && duty <= 1.0));
    assert!(row.resident_bytes >= 2000 * PAGE_BYTES as i64);
    assert!(row.age_bytes[0] >= seen * PAGE_BYTES as i64 && row.age_bytes[0] <= row.resident_bytes);
    assert!(round.cpu_ns > 0 && round.bytes_read > 0);
    assert_eq!(round.served, None, "page faults do not say what served them");
    let none = backend.collect(&[], end(3));
    assert!(none.folded.rows.is_empty() && none.measured == 0);
}

/// Page faults as if they said what served them: samples of a kernel, with a data source that says nothing.
#[test]
fn what_served_loads_is_summed_by_service() {
    let mut events = EventSet::page_faults();
    events.events[0].meaning = Meaning::Served;
    let Some((mut backend, process, mut toucher)) = sampling(events) else {
        return;
    };
    let service = process.service.clone();
    let processes = [process];
    let first = backend.collect(&processes, end(1)).served.unwrap();
    // What was still in the rings as the process began to be followed may be counted: events of its start.
    assert!(first.contains_key(&service));
    toucher.touch(500);
    let round = backend.collect(&processes, end(2));
    let loads = round.served.unwrap()[&service];
    let lost = round.sampling.unwrap().lost;
    assert!(loads.total() + lost >= 500, "{loads:?}, {lost} lost");
    assert_eq!(loads.of(Served::Unknown), loads.total());
    assert!(
        round
            .folded
            .rows
            .iter()
            .all(|row| row.samples.is_none_or(|samples| samples.loads == 0))
    );
}

#[test]
fn an_interval_in_which_events_were_off_is_missing() {
    let Some((mut backend, process, mut toucher)) = by_page_faults() else {
        return;
    };
    let processes = [process];
    backend.collect(&processes, end(1));
    backend.collect(&processes, end(2));
    backend.miss();
    toucher.touch(500);
    let begun = backend.collect(&processes, end(4));
    // Events are off until the round begins them again, and what the process does in that round is not of one interval.
    let row = anon(&begun);
    assert_eq!((row.validity & 0b11, row.age_bytes[0]), (0, 0));
    toucher.touch(300);
    let mut row = anon(&backend.collect(&processes, end(5)));
    assert_eq!(row.validity & 0b111, 0b001);
    // Whatever else runs on this host may fill the rings, so that nothing of an interval is seen.
    for interval in 6..100 {
        if row.age_bytes[0] > 0 {
            break;
        }
        toucher.touch(300);
        row = anon(&backend.collect(&processes, end(interval)));
    }
    assert!(row.age_bytes[0] > 0);
}
