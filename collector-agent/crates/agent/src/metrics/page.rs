//! The agent's own health.

use tierscope_clock::process_cpu_ns;

use super::exposition::Page;
use crate::status::Status;

const STATES: [&str; 4] = ["enrolling", "running", "paused", "stopped"];
const BUDGET_STATES: [&str; 3] = ["within", "backed_off", "stopped"];

/// What the agent says of itself now.
pub(super) fn write(page: &mut Page, status: &Status) {
    page.metric("tierscope_agent_info", "gauge", "The agent.");
    page.sample(&[("version", crate::VERSION)], 1.0);
    page.states(
        "tierscope_agent_state",
        "1 for the state that holds.",
        &STATES,
        status.state,
    );
    write_collection(page, status);
    if status.server.is_some() {
        write_delivery(page, status);
    }
    write_bounds(page, status);
}

fn write_collection(page: &mut Page, status: &Status) {
    if let Some(wall_ns) = status.last_collected_wall_ns {
        page.gauge(
            "tierscope_agent_last_collection_timestamp_seconds",
            "End of the last interval that was collected.",
            wall_ns as f64 / 1e9,
        );
    }
    page.gauge(
        "tierscope_agent_collection_failing",
        "1 when the last collection failed in part.",
        flag(status.collection_error.is_some()),
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
        page.sample(&[("name", name)], 1.0);
    }
}

fn flag(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// What waits for the service, and what it took. Without a service there is neither.
fn write_delivery(page: &mut Page, status: &Status) {
    if let Some(wall_ns) = status.last_delivered_wall_ns {
        page.gauge(
            "tierscope_agent_last_delivery_timestamp_seconds",
            "When the service last took a batch.",
            wall_ns as f64 / 1e9,
        );
    }
    page.gauge(
        "tierscope_agent_delivery_failing",
        "1 when the last attempt to deliver failed.",
        flag(status.delivery_error.is_some()),
    );
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
        flag(status.guard_paused.is_some()),
    );
    page.counter(
        "tierscope_agent_guard_paused_intervals_total",
        "Intervals without heat because the host was busy.",
        status.guard_paused_intervals as f64,
    );
}
