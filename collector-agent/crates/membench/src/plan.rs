//! What is measured for how long with how much memory, decided before anything runs.

use crate::MembenchError;

/// Buffers take at most this share of the node's available memory.
const AVAILABLE_SHARE: u64 = 16;
/// And this where the caches are so large that less would measure them.
const AVAILABLE_SHARE_BEYOND_CACHES: u64 = 4;
/// And this where the memory is asked for.
const AVAILABLE_SHARE_ASKED: u64 = 2;
/// And at most this much, unless the caches are so large that less would measure them.
const MOST_BYTES: u64 = 1 << 30;
/// The chased part is at least this many times the last-level cache, and best twice that.
const CHASE_CACHES: u64 = 4;
/// The streamed part is at least this many times the last-level cache.
const STREAM_CACHES: u64 = 2;
/// Where no cache is known.
const USUAL_CACHE_BYTES: u64 = 32 << 20;
/// Shortest time of one figure, seconds: long enough for several windows.
const SHORTEST_STEP_S: f64 = 0.03;
/// Longest: more says nothing new.
const LONGEST_STEP_S: f64 = 0.5;
/// Preparing a pair: mapping, touching and linking, in bytes a second and for all else, cautiously.
const PREPARED_BYTES_PER_S: f64 = 1e9;
const PREPARING_S: f64 = 0.1;
/// Shares of the best bandwidth that are injected for the loaded-latency curve; the last one is "as much as goes".
const INJECTED: [f64; 6] = [0.1, 0.25, 0.4, 0.55, 0.7, 0.85];

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// Time for everything, seconds.
    pub seconds: f64,
    /// Most bytes of buffers, of which half of the node's available memory is given at most. Without it 1 GiB or as
    /// much as the caches ask for: a sixteenth of what is available, or a quarter where the caches ask for more.
    pub memory_bytes: Option<u64>,
}

/// Processors of one node and memory of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// Node of the processors.
    pub cpu_node: u32,
    /// The processors that may be used.
    pub cpus: Vec<u32>,
    /// Node of the memory.
    pub memory_node: u32,
    /// What of its memory is free, or clean inactive page cache, which the kernel gives up first.
    pub available_bytes: u64,
    /// The largest cache that one processor has; 0 where unknown.
    pub cache_bytes: u64,
    /// Whether memory has to be bound to its node: there are several.
    pub bind: bool,
}

/// What a thread does with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Loads.
    Read,
    /// Stores through the caches.
    Write,
    /// Stores around the caches.
    NonTemporalWrite,
    /// Two blocks read, one written through the caches.
    Mixed,
}

/// In which order blocks are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// By address.
    Sequential,
    /// By chance.
    Random,
}

/// One figure of bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// What is done.
    pub operation: Operation,
    /// In which order.
    pub pattern: Pattern,
    /// By how many threads, each on a processor of its own.
    pub threads: usize,
    /// Bytes of a block; 0 for sequential access.
    pub block_bytes: usize,
}

/// One figure, or one point of the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Pointer chase in small pages.
    ChaseSmallPages,
    /// Pointer chase in huge pages.
    Chase,
    /// Load of a flushed line.
    Load,
    /// Store with write-back.
    StoreWriteBack,
    /// Non-temporal store.
    NonTemporalStore,
    /// Bandwidth.
    Bandwidth(Cell),
    /// Chase while the other processors inject this share of the best bandwidth; `None` is as much as goes.
    Loaded(Option<f64>),
}

/// What is measured of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The pair.
    pub target: Target,
    /// Bytes that are chased.
    pub chase_bytes: u64,
    /// Bytes that are streamed.
    pub stream_bytes: u64,
    /// Time of each step, seconds.
    pub step_seconds: f64,
    /// What is measured, in this order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Time that the plan takes, preparation included, seconds.
    pub fn seconds(&self) -> f64 {
        preparing_seconds(self.chase_bytes, self.stream_bytes) + self.step_seconds * self.steps.len() as f64
    }
}

fn preparing_seconds(chase_bytes: u64, stream_bytes: u64) -> f64 {
    // What is chased is prepared twice: once in small pages, once in huge ones.
    PREPARING_S + (2 * chase_bytes + stream_bytes) as f64 / PREPARED_BYTES_PER_S
}

