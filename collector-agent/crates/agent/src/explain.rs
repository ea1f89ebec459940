//! The `explain` command: for each collector what it sees, with which rights, at which cost, and whether it would run
//! here, found by trying it on this process's own memory.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tierscope_heat::backend::{Candidate, Refusal};
use tierscope_heat::settings::PAGE_BACKENDS;
use tierscope_heat::{candidates, page_follow, write_tracking};
use tierscope_host::collectors::{self, Facts};
use tierscope_procfs::host;
use tierscope_rootfs::{Reader, Root};

use crate::config::Config;
use crate::inventory::probe;
use crate::kubernetes;

/// Bits of the capabilities that collectors name, from `linux/capability.h`.
const CAPABILITY_BITS: [(&str, u32); 7] = [
    ("CAP_DAC_OVERRIDE", 1),
    ("CAP_DAC_READ_SEARCH", 2),
    ("CAP_IPC_LOCK", 14),
    ("CAP_SYS_PTRACE", 19),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

/// Says what each collector sees, what it takes, and whether it would run on this host.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// Prints one JSON object instead of text (docs/agent-json.md).
    #[arg(long)]
    pub json: bool,
    /// Directory that stands for `/`: the running host, or a snapshot of one, where nothing can be tried.
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
    /// Settings (TOML), whose back ends are explained; the default ones without it.
    #[arg(long)]
    pub config: Option<PathBuf>,
}

/// The answer. Its shape is stable and described in docs/agent-json.md.
#[derive(Debug, Serialize)]
struct Explanation {
    schema: &'static str,
    root: String,
    /// Back ends of heat in the order in which the settings name them.
    chain: Vec<String>,
    /// Capabilities that counters and these back ends take together.
    chain_capabilities: Vec<&'static str>,
    /// The first of them that works here; null where none does, and for recordings.
    would_measure: Option<String>,
    collectors: Vec<Entry>,
}

/// One collector.
#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    /// `null` where it cannot be known: a recording cannot be tried.
    works_here: Option<bool>,
    /// Whether the settings use it.
    used: bool,
    reason: String,
    hint: String,
    sees: &'static str,
    granularity: &'static str,
    privilege: &'static str,
    capabilities: &'static [&'static str],
    /// Those of them that this process lacks; null where that is not known.
    missing_capabilities: Option<Vec<&'static str>>,
    cost: &'static str,
    intrusive: bool,
}

/// Explains and prints.
pub fn run(args: &ExplainArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let root = Root::named(&args.root).map_err(anyhow::Error::msg)?;
    let config = Config::read_named(args.config.as_deref())?;
    let explanation = explain(&root, &config, candidates::CANDIDATES);
    if args.json {
        serde_json::to_writer(&mut *out, &explanation)?;
        writeln!(out)?;
    } else {
        write_text(&explanation, out)?;
    }
    Ok(())
}

fn explain(root: &Root, config: &Config, candidates: &[Candidate]) -> Explanation {
    let mut reader = Reader::new(root.clone());
    let held = root
        .is_live()
        .then(|| host::effective_capabilities(&mut reader, "self"))
        .flatten();
    let entry = |facts: &'static Facts| {
        let (works_here, refusal) = attempt(&mut reader, facts, candidates);
        let refusal = refusal.unwrap_or_else(|| Refusal {
            reason: String::new(),
            hint: String::new(),
        });
        Entry {
            name: facts.name,
            works_here,
            used: is_used(facts, config),
            reason: refusal.reason,
            hint: refusal.hint,
            sees: facts.sees,
            granularity: facts.granularity,
            privilege: facts.privilege,
            capabilities: facts.capabilities,
            missing_capabilities: held.map(|held| lacking(facts, held)),
            cost: facts.cost,
            intrusive: facts.intrusive,
        }
    };
    let collectors: Vec<Entry> = collectors::ALL.iter().map(entry).collect();
    let works = |name: &&String| {
        let entry = collectors.iter().find(|entry| entry.name == name.as_str());
        entry.is_some_and(|entry| entry.works_here == Some(true))
    };
    let chain = config.heat.chain();
    let named: Vec<&str> = chain.iter().map(String::as_str).collect();
    Explanation {
        schema: "tierscope.explain/1",
        root: root.as_path().display().to_string(),
        chain_capabilities: collectors::capabilities_of(&named),
        would_measure: chain.iter().find(works).cloned(),
        chain,
        collectors,
    }
}

/// Which back end would sample the pages of a program that the owner names, and why each better one would not.
#[derive(Debug, Serialize)]
pub(crate) struct PageSource {
    /// `None` where none is known to work.
    pub(crate) would_measure: Option<&'static str>,
    pub(crate) passed_over: Vec<PassedOver>,
}

/// A back end that tells pages apart and does not work here.
#[derive(Debug, Serialize)]
pub(crate) struct PassedOver {
    pub(crate) name: &'static str,
    pub(crate) reason: String,
    pub(crate) hint: String,
}

