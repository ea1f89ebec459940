//! The agent's settings: one TOML file, and options that override it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use tierscope_sample::service::OwnRule;

/// Most labels of a host, and most characters of one.
const MAX_LABELS: usize = 64;
const MAX_LABEL_CHARS: usize = 200;

/// All settings, with their defaults.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Base address of the service. Without it nothing is sent.
    pub(crate) server: Option<String>,
    /// Certificates of a private authority.
    pub(crate) ca_file: Option<PathBuf>,
    /// Allows plain http to other hosts.
    pub(crate) allow_http: bool,
    /// Where spool, credential and status live.
    pub(crate) state_dir: PathBuf,
    /// `credential.json` in the state directory unless given.
    pub(crate) credential_file: Option<PathBuf>,
    /// Read once, at enrolment.
    pub(crate) join_token_file: Option<PathBuf>,
    /// The host's own name unless given; for display.
    pub(crate) hostname: Option<String>,
    /// Seconds between collections; without it the service decides.
    pub(crate) interval_seconds: Option<u32>,
    /// Uploads are spread over this many seconds by a hash of the host.
    pub(crate) upload_spread_seconds: u32,
    /// Bound of the queue on disk.
    pub(crate) spool_max_mib: u64,
    /// Added to the scheduling priority: 0 normal, 19 lowest.
    pub(crate) nice: i32,
    /// What fleets are filtered by: sku, rack, region, team, ratio, ...
    pub(crate) labels: BTreeMap<String, String>,
    /// The owner's rules of service identity; the first that fits wins.
    pub(crate) services: Vec<OwnRule>,
    /// Whose heat is measured.
    pub(crate) heat: Heat,
    /// Bounds of what is collected.
    pub(crate) limits: Limits,
}

/// Whose heat is measured. Nothing is measured unless it is listed here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Heat {
    /// Which processes are measured.
    pub(crate) processes: HeatProcesses,
    /// A file with a process per line: `pid [start_time [service]]`, read again in each interval.
    pub(crate) pids_file: Option<PathBuf>,
    /// Patterns for control group paths.
    pub(crate) cgroups: Vec<String>,
    /// Patterns for paths of executables.
    pub(crate) executables: Vec<String>,
}

/// Which processes are measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HeatProcesses {
    /// Those of the pid file, the control groups and the executables listed.
    #[default]
    Listed,
    /// None, whatever else is listed.
    None,
}

/// Bounds of what is collected; what is beyond them is counted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    /// Counter names of one host.
    pub(crate) counters: usize,
    /// Services of one host; those beyond become `other`.
    pub(crate) services: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            counters: 4096,
            services: 200,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: None,
            ca_file: None,
            allow_http: false,
            state_dir: default_state_dir(),
            credential_file: None,
            join_token_file: None,
            hostname: None,
            interval_seconds: None,
            upload_spread_seconds: 30,
            spool_max_mib: 64,
            nice: 10,
            labels: BTreeMap::new(),
            services: Vec::new(),
            heat: Heat::default(),
            limits: Limits::default(),
        }
    }
}

/// `/var/lib` for root, the user's own place for others.
fn default_state_dir() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/lib/tierscope-agent");
    }
    let state_home = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    state_home
        .or_else(home)
        .unwrap_or_else(std::env::temp_dir)
        .join("tierscope-agent")
}

impl Config {
    /// Reads and checks a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| {
            format!(
                "{} cannot be read; name another file with --config",
                path.display()
            )
        })?;
        Self::parse(&text).with_context(|| format!("{} is not right", path.display()))
    }

    /// Reads and checks the text of a file. Errors name the line.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let config: Self = toml::from_str(text)?;
        if let Err((key, fix)) = config.check() {
            let line = text
                .lines()
                .position(|line| line.trim_start().starts_with(key))
                .map_or(0, |index| index + 1);
            bail!("line {line}, `{key}`: {fix}");
        }
        Ok(config)
    }

    /// Checks what the types do not say; names the key and the fix.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.interval_seconds.is_some_and(|seconds| !is_interval(seconds)) {
            return Err((
                "interval_seconds",
                "use a divisor of 60, or a multiple of it up to 3600",
            ));
        }
        if self.upload_spread_seconds > 600 {
            return Err(("upload_spread_seconds", "use at most 600"));
        }
        if !(1..=65_536).contains(&self.spool_max_mib) {
            return Err(("spool_max_mib", "use 1 to 65536"));
        }
        if !(0..=19).contains(&self.nice) {
            return Err(("nice", "use 0 to 19"));
        }
        if self.labels.len() > MAX_LABELS {
            return Err(("[labels]", "use at most 64 labels"));
        }
        let is_bad =
            |text: &str| text.chars().count() > MAX_LABEL_CHARS || text.chars().any(char::is_control);
        if self
            .labels
            .iter()
            .any(|(key, value)| key.is_empty() || is_bad(key) || is_bad(value))
        {
            return Err((
                "[labels]",
                "keys and values have at most 200 printable characters",
            ));
        }
        if !(1..=65_536).contains(&self.limits.counters) {
            return Err(("counters", "use 1 to 65536"));
        }
        if !(1..=10_000).contains(&self.limits.services) {
            return Err(("services", "use 1 to 10000"));
        }
        Ok(())
    }

    /// Where the credential is kept.
    pub(crate) fn credential_path(&self) -> PathBuf {
        self.credential_file
            .clone()
            .unwrap_or_else(|| self.state_dir.join("credential.json"))
    }
}

/// Whether intervals of this length end on whole minutes.
pub(crate) fn is_interval(seconds: u32) -> bool {
    match seconds {
        1..=59 => 60 % seconds == 0,
        60..=3600 => seconds.is_multiple_of(60),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_read() {
        let config = Config::parse(
            r#"
            server = "https://tierscope.example"
            interval_seconds = 30
            [labels]
            rack = "r1"
            [[services]]
            name = "cache"
            exe = "*/redis-server"
            [heat]
            processes = "listed"
            executables = ["*/redis-server"]
            [limits]
            counters = 100
            "#,
        )
        .expect("right");
        assert_eq!(config.interval_seconds, Some(30));
        assert_eq!(config.labels["rack"], "r1");
        assert_eq!(config.services[0].name, "cache");
        assert_eq!((config.limits.counters, config.limits.services), (100, 200));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let cases = [
            (
                "server = \"x\"\nintervall_seconds = 60\n",
                "line 2",
                "intervall_seconds",
            ),
            ("\n\ninterval_seconds = 7\n", "line 3", "divisor of 60"),
            ("nice = -5\n", "line 1", "0 to 19"),
            ("[heat]\nprocesses = \"all\"\n", "line 2", "listed"),
            ("[labels]\n\"\" = \"x\"\n", "line 1", "printable"),
        ];
        for (text, line, fix) in cases {
            let error = format!("{:#}", Config::parse(text).expect_err("wrong"));
            assert!(error.contains(line) && error.contains(fix), "{error}");
        }
    }

    #[test]
    fn intervals_end_on_whole_minutes() {
        let fit = [1, 2, 30, 60, 120, 3600];
        assert!(fit.into_iter().all(is_interval));
        let unfit = [0, 7, 45, 61, 90, 7200];
        assert!(!unfit.into_iter().any(is_interval));
    }
}
