//! What `once` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use tierscope_host::services::Process;
use tierscope_import::tree::Snapshot;
use tierscope_procfs::{counters, numa_maps};
use tierscope_rootfs::{Missing, ReadError};
use tierscope_sample::catalogue::{self, ScopeKind};
use tierscope_sample::counters::Key;
use tierscope_sample::inventory::Inventory;

use crate::collect::{Collected, Collector, Gone, ProcessFiles, largest_processes};
use crate::inventory;

type Values = BTreeMap<String, Option<i64>>;
type Sources = BTreeMap<String, Values>;

/// Everything that was read, by what it belongs to.
#[derive(Debug, Default)]
struct Sections {
    host: Sources,
    nodes: BTreeMap<String, Sources>,
    zones: BTreeMap<String, Sources>,
    cgroups: BTreeMap<String, Sources>,
    services: BTreeMap<String, Sources>,
}

impl Sections {
    fn of(values: &[(Key, Option<i64>)]) -> Self {
        let mut sections = Self::default();
        for (key, value) in values {
            let (scope, source, name) = key.parts();
            // What the agent's own limits left out stands under `dropped`.
            if source == "self" {
                continue;
            }
            sections
                .sources(scope)
                .entry(source.to_owned())
                .or_default()
                .insert(name.to_owned(), *value);
        }
        sections
    }

    fn sources(&mut self, scope: &str) -> &mut Sources {
        match scope.split_once(':') {
            Some(("node", id)) => self.nodes.entry(id.to_owned()).or_default(),
            Some(("zone", id)) => self.zones.entry(id.to_owned()).or_default(),
            Some(("cgroup", id)) => self.cgroups.entry(id.to_owned()).or_default(),
            Some(("service", id)) => self.services.entry(id.to_owned()).or_default(),
            _ => &mut self.host,
        }
    }

    /// Adds every name of the catalogue that a source which was read does not have on this kernel: a null, which is
    /// not a zero.
    fn add_missing(&mut self) {
        add_missing(&mut self.host, ScopeKind::Host);
        let families = [
            (&mut self.nodes, ScopeKind::Node),
            (&mut self.zones, ScopeKind::Zone),
            (&mut self.cgroups, ScopeKind::Cgroup),
            (&mut self.services, ScopeKind::Service),
        ];
        for (family, scope) in families {
            for sources in family.values_mut() {
                add_missing(sources, scope);
            }
        }
    }
}

fn add_missing(sources: &mut Sources, scope: ScopeKind) {
    for (source, values) in sources {
        let known: BTreeSet<String> = values.keys().map(|name| base(name).to_owned()).collect();
        let metrics = catalogue::of_source(source)
            .iter()
            .filter(|metric| metric.scopes.contains(&scope));
        for metric in metrics.filter(|metric| !known.contains(metric.name)) {
            values.insert(metric.name.to_owned(), None);
        }
    }
}

/// A name without the `[N0]` of a value per node.
fn base(name: &str) -> &str {
    name.split_once('[').map_or(name, |(base, _)| base)
}

pub(super) fn json(
    collector: &mut Collector,
    collected: &Collected,
    snapshot: &Snapshot,
    limits: ProcessFiles,
) -> anyhow::Result<Value> {
    let mut sections = Sections::of(&collected.sample.values);
    sections.add_missing();
    // A zone has one source, so its values stand without it.
    let zones: BTreeMap<String, Values> = sections
        .zones
        .into_iter()
        .map(|(id, sources)| (id, sources.into_values().flatten().collect()))
        .collect();
    let processes = processes(collector, limits);
    let of_processes = collector.reader().take_problems();
    let inventory = inventory::describe(collector);
    let problems = problems(
        collected.problems.iter().chain(&of_processes),
        &inventory,
        snapshot,
    );
    Ok(json!({
        "schema": "tierscope.once/1",
        "root": snapshot.root.display().to_string(),
        "taken_at_ns": snapshot.wall_ns,
        "boottime_ns": snapshot.boottime_ns,
        "boot_id": Some(&snapshot.boot_id).filter(|id| !id.is_empty()),
        "host": sections.host,
        "nodes": sections.nodes,
        "zones": zones,
        "cgroups": sections.cgroups,
        "services": sections.services,
        "processes": processes,
        "inventory": serde_json::to_value(inventory)?,
        "absent": collected.gone.iter().map(describe_gone).collect::<Vec<_>>(),
        "problems": problems,
        "dropped": {
            "names": collected.dropped.names,
            "cgroups": collected.dropped.cgroups,
            "services": collected.dropped.services,
        },
    }))
}

