//! The agent's settings: one TOML file, and options that override it.

mod check;
mod lines;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use tierscope_sample::service::OwnRule;

use crate::kubernetes_labels::KubernetesConfig;
use crate::service_metrics::ServiceMetricsConfig;

pub(crate) use check::Mistake;

use crate::heat::backend::{DEFAULT_RSS_LIMIT_BYTES, SamplingSettings};

/// Back ends of heat that are tried unless the owner names others, best first. None of them is intrusive.
pub(crate) const DEFAULT_BACKENDS: [&str; 5] = ["pebs", "ibs", "spe", "damon_pages", "referenced"];

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
    /// The kill switch of this host: nothing is collected and nothing is sent.
    pub(crate) paused: bool,
    /// Where Prometheus may ask for the agent's own figures; on loopback alone. Without it nothing listens.
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// What fleets are filtered by: sku, rack, region, team, ratio, ...
    pub(crate) labels: BTreeMap<String, String>,
    /// Which labels of a Kubernetes cluster travel beside them.
    pub(crate) kubernetes: KubernetesConfig,
    /// The owner's rules of service identity; the first that fits wins.
    pub(crate) services: Vec<OwnRule>,
    /// Whether events of the hardware are counted: bandwidth of memory, and cycles that wait for it.
    pub(crate) hardware_counters: bool,
    /// What services say of themselves: throughput, load, latency.
    pub(crate) service_metrics: Vec<ServiceMetricsConfig>,
    /// Whose heat is measured.
    pub(crate) heat: Heat,
    /// Bounds of what is collected.
    pub(crate) limits: Limits,
    /// What the agent may use.
    pub(crate) budget: Budget,
    /// When the host is too busy to be measured.
    pub(crate) guard: Guard,
    /// How names leave the host.
    pub(crate) names: Names,
}

/// Whose heat is measured. Nothing is measured unless it is listed here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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
    /// Back ends in the order in which they are tried; the first that works on this host measures.
    pub(crate) backends: Vec<String>,
    /// Patterns for paths of executables whose writes are tracked: they pay for it at their first write to each page.
    pub(crate) write_tracking: Vec<String>,
    /// Processes with more resident memory are left alone.
    pub(crate) max_process_mib: u64,
    /// Whether the service may narrow which of the listed services are measured here.
    pub(crate) follow_plan: bool,
    /// How hardware samplers sample.
    pub(crate) sampling: SamplingSettings,
}

impl Default for Heat {
    fn default() -> Self {
        Self {
            processes: HeatProcesses::default(),
            pids_file: None,
            cgroups: Vec::new(),
            executables: Vec::new(),
            backends: DEFAULT_BACKENDS.map(str::to_owned).to_vec(),
            write_tracking: Vec::new(),
            max_process_mib: DEFAULT_RSS_LIMIT_BYTES >> 20,
            follow_plan: true,
            sampling: SamplingSettings::default(),
        }
    }
}

/// What the agent may use. Beyond it heat is measured less, then not at all, then counters are read more rarely.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Budget {
    /// Processor time of the agent's threads, as a share of one core.
    pub(crate) cpu_max_ratio: f64,
    /// Processor time that the kernel spends on the agent's behalf (kdamond), as a share of one core.
    pub(crate) kernel_cpu_max_ratio: f64,
    /// Resident memory of the agent.
    pub(crate) rss_max_mib: u64,
    /// Compressed bytes that are sent in an hour.
    pub(crate) upload_max_mib_per_hour: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            cpu_max_ratio: 0.03,
            kernel_cpu_max_ratio: 0.1,
            rss_max_mib: 128,
            upload_max_mib_per_hour: 16,
        }
    }
}

/// When the host is too busy to be measured: heat pauses above these shares and goes on well below them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Guard {
    /// Busy share of all processors; 1 switches this off.
    pub(crate) cpu_max_ratio: f64,
    /// Share of memory that is not available; 1 switches this off.
    pub(crate) memory_max_ratio: f64,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            cpu_max_ratio: 0.8,
            memory_max_ratio: 0.8,
        }
    }
}

