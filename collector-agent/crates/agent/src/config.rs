//! The agent's settings: one TOML file, and options that override it.

mod check;
mod lines;
mod settings;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

pub(crate) use check::Mistake;
pub(crate) use settings::{Budget, Config, Guard, is_interval};

impl Config {
    /// Reads and checks the file that is named; the defaults where none is.
    pub(crate) fn read_named(path: Option<&Path>) -> Result<Self> {
        path.map_or_else(|| Ok(Self::default()), Self::read)
    }

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
            ("[heat]\nprograms = [\"\"]\n", "line 2", "not empty"),
            ("[heat]\nprograms = [\"pid:x\"]\n", "line 2", "pid:1234"),
            ("[heat]\nopt_in_variable = \"A=1\"\n", "line 2", "TIERSCOPE_HEAT"),
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
            ("[kubernetes]\npod_labels = [\"team\"]\n", "line 2", "api = true"),
            ("upload_spread_seconds = 601\n", "line 1", "at most 600"),
            ("send_minutes = 11\n", "line 1", "1 to 10"),
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
        for name in config.heat.chain() {
            let facts = tierscope_host::collectors::facts(&name).expect("known");
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
        let mut config = Config::parse(shown).expect("right");
        let defaults = Config::default();
        let shown = config.heat.chain();
        config.heat.backends = None;
        assert_eq!(
            shown,
            config.heat.chain(),
            "the defaults where programs are named"
        );
        assert_eq!(
            (&config.budget, &config.guard),
            (&defaults.budget, &defaults.guard)
        );
        Config::parse(&read("deploy/packages/agent.toml")).expect("right");
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
