//! The `doctor` command.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use tierscope_heat::candidates::CANDIDATES;
use tierscope_host::collectors;
use tierscope_host::names::NamePolicy;
use tierscope_host::services::{Rules, discover};
use tierscope_procfs::counters;
use tierscope_rootfs::Reader;
use tierscope_sample::inventory::Inventory;

use super::served::{ServedSource, served_source};
use super::tiering::{self, Moves, Tiering};
use crate::config::Config;
use crate::doctor::leftovers;
use crate::explain::{PageSource, page_source};
use crate::inventory;
use crate::inventory::memory_order::{TierOrder, has_memory};
use crate::kubernetes::{self, Access, KubernetesConfig};
use crate::{machine, once};

/// Says what stands in the way of good memory tiering on this host, and what to do about it.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// What stands for `/`: the running host, a snapshot of one, or an archive of it (the newest, if of many).
    #[arg(long, value_name = "TREE", default_value = "/")]
    pub root: PathBuf,
    /// Prints one JSON object instead of text (docs/agent-json.md).
    #[arg(long)]
    pub json: bool,
    /// Settings (TOML), as for `run`: where they ask the Kubernetes API, it is asked once.
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub config: Option<PathBuf>,
    /// Name of this node in the cluster; the host's own unless given.
    #[arg(long, requires = "config")]
    pub hostname: Option<String>,
    /// Takes away what a killed agent left in the kernel, and examines nothing.
    #[arg(long, conflicts_with_all = ["root", "json"])]
    pub clean: bool,
}

/// Examines the host and writes the findings. Findings are no failure.
pub fn run(args: &DoctorArgs, out: &mut impl Write) -> anyhow::Result<()> {
    if args.clean {
        return leftovers::clean_and_say(out);
    }
    let (root, _unpacked) = once::newest_root(&args.root)?;
    let mut reader = Reader::new(root);
    let config = Config::read_named(args.config.as_deref())?;
    let mut examined = Examined::of(&mut reader, NamePolicy::plain());
    if config.kubernetes.api {
        let node = args.hostname.clone().or(config.hostname);
        examined.ask_cluster(&config.kubernetes, &node.unwrap_or_else(machine::hostname));
    }
    if args.json {
        writeln!(out, "{}", examined.document(&args.root.display().to_string()))?;
    } else {
        write_text(&examined.inventory, &examined.tiering, out)?;
        write_pages(&examined.pages, out)?;
        write_served(&examined.served, out)?;
    }
    Ok(())
}

/// Everything that was examined.
pub(crate) struct Examined {
    inventory: Inventory,
    tiering: Tiering,
    /// Which back end of heat would sample pages, and why better ones would not.
    pub(crate) pages: PageSource,
    served: ServedSource,
}

impl Examined {
    /// Examines a host, whose names appear as `names` lets them.
    pub(crate) fn of(reader: &mut Reader, names: NamePolicy) -> Self {
        let discovered = discover(reader.root(), &Rules::new(names));
        let mut inventory = inventory::describe_root(reader, &discovered);
        inventory.findings.extend(leftovers::finding(reader.root()));
        let mut moves = Moves::default();
        // Without a vmstat nothing is known to move.
        let _absent = counters::vmstat(reader, |name, value| moves.add(name, value));
        Self {
            tiering: tiering::judge(&inventory, moves),
            pages: page_source(reader, CANDIDATES),
            served: served_source(reader.root()),
            inventory,
        }
    }

    /// Asks the Kubernetes API for this node once, and says what failed.
    fn ask_cluster(&mut self, config: &KubernetesConfig, node: &str) {
        let problem = match Access::in_cluster() {
            Ok(access) => access.ask(node, config).problem,
            Err(problem) => Some(problem),
        };
        self.inventory
            .findings
            .extend(problem.as_deref().map(kubernetes::finding));
    }

    /// What `--json` prints of it.
    pub(crate) fn document(&self, root: &str) -> serde_json::Value {
        let Self {
            inventory,
            tiering,
            pages,
            served,
        } = self;
        json!({
            "schema": "tierscope.doctor/1",
            "root": root,
            "kernel_release": inventory.kernel_release,
            "tiering": { "state": tiering.state, "reasons": tiering.reasons },
            "hypervisor": inventory.hypervisor,
            "findings": inventory.findings,
            "problems": inventory.problems,
            "collectors": inventory.collectors,
            "page_samples": pages,
            "served_loads": served,
        })
    }
}

/// Where page samples would come from if a program were named, in plain words.
fn write_pages(pages: &PageSource, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "\nPage samples of programs named under [heat] programs:")?;
    match pages.would_measure.and_then(collectors::facts) {
        Some(facts) => writeln!(out, "  {} works here: {}", facts.name, facts.sees)?,
        None => writeln!(out, "  no source is known to work here")?,
    }
    for other in &pages.passed_over {
        let hint = if other.hint.is_empty() {
            String::new()
        } else {
            format!(" ({})", other.hint)
        };
        writeln!(out, "  not {}: {}{hint}", other.name, other.reason)?;
    }
    Ok(())
}

/// Whether samples would say which memory served them, in plain words.
fn write_served(served: &ServedSource, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "\nWhat served sampled loads (DRAM, CXL, caches):")?;
    match &served.told_by {
        Some(event) => writeln!(out, "  told by {event}")?,
        None => writeln!(out, "  not told: {}", served.reason)?,
    }
    Ok(())
}

