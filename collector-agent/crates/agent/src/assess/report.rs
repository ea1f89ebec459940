//! What `assess` prints.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value, json};

use super::checks::Outcome;
use super::memory::{Bounds, COLD_SECONDS, Memory};
use super::verdict::{Assessment, State};

/// Files with a problem that are named to people.
const PROBLEMS: usize = 5;
const GIB: f64 = (1_u64 << 30) as f64;

/// The object that `--json` prints.
pub(super) fn document(assessments: &[Assessment], passed_over: &[String]) -> serde_json::Result<Value> {
    let fleet = Fleet::of(assessments);
    Ok(json!({
        "schema": "tierscope.assess/1",
        "cold_seconds": COLD_SECONDS,
        "hosts": serde_json::to_value(assessments)?,
        "fleet": {
            "hosts": assessments.len(),
            "hosts_with_memory": fleet.hosts_with_memory,
            "by_state": serde_json::to_value(&fleet.by_state)?,
            "dram_bytes": fleet.dram_bytes,
            "dram_saving": { "unit": "bytes", "value": null, "interval": fleet.saving,
                "method": "sum over hosts of the bounds of each" },
            "failed_checks": fleet.failed_checks,
        },
        "passed_over": passed_over,
    }))
}

/// Sums over hosts.
struct Fleet {
    hosts_with_memory: usize,
    by_state: BTreeMap<State, usize>,
    dram_bytes: i64,
    saving: Bounds,
    /// Hosts by check that failed on them.
    failed_checks: BTreeMap<&'static str, usize>,
}

impl Fleet {
    fn of(assessments: &[Assessment]) -> Self {
        let mut fleet = Self {
            hosts_with_memory: 0,
            by_state: BTreeMap::new(),
            dram_bytes: 0,
            saving: Bounds { lo: 0, hi: 0 },
            failed_checks: BTreeMap::new(),
        };
        for assessment in assessments {
            *fleet.by_state.entry(assessment.state).or_default() += 1;
            if let Some(memory) = &assessment.memory {
                fleet.hosts_with_memory += 1;
                fleet.dram_bytes += memory.stock.dram_bytes;
                fleet.saving.lo += memory.dram_saving.interval.lo;
                fleet.saving.hi += memory.dram_saving.interval.hi;
            }
            for check in &assessment.checks {
                if check.outcome == Outcome::Fail {
                    *fleet.failed_checks.entry(check.id).or_default() += 1;
                }
            }
        }
        fleet
    }
}

/// For people: one host in full, several as a line each with sums.
pub(super) fn text(
    assessments: &[Assessment],
    passed_over: &[String],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    if let [only] = assessments {
        write_host(only, out)?;
    } else {
        write_fleet(assessments, out)?;
    }
    for reason in passed_over {
        writeln!(out, "passed over: {reason}")?;
    }
    Ok(())
}

fn write_host(assessment: &Assessment, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "{}: {}", assessment.host, assessment.state.words())?;
    match assessment.kernel_release.as_str() {
        "" => writeln!(out, "kernel: its release is not told")?,
        release => writeln!(out, "kernel {release}")?,
    }
    match &assessment.memory {
        Some(memory) => write_memory(memory, out)?,
        None => writeln!(out, "memory: {}", assessment.memory_reason)?,
    }
    writeln!(out)?;
    for check in &assessment.checks {
        let mark = match check.outcome {
            Outcome::Pass => "ok  ",
            Outcome::Fail => "FAIL",
            Outcome::NotKnown => "?   ",
        };
        writeln!(out, "{mark} {}: {}", check.id, check.detail)?;
        if check.outcome != Outcome::Pass {
            writeln!(out, "     do: {}", check.next_step)?;
        }
    }
    for problem in assessment.problems.iter().take(PROBLEMS) {
        writeln!(out, "not certain: {problem}")?;
    }
    if assessment.problems.len() > PROBLEMS {
        let rest = assessment.problems.len() - PROBLEMS;
        writeln!(out, "not certain: {} more", counted(rest, "file"))?;
    }
    writeln!(out, "\nnext: {}", assessment.next_step)?;
    Ok(())
}

fn write_memory(memory: &Memory, out: &mut impl Write) -> anyhow::Result<()> {
    let gib = |bytes: i64| bytes as f64 / GIB;
    let mut slower = match memory.stock.slower_bytes {
        0 if memory.stock.unknown_bytes == 0 => "no slower memory".to_owned(),
        0 => String::new(),
        bytes => format!("{:.1} GiB slower memory", gib(bytes)),
    };
    for (bytes, what) in [
        (memory.stock.faster_bytes, "HBM"),
        (memory.stock.gpu_bytes, "memory of GPUs"),
        (memory.stock.unknown_bytes, "of which nothing tells what it is"),
    ] {
        if bytes > 0 {
            let comma = if slower.is_empty() { "" } else { ", " };
            slower = format!("{slower}{comma}{:.1} GiB {what}", gib(bytes));
        }
    }
    writeln!(
        out,
        "memory: {:.1} GiB {}, {:.1} in use, {:.1} of it movable; {slower}",
        gib(memory.stock.dram_bytes),
        memory.stock.judged_class.to_uppercase(),
        gib(memory.stock.used_bytes),
        gib(memory.stock.movable_bytes)
    )?;
    let lines = [
        ("cold (not touched for two minutes)", &memory.cold),
        ("active", &memory.active),
        ("DRAM needed", &memory.dram_needed),
        ("DRAM that could be saved", &memory.dram_saving),
    ];
    for (name, figure) in lines {
        writeln!(
            out,
            "  {name}: {}",
            between(figure.interval, memory.stock.dram_bytes)
        )?;
    }
    writeln!(
        out,
        "  by {}; {} of {} processes; grade {}, {} over {:.0} s",
        memory.cold.method,
        memory.processes_read,
        memory.processes,
        memory.cold.grade,
        counted(memory.cold.readings, "reading"),
        memory.cold.window_seconds
    )?;
    Ok(())
}

fn counted(count: usize, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}

fn between(bounds: Bounds, dram_bytes: i64) -> String {
    let [lo, hi] = [bounds.lo, bounds.hi].map(|bytes| bytes as f64);
    let whole = dram_bytes.max(1) as f64;
    format!(
        "{:.1} to {:.1} GiB ({:.0} to {:.0} % of DRAM)",
        lo / GIB,
        hi / GIB,
        100.0 * lo / whole,
        100.0 * hi / whole
    )
}

fn write_fleet(assessments: &[Assessment], out: &mut impl Write) -> anyhow::Result<()> {
    let width = assessments
        .iter()
        .map(|assessment| assessment.host.len())
        .max()
        .unwrap_or(0);
    for assessment in assessments {
        let saving = assessment.memory.as_ref().map_or_else(String::new, |memory| {
            format!(
                "; could save {}",
                between(memory.dram_saving.interval, memory.stock.dram_bytes)
            )
        });
        writeln!(
            out,
            "{:width$}  {}{saving}",
            assessment.host,
            assessment.state.words()
        )?;
    }
    let fleet = Fleet::of(assessments);
    writeln!(
        out,
        "\n{} with {:.1} GiB DRAM could save {}",
        counted(assessments.len(), "host"),
        fleet.dram_bytes as f64 / GIB,
        between(fleet.saving, fleet.dram_bytes)
    )?;
    for (state, hosts) in &fleet.by_state {
        writeln!(out, "  {hosts}: {}", state.words())?;
    }
    for (id, hosts) in &fleet.failed_checks {
        writeln!(out, "  {id} failed on {hosts}")?;
    }
    Ok(())
}
