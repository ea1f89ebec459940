//! Carries out a plan.

use std::time::{Duration, Instant};

use tierscope_rootfs::Root;
use tierscope_sample::inventory::{BenchFigure, BenchSkip, NodeBench};

use crate::bandwidth;
use crate::buffer::{Buffer, Pages, Region};
use crate::chain::{Random, cycle};
use crate::figure::Spread;
use crate::latency::{self, Single};
use crate::loaded::{self, Load};
use crate::loops::{self, Features};
use crate::pages::huge_page_bytes;
use crate::pin;
use crate::plan::{Cell, Operation, Pattern, Plan, Step};
use crate::{LINE_BYTES, MembenchError};

const NANOSECONDS: &str = "ns";
const BYTES_PER_S: &str = "bytes_per_s";
/// Shortest time of a step that is begun at all.
const SHORTEST_STEP: Duration = Duration::from_millis(20);

/// Those of `cpus` that this process may use.
pub fn allowed_cpus(cpus: &[u32]) -> Vec<u32> {
    pin::allowed(cpus)
}

/// Measures a pair. Steps that would not end within `time` are left out and listed as such. The caller's thread only
/// waits; `measured_wall_ns` is left for the caller to set.
pub fn measure(plan: &Plan, time: Duration) -> Result<NodeBench, MembenchError> {
    let deadline = Instant::now() + time;
    let target = &plan.target;
    let first_cpu = *target
        .cpus
        .first()
        .ok_or(MembenchError::NoProcessor(target.cpu_node))?;
    // Memory is touched and chased by a thread bound to the processor, so that caches and policies are its own.
    std::thread::scope(|scope| {
        let run = move || {
            pin::pin_to(first_cpu)?;
            let mut run = Run::new(plan, deadline);
            run.all()?;
            Ok(run.result)
        };
        let thread = std::thread::Builder::new().name("membench".to_owned());
        let thread = thread
            .spawn_scoped(scope, run)
            .map_err(|error| MembenchError::NoThread(error.to_string()))?;
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(MembenchError::NoThread("it ended too early".to_owned())))
    })
}

struct Run<'a> {
    plan: &'a Plan,
    deadline: Instant,
    /// Time of the step that is measured now.
    time: Duration,
    steps_left: u32,
    features: Features,
    next_line: Vec<u32>,
    best_read_bytes_per_s: f64,
    result: NodeBench,
}