/// Tries the back ends that tell pages apart, best first, until one works. Of a recording it says what is missing.
pub(crate) fn page_source(reader: &mut Reader, candidates: &[Candidate]) -> PageSource {
    let mut passed_over = Vec::new();
    let known = PAGE_BACKENDS.iter().filter_map(|name| collectors::facts(name));
    for facts in known.filter(|facts| facts.tells_pages_apart()) {
        let (works, refusal) = attempt(reader, facts, candidates);
        if works == Some(true) {
            return PageSource {
                would_measure: Some(facts.name),
                passed_over,
            };
        }
        let refusal = refusal.unwrap_or_else(|| Refusal {
            reason: "the host may have it; only the host itself can try".to_owned(),
            hint: String::new(),
        });
        passed_over.push(PassedOver {
            name: facts.name,
            reason: refusal.reason,
            hint: refusal.hint,
        });
    }
    PageSource {
        would_measure: None,
        passed_over,
    }
}

/// Whether a collector works, and what speaks against it. `None`: nothing does, as far as can be seen without trying.
fn attempt(reader: &mut Reader, facts: &Facts, candidates: &[Candidate]) -> (Option<bool>, Option<Refusal>) {
    let missing = probe::missing(reader, facts.name).map(|reason| Refusal {
        reason: reason.to_owned(),
        hint: String::new(),
    });
    if !reader.root().is_live() {
        return (missing.is_some().then_some(false), missing);
    }
    if facts.name == "counters" {
        return (Some(true), None);
    }
    let candidate = candidates.iter().find(|candidate| candidate.name == facts.name);
    let tried = match candidate {
        Some(candidate) => (candidate.probe)(reader.root()),
        None if facts.name == write_tracking::NAME => write_tracking::probe(reader.root()),
        None => return (missing.is_some().then_some(false), missing),
    };
    match tried {
        Ok(()) => (Some(true), None),
        Err(refusal) => (Some(false), Some(refusal)),
    }
}

fn is_used(facts: &Facts, config: &Config) -> bool {
    match facts.name {
        "counters" => true,
        "write_tracking" => !config.heat.write_tracking.is_empty(),
        "memory_bandwidth" | "memory_stall" => config.hardware_counters,
        page_follow::NAME => config.limits.followed_pages > 0,
        kubernetes::COLLECTOR => config.kubernetes.api,
        "service_metrics" => !config.service_metrics.is_empty(),
        name => config.heat.chain().iter().any(|named| named == name),
    }
}

/// Capabilities of the table that are not among the bits held.
fn lacking(facts: &Facts, held: u64) -> Vec<&'static str> {
    let is_held = |name: &str| {
        let bit = CAPABILITY_BITS.iter().find(|(known, _)| *known == name);
        bit.is_some_and(|(_, bit)| held & (1 << bit) != 0)
    };
    let names = facts.capabilities.iter().copied();
    names.filter(|name| !is_held(name)).collect()
}