/// How names of executables and mapped files leave the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Names {
    /// A secret of the fleet, so that all its hosts hash a path alike; without it the key is this host's own.
    pub(crate) key_file: Option<PathBuf>,
    /// Patterns for paths that travel by base name although they lie elsewhere than software packages.
    pub(crate) allow: Vec<String>,
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
            paused: false,
            metrics_listen: None,
            labels: BTreeMap::new(),
            kubernetes: KubernetesConfig::default(),
            services: Vec::new(),
            hardware_counters: true,
            service_metrics: Vec::new(),
            heat: Heat::default(),
            limits: Limits::default(),
            budget: Budget::default(),
            guard: Guard::default(),
            names: Names::default(),
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
        if let Err(mistake) = config.check() {
            match lines::of(text, mistake.key) {
                Some(line) => bail!("line {line}, {mistake}"),
                None => bail!("{mistake}"),
            }
        }
        Ok(config)
    }

    /// Checks what the types do not say; names the key and the fix.
    pub(crate) fn check(&self) -> Result<(), Mistake> {
        check::check(self)
    }

    /// The kill switch that works without a change of settings: while this file exists nothing is collected or sent.
    pub(crate) fn pause_file(&self) -> PathBuf {
        self.state_dir.join("pause")
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
            (
                "[heat]\nbackends = [\"pebs\", \"magic\"]\n",
                "line 2",
                "damon_pages",
            ),
            ("[heat]\nbackends = [\"pebs\", \"pebs\"]\n", "line 2", "once"),
            ("[heat]\nmax_process_mib = 0\n", "line 2", "1 to"),
            ("[heat.sampling]\nperiod_events = 3\n", "line 2", "20 to"),
            (
                "[heat.sampling]\ncore_groups = 2\nactive_core_groups = 3\n",
                "line 3",
                "as many as core_groups",
            ),
            ("[labels]\n\"\" = \"x\"\n", "line 1", "printable"),
            (
                "[kubernetes]\nlabels = [\"zone\"]\n",
                "line 2",
                "/etc/podinfo/labels",
            ),
            ("upload_spread_seconds = 601\n", "line 1", "at most 600"),
            ("spool_max_mib = 0\n", "line 1", "1 to 65536"),
            ("[limits]\ncounters = 0\n", "line 2", "1 to 65536"),
            (
                "[[services]]\nname = \"a\"\nexe = \"a\"\n[limits]\nservices = 0\n",
                "line 5",
                "1 to 10000",
            ),
            ("[budget]\ncpu_max_ratio = 0\n", "line 2", "0.001 to 1"),
            ("[budget]\nkernel_cpu_max_ratio = 2.0\n", "line 2", "0.001 to 1"),
            ("[budget]\nrss_max_mib = 3\n", "line 2", "16 to"),
            ("budget.upload_max_mib_per_hour = 0\n", "line 1", "1 to"),
            ("[guard]\ncpu_max_ratio = 80\n", "line 2", "0.1 to 1"),
            ("[guard]\n\nmemory_max_ratio = 0.0\n", "line 3", "0.1 to 1"),
            ("metrics_listen = \"0.0.0.0:9465\"\n", "line 1", "127.0.0.1"),
            ("metrics_listen = \"here\"\n", "line 1", "metrics_listen"),
            (
                "nice = 1\n[[services]]\nname = \"a\"\n",
                "line 2",
                "a pattern for",
            ),
            ("[names]\nallow = [\"\"]\n", "line 2", "pattern"),
            ("server = \"tierscope.example\"\n", "line 1", "https://"),
        ];
        for (text, line, fix) in cases {
            let error = format!("{:#}", Config::parse(text).expect_err("wrong"));
            assert!(error.contains(line) && error.contains(fix), "{text}: {error}");
        }
    }

    #[test]
    fn the_defaults_are_right_and_nothing_intrusive_is_among_them() {
        let config = Config::default();
        assert_eq!(config.check(), Ok(()));
        assert!(config.heat.write_tracking.is_empty() && config.metrics_listen.is_none());
        for name in &config.heat.backends {
            let facts = crate::collectors::facts(name).expect("known");
            assert!(!facts.intrusive, "{name}");
        }
    }

    /// Settings that are shown or shipped are ones that the agent takes.
    #[test]
    fn the_settings_of_documents_and_packages_are_right() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let read = |path: &str| fs::read_to_string(root.join(path)).expect("readable");
        let document = read("docs/operating/agent.md");
        let shown = document
            .split("```toml\n")
            .nth(1)
            .and_then(|rest| rest.split("```").next())
            .expect("a list of settings");
        let config = Config::parse(shown).expect("right");
        let defaults = Config::default();
        assert_eq!(config.heat.backends, defaults.heat.backends);
        assert_eq!(
            (&config.budget, &config.guard),
            (&defaults.budget, &defaults.guard)
        );
        Config::parse(&read("deploy/deb/agent.toml")).expect("right");
        let manifest = read("deploy/kubernetes/agent-daemonset.yaml");
        let map = manifest
            .split("agent.toml: |\n")
            .nth(1)
            .and_then(|rest| rest.split("---").next())
            .expect("settings");
        Config::parse(map).expect("right");
    }

    #[test]
    fn intervals_end_on_whole_minutes() {
        let fit = [1, 2, 30, 60, 120, 3600];
        assert!(fit.into_iter().all(is_interval));
        let unfit = [0, 7, 45, 61, 90, 7200];
        assert!(!unfit.into_iter().any(is_interval));
    }
}
