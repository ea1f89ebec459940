//! Bandwidth: threads on processors of their own stream through parts of a buffer of their own.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::buffer::{HUGE_PAGE_BYTES, Region};
use crate::chain::Random;
use crate::loops;
use crate::pin::pin_to;
use crate::plan::{Cell, Operation, Pattern};
use crate::{LINE_BYTES, MembenchError};

/// Bytes between two looks at the stop flag.
const CHUNK_BYTES: usize = 256 << 10;
/// Blocks of sequential access, and chunks of an injected rate.
const SEQUENTIAL_BLOCK_BYTES: usize = 4 << 10;
/// Windows over which bandwidth is taken, at least and at most, and the shortest that is wanted.
const WINDOWS: (u32, u32) = (3, 20);
const WINDOW: Duration = Duration::from_millis(15);
/// Stack of a measuring thread.
const STACK_BYTES: usize = 256 << 10;
/// Every third block of mixed access is written.
const WRITTEN_OF: usize = 3;

/// Work of one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) cpu: u32,
    pub(crate) region: Region,
    pub(crate) operation: Operation,
    pub(crate) pattern: Pattern,
    /// Bytes of a random block.
    pub(crate) block_bytes: usize,
    /// Bytes a second at most; as much as goes without.
    pub(crate) pace_bytes_per_s: Option<f64>,
}

/// What the threads of a measurement share.
#[derive(Debug)]
pub(crate) struct Crew {
    started: Barrier,
    stop: AtomicBool,
    /// Whether a thread could not be bound, and what it said.
    failed: std::sync::Mutex<Option<MembenchError>>,
    done: Vec<Done>,
}

/// Bytes that one thread has moved, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Done(AtomicU64);

impl Crew {
    fn new(threads: usize, others: usize) -> Self {
        Self {
            started: Barrier::new(threads + others),
            stop: AtomicBool::new(false),
            failed: std::sync::Mutex::new(None),
            done: (0..threads).map(|_| Done::default()).collect(),
        }
    }