fn write_text(explanation: &Explanation, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "Heat is tried in this order: {}",
        explanation.chain.join(", ")
    )?;
    match &explanation.would_measure {
        Some(name) => writeln!(out, "Here {name} would measure.")?,
        None => writeln!(out, "None of them is known to work here.")?,
    }
    writeln!(
        out,
        "Counters and these back ends take {}.",
        explanation.chain_capabilities.join(" ")
    )?;
    for entry in &explanation.collectors {
        let works = match entry.works_here {
            Some(true) => "works here",
            Some(false) => "does not work here",
            None => "cannot be tried",
        };
        let used = match (entry.used, entry.intrusive) {
            (true, _) => "named in the settings",
            (false, true) => "off until the settings name it",
            (false, false) => "not named in the settings",
        };
        writeln!(out, "\n{}: {works}; {used}", entry.name)?;
        if !entry.reason.is_empty() {
            writeln!(out, "  why not:      {}", entry.reason)?;
        }
        if !entry.hint.is_empty() {
            writeln!(out, "  what helps:   {}", entry.hint)?;
        }
        writeln!(out, "  sees:         {}", entry.sees)?;
        writeln!(out, "  granularity:  {}", entry.granularity)?;
        writeln!(out, "  privilege:    {}", entry.privilege)?;
        writeln!(out, "  capabilities: {}", entry.capabilities.join(" "))?;
        if let Some(missing) = entry
            .missing_capabilities
            .as_deref()
            .filter(|names| !names.is_empty())
        {
            writeln!(out, "  not held now: {}", missing.join(" "))?;
        }
        writeln!(out, "  cost:         {}", entry.cost)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tierscope_heat::backend::Reach;

    use super::*;
    use crate::fake_root::FakeRoot;

    fn refuse(_: &Root) -> Result<(), Refusal> {
        Err(Refusal {
            reason: "no unit".to_owned(),
            hint: "another machine".to_owned(),
        })
    }

    const CANDIDATES: [Candidate; 2] = [
        Candidate {
            name: "pebs",
            reach: Reach::Any,
            probe: refuse,
            make: |_, _, _| unreachable!("explain makes nothing"),
        },
        Candidate {
            name: "referenced",
            reach: Reach::Limited,
            probe: |_| Ok(()),
            make: |_, _, _| unreachable!("explain makes nothing"),
        },
    ];

    fn entry<'a>(explanation: &'a Explanation, name: &str) -> &'a Entry {
        let found = explanation.collectors.iter().find(|entry| entry.name == name);
        found.expect("explained")
    }

    #[test]
    fn back_ends_are_tried_and_the_first_that_works_would_measure() {
        let explanation = explain(&Root::live(), &Config::default(), &CANDIDATES);
        assert_eq!(explanation.would_measure.as_deref(), Some("referenced"));
        let pebs = entry(&explanation, "pebs");
        assert_eq!((pebs.works_here, pebs.used), (Some(false), true));
        assert_eq!(
            (pebs.reason.as_str(), pebs.hint.as_str()),
            ("no unit", "another machine")
        );
        let walk = entry(&explanation, "abit_walk");
        assert!(walk.intrusive && !walk.used);
        let mut text = Vec::new();
        write_text(&explanation, &mut text).expect("written");
        let text = String::from_utf8(text).expect("text");
        assert!(text.contains("Here referenced would measure.") && text.contains("why not:      no unit"));
        for facts in collectors::ALL {
            assert!(
                text.contains(facts.name) && text.contains(facts.cost),
                "{}",
                facts.name
            );
        }
    }

    #[test]
    fn pages_of_64_kib_stand_in_no_back_ends_way_and_another_architecture_in_that_of_one() {
        let root = FakeRoot::new();
        root.write("proc/sys/kernel/osrelease", "5.14.0-503.el9.aarch64+64k\n");
        root.write("sys/kernel/mm/page_idle/bitmap", "");
        root.write("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "0\n");
        let explanation = explain(&root.root(), &Config::default(), &CANDIDATES);
        for by_page in ["idle_page", "damon_pages", "damon_regions", "referenced"] {
            assert_eq!(
                entry(&explanation, by_page).works_here,
                None,
                "only the host can try"
            );
        }
        let walk = entry(&explanation, "abit_walk");
        assert_eq!(walk.works_here, Some(false));
        assert!(walk.reason.contains("x86-64 alone"), "{}", walk.reason);
    }

    #[test]
    fn the_best_back_end_that_tells_pages_apart_is_found_and_the_better_ones_say_why_not() {
        const DAMON: Candidate = Candidate {
            name: "damon_pages",
            reach: Reach::Any,
            probe: |_| Ok(()),
            make: |_, _, _| unreachable!("nothing is made"),
        };
        let candidates: Vec<Candidate> = ["pebs", "ibs", "spe", "abit_walk", "idle_page"]
            .into_iter()
            .map(|name| Candidate {
                name,
                ..CANDIDATES[0]
            })
            .chain([DAMON, CANDIDATES[1]])
            .collect();
        let mut live = Reader::new(Root::live());
        let source = page_source(&mut live, &candidates);
        assert_eq!(source.would_measure, Some("damon_pages"));
        let passed: Vec<_> = source.passed_over.iter().map(|other| other.name).collect();
        assert_eq!(passed, ["pebs", "ibs", "spe", "abit_walk", "idle_page"]);
        assert!(source.passed_over.iter().all(|other| other.reason == "no unit"));
        let tree = FakeRoot::new();
        tree.write("sys/kernel/mm/page_idle/bitmap", "");
        let recorded = page_source(&mut Reader::new(tree.root()), &candidates);
        assert_eq!(recorded.would_measure, None);
        let reason = |name: &str| {
            let other = recorded.passed_over.iter().find(|other| other.name == name);
            other.expect("passed over").reason.clone()
        };
        assert!(reason("idle_page").contains("only the host itself"));
        assert!(reason("damon_pages").contains("CONFIG_DAMON_SYSFS"));
    }

    #[test]
    fn in_a_recording_only_what_is_missing_is_known() {
        let root = FakeRoot::new();
        root.write("proc/stat", "cpu 0 0 0 0\n");
        let mut out = Vec::new();
        let args = ExplainArgs {
            json: true,
            root: root.root().as_path().to_owned(),
            config: None,
        };
        run(&args, &mut out).expect("explained");
        let body: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(body["schema"], "tierscope.explain/1");
        assert_eq!(body["would_measure"], serde_json::Value::Null);
        let works = |name: &str| {
            let entries = body["collectors"].as_array().expect("entries");
            let entry = entries.iter().find(|entry| entry["name"] == name);
            entry.expect("explained")["works_here"].clone()
        };
        assert_eq!(works("pebs"), false);
        assert_eq!(works("referenced"), serde_json::Value::Null);
    }

    #[test]
    fn capabilities_that_are_not_held_are_named() {
        let facts = collectors::facts("referenced").expect("known");
        assert_eq!(lacking(facts, 1 << 19), ["CAP_DAC_OVERRIDE"]);
        assert!(lacking(facts, u64::MAX).is_empty());
        for facts in collectors::ALL {
            assert!(
                lacking(facts, u64::MAX).is_empty(),
                "every name has its bit: {}",
                facts.name
            );
        }
    }
}