/// What was wrong with files, each told once.
fn problems<'p>(
    read: impl Iterator<Item = &'p ReadError>,
    inventory: &Inventory,
    snapshot: &Snapshot,
) -> Vec<String> {
    let mut problems: BTreeMap<PathBuf, String> = BTreeMap::new();
    for problem in &inventory.problems {
        let path = snapshot.root.join(problem.path.trim_start_matches('/'));
        problems.insert(path.clone(), format!("{}: {}", path.display(), problem.reason));
    }
    problems.extend(read.map(|problem| (problem.path.clone(), problem.to_string())));
    problems.into_values().collect()
}

fn describe_gone(gone: &Gone) -> Value {
    let reason = match &gone.missing {
        Missing::Absent => "absent",
        Missing::Unreadable(reason) => reason.as_str(),
    };
    json!({ "path": gone.path, "reason": reason })
}

/// Processes with what their files say; the files of the largest alone are read.
fn processes(collector: &mut Collector, limits: ProcessFiles) -> Vec<Value> {
    let discovered = collector.discovered().clone();
    let read: BTreeSet<u32> = largest_processes(collector.reader(), &discovered, &limits)
        .iter()
        .map(|(process, _)| process.pid)
        .collect();
    let describe = |process: &Process| {
        let files = read.contains(&process.pid);
        json!({
            "pid": process.pid,
            "start_time_ticks": process.start_time,
            "exe": process.group,
            "cgroup": process.cgroup,
            "service": process.service.to_string(),
            "rule": process.rule.name(),
            "smaps_rollup": files.then(|| smaps_rollup(collector, process.pid)).flatten(),
            "numa_maps": files.then(|| numa_maps(collector, process.pid, limits.max_file_bytes)).flatten(),
        })
    };
    discovered.processes.iter().map(describe).collect()
}

/// Values by name, or `None` where the file is absent or may not be read.
fn smaps_rollup(collector: &mut Collector, pid: u32) -> Option<Value> {
    let mut values = Map::new();
    let outcome = counters::smaps_rollup(collector.reader(), pid, |name, value| {
        values.insert(name.to_owned(), value.into());
    });
    (outcome.is_ok() && !values.is_empty()).then_some(Value::Object(values))
}

fn numa_maps(collector: &mut Collector, pid: u32, max_file_bytes: u64) -> Option<Value> {
    let maps = numa_maps::read(collector.reader(), pid, max_file_bytes)
        .ok()
        .filter(|maps| maps.file_bytes > 0)?;
    let values = maps
        .resident_bytes
        .iter()
        .map(|((kind, node), bytes)| (format!("{}[N{node}]", kind.name()), *bytes));
    Some(
        values
            .map(|(name, bytes)| (name, Value::from(bytes)))
            .collect::<Map<_, _>>()
            .into(),
    )
}

/// Names that the summary shows, where the host has them.
const SHOWN: [&str; 8] = [
    "pgpromote_success",
    "pgpromote_candidate",
    "pgdemote_kswapd",
    "pgdemote_direct",
    "numa_hint_faults",
    "pgmigrate_fail",
    "pswpin",
    "pswpout",
];

pub(super) fn text(
    collector: &mut Collector,
    collected: &Collected,
    snapshot: &Snapshot,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let sections = Sections::of(&collected.sample.values);
    let present = collected
        .sample
        .values
        .iter()
        .filter(|(_, value)| value.is_some())
        .count();
    writeln!(
        out,
        "{} at {} ns: {present} values",
        snapshot.root.display(),
        snapshot.wall_ns
    )?;
    let inventory = inventory::describe(collector);
    for node in &inventory.nodes {
        let size_mib = node
            .memory_bytes
            .map_or_else(|| "?".to_owned(), |bytes| (bytes >> 20).to_string());
        writeln!(
            out,
            "  node {} {} {size_mib} MiB: {}",
            node.id, node.tier_class, node.tier_evidence
        )?;
    }
    let vmstat = sections.host.get("vmstat");
    for name in SHOWN {
        if let Some(Some(value)) = vmstat.and_then(|values| values.get(name)) {
            writeln!(out, "  {name:<20} {value}")?;
        }
    }
    writeln!(
        out,
        "  control groups: {}, services: {}",
        sections.cgroups.len(),
        inventory.services.len()
    )?;
    for gone in collected
        .gone
        .iter()
        .filter(|gone| gone.missing != Missing::Absent)
    {
        writeln!(out, "  not read: {} ({})", gone.path, gone.missing)?;
    }
    for problem in problems(collected.problems.iter(), &inventory, snapshot) {
        writeln!(out, "  not understood: {problem}")?;
    }
    Ok(())
}
