//! The page in Prometheus' text format (version 0.0.4).

use std::fmt::Write as _;

use tierscope_clock::process_cpu_ns;
use tierscope_sample::catalogue::{self, Kind};
use tierscope_sample::counters::Key;

use crate::status::Status;

/// Source of the counters of tier moves.
pub(super) const SOURCE: &str = "vmstat";
const STATES: [&str; 4] = ["enrolling", "running", "paused", "stopped"];
const BUDGET_STATES: [&str; 3] = ["within", "backed_off", "stopped"];

/// A page that grows metric by metric.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Announces a metric, whose samples follow.
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.metric(name, "gauge", help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.metric(name, "counter", help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    /// 1 for the state that holds, 0 for the others.
    fn states(&mut self, name: &str, help: &str, states: &[&str], holds: &str) {
        self.metric(name, "gauge", help);
        for state in states {
            let _ = writeln!(
                self.0,
                "{name}{{state=\"{state}\"}} {}",
                u8::from(*state == holds)
            );
        }
    }
}

/// The page of now.
pub(super) fn render(status: &Status, ledger: &[(Key, i64)]) -> String {
    let mut page = Page::default();
    page.metric("tierscope_agent_info", "gauge", "The agent.");
    let _ = writeln!(page.0, "tierscope_agent_info{{version=\"{}\"}} 1", crate::VERSION);
    page.states(
        "tierscope_agent_state",
        "1 for the state that holds.",
        &STATES,
        status.state,
    );
    write_collection(&mut page, status);
    write_spool(&mut page, status);
    write_bounds(&mut page, status);
    write_ledger(&mut page, ledger);
    page.0
}

fn write_collection(page: &mut Page, status: &Status) {
    let times = [
        (
            "tierscope_agent_last_collection_timestamp_seconds",
            "End of the last interval that was collected.",
            status.last_collected_wall_ns,
        ),
        (
            "tierscope_agent_last_delivery_timestamp_seconds",
            "When the service last took a batch.",
            status.last_delivered_wall_ns,
        ),
    ];
    for (name, help, wall_ns) in times {
        if let Some(wall_ns) = wall_ns {
            page.gauge(name, help, wall_ns as f64 / 1e9);
        }
    }
    let failing = |error: &Option<String>| f64::from(u8::from(error.is_some()));
    page.gauge(
        "tierscope_agent_collection_failing",
        "1 when the last collection failed in part.",
        failing(&status.collection_error),
    );
    page.gauge(
        "tierscope_agent_delivery_failing",
        "1 when the last attempt to deliver failed.",
        failing(&status.delivery_error),
    );
    page.gauge(
        "tierscope_agent_counters",
        "Counters of the last collection.",
        status.counters as f64,
    );
    page.gauge(
        "tierscope_agent_heat_rows",
        "Rows of heat of the last collection.",
        status.heat_rows as f64,
    );
    if let Some(name) = status.heat_rung {
        page.metric("tierscope_agent_heat_backend", "gauge", "What measures heat.");
        let _ = writeln!(page.0, "tierscope_agent_heat_backend{{name=\"{name}\"}} 1");
    }
}

fn write_spool(page: &mut Page, status: &Status) {
    let spool = &status.spool;
    page.gauge(
        "tierscope_agent_spool_batches",
        "Batches that wait for the service.",
        spool.batches as f64,
    );
    page.gauge(
        "tierscope_agent_spool_bytes",
        "Bytes of the queue on disk.",
        spool.bytes as f64,
    );
    let counts = [
        (
            "tierscope_agent_dropped_batches_total",
            "Batches dropped because the queue was full.",
            spool.dropped_batches,
        ),
        (
            "tierscope_agent_damaged_records_total",
            "Stretches of the queue that could not be read.",
            spool.damaged_records,
        ),
        (
            "tierscope_agent_rejected_batches_total",
            "Batches that the service refused for good.",
            spool.rejected_batches,
        ),
    ];
    for (name, help, value) in counts {
        page.counter(name, help, value as f64);
    }
}

fn write_bounds(page: &mut Page, status: &Status) {
    page.counter(
        "tierscope_agent_cpu_seconds_total",
        "Processor time of the agent.",
        process_cpu_ns() as f64 / 1e9,
    );
    page.gauge(
        "tierscope_agent_resident_memory_bytes",
        "Resident memory of the agent.",
        status.budget.rss_bytes as f64,
    );
    if let Some(ratio) = status.budget.kernel_cpu_ratio {
        page.gauge(
            "tierscope_agent_kernel_cpu_ratio",
            "Share of one core that the kernel spent for the agent in the last interval.",
            ratio,
        );
    }
    page.states(
        "tierscope_agent_budget_state",
        "1 for the state of the agent's own budget that holds.",
        &BUDGET_STATES,
        status.budget.state,
    );
    page.gauge(
        "tierscope_agent_guard_paused",
        "1 while heat pauses because the host is busy.",
        f64::from(u8::from(status.guard_paused.is_some())),
    );
    page.counter(
        "tierscope_agent_guard_paused_intervals_total",
        "Intervals without heat because the host was busy.",
        status.guard_paused_intervals as f64,
    );
}

/// The kernel's own numbers under the kernel's own names. Samples of one metric stand together, as the format asks.
fn write_ledger(page: &mut Page, ledger: &[(Key, i64)]) {
    let mut samples: Vec<(&str, &str, i64)> = ledger
        .iter()
        .map(|(key, value)| {
            let (scope, _, name) = key.parts();
            (name, scope, *value)
        })
        .collect();
    samples.sort_unstable();
    let mut announced = "";
    for (name, scope, value) in samples {
        let is_counter = catalogue::find(SOURCE, name).is_some_and(|metric| metric.kind == Kind::Counter);
        let (kind, ending) = if is_counter {
            ("counter", "_total")
        } else {
            ("gauge", "")
        };
        let metric = format!("tierscope_{SOURCE}_{}{ending}", plain(name));
        if announced != name {
            page.metric(&metric, kind, "As the kernel counts it; see docs/metrics.md.");
            announced = name;
        }
        let (scope, node) = scope.split_once(':').unwrap_or((scope, ""));
        let _ = writeln!(
            page.0,
            "{metric}{{scope=\"{}\",node=\"{}\"}} {value}",
            plain(scope),
            plain(node)
        );
    }
}

/// Letters that a name may hold; all others become `_`.
fn plain(name: &str) -> String {
    name.chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tierscope_sample::counters::{CounterSample, Scope};

    fn sample() -> CounterSample {
        let values = [
            (Scope::Host, "vmstat", "pgpromote_success", Some(7)),
            (Scope::Node(1), "vmstat", "pgpromote_success", Some(3)),
            (Scope::Host, "vmstat", "pgdemote_kswapd", None),
            (Scope::Host, "vmstat", "pgfault", Some(9)),
            (Scope::Host, "meminfo", "numa_like", Some(1)),
        ];
        CounterSample {
            end_wall_ns: 0,
            end_boottime_ns: None,
            boot_id: Arc::from(""),
            values: values
                .into_iter()
                .map(|(scope, source, name, value)| (Key::new(&scope, source, name), value))
                .collect(),
        }
    }

    #[test]
    fn tier_moves_stand_beside_the_agents_health() {
        let ledger = super::super::Ledger::default();
        ledger.keep(&sample());
        let status = Status {
            state: "running",
            last_delivered_wall_ns: Some(1_500_000_000),
            heat_rung: Some("referenced"),
            ..Status::default()
        };
        let page = render(&status, &ledger.lock());
        for line in [
            "tierscope_agent_state{state=\"running\"} 1",
            "tierscope_agent_state{state=\"paused\"} 0",
            "tierscope_agent_last_delivery_timestamp_seconds 1.5",
            "tierscope_agent_heat_backend{name=\"referenced\"} 1",
            "# TYPE tierscope_vmstat_pgpromote_success_total counter",
            "tierscope_vmstat_pgpromote_success_total{scope=\"host\",node=\"\"} 7",
            "tierscope_vmstat_pgpromote_success_total{scope=\"node\",node=\"1\"} 3",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} in\n{page}");
        }
        assert!(!page.contains("pgfault") && !page.contains("numa_like"));
        assert!(!page.contains("pgdemote"), "what the kernel lacks is not a zero");
        assert!(!page.contains("last_collection"), "nothing was collected yet");
    }

    #[test]
    fn every_metric_is_announced_once_and_before_its_samples() {
        let ledger = super::super::Ledger::default();
        ledger.keep(&sample());
        let page = render(&Status::default(), &ledger.lock());
        let mut announced: Vec<&str> = Vec::new();
        for line in page.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => {
                    let name = rest.split(' ').next().expect("a name");
                    assert!(!announced.contains(&name), "{name}");
                    announced.push(name);
                }
                None if line.starts_with('#') => {}
                None => {
                    let name = line.split(['{', ' ']).next().expect("a name");
                    assert_eq!(announced.last(), Some(&name), "{line}");
                }
            }
        }
    }
}
