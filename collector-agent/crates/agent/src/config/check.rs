//! What the types of the settings do not say: bounds, and what must be there.

use std::fmt;

use tierscope_heat::backend::SamplingSettings;
use tierscope_heat::programs::is_program;
use tierscope_host::collectors;
use tierscope_sample::service::OwnRule;

use super::settings::{Config, MOST_SEND_MINUTES, is_interval};
use crate::kubernetes;
use crate::service_metrics;

/// Most labels of a host.
const MAX_LABELS: usize = 64;
/// Most patterns of one list.
const MAX_PATTERNS: usize = 1000;

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Its place, such as `heat.backends`.
    pub(crate) key: &'static str,
    /// What to write instead.
    pub(crate) fix: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.fix)
    }
}

type Checked = Result<(), Mistake>;

/// Fails with `fix` unless `fits`.
fn require(fits: bool, key: &'static str, fix: impl Into<String>) -> Checked {
    if fits {
        return Ok(());
    }
    Err(Mistake { key, fix: fix.into() })
}

/// The first mistake of the settings.
pub(super) fn check(config: &Config) -> Checked {
    check_sending(config)?;
    check_labels(config)?;
    check_heat(config)?;
    check_bounds(config)?;
    check_names(config)
}

fn check_sending(config: &Config) -> Checked {
    let is_url = |server: &String| server.starts_with("https://") || server.starts_with("http://");
    require(
        config.server.as_ref().is_none_or(is_url),
        "server",
        "write the whole address, such as https://tierscope.example",
    )?;
    require(
        config.interval_seconds.is_none_or(is_interval),
        "interval_seconds",
        "use a divisor of 60, or a multiple of it up to 3600",
    )?;
    require(
        (1..=MOST_SEND_MINUTES).contains(&config.send_minutes),
        "send_minutes",
        "use 1 to 10",
    )?;
    require(
        config.upload_spread_seconds <= 600,
        "upload_spread_seconds",
        "use at most 600",
    )?;
    require(
        (1..=65_536).contains(&config.spool_max_mib),
        "spool_max_mib",
        "use 1 to 65536",
    )?;
    require((0..=19).contains(&config.nice), "nice", "use 0 to 19")?;
    let is_rule = |rule: &OwnRule| {
        let patterns = [&rule.exe, &rule.cgroup, &rule.cmdline, &rule.comm];
        !rule.name.is_empty() && patterns.iter().any(|pattern| pattern.is_some())
    };
    require(
        config.services.iter().all(is_rule),
        "services",
        "each rule has a name, and a pattern for exe, cgroup, cmdline or comm",
    )?;
    service_metrics::check(&config.service_metrics).or_else(|fix| require(false, "service_metrics", fix))?;
    require(
        config
            .metrics_listen
            .is_none_or(|address| address.ip().is_loopback()),
        "metrics_listen",
        "the figures are for this host alone: use 127.0.0.1 or [::1] with a port, such as 127.0.0.1:9465",
    )
}

fn check_labels(config: &Config) -> Checked {
    require(
        config.labels.len() <= MAX_LABELS,
        "labels",
        "use at most 64 labels",
    )?;
    require(
        config
            .labels
            .iter()
            .all(|(key, value)| !key.is_empty() && kubernetes::fits(key) && kubernetes::fits(value)),
        "labels",
        "keys and values have at most 200 printable characters",
    )?;
    let kubernetes = &config.kubernetes;
    for (key, listed) in [
        ("kubernetes.labels", &kubernetes.labels),
        ("kubernetes.pod_labels", &kubernetes.pod_labels),
    ] {
        require(listed.len() <= MAX_LABELS, key, "list at most 64 labels")?;
    }
    require(
        kubernetes.labels.is_empty() || kubernetes.labels_file.is_some() || kubernetes.api,
        "kubernetes.labels",
        "say where they are, such as labels_file = \"/etc/podinfo/labels\", or ask the cluster with api = true",
    )?;
    require(
        kubernetes.pod_labels.is_empty() || kubernetes.api,
        "kubernetes.pod_labels",
        "the cluster alone knows labels of pods: ask it with api = true",
    )
}

