//! The `bench` command: latency and bandwidth of each node's memory, measured on this host when somebody asks for it.
//!
//! The result is printed, kept in the state directory, and put into the inventory by an agent that runs there.

mod busy;
mod report;
mod send;
pub(crate) mod stored;
mod targets;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use tierscope_clock::wall_ns;
use tierscope_membench::{MembenchError, Plan, Request, Target, measure, plan};
use tierscope_rootfs::{Reader, Root};
use tierscope_sysfs::copy_engines;

use crate::config::Config;
use stored::{Document, SkippedPair};

/// Shortest time for which a bench may be asked, seconds.
const SHORTEST_S: f64 = 1.0;
/// Longest.
const LONGEST_S: f64 = 3600.0;
/// Added to the scheduling priority: everything else on the host goes first.
const NICE: i32 = 19;
/// Why a pair has no result although it was measured.
const NO_FIGURES: &str =
    "the host was so busy that the time was up before the first figure: give more with --seconds";

/// Measures latency and bandwidth of the memory of each node: by idle and loaded pointer chases, single operations and
/// streams. Takes processors and memory bandwidth while it runs.
#[derive(Debug, Clone, Args)]
pub(crate) struct BenchArgs {
    /// Memory of this node alone.
    #[arg(long, value_name = "N")]
    node: Option<u32>,
    /// Time for everything.
    #[arg(long, value_name = "S", default_value_t = 20.0)]
    seconds: f64,
    /// Most memory of the buffers; never more than half of what the node has free or in clean inactive page cache.
    #[arg(long, value_name = "MIB")]
    memory_mib: Option<u64>,
    /// Measures although the processors are busy, or other tools run.
    #[arg(long)]
    force: bool,
    /// Prints one JSON object instead of tables (docs/agent-json.md).
    #[arg(long)]
    json: bool,
    /// Sends the result to the service at once. An agent that runs with the same state directory sends it by itself.
    #[arg(long)]
    send: bool,
    /// Settings of the agent (TOML); options override them.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Base address of the service.
    #[arg(long)]
    server: Option<String>,
    /// Where the agent's state lies: the result is kept there as bench.json.
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// File with a join token, for a host that has not enrolled yet.
    #[arg(long)]
    join_token_file: Option<PathBuf>,
}

impl BenchArgs {
    fn settings(&self) -> Result<Config> {
        let mut config = Config::read_named(self.config.as_deref())?;
        config.server = self.server.clone().or(config.server);
        config.state_dir = self.state_dir.clone().unwrap_or(config.state_dir);
        config.join_token_file = self.join_token_file.clone().or(config.join_token_file);
        Ok(config)
    }
}

/// Measures, prints, keeps, and sends where that is asked for.
pub(crate) fn run(args: &BenchArgs, out: &mut impl Write) -> Result<()> {
    anyhow::ensure!(
        (SHORTEST_S..=LONGEST_S).contains(&args.seconds),
        "--seconds is {SHORTEST_S} to {LONGEST_S}"
    );
    let config = args.settings()?;
    anyhow::ensure!(
        !args.send || config.server.is_some(),
        "no service is named: give --server, or `server` in the file of --config"
    );
    let mut reader = Reader::new(Root::live());
    if !args.force {
        busy::refuse_busy_host(&mut reader)?;
    }
    // A host that refuses is measured all the same, at its usual priority.
    let _ = rustix::process::nice(NICE);
    let mut document = measure_pairs(args, targets::find(&mut reader, args.node)?)?;
    document.copy_engines = copy_engines::find(&mut reader);
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&document)?)?;
    } else {
        report::write(&document, out)?;
    }
    stored::save(&config.state_dir, &document).with_context(|| {
        format!(
            "the result cannot be kept in {}: choose another place with --state-dir",
            config.state_dir.display()
        )
    })?;
    if args.send {
        send::send(&config)?;
    }
    Ok(())
}

