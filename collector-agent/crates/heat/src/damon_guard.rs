//! Who takes away what an agent that is killed leaves of DAMON: a small process of the same program that outlives it.

use std::path::PathBuf;

use tierscope_damon::session::Guard;
use tierscope_damon::watchdog::WatchdogCommand;

/// Name of the hidden command that outlives a killed agent for a moment.
pub const WATCHDOG_COMMAND: &str = "damon-watchdog";

/// Where agents keep what must not outlive a boot.
pub fn directory() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/run/tierscope-agent");
    }
    std::env::var_os("XDG_RUNTIME_DIR")
        .map_or_else(std::env::temp_dir, PathBuf::from)
        .join("tierscope-agent")
}

/// How DAMON is guarded while this process uses it.
pub(crate) fn guard() -> Guard {
    let directory = directory();
    let watchdog = std::env::current_exe().ok().map(|program| WatchdogCommand {
        program,
        arguments: vec![
            WATCHDOG_COMMAND.into(),
            "--directory".into(),
            directory.clone().into_os_string(),
        ],
    });
    Guard { directory, watchdog }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_this_program() {
        let guard = guard();
        let command = guard.watchdog.expect("this program has a path");
        assert!(command.program.is_absolute());
        assert_eq!(command.arguments[0], WATCHDOG_COMMAND);
        assert_eq!(command.arguments[2], guard.directory);
    }
}