/// Plans a pair that may use `1 / pairs` of the requested time: the fullest grid of threads and block sizes for which
/// every figure gets its time.
pub fn plan(target: &Target, request: &Request, pairs: usize) -> Result<Plan, MembenchError> {
    if target.cpus.is_empty() {
        return Err(MembenchError::NoProcessor(target.cpu_node));
    }
    let (chase_bytes, stream_bytes) = buffers(target, request)?;
    let seconds = request.seconds / pairs.max(1) as f64 - preparing_seconds(chase_bytes, stream_bytes);
    let grids = grids(target.cpus.len());
    let fits = |steps: &Vec<Step>| steps.len() as f64 * SHORTEST_STEP_S <= seconds;
    let smallest = grids.last().map_or(0, Vec::len) as f64 * SHORTEST_STEP_S;
    let steps = grids.into_iter().find(fits).ok_or_else(|| {
        let needed = (smallest + preparing_seconds(chase_bytes, stream_bytes)) * pairs as f64;
        MembenchError::TooLittleTime {
            pairs,
            needed_seconds: needed.ceil() as u64,
        }
    })?;
    Ok(Plan {
        target: target.clone(),
        chase_bytes,
        stream_bytes,
        step_seconds: (seconds / steps.len() as f64).min(LONGEST_STEP_S),
        steps,
    })
}

/// Bytes to chase and bytes to stream.
fn buffers(target: &Target, request: &Request) -> Result<(u64, u64), MembenchError> {
    let cache_bytes = match target.cache_bytes {
        0 => USUAL_CACHE_BYTES,
        known => known,
    };
    let least_bytes = (CHASE_CACHES + STREAM_CACHES) * cache_bytes;
    if let Some(asked_bytes) = request.memory_bytes.filter(|asked| *asked < least_bytes) {
        return Err(MembenchError::AskedForTooLittle {
            asked_bytes,
            cache_bytes,
            needed_bytes: least_bytes,
        });
    }
    let usual_bytes = MOST_BYTES
        .max(least_bytes)
        .min(target.available_bytes / AVAILABLE_SHARE);
    let bytes = match request.memory_bytes {
        Some(asked) => asked.min(target.available_bytes / AVAILABLE_SHARE_ASKED),
        None if usual_bytes < least_bytes => {
            least_bytes.min(target.available_bytes / AVAILABLE_SHARE_BEYOND_CACHES)
        }
        None => usual_bytes,
    };
    if bytes < least_bytes {
        return Err(MembenchError::TooLittleMemory {
            node: target.memory_node,
            available_bytes: target.available_bytes,
            cache_bytes,
            needed_bytes: least_bytes,
        });
    }
    let chase_bytes =
        (2 * CHASE_CACHES * cache_bytes).min(bytes * CHASE_CACHES / (CHASE_CACHES + STREAM_CACHES));
    Ok((chase_bytes, bytes - chase_bytes))
}

/// Lists of steps, the fullest first.
fn grids(cpus: usize) -> Vec<Vec<Step>> {
    const ALL: [usize; 6] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
    const FEW: [usize; 3] = [64, 4 << 10, 64 << 10];
    const ONE: [usize; 1] = [4 << 10];
    let doubling = doubling(cpus);
    let mut ends = vec![1, cpus.div_ceil(2), cpus];
    ends.dedup();
    [
        (&doubling, &ALL[..]),
        (&doubling, &FEW),
        (&ends, &FEW),
        (&ends, &ONE),
        (&vec![cpus], &ONE),
    ]
    .map(|(threads, blocks)| steps(threads, blocks, cpus > 1))
    .into()
}

/// 1, 2, 4, ... and all.
fn doubling(cpus: usize) -> Vec<usize> {
    let mut threads: Vec<usize> = std::iter::successors(Some(1), |threads| Some(threads * 2))
        .take_while(|threads| *threads < cpus)
        .collect();
    threads.push(cpus);
    threads
}

