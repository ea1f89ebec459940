//! The commands of `tierscope-agent`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tierscope_heat::damon_guard::WATCHDOG_COMMAND;

use crate::doctor::leftovers;
use crate::metrics::exporter;
use crate::{assess, bench_command, doctor, explain, fieldkit, once, replay, run};

/// Measures memory tiers of this host, and sends what it finds to a Tierscope service.
#[derive(Debug, Parser)]
#[command(name = "tierscope-agent", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Exporter(exporter::ExporterArgs),
    Once(once::OnceArgs),
    Doctor(doctor::DoctorArgs),
    Assess(assess::AssessArgs),
    Fieldkit(fieldkit::FieldkitArgs),
    Explain(explain::ExplainArgs),
    Bench(bench_command::BenchArgs),
    Replay(replay::ReplayArgs),
    #[command(name = WATCHDOG_COMMAND, hide = true)]
    DamonWatchdog(leftovers::WatchdogArgs),
}

/// Runs the command line. Exit status 0 done, 1 failed, 2 bad usage; `assess` has others beside.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(args),
        Command::Exporter(args) => exporter::run(&args, &mut std::io::stdout().lock()),
        Command::Once(args) => once::run(&args, &mut std::io::stdout().lock()),
        Command::Doctor(args) => doctor::run(&args, &mut std::io::stdout().lock()),
        Command::Assess(args) => match assess::run(&args, &mut std::io::stdout().lock()) {
            Ok(status) => return ExitCode::from(status),
            Err(error) => Err(error),
        },
        Command::Fieldkit(args) => fieldkit::run(&args, &mut std::io::stdout().lock()),
        Command::Bench(args) => bench_command::run(&args, &mut std::io::stdout().lock()),
        Command::Explain(args) => explain::run(&args, &mut std::io::stdout().lock()),
        Command::Replay(args) => replay::run(&args),
        Command::DamonWatchdog(args) => leftovers::watch(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

#[allow(
    clippy::print_stderr,
    reason = "the one place where a failed command says why"
)]
fn report(error: &anyhow::Error) {
    eprintln!("tierscope-agent: {error:#}");
}