/// Measures pair after pair. One that cannot be measured is listed with the reason; none at all is an error.
fn measure_pairs(args: &BenchArgs, targets: Vec<Target>) -> Result<Document> {
    let request = Request {
        seconds: args.seconds,
        memory_bytes: args.memory_mib.map(|mib| mib << 20),
    };
    let deadline = Instant::now() + Duration::from_secs_f64(args.seconds);
    let (plans, mut skipped) = plan_pairs(targets, &request);
    let mut benches = Vec::new();
    for plan in &plans {
        match measure(plan, deadline.saturating_duration_since(Instant::now())) {
            // Kept, it would replace an older result that says something.
            Ok(bench) if bench.figures.is_empty() => skipped.push(SkippedPair {
                reason: NO_FIGURES.to_owned(),
                cpu_node: bench.cpu_node,
                memory_node: bench.memory_node,
            }),
            Ok(mut bench) => {
                bench.measured_wall_ns = wall_ns();
                benches.push(bench);
            }
            Err(error) => skipped.push(SkippedPair::new(&plan.target, &error)),
        }
    }
    if benches.is_empty() {
        let reasons: Vec<&str> = skipped.iter().map(|pair| pair.reason.as_str()).collect();
        bail!("nothing was measured: {}", reasons.join("; "));
    }
    Ok(Document::new(benches, skipped))
}

/// Plans for all pairs; where the time is too short for that, for the nearest processors of each memory node alone.
fn plan_pairs(targets: Vec<Target>, request: &Request) -> (Vec<Plan>, Vec<SkippedPair>) {
    let is_short =
        |result: &Result<Plan, MembenchError>| matches!(result, Err(MembenchError::TooLittleTime { .. }));
    let plan_all = |targets: &[Target]| -> Vec<Result<Plan, MembenchError>> {
        targets
            .iter()
            .map(|target| plan(target, request, targets.len()))
            .collect()
    };
    let all = plan_all(&targets);
    let (kept, left_out) = if all.iter().any(is_short) {
        targets::nearest(targets)
    } else {
        (targets, Vec::new())
    };
    let reason = MembenchError::TooLittleTime {
        pairs: kept.len() + left_out.len(),
        needed_seconds: all
            .iter()
            .filter_map(|result| match result {
                Err(MembenchError::TooLittleTime { needed_seconds, .. }) => Some(*needed_seconds),
                _ => None,
            })
            .max()
            .unwrap_or_default(),
    };
    let mut skipped: Vec<SkippedPair> = left_out
        .iter()
        .map(|target| SkippedPair::new(target, &reason))
        .collect();
    let mut plans = Vec::new();
    for (target, result) in kept.iter().zip(plan_all(&kept)) {
        match result {
            Ok(plan) => plans.push(plan),
            Err(error) => skipped.push(SkippedPair::new(target, &error)),
        }
    }
    (plans, skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(cpu_node: u32, memory_node: u32, available_bytes: u64) -> Target {
        Target {
            cpu_node,
            cpus: vec![0, 1],
            memory_node,
            available_bytes,
            cache_bytes: 32 << 20,
            bind: true,
        }
    }

    fn two_sockets_and_a_card() -> Vec<Target> {
        let pairs = [(0, 0), (1, 1), (0, 2), (0, 1), (1, 0), (1, 2)];
        pairs.map(|(cpu, memory)| target(cpu, memory, 64 << 30)).into()
    }

    fn request(seconds: f64) -> Request {
        Request {
            seconds,
            memory_bytes: None,
        }
    }

    #[test]
    fn with_little_time_each_memory_is_measured_from_its_nearest_processors() {
        let (plans, skipped) = plan_pairs(two_sockets_and_a_card(), &request(10.0));
        let pairs: Vec<_> = plans
            .iter()
            .map(|plan| (plan.target.cpu_node, plan.target.memory_node))
            .collect();
        assert_eq!(pairs, [(0, 0), (1, 1), (0, 2)]);
        assert_eq!(skipped.len(), 3);
        assert!(skipped[0].reason.contains("--seconds"), "{}", skipped[0].reason);
        let total: f64 = plans.iter().map(Plan::seconds).sum();
        assert!(total <= 10.0, "{total}");
        let (all, none) = plan_pairs(two_sockets_and_a_card(), &request(60.0));
        assert_eq!((all.len(), none.len()), (6, 0));
    }

    #[test]
    fn a_node_without_free_memory_is_skipped_and_the_others_are_measured() {
        let targets = vec![target(0, 0, 1 << 20), target(0, 1, 64 << 30)];
        let (plans, skipped) = plan_pairs(targets, &request(20.0));
        assert_eq!((plans.len(), skipped.len()), (1, 1));
        assert_eq!(skipped[0].memory_node, 0);
        assert!(skipped[0].reason.contains("free"), "{}", skipped[0].reason);
    }
}
