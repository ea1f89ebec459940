//! What an agent that was killed may leave in the kernel, and who takes it away: a small process that outlives it, the
//! next start, and `doctor --clean`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use tierscope_damon::leftover::{self, Leftover};
use tierscope_damon::watchdog;
use tierscope_heat::damon_guard::directory;
use tierscope_rootfs::Root;
use tierscope_sample::inventory::Finding;

/// Takes away what the agent that started it leaves of DAMON's configuration. Ends with that agent.
#[derive(Debug, Clone, Args)]
pub(crate) struct WatchdogArgs {
    /// Where the agent keeps its marker.
    #[arg(long)]
    directory: PathBuf,
}

/// The hidden command: waits for the end of the agent, then cleans.
pub(crate) fn watch(args: &WatchdogArgs) -> Result<()> {
    watchdog::wait_and_clean(&Root::live(), &args.directory)?;
    Ok(())
}

/// Takes away what an earlier agent left, as its marker shows. A configuration without a marker may be another agent's,
/// so it is left to `doctor --clean` and to whoever wants DAMON next.
pub(crate) fn clean_at_start() {
    if leftover::find(&Root::live(), &directory()).is_some_and(|leftover| leftover.marker.is_some()) {
        // Without the right to clean up there is none to use DAMON either; `doctor` still finds it.
        let _ = clean();
    }
}

/// Takes away whatever a killed agent left. Gives what it was, for people.
fn clean() -> Result<Option<String>> {
    let found = leftover::clean(&Root::live(), &directory())
        .context("DAMON's configuration cannot be taken away; run this as root")?;
    Ok(found.map(|leftover| describe(&leftover)))
}

/// What `doctor` finds.
pub(crate) fn finding(root: &Root) -> Option<Finding> {
    if !root.is_live() {
        return None;
    }
    leftover::find(root, &directory()).map(|leftover| finding_of(&leftover))
}

fn finding_of(leftover: &Leftover) -> Finding {
    let severity = if leftover.running { "warning" } else { "info" };
    Finding {
        id: "damon-left-over".to_owned(),
        severity: severity.to_owned(),
        cause: describe(leftover),
        fix: "Run `tierscope-agent doctor --clean` as root, or start the agent.".to_owned(),
        confidence: "certain".to_owned(),
    }
}

fn describe(leftover: &Leftover) -> String {
    let marker = leftover.marker.as_deref().map(Path::display);
    match (leftover.running, leftover.configured, marker) {
        (true, _, _) => {
            "DAMON runs for an agent that was killed: a kernel thread works for nobody".to_owned()
        }
        (false, true, _) => "DAMON is configured for an agent that was killed".to_owned(),
        (false, false, Some(marker)) => format!("an agent that was killed left its marker {marker}"),
        (false, false, None) => "an agent that was killed left nothing in the kernel".to_owned(),
    }
}

/// `doctor --clean`: takes away what is found, and says what it was.
pub(crate) fn clean_and_say(out: &mut impl Write) -> Result<()> {
    match clean()? {
        Some(what) => writeln!(out, "Taken away: {what}.")?,
        None => writeln!(out, "Nothing to take away: no killed agent left anything.")?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leftover_is_named_with_what_to_do() {
        let leftover = |running, configured, marker: Option<&str>| Leftover {
            marker: marker.map(PathBuf::from),
            configured,
            running,
        };
        let cases = [
            (leftover(true, true, Some("/run/x")), "warning", "kernel thread"),
            (leftover(false, true, None), "info", "configured"),
            (leftover(false, false, Some("/run/x")), "info", "/run/x"),
        ];
        for (leftover, severity, cause) in cases {
            let finding = finding_of(&leftover);
            assert_eq!(finding.severity, severity);
            assert!(finding.cause.contains(cause), "{}", finding.cause);
            assert!(finding.fix.contains("doctor --clean"));
        }
    }
}
