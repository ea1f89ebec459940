//! The `assess` command: whether a host, or each host of an export, is ready for tiering, and what that would gain.
//! No service and no root: it judges what `once --json` prints (docs/howto/assess.md).

mod checks;
mod memory;
mod observed;
mod report;
mod sources;
mod stock;
mod verdict;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use sources::Found;
use verdict::State;

/// Every host was assessed.
const DONE: u8 = 0;
/// A reading lacks what an assessment takes.
const NOT_ENOUGH_DATA: u8 = 3;
/// `--require-ready`, and a host is not.
const NOT_READY: u8 = 4;

/// Says whether this host, or each host of an export, is ready for memory tiering, and what it would gain.
#[derive(Debug, Clone, Args)]
pub struct AssessArgs {
    /// What to assess: a root, a snapshot, a recording, files of what `once --json` printed, or a directory or an archive
    /// (`.tar`, `.tar.gz`, `.tar.bz2`, `.tar.xz`, `.tar.zst`, `.zip`) of such.
    #[arg(value_name = "PATH", conflicts_with = "root")]
    pub paths: Vec<PathBuf>,
    /// Directory that stands for `/`: the running host, or a snapshot of one.
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
    /// Prints one JSON object instead of text (docs/agent-json.md).
    #[arg(long)]
    pub json: bool,
    /// Ends with status 4 unless every host is ready.
    #[arg(long)]
    pub require_ready: bool,
}

/// Assesses and prints; returns the exit status.
///
/// # Errors
/// Where a path holds nothing that can be assessed.
pub fn run(args: &AssessArgs, out: &mut impl Write) -> anyhow::Result<u8> {
    let mut found = Found::default();
    if args.paths.is_empty() {
        found.add(&args.root)?;
    }
    for path in &args.paths {
        found.add(path)?;
    }
    let (hosts, passed_over) = found.into_hosts();
    let assessments: Vec<_> = hosts.iter().map(verdict::assess).collect();
    if args.json {
        writeln!(out, "{}", report::document(&assessments, &passed_over)?)?;
    } else {
        report::text(&assessments, &passed_over, out)?;
    }
    let is = |state: State| assessments.iter().any(|assessment| assessment.state == state);
    let all_ready = assessments
        .iter()
        .all(|assessment| assessment.state == State::Ready);
    Ok(if is(State::NotKnown) {
        NOT_ENOUGH_DATA
    } else if args.require_ready && !all_ready {
        NOT_READY
    } else {
        DONE
    })
}

#[cfg(test)]
mod tests;