    /// Bytes that all threads have moved.
    pub(crate) fn bytes(&self) -> u64 {
        self.done.iter().map(|done| done.0.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Binds the calling thread and waits for all others.
    pub(crate) fn start(&self, cpu: u32) {
        if let Err(error) = pin_to(cpu)
            && let Ok(mut failed) = self.failed.lock()
        {
            *failed = Some(error);
        }
        self.started.wait();
    }
}

/// Runs `jobs` on threads of their own, and `beside` on a further one where there is one, while `watch` measures.
pub(crate) fn with_crew<T, B: Send>(
    jobs: &[Job],
    beside: Option<impl FnOnce(&Crew) -> B + Send>,
    watch: impl FnOnce(&Crew) -> T,
) -> Result<(T, Option<B>), MembenchError> {
    let crew = Crew::new(jobs.len(), 1 + usize::from(beside.is_some()));
    let thread = || std::thread::Builder::new().stack_size(STACK_BYTES);
    let (watched, beside) = std::thread::scope(|scope| {
        let crew = &crew;
        let mut missing = jobs.len() + usize::from(beside.is_some());
        let mut refused = None;
        for (job, done) in jobs.iter().copied().zip(&crew.done) {
            match thread().spawn_scoped(scope, move || work(&job, crew, &done.0)) {
                Ok(_) => missing -= 1,
                Err(error) => refused = Some(error),
            }
        }
        let beside = beside.and_then(
            |beside| match thread().spawn_scoped(scope, move || beside(crew)) {
                Ok(handle) => {
                    missing -= 1;
                    Some(handle)
                }
                Err(error) => {
                    refused = Some(error);
                    None
                }
            },
        );
        if let Some(error) = refused {
            // The threads that did start wait for those that did not: stand in for them.
            crew.stop.store(true, Ordering::Relaxed);
            for _ in 0..missing {
                scope.spawn(|| crew.started.wait());
            }
            crew.started.wait();
            return Err(MembenchError::NoThread(error.to_string()));
        }
        crew.started.wait();
        let watched = watch(crew);
        crew.stop.store(true, Ordering::Relaxed);
        Ok((watched, beside.and_then(|handle| handle.join().ok())))
    })?;
    let failed = crew.failed.into_inner().ok().flatten();
    failed.map_or(Ok((watched, beside)), Err)
}

/// Bytes a second of all threads together, one value per window of `time`; the first window only warms up.
pub(crate) fn watch_windows(crew: &Crew, time: Duration) -> Vec<f64> {
    let windows = (time.as_nanos() / WINDOW.as_nanos()) as u32;
    let windows = windows.clamp(WINDOWS.0, WINDOWS.1);
    let mut rates = Vec::new();
    let mut before = (Instant::now(), crew.bytes());
    for window in 0..windows {
        std::thread::sleep(time / windows);
        let now = (Instant::now(), crew.bytes());
        let seconds = now.0.duration_since(before.0).as_secs_f64();
        if window > 0 && seconds > 0.0 {
            rates.push((now.1 - before.1) as f64 / seconds);
        }
        before = now;
    }
    rates
}

/// Measures a cell on the first processors of `cpus`.
pub(crate) fn measure(
    cell: &Cell,
    cpus: &[u32],
    region: Region,
    time: Duration,
) -> Result<Vec<f64>, MembenchError> {
    let parts = region.split(
        cell.threads,
        HUGE_PAGE_BYTES.min(region.bytes() / cell.threads / LINE_BYTES * LINE_BYTES),
    );
    let job = |(cpu, region): (&u32, Region)| Job {
        cpu: *cpu,
        region,
        operation: cell.operation,
        pattern: cell.pattern,
        block_bytes: cell.block_bytes,
        pace_bytes_per_s: None,
    };
    let jobs: Vec<Job> = cpus.iter().zip(parts).map(job).collect();
    let alone: Option<fn(&Crew)> = None;
    with_crew(&jobs, alone, |crew| watch_windows(crew, time)).map(|(rates, _)| rates)
}

fn work(job: &Job, crew: &Crew, done: &AtomicU64) {
    crew.start(job.cpu);
    let begin = Instant::now();
    let mut walk = Walk::new(job);
    let mut bytes = 0;
    while !crew.is_over() {
        let is_due = |pace| bytes as f64 <= begin.elapsed().as_secs_f64() * pace;
        if job.pace_bytes_per_s.is_none_or(is_due) {
            // SAFETY: the region's buffer outlives the scope of the threads, and each job has a region of its own.
            bytes += unsafe { walk.chunk() } as u64;
            done.store(bytes, Ordering::Relaxed);
        } else {
            std::hint::spin_loop();
        }
    }
}

/// A way through a region, block by block.
struct Walk {
    job: Job,
    block_bytes: usize,
    blocks: u32,
    random: Random,
    next: usize,
    chunk_bytes: usize,
}

impl Walk {
    fn new(job: &Job) -> Self {
        let block_bytes = match job.pattern {
            Pattern::Sequential => SEQUENTIAL_BLOCK_BYTES,
            Pattern::Random => job.block_bytes,
        };
        Self {
            job: *job,
            block_bytes,
            blocks: u32::try_from(job.region.bytes() / block_bytes).unwrap_or(u32::MAX),
            random: Random::new(u64::from(job.cpu)),
            next: 0,
            chunk_bytes: if job.pace_bytes_per_s.is_some() {
                SEQUENTIAL_BLOCK_BYTES
            } else {
                CHUNK_BYTES
            },
        }
    }

    /// Goes on for about a chunk; the bytes moved. A region smaller than a block moves none.
    ///
    /// # Safety
    /// The region's buffer lives, and no other thread uses the region.
    unsafe fn chunk(&mut self) -> usize {
        if self.blocks == 0 {
            return 0;
        }
        let n = (self.chunk_bytes / self.block_bytes).max(1);
        for _ in 0..n {
            let block = match self.job.pattern {
                Pattern::Sequential => self.next % self.blocks as usize,
                Pattern::Random => self.random.below(self.blocks) as usize,
            };
            self.next += 1;
            let writes = self.next.is_multiple_of(WRITTEN_OF);
            // SAFETY: the block lies within the region, aligned to a line.
            unsafe {
                let place = self.job.region.start().add(block * self.block_bytes);
                match self.job.operation {
                    Operation::Mixed if writes => loops::write(place, self.block_bytes, 1),
                    Operation::Read | Operation::Mixed => {
                        black_box(loops::read(place, self.block_bytes));
                    }
                    Operation::Write => loops::write(place, self.block_bytes, 1),
                    Operation::NonTemporalWrite => loops::write_non_temporal(place, self.block_bytes, 1),
                }
            }
        }
        n * self.block_bytes
    }
}