/// The two parts of the buffer.
#[derive(Clone, Copy)]
struct Regions {
    chase: Region,
    stream: Region,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, deadline: Instant) -> Self {
        let lines = u32::try_from(plan.chase_bytes / LINE_BYTES as u64).unwrap_or(u32::MAX);
        Self {
            plan,
            deadline,
            time: Duration::ZERO,
            steps_left: u32::try_from(plan.steps.len()).unwrap_or(u32::MAX),
            features: Features::detect(),
            next_line: cycle(lines, &mut Random::new(u64::from(lines))),
            best_read_bytes_per_s: 0.0,
            result: NodeBench {
                cpu_node: plan.target.cpu_node,
                memory_node: plan.target.memory_node,
                ..NodeBench::default()
            },
        }
    }

    fn all(&mut self) -> Result<(), MembenchError> {
        let (small, rest): (Vec<&Step>, Vec<&Step>) = self
            .plan
            .steps
            .iter()
            .partition(|step| matches!(step, Step::ChaseSmallPages));
        if !small.is_empty() {
            let buffer = self.map(self.plan.chase_bytes, Pages::Small)?;
            self.link(buffer.region());
            self.chase("idle_latency_small_pages", buffer.region());
        }
        let buffer = self.map(self.plan.chase_bytes + self.plan.stream_bytes, Pages::Huge)?;
        let (chase, stream) = buffer
            .region()
            .split_at(self.plan.chase_bytes as usize / LINE_BYTES * LINE_BYTES);
        self.link(chase);
        self.describe(&buffer);
        for step in rest {
            self.step(step, Regions { chase, stream })?;
        }
        self.result
            .loaded
            .sort_by(|one, other| one.bandwidth_bytes_per_s.total_cmp(&other.bandwidth_bytes_per_s));
        Ok(())
    }

    fn map(&self, bytes: u64, pages: Pages) -> Result<Buffer, MembenchError> {
        let node = self.plan.target.bind.then_some(self.plan.target.memory_node);
        Buffer::new(bytes as usize, pages, node)
    }

    fn link(&self, region: Region) {
        // SAFETY: only this thread knows the buffer now.
        unsafe { loops::link(region, &self.next_line) };
    }

    fn describe(&mut self, buffer: &Buffer) {
        let region = buffer.region();
        let huge = huge_page_bytes(&Root::live(), region.start() as u64);
        self.result.buffer_bytes = region.bytes() as i64;
        self.result.huge_page_bytes = huge.map(|bytes| bytes as i64);
        let bound = if self.plan.target.bind {
            "bound to its node"
        } else {
            "on the only node"
        };
        let names = self.features.names();
        let features = if names.is_empty() {
            "plain loads and stores".to_owned()
        } else {
            names
        };
        self.result.method = format!(
            "{} MiB {bound}, {} MiB of it chased, {} processors, {features}; mixed: 2 blocks read to 1 written",
            region.bytes() >> 20,
            self.plan.chase_bytes >> 20,
            self.plan.target.cpus.len(),
        );
    }

    fn step(&mut self, step: &Step, regions: Regions) -> Result<(), MembenchError> {
        match step {
            Step::ChaseSmallPages => {}
            Step::Chase => self.chase("idle_latency", regions.chase),
            Step::Load => self.single("load_latency", Single::Load, regions.stream),
            Step::StoreWriteBack => {
                self.single("store_writeback_latency", Single::StoreWriteBack, regions.stream);
            }
            Step::NonTemporalStore => {
                self.single("nt_store_latency", Single::NonTemporalStore, regions.stream);
            }
            Step::Bandwidth(cell) => self.bandwidth(cell, regions.stream)?,
            Step::Loaded(injected_ratio) => self.loaded(*injected_ratio, regions)?,
        }
        Ok(())
    }

    /// Whether the time is up; says so in the result. Else the step gets its share of what is left: on a busy host,
    /// where preparing takes long, each gets less than was planned.
    fn is_late(&mut self, name: &str) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let is_late = left < SHORTEST_STEP;
        if is_late {
            self.skip(name, "the time was up: give more with --seconds");
        }
        let planned = Duration::from_secs_f64(self.plan.step_seconds);
        self.time = planned.min(left / self.steps_left.max(1)).max(SHORTEST_STEP);
        self.steps_left = self.steps_left.saturating_sub(1);
        is_late
    }

    fn skip(&mut self, name: &str, reason: &str) {
        let skip = BenchSkip {
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        if !self.result.skipped.contains(&skip) {
            self.result.skipped.push(skip);
        }
    }

    fn push(
        &mut self,
        repetitions: Vec<f64>,
        name: &str,
        unit: &str,
        describe: impl FnOnce(&mut BenchFigure),
    ) {
        match Spread::of(repetitions) {
            Some(spread) => {
                let mut figure = spread.named(name, unit);
                describe(&mut figure);
                self.result.figures.push(figure);
            }
            None => self.skip(name, "nothing was measured in the time"),
        }
    }

    fn chase(&mut self, name: &str, region: Region) {
        if self.is_late(name) {
            return;
        }
        let end = Instant::now() + self.time;
        // SAFETY: the region is linked, and no thread writes to it now.
        let repetitions = unsafe { latency::chase(region, || Instant::now() < end) };
        self.push(repetitions, name, NANOSECONDS, |figure| {
            figure.threads = 1;
            figure.block_bytes = LINE_BYTES as u32;
            "chase".clone_into(&mut figure.pattern);
        });
    }

    fn single(&mut self, name: &str, operation: Single, region: Region) {
        if !operation.is_supported(self.features) {
            self.skip(name, "not supported by this processor");
        } else if !self.is_late(name) {
            // SAFETY: this thread alone uses the region now, and the features were found on this processor.
            let repetitions = unsafe { latency::single(operation, region, self.features, self.time) };
            self.push(repetitions, name, NANOSECONDS, |figure| {
                figure.threads = 1;
                figure.block_bytes = LINE_BYTES as u32;
                "random".clone_into(&mut figure.pattern);
            });
        }
    }

    fn bandwidth(&mut self, cell: &Cell, region: Region) -> Result<(), MembenchError> {
        let name = match cell.operation {
            Operation::Read => "read_bandwidth",
            Operation::Write => "write_bandwidth",
            Operation::NonTemporalWrite => "nt_write_bandwidth",
            Operation::Mixed => "mixed_bandwidth",
        };
        if cell.operation == Operation::NonTemporalWrite && !self.features.non_temporal {
            self.skip(name, "not supported by this processor");
            return Ok(());
        }
        if self.is_late(name) {
            return Ok(());
        }
        let rates = bandwidth::measure(cell, &self.plan.target.cpus, region, self.time)?;
        self.push(rates, name, BYTES_PER_S, |figure| {
            figure.threads = cell.threads as u32;
            figure.block_bytes = cell.block_bytes as u32;
            match cell.pattern {
                Pattern::Sequential => "sequential".clone_into(&mut figure.pattern),
                Pattern::Random => "random".clone_into(&mut figure.pattern),
            }
        });
        if let (Operation::Read, Some(figure)) = (cell.operation, self.result.figures.last()) {
            self.best_read_bytes_per_s = self.best_read_bytes_per_s.max(figure.median);
        }
        Ok(())
    }

    fn loaded(&mut self, injected_ratio: Option<f64>, regions: Regions) -> Result<(), MembenchError> {
        const NAME: &str = "loaded_latency";
        if self.best_read_bytes_per_s <= 0.0 {
            self.skip(NAME, "no bandwidth was measured that it could be a share of");
            return Ok(());
        }
        if self.is_late(NAME) {
            return Ok(());
        }
        let load = Load {
            cpus: &self.plan.target.cpus,
            chase: regions.chase,
            stream: regions.stream,
            best_bytes_per_s: self.best_read_bytes_per_s,
            injected_ratio,
        };
        match loaded::measure(&load, self.time)? {
            Some(point) => self.result.loaded.push(point),
            None => self.skip(NAME, "nothing was measured in the time"),
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::plan::Target;

    /// Longer than all steps take on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(300);

    fn small_plan() -> Plan {
        let cell = |operation, pattern, block_bytes| {
            Step::Bandwidth(Cell {
                operation,
                pattern,
                threads: 1,
                block_bytes,
            })
        };
        Plan {
            target: Target {
                cpus: allowed_cpus(&(0..1024).collect::<Vec<u32>>()),
                ..Target::default()
            },
            chase_bytes: 1 << 20,
            stream_bytes: 3 << 20,
            step_seconds: 0.02,
            steps: vec![
                Step::ChaseSmallPages,
                Step::Chase,
                Step::Load,
                Step::StoreWriteBack,
                Step::NonTemporalStore,
                cell(Operation::Read, Pattern::Sequential, 0),
                cell(Operation::Write, Pattern::Random, 64),
                cell(Operation::NonTemporalWrite, Pattern::Random, 4096),
                cell(Operation::Mixed, Pattern::Sequential, 0),
                Step::Loaded(Some(0.2)),
                Step::Loaded(None),
            ],
        }
    }

    /// Measures with longer and longer steps until each thread had a processor in its step, and in each part of it.
    fn measure_undisturbed(plan: &mut Plan) -> NodeBench {
        loop {
            let bench = measure(plan, PATIENCE).unwrap();
            let is_starved = |skip: &BenchSkip| skip.reason.contains("nothing was measured");
            let is_empty = |figure: &BenchFigure| figure.p10 <= 0.0;
            let is_disturbed = bench.skipped.iter().any(is_starved) || bench.figures.iter().any(is_empty);
            if !is_disturbed || plan.step_seconds > 4.0 {
                return bench;
            }
            plan.step_seconds *= 2.0;
        }
    }

    #[test]
    fn every_step_gives_a_figure_that_is_positive_or_says_why_not() {
        let mut plan = small_plan();
        let bench = measure_undisturbed(&mut plan);
        let is_sound = |figure: &&BenchFigure| {
            let ascends = figure.p10 <= figure.median && figure.median <= figure.p90;
            figure.p10 > 0.0 && figure.p90.is_finite() && ascends && figure.repetitions > 0
        };
        assert_eq!(
            bench.figures.iter().filter(is_sound).count(),
            bench.figures.len(),
            "{:?}",
            bench.figures
        );
        let told = bench.figures.len() + bench.loaded.len() + bench.skipped.len();
        assert_eq!(told, plan.steps.len(), "{bench:?}");
        let features = Features::detect();
        let has = |name: &str| bench.figures.iter().any(|figure| figure.name == name);
        assert_eq!(has("store_writeback_latency"), features.write_back);
        assert_eq!(has("nt_write_bandwidth"), features.non_temporal);
        assert!(has("idle_latency") && has("idle_latency_small_pages") && has("mixed_bandwidth"));
        for point in &bench.loaded {
            assert!(
                point.latency_ns > 0.0 && point.utilisation_ratio > 0.0,
                "{point:?}"
            );
            assert!(point.bandwidth_bytes_per_s.is_finite());
        }
        assert_eq!(bench.buffer_bytes, 4 << 20);
    }

    #[test]
    fn when_the_time_is_up_nothing_is_measured_and_the_result_says_so() {
        let bench = measure(&small_plan(), Duration::ZERO).unwrap();
        assert_eq!((bench.figures.len(), bench.loaded.len()), (0, 0));
        let idle = bench.skipped.iter().find(|skip| skip.name == "idle_latency");
        assert!(
            idle.is_some_and(|skip| skip.reason.contains("--seconds")),
            "{bench:?}"
        );
    }

    #[test]
    fn processors_that_do_not_exist_are_an_error() {
        let mut plan = small_plan();
        plan.target.cpus = vec![900_000];
        let error = measure(&plan, PATIENCE).unwrap_err();
        assert!(
            matches!(error, MembenchError::NotPinned { cpu: 900_000, .. }),
            "{error}"
        );
        plan.target.cpus = Vec::new();
        assert_eq!(measure(&plan, PATIENCE), Err(MembenchError::NoProcessor(0)));
    }
}
