//! `tierscope-fleet`: the simulated fleet, whose truth is known.
//!
//! It serves the demonstration (a day loaded at once, then live), the load test (live alone, with a report) and what
//! judges answers.
//!
//! - [`host`] is one host: it gives what a real one would have sent in a stretch of minutes, which come from [`twin`].
//! - [`enrol`] and [`turns`] move it over the wire; [`report`] counts; [`saved`] lets it go on later.
//! - [`truth`] sends nothing, and tells what would have been.

mod enrol;
mod host;
mod progress;
mod report;
mod saved;
mod seeds;
mod send;
mod sender;
mod stage;
mod truth;
mod turns;
mod twin;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A simulated fleet whose truth is known.
#[derive(Debug, Parser)]
#[command(name = "tierscope-fleet", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Send(send::SendArgs),
    Truth(truth::TruthArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Send(args) => send::run(&args),
        Command::Truth(args) => truth::run(&args),
    };
    if let Err(error) = done {
        let _ = writeln!(std::io::stderr(), "tierscope-fleet: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