fn check_heat(config: &Config) -> Checked {
    let heat = &config.heat;
    let known = collectors::backend_names();
    let backends = heat.backends.as_deref().unwrap_or_default();
    let is_once = |(index, name): (usize, &String)| !backends[..index].contains(name);
    require(
        backends.iter().all(|name| known.contains(&name.as_str())),
        "heat.backends",
        format!("use names out of {}", known.join(", ")),
    )?;
    require(
        backends.iter().enumerate().all(is_once),
        "heat.backends",
        "name each back end once",
    )?;
    check_sampling(&heat.sampling)?;
    check_patterns(&heat.executables, "heat.executables")?;
    check_patterns(&heat.programs, "heat.programs")?;
    require(
        heat.programs.iter().all(|program| is_program(program)),
        "heat.programs",
        "write a path, a name, text of a command line, or pid:1234",
    )?;
    require(
        heat.opt_in_variable.as_deref().is_none_or(is_variable),
        "heat.opt_in_variable",
        "write the name of an environment variable, such as TIERSCOPE_HEAT",
    )?;
    check_patterns(&heat.cgroups, "heat.cgroups")?;
    check_patterns(&heat.write_tracking, "heat.write_tracking")?;
    require(
        (1..=64 << 20).contains(&heat.max_process_mib),
        "heat.max_process_mib",
        "use 1 to 67108864",
    )
}

/// Whether a text can be the name of an environment variable, as POSIX has it.
fn is_variable(text: &str) -> bool {
    let mut letters = text.bytes();
    letters
        .next()
        .is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && letters.all(|letter| letter == b'_' || letter.is_ascii_alphanumeric())
}

fn check_sampling(sampling: &SamplingSettings) -> Checked {
    require(
        sampling
            .period_events
            .is_none_or(|period| (20..=100_000_000).contains(&period)),
        "heat.sampling.period_events",
        "use 20 to 100000000 events; every sample costs the host some hundred ns",
    )?;
    require(
        (1..=60).contains(&sampling.mini_interval_seconds),
        "heat.sampling.mini_interval_seconds",
        "use 1 to 60",
    )?;
    let groups = sampling.core_groups;
    require(
        groups.is_none_or(|groups| (1..=64).contains(&groups)),
        "heat.sampling.core_groups",
        "use 1 to 64",
    )?;
    require(
        sampling
            .active_core_groups
            .is_none_or(|active| active > 0 && groups.is_some_and(|groups| active <= groups)),
        "heat.sampling.active_core_groups",
        "use 1 or more, at most as many as core_groups, which must be set too",
    )
}

fn check_patterns(patterns: &[String], key: &'static str) -> Checked {
    require(
        patterns.len() <= MAX_PATTERNS && patterns.iter().all(|pattern| !pattern.is_empty()),
        key,
        "a pattern such as \"*/redis-server\" is not empty, and there are at most 1000",
    )
}

fn check_bounds(config: &Config) -> Checked {
    let (limits, budget, guard) = (&config.limits, &config.budget, &config.guard);
    require(
        (1..=65_536).contains(&limits.counters),
        "limits.counters",
        "use 1 to 65536",
    )?;
    require(
        (1..=10_000).contains(&limits.services),
        "limits.services",
        "use 1 to 10000",
    )?;
    require(
        limits.followed_pages <= 65_536,
        "limits.followed_pages",
        "use 0 to 65536",
    )?;
    let shares = [
        ("budget.cpu_max_ratio", budget.cpu_max_ratio),
        ("budget.kernel_cpu_max_ratio", budget.kernel_cpu_max_ratio),
    ];
    for (key, ratio) in shares {
        let fix = "use 0.001 to 1: a share of one core, such as 0.03";
        require((0.001..=1.0).contains(&ratio), key, fix)?;
    }
    require(
        (16..=65_536).contains(&budget.rss_max_mib),
        "budget.rss_max_mib",
        "use 16 to 65536",
    )?;
    require(
        (1..=1 << 20).contains(&budget.upload_max_mib_per_hour),
        "budget.upload_max_mib_per_hour",
        "use 1 to 1048576",
    )?;
    let thresholds = [
        ("guard.cpu_max_ratio", guard.cpu_max_ratio),
        ("guard.memory_max_ratio", guard.memory_max_ratio),
    ];
    for (key, ratio) in thresholds {
        let fix = "use 0.1 to 1, such as 0.8; 1 switches this part of the guard off";
        require((0.1..=1.0).contains(&ratio), key, fix)?;
    }
    Ok(())
}

fn check_names(config: &Config) -> Checked {
    check_patterns(&config.names.allow, "names.allow")
}
