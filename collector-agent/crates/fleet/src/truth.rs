//! Writes the truth of a simulated fleet that is sent nowhere.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use tierscope_twin::fleet;
use tierscope_twin::laws::Laws;

/// Writes what the hosts of the twin were and did; sends nothing.
#[derive(Debug, Args)]
pub(crate) struct TruthArgs {
    /// Laws of the fleet (TOML); those that come with the program if left out.
    #[arg(long)]
    laws: Option<PathBuf>,
    /// Same laws and seed, same fleet.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Length of the run.
    #[arg(long, default_value_t = 24.0)]
    hours: f64,
    /// When the run begins, seconds since the Unix epoch; when the laws say if left out.
    #[arg(long)]
    start_unix_s: Option<u64>,
    /// Only hosts whose name begins with this.
    #[arg(long)]
    hosts: Option<String>,
    /// A workload of a paper on three hosts more, such as `ycsb-a`. May be repeated.
    #[arg(long)]
    workload: Vec<String>,
    /// Where to write the truth (JSON).
    #[arg(long)]
    out: PathBuf,
    /// Run each host again at these shares of DRAM.
    #[arg(long, value_delimiter = ',')]
    dram_shares: Vec<f64>,
    /// Settings there of hosts that have no slow memory yet, by name.
    #[arg(long, default_value = "tiered_6_12")]
    settings: String,
    /// Run hosts of experiments again without them.
    #[arg(long)]
    effects: bool,
}

/// Runs the fleet, and writes its truth.
pub(crate) fn run(arguments: &TruthArgs) -> anyhow::Result<()> {
    let mut laws = Laws::load(arguments.laws.as_deref())?;
    laws.add_workloads(&arguments.workload)?;
    if let Some(prefix) = &arguments.hosts {
        laws.hosts.retain(|host| host.name.starts_with(prefix.as_str()));
    }
    if let Some(start_unix_s) = arguments.start_unix_s {
        laws.clock.start_unix_s = start_unix_s;
    }
    let intervals = (arguments.hours * 3600.0 / laws.clock.interval_s) as u32;
    let mut truth = fleet::tell(&laws, arguments.seed, intervals, say);
    if !arguments.dram_shares.is_empty() {
        for index in 0..laws.hosts.len() {
            let with = ("cxl", arguments.settings.as_str());
            let points = fleet::loss_curve(
                &laws,
                index,
                arguments.seed,
                intervals,
                &arguments.dram_shares,
                with,
            );
            truth.loss_curves.extend(points);
        }
    }
    if arguments.effects {
        truth.effects = fleet::effects(&laws, arguments.seed, intervals);
    }
    let file =
        File::create(&arguments.out).with_context(|| format!("cannot write {}", arguments.out.display()))?;
    let mut out = BufWriter::new(file);
    serde_json::to_writer(&mut out, &truth)?;
    out.flush()?;
    Ok(())
}

fn say(host: &str) {
    // Nobody waits for these lines; a closed terminal is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{host} done");
}