/// Which nodes are in which tier, and those in none.
fn write_tiers(inventory: &Inventory, out: &mut impl Write) -> anyhow::Result<()> {
    for tier in &inventory.tiers {
        let nodes: Vec<String> = tier
            .nodes
            .iter()
            .map(|id| describe_node(inventory, *id))
            .collect();
        let origin = match TierOrder::of(inventory) {
            TierOrder::Derived => "derived".to_owned(),
            _ => format!("memory_tier{}", tier.kernel_number),
        };
        writeln!(out, "tier {} ({origin}): {}", tier.rank, nodes.join("; "))?;
    }
    let is_ranked = |id: u32| inventory.tiers.iter().any(|tier| tier.nodes.contains(&id));
    for node in inventory
        .nodes
        .iter()
        .filter(|node| has_memory(node) && !is_ranked(node.id))
    {
        writeln!(out, "in no shown tier: {}", describe_node(inventory, node.id))?;
    }
    Ok(())
}

fn write_text(inventory: &Inventory, tiering: &Tiering, out: &mut impl Write) -> anyhow::Result<()> {
    let named = |text: &str| {
        if text.is_empty() {
            "unknown".to_owned()
        } else {
            text.to_owned()
        }
    };
    writeln!(
        out,
        "kernel {}, control groups {}",
        named(&inventory.kernel_release),
        inventory.cgroup_version
    )?;
    write_tiers(inventory, out)?;
    writeln!(out, "tiering: {} ({})", tiering.state, tiering.reasons.join(", "))?;
    if inventory.findings.is_empty() {
        writeln!(out, "\nNothing found.")?;
    }
    for finding in &inventory.findings {
        writeln!(
            out,
            "\n{} {} ({})",
            finding.severity.to_uppercase(),
            finding.id,
            finding.confidence
        )?;
        writeln!(out, "  cause: {}", finding.cause)?;
        writeln!(out, "  do:    {}", finding.fix)?;
    }
    writeln!(out, "\nSources of counters and heat:")?;
    for collector in &inventory.collectors {
        let state = if collector.active { "on" } else { "off" };
        let reason = if collector.active {
            &collector.privilege
        } else {
            &collector.reason
        };
        writeln!(out, "  {:<11} {state:<4} {reason}", collector.name)?;
    }
    Ok(())
}

fn describe_node(inventory: &Inventory, id: u32) -> String {
    match inventory.node(id) {
        Some(node) => format!("node {id} {} ({})", node.tier_class, node.tier_evidence),
        None => format!("node {id}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    fn spilling_host() -> FakeRoot {
        let root = FakeRoot::new();
        root.write("sys/devices/system/node/online", "0-1\n");
        root.write("sys/devices/system/node/node0/cpulist", "0\n");
        root.write("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0\n");
        root.write("sys/devices/virtual/memory_tiering/memory_tier22/nodelist", "1\n");
        for (node, latency_ns) in [(0, 90), (1, 270)] {
            let file = format!("sys/devices/system/node/node{node}/access1/initiators/read_latency");
            root.write(&file, &format!("{latency_ns}\n"));
        }
        root.write("sys/kernel/mm/numa/demotion_enabled", "false\n");
        root.write(
            "proc/zoneinfo",
            "Node 0, zone DMA32\n  pages free 1\n  node_unreclaimable:  1\n",
        );
        root
    }

    fn output(root: &FakeRoot, json: bool) -> String {
        let mut out = Vec::new();
        let args = DoctorArgs {
            root: root.root().as_path().to_owned(),
            json,
            clean: false,
            config: None,
            hostname: None,
        };
        run(&args, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_names_files_that_the_description_lacks() {
        let root = spilling_host();
        let file = "sys/devices/virtual/memory_tiering/memory_tier22/nodelist";
        root.write(file, "no list\n");
        let body: serde_json::Value = serde_json::from_str(&output(&root, true)).unwrap();
        assert_eq!(body["problems"][0]["path"], format!("/{file}"), "{body}");
        assert_eq!(body["problems"][0]["has_value"], false);
    }

    #[test]
    fn text_and_json_name_the_same_findings() {
        let root = spilling_host();
        let text = output(&root, false);
        let body: serde_json::Value = serde_json::from_str(&output(&root, true)).unwrap();
        let ids: Vec<&str> = body["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["id"].as_str().unwrap())
            .collect();
        assert!(
            ids.contains(&"kswapd-gave-up") && ids.contains(&"demotion-off"),
            "{ids:?}"
        );
        assert!(ids.iter().all(|id| text.contains(id)), "{text}");
        assert!(text.contains("tier 1 (memory_tier22): node 1 cxl"), "{text}");
        assert!(text.contains("no source is known to work here"), "{text}");
        assert!(
            text.contains("not damon_pages: the kernel has no DAMON"),
            "{text}"
        );
        assert_eq!(body["page_samples"]["would_measure"], serde_json::Value::Null);
        assert_eq!(body["served_loads"]["told_by"], serde_json::Value::Null);
        let reason = body["served_loads"]["reason"].as_str().unwrap();
        assert!(
            !reason.is_empty() && text.contains(&format!("not told: {reason}")),
            "{text}"
        );
    }

    #[test]
    fn a_directory_that_is_no_host_is_refused_with_a_hint() {
        let empty = tempfile::tempdir().unwrap();
        let args = DoctorArgs {
            root: empty.path().to_owned(),
            json: true,
            clean: false,
            config: None,
            hostname: None,
        };
        let error = run(&args, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("neither proc nor sys"), "{error}");
    }
}
