//! Latency under load: one thread chases while the others inject reads at a given rate.

use std::time::{Duration, Instant};

use tierscope_sample::inventory::LoadedPoint;

use crate::bandwidth::{Crew, Job, with_crew};
use crate::buffer::{HUGE_PAGE_BYTES, Region};
use crate::figure::Spread;
use crate::plan::{Operation, Pattern};
use crate::{LINE_BYTES, MembenchError, latency};

/// Time before which nothing counts, as a share: the injected rate settles.
const WARM_UP: u32 = 5;

/// Where and how hard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load<'a> {
    /// The first processor chases, the others inject.
    pub(crate) cpus: &'a [u32],
    /// A linked region.
    pub(crate) chase: Region,
    /// What the others read.
    pub(crate) stream: Region,
    /// The best bandwidth of the pair, bytes per second.
    pub(crate) best_bytes_per_s: f64,
    /// Share of it to inject; as much as goes without.
    pub(crate) injected_ratio: Option<f64>,
}

/// One point of the curve; `None` where nothing was measured in the time.
pub(crate) fn measure(load: &Load, time: Duration) -> Result<Option<LoadedPoint>, MembenchError> {
    let Some((chaser, others)) = load.cpus.split_first() else {
        return Ok(None);
    };
    let pace = load
        .injected_ratio
        .map(|ratio| ratio * load.best_bytes_per_s / others.len().max(1) as f64);
    let parts = load.stream.split(others.len(), HUGE_PAGE_BYTES);
    let job = |(cpu, part): (&u32, Region)| Job {
        cpu: *cpu,
        region: part,
        operation: Operation::Read,
        pattern: Pattern::Sequential,
        block_bytes: 0,
        pace_bytes_per_s: pace,
    };
    let jobs: Vec<Job> = others.iter().zip(parts).map(job).collect();
    let (chaser, region) = (*chaser, load.chase);
    let chase = move |crew: &Crew| {
        crew.start(chaser);
        let warm_until = Instant::now() + time / WARM_UP;
        // SAFETY: the region was linked by the caller, and the injecting threads only touch the stream's region.
        unsafe {
            latency::chase(region, || !crew.is_over() && Instant::now() < warm_until);
            latency::chase(region, || !crew.is_over())
        }
    };
    let (rate, latencies) = with_crew(&jobs, Some(chase), |crew| {
        std::thread::sleep(time / WARM_UP);
        let (begin, before) = (Instant::now(), crew.bytes());
        std::thread::sleep(time * (WARM_UP - 1) / WARM_UP);
        (crew.bytes() - before) as f64 / begin.elapsed().as_secs_f64()
    })?;
    let point = |latency: Spread| {
        // The chase moves a line per load.
        let bandwidth = rate + LINE_BYTES as f64 * 1e9 / latency.median;
        LoadedPoint {
            bandwidth_bytes_per_s: bandwidth,
            latency_ns: latency.median,
            threads: others.len() as u32,
            write_ratio: 0.0,
            utilisation_ratio: bandwidth / load.best_bytes_per_s,
            latency_p10_ns: latency.p10,
            latency_p90_ns: latency.p90,
            repetitions: latency.repetitions,
            disturbed: latency.disturbed,
        }
    };
    Ok(latencies.and_then(Spread::of).map(point))
}