fn steps(threads: &[usize], blocks: &[usize], has_others: bool) -> Vec<Step> {
    use Operation::{Mixed, NonTemporalWrite, Read, Write};
    let mut steps = vec![
        Step::ChaseSmallPages,
        Step::Chase,
        Step::Load,
        Step::StoreWriteBack,
        Step::NonTemporalStore,
    ];
    let cell = |operation, pattern, threads, block_bytes| {
        Step::Bandwidth(Cell {
            operation,
            pattern,
            threads,
            block_bytes,
        })
    };
    for operation in [Read, Write, NonTemporalWrite, Mixed] {
        for threads in threads {
            steps.push(cell(operation, Pattern::Sequential, *threads, 0));
        }
    }
    // Injected rates are shares of the best bandwidth, which sequential reading has. Alone, no processor could inject.
    if has_others {
        steps.extend(INJECTED.map(Some).into_iter().chain([None]).map(Step::Loaded));
    }
    // Last comes what can be missed best where a busy host makes everything late.
    for operation in [Read, Write, NonTemporalWrite] {
        for threads in threads {
            let random = |block: &usize| cell(operation, Pattern::Random, *threads, *block);
            steps.extend(blocks.iter().map(random));
        }
    }
    steps
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target(cpus: u32, available_bytes: u64, cache_bytes: u64) -> Target {
        Target {
            cpus: (0..cpus).collect(),
            available_bytes,
            cache_bytes,
            ..Target::default()
        }
    }

    proptest! {
        #[test]
        fn a_plan_stays_within_time_and_memory(
            cpus in 1_u32..300,
            free_mib in 0_u64..1_000_000,
            cache_mib in 0_u64..600,
            seconds in 0.5_f64..200.0,
            pairs in 1_usize..20,
        ) {
            let target = target(cpus, free_mib << 20, cache_mib << 20);
            let request = Request { seconds, memory_bytes: None };
            if let Ok(plan) = plan(&target, &request, pairs) {
                let bytes = plan.chase_bytes + plan.stream_bytes;
                let cache_bytes = if cache_mib == 0 { USUAL_CACHE_BYTES } else { cache_mib << 20 };
                prop_assert!(plan.seconds() <= seconds / pairs as f64 + 1e-6);
                prop_assert!(plan.step_seconds >= SHORTEST_STEP_S - 1e-9);
                let is_beyond_caches = target.available_bytes / AVAILABLE_SHARE < 6 * cache_bytes;
                let share = if is_beyond_caches { AVAILABLE_SHARE_BEYOND_CACHES } else { AVAILABLE_SHARE };
                prop_assert!(bytes <= target.available_bytes / share);
                prop_assert!(bytes <= MOST_BYTES.max(6 * cache_bytes));
                prop_assert!(plan.chase_bytes >= CHASE_CACHES * cache_bytes - 64);
                prop_assert!(plan.stream_bytes >= STREAM_CACHES * cache_bytes);
            }
        }
    }

    #[test]
    fn memory_that_is_too_small_is_refused_with_what_is_needed() {
        let asked = |memory_mib: Option<u64>| Request {
            seconds: 20.0,
            memory_bytes: memory_mib.map(|mib| mib << 20),
        };
        // A virtual machine that shows the whole cache of its processor.
        let host = |free_mib: u64| target(2, free_mib << 20, 260 << 20);
        let needed_bytes = 6 * (260 << 20);
        let error = plan(&host(6_000), &asked(None), 1).unwrap_err();
        let expected = MembenchError::TooLittleMemory {
            node: 0,
            available_bytes: 6_000 << 20,
            cache_bytes: 260 << 20,
            needed_bytes,
        };
        assert_eq!(error, expected);
        assert!(error.to_string().contains("--memory-mib 1560"), "{error}");
        let done = plan(&host(4_000), &asked(Some(1560)), 1).unwrap();
        assert_eq!(done.chase_bytes + done.stream_bytes, needed_bytes);
        assert!(plan(&host(3_000), &asked(Some(1560)), 1).is_err());
        let unasked = plan(&host(24_000), &asked(None), 1).unwrap();
        assert_eq!(unasked.chase_bytes + unasked.stream_bytes, needed_bytes);
        let small = plan(&host(24_000), &asked(Some(800)), 1).unwrap_err();
        assert!(
            matches!(small, MembenchError::AskedForTooLittle { .. }),
            "{small}"
        );
        assert!(small.to_string().contains("--memory-mib 1560"), "{small}");
    }

    #[test]
    fn the_time_that_is_said_to_be_enough_is_enough() {
        let host = target(64, 64 << 30, 32 << 20);
        let request = |seconds| Request {
            seconds,
            memory_bytes: None,
        };
        let Err(MembenchError::TooLittleTime { needed_seconds, .. }) = plan(&host, &request(1.0), 4) else {
            panic!("a second is not enough for four pairs");
        };
        assert!(plan(&host, &request(needed_seconds as f64), 4).is_ok());
    }

    #[test]
    fn more_time_gives_a_fuller_grid_and_injected_rates_follow_the_best_bandwidth() {
        let host = target(6, 64 << 30, 32 << 20);
        let request = |seconds| Request {
            seconds,
            memory_bytes: None,
        };
        let (short, long) = (
            plan(&host, &request(4.0), 1).unwrap(),
            plan(&host, &request(20.0), 1).unwrap(),
        );
        assert!(short.steps.len() < long.steps.len());
        let place = |wanted: fn(&Step) -> bool| long.steps.iter().position(wanted);
        let loaded = place(|step| matches!(step, Step::Loaded(_)));
        assert!(
            place(|step| matches!(step, Step::Bandwidth(cell) if cell.operation == Operation::Read)) < loaded
        );
        assert!(
            place(|step| matches!(step, Step::Bandwidth(cell) if cell.pattern == Pattern::Random)) > loaded
        );
        assert_eq!(doubling(6), [1, 2, 4, 6]);
        assert_eq!(doubling(1), [1]);
        let alone = plan(&target(1, 64 << 30, 0), &request(20.0), 1).unwrap();
        assert!(!alone.steps.iter().any(|step| matches!(step, Step::Loaded(_))));
    }
}
