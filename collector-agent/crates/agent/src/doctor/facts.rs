//! What the rules of `doctor` look at.

use std::collections::{BTreeMap, BTreeSet};

use tierscope_procfs::{counters, host, numa_maps, process, zoneinfo};
use tierscope_rootfs::{DENIED, Missing, Reader};
use tierscope_sample::inventory::{FileProblem, Inventory, Node};
use tierscope_sample::service::pod_uid;
use tierscope_sysfs::damon_admin::{self, Kdamond};
use tierscope_sysfs::memory_blocks::{self, Blocks};
use tierscope_sysfs::{cgroup, cxl, devices, gpus, hotness, knobs, node_classes, ratings};

use tierscope_host::services::Discovered;

use super::file_problems::file_problems;
use super::hazards::{self, DamonMoves, SWAP};
use super::tiering::Moves;
use crate::inventory::Tree;
use crate::inventory::container_view::{self, Contradiction, Sizes};
use crate::inventory::memory_order::{Lower, MemoryOrder, TierOrder};

/// What files of a host may lack, in words.
pub(super) const CONTROL_GROUPS: &str = "control groups";
pub(super) const PRESSURE: &str = "pressure stall information";

/// What is known of a host.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    /// The host.
    pub(crate) inventory: &'a Inventory,
    /// Whether this is the running host, whose privileges count.
    pub(crate) live: bool,
    /// Effective capabilities of the agent, where known.
    pub(crate) capabilities: Option<u64>,
    /// Whether the kernel gives pressure stall information.
    pub(crate) pressure: Pressure,
    /// Whether control groups of version 2 lack their memory controller.
    pub(crate) memory_controller_is_off: bool,
    /// Nodes on which kswapd gave up.
    pub(crate) given_up_nodes: Vec<u32>,
    /// Free pages of each node, where the kernel prints its zones.
    pub(crate) free_pages: BTreeMap<u32, i64>,
    /// Devices with memory.
    pub(crate) devices: Devices,
    /// Counters of the host since boot.
    pub(crate) vmstat: BTreeMap<String, i64>,
    /// Monitoring threads of DAMON that are on.
    pub(crate) kdamonds: Vec<Kdamond>,
    /// Where each node's memory stands.
    pub(crate) order: MemoryOrder,
    /// Why the sizes of memory cannot be those of one kernel.
    pub(crate) contradiction: Option<String>,
    /// A part of memory that the kernel counts above the whole.
    pub(crate) wrong_count: Option<String>,
    /// What keeps the kernel from running all processors.
    pub(crate) cpu_limit: Option<String>,
    /// What the files of a host do not hold; empty on the running host.
    pub(crate) lacks: Vec<&'static str>,
    /// Programs that clear accessed bits, and threads of DAMON whose settings may not be read, in words.
    pub(crate) clearers: Vec<String>,
    /// Programs that move pages between nodes from user space, and threads of DAMON whose settings may not be read, in words.
    pub(crate) movers: Vec<String>,
    /// Services that may not use some node with memory, with the nodes that they may not use.
    pub(crate) barred: Vec<(String, Vec<u32>)>,
    /// Services with a process in a pod, whose cpuset the kubelet writes.
    pub(crate) in_pods: BTreeSet<String>,
    /// Services whose processes a memory policy of theirs binds to nodes, with the nodes that it leaves out.
    pub(crate) bound: Vec<(String, Vec<u32>)>,
    /// Services of whose processes NUMA balancing passes over the memory, with the policy for which it does.
    pub(crate) passed_over: Vec<(String, String)>,
    /// Whether processes are listed, and whether the policy of any could be read.
    pub(crate) sees: Sees,
    /// Drivers of GPUs that follow the mappings of programs.
    pub(crate) gpu_drivers: Vec<&'static str>,
    /// Caches of fast memory in front of a node's own, in bytes.
    pub(crate) memory_side_caches: Vec<(u32, i64)>,
    /// Files that all of this and the inventory stand on, and that could not be understood or may not be whole.
    pub(crate) problems: Vec<FileProblem>,
}

/// What of processes there is to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sees {
    pub(crate) processes: bool,
    pub(crate) policies: bool,
}

/// What the kernel's file of pressure stall information is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pressure {
    /// It is there.
    Given,
    /// There is none.
    Absent,
    /// It is there, and the kernel refuses to print it: built in, and off at boot.
    Refused,
    /// It is there without a byte, as a copy of one that is refused is.
    Empty,
}

/// Devices with memory, and the blocks in which it comes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Devices {
    /// CXL memory devices with their links.
    pub(crate) cxl: Vec<cxl::Memory>,
    /// PCI functions that are CXL memory, and have no driver.
    pub(crate) undriven: Vec<String>,
    /// CXL regions.
    pub(crate) regions: Vec<cxl::Region>,
    /// dax devices.
    pub(crate) dax: Vec<devices::Dax>,
    /// Whether a block device of persistent memory (`/dev/pmemN`) is there.
    pub(crate) has_pmem_disk: bool,
    /// Whether memory of a partition comes block by block when it is configured (IBM Z, Linux 6.19 and later).
    pub(crate) configures_blocks: bool,
    /// Memory blocks; `None` where the host shows none.
    pub(crate) blocks: Option<Blocks>,
    /// Monitoring units of CXL devices that count hot blocks by themselves.
    pub(crate) hotness: Vec<hotness::Instance>,
    /// Errors of links that rose while the agent watched: device, and how many.
    pub(crate) risen: Vec<(String, u64)>,
}

impl Devices {
    fn read(reader: &mut Reader) -> Self {
        Self {
            cxl: cxl::memory(reader),
            undriven: cxl::undriven(reader),
            regions: cxl::regions(reader),
            dax: devices::dax(reader),
            has_pmem_disk: devices::has_pmem_disk(reader),
            configures_blocks: reader.root().join("/sys/firmware/memory").exists(),
            blocks: memory_blocks::read(reader).ok(),
            hotness: hotness::instances(reader),
            risen: Vec::new(),
        }
    }
}

impl<'a> Facts<'a> {
    /// Reads what the rules need beneath a root.
    pub(crate) fn read(reader: &mut Reader, inventory: &'a Inventory, discovered: &Discovered) -> Self {
        let mut vmstat = BTreeMap::new();
        // Rules that need a counter say nothing where it is missing.
        let _absent = counters::vmstat(reader, |name, value| {
            vmstat.insert(name.to_owned(), value);
        });
        let order = MemoryOrder::of(inventory);
        let tree = Tree::of(reader, &inventory.kernel_release);
        let kdamonds = damon_admin::running(reader);
        let (given_up_nodes, free_pages) = zones(reader);
        let policies = by_service(discovered, |pid| numa_maps::task_policy(reader, pid));
        let (view, wrong_count) = match container_view::contradiction(sizes(reader, inventory)) {
            Some(Contradiction::View(why)) => (Some(why), None),
            Some(Contradiction::Count(why)) => (None, Some(why)),
            None => (None, None),
        };
        let mut facts = Self {
            live: reader.root().is_live(),
            capabilities: host::effective_capabilities(reader, "self"),
            pressure: pressure_of(reader),
            memory_controller_is_off: cgroup::memory_is_off(reader),
            given_up_nodes,
            free_pages,
            devices: Devices::read(reader),
            vmstat,
            clearers: programs(reader, discovered, &CLEARING_PROGRAMS, true, kdamonds.is_ok()),
            movers: programs(reader, discovered, &MOVING_PROGRAMS, false, kdamonds.is_ok()),
            kdamonds: kdamonds.unwrap_or_default(),
            barred: without_nodes(
                inventory,
                by_service(discovered, |pid| process::allowed_nodes(reader, pid)),
            ),
            in_pods: in_pods(discovered),
            sees: Sees {
                processes: !discovered.processes.is_empty(),
                policies: !policies.is_empty(),
            },
            bound: without_nodes(inventory, nodes_bound_to(&policies)),
            passed_over: policies
                .into_iter()
                .filter(|(_, policy)| numa_maps::is_passed_over(policy))
                .collect(),
            gpu_drivers: gpus::read(reader).followers.into_iter().collect(),
            memory_side_caches: memory_side_caches(reader, inventory),
            contradiction: container_view::not_of_a_host(inventory).or(view),
            wrong_count,
            cpu_limit: node_classes::cpu_limit(reader),
            lacks: lacks(reader, &tree, order.tiers),
            order,
            problems: inventory.problems.clone(),
            inventory,
        };
        for problem in file_problems(reader) {
            if facts.problems.iter().all(|told| told.path != problem.path) {
                facts.problems.push(problem);
            }
        }
        facts
    }

    /// The value of a setting, or its choice where the value lists several; `None` where the host has none.
    pub(crate) fn knob(&self, path: &str) -> Option<&str> {
        let knob = self.inventory.knobs.iter().find(|knob| knob.path == path)?;
        knob.value.as_deref().map(knobs::selected)
    }

    /// Whether a setting is on: `1`, `Y`, `true`.
    pub(crate) fn is_on(&self, path: &str) -> bool {
        self.knob(path)
            .is_some_and(|value| knobs::switch(value) == Some(true))
    }

    /// Whether the kernel has somewhere to demote to, whatever it is.
    pub(crate) fn has_lower_tier(&self) -> bool {
        !self.order.demoted_to.is_empty()
    }

    /// Whether tiering may help: what lies in the lower tier is slower, or may be.
    pub(crate) fn may_tier(&self) -> bool {
        matches!(self.order.lower(), Lower::Slower(_) | Lower::NotKnown(_))
    }

    /// How many nodes take promotions, each with the limit for itself: those of DRAM with processors, as the service counts.
    pub(crate) fn promotion_nodes(&self) -> usize {
        let nodes = self.inventory.nodes.iter();
        let takes = |node: &&Node| {
            !node.cpulist.is_empty()
                && node.memory_bytes != Some(0)
                && !self.order.demoted_to.contains(&node.id)
        };
        nodes.filter(takes).count()
    }

    /// Which ways DAMON moves pages between tiers.
    pub(crate) fn damon(&self) -> DamonMoves {
        let actions = self.kdamonds.iter().flat_map(|kdamond| &kdamond.actions);
        DamonMoves::of_actions(self.inventory, &self.order.demoted_to, actions)
    }

    /// Whether DAMON reclaims pages, which it demotes nowhere.
    pub(crate) fn pages_out(&self) -> bool {
        let mut actions = self.kdamonds.iter().flat_map(|kdamond| &kdamond.actions);
        self.is_on("/sys/module/damon_reclaim/parameters/enabled")
            || actions.any(|action| action.name == "pageout")
    }

    /// Whether processors are kept for few tasks (`isolcpus=`, `nohz_full=`).
    pub(crate) fn isolates_cpus(&self) -> bool {
        let is_list = |path: &str| self.knob(path).is_some_and(|cpus| !matches!(cpus, "" | "(null)"));
        knobs::KEPT_CPUS.iter().any(|path| is_list(path))
    }

    /// Whether huge pages of a size below the largest, which is mapped whole, are handed out.
    pub(crate) fn uses_large_folios(&self) -> bool {
        const OF_ALL: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
        let size_of = |path: &str| -> Option<u32> {
            let size = path.strip_prefix("/sys/kernel/mm/transparent_hugepage/hugepages-")?;
            size.strip_suffix("kB/enabled")?.parse().ok()
        };
        let knobs = self.inventory.knobs.iter();
        let sizes: Vec<(u32, &str)> = knobs
            .filter_map(|knob| Some((size_of(&knob.path)?, knob.path.as_str())))
            .collect();
        let largest = sizes.iter().map(|(size, _)| *size).max();
        let given = |path: &str| match self.knob(path) {
            Some("inherit") => self.knob(OF_ALL),
            value => value,
        };
        sizes
            .iter()
            .any(|(size, path)| Some(*size) != largest && matches!(given(path), Some("always" | "madvise")))
    }

    /// Whether swap takes more; `None` where the files do not hold it.
    pub(crate) fn swap_has_room(&self) -> Option<bool> {
        if self.lacks.contains(&SWAP) {
            return None;
        }
        hazards::swap_has_room(self.inventory)
    }

    /// Services that may not use a node of the lower tiers.
    pub(crate) fn barred_services(&self) -> Vec<&str> {
        self.kept_off(&self.barred)
    }

    /// Services that a memory policy of theirs keeps off a node of the lower tiers.
    pub(crate) fn bound_services(&self) -> Vec<&str> {
        self.kept_off(&self.bound)
    }

    fn kept_off<'s>(&self, services: &'s [(String, Vec<u32>)]) -> Vec<&'s str> {
        let lower = &self.order.demoted_to;
        let of_lower = |(_, nodes): &&(String, Vec<u32>)| nodes.iter().any(|node| lower.contains(node));
        services
            .iter()
            .filter(of_lower)
            .map(|(service, _)| service.as_str())
            .collect()
    }

    /// Pages that the kernel counted as moved between tiers since boot, by direction.
    pub(crate) fn moves(&self) -> Moves {
        let mut moves = Moves::default();
        for (name, value) in &self.vmstat {
            moves.add(name, *value);
        }
        moves
    }

    /// The same, both directions together.
    pub(crate) fn moved_pages(&self) -> i64 {
        self.moves().sum()
    }

    /// A counter of the host; `None` where the kernel has none of that name.
    pub(crate) fn counter(&self, name: &str) -> Option<i64> {
        self.vmstat.get(name).copied()
    }

    /// The sum of those of these counters that the kernel has.
    pub(crate) fn sum(&self, names: &[&str]) -> i64 {
        names.iter().filter_map(|name| self.counter(name)).sum()
    }
}

fn pressure_of(reader: &mut Reader) -> Pressure {
    match reader.read("/proc/pressure/memory") {
        Ok("") => Pressure::Empty,
        Err(Missing::Absent) => Pressure::Absent,
        Err(Missing::Unreadable(why)) if why != DENIED => Pressure::Refused,
        Ok(_) | Err(Missing::Unreadable(_)) => Pressure::Given,
    }
}

/// Sizes of memory of the host and of its nodes.
fn sizes(reader: &mut Reader, inventory: &Inventory) -> Sizes {
    let mut sizes = Sizes::of_nodes(inventory);
    // Sizes that are not shown contradict nothing.
    let _absent = counters::meminfo(reader, |name, value| sizes.add(name, value));
    sizes
}

/// What a tree lacks that bears on findings.
fn lacks(reader: &Reader, tree: &Tree, tiers: TierOrder) -> Vec<&'static str> {
    if tree.is_live() {
        return Vec::new();
    }
    let has = |path: &str| reader.root().join(path).exists();
    let parts = [
        (
            "memory tiers",
            tiers != TierOrder::NotInTree
                && (tiers != TierOrder::Derived || tree.holds_tiers_of_its_kernel()),
        ),
        (
            "settings of demotion",
            has("/sys/kernel/mm/numa") || tree.holds_tiers_of_its_kernel(),
        ),
        (
            "settings of promotion",
            has("/proc/sys/kernel/numa_balancing") || tree.is_complete(),
        ),
        ("time since boot", has("/proc/uptime")),
        (PRESSURE, has("/proc/pressure") || tree.is_complete()),
        (CONTROL_GROUPS, has("/sys/fs/cgroup")),
        (SWAP, has("/proc/swaps")),
    ];
    let missing = parts.into_iter().filter(|(_, is_there)| !is_there);
    missing.map(|(name, _)| name).collect()
}

/// Programs that clear accessed bits of others, by the names of their files: damo, memtierd, and the working-set tools that
/// write `/proc/PID/clear_refs` (wss.pl, wss-v1, wss-v2). The agent clears them to measure heat.
const CLEARING_PROGRAMS: [&str; 6] = ["damo", "memtierd", "wss", "wss.pl", "wss-v1", "wss-v2"];
/// Programs that move pages of others between nodes (`move_pages`, `migrate_pages`): memtierd and its plug-in of the container
/// runtime, cri-resource-manager, Intel's memory-optimizer, numad, and migratepages of numactl.
const MOVING_PROGRAMS: [&str; 7] = [
    "numad",
    "memtierd",
    "nri-memtierd",
    "cri-resmgr",
    "sys-refs",
    "task-refs",
    "migratepages",
];
const AGENT: &str = "tierscope-agent";
/// How the kernel names the threads of DAMON (`mm/damon/core.c`).
const DAMON_THREAD: &str = "kdamond.";

/// Running programs by the names of their files, an agent that measures heat where asked for, and DAMON of which only a
/// thread shows.
fn programs(
    reader: &mut Reader,
    discovered: &Discovered,
    wanted: &[&'static str],
    agents: bool,
    schemes_are_known: bool,
) -> Vec<String> {
    let own_pid = reader.root().is_live().then(std::process::id);
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let mut found: Vec<String> = discovered
        .processes
        .iter()
        .filter(|process| Some(process.pid) != own_pid)
        .filter_map(|process| {
            // An interpreter stands before the script that it runs.
            let words: Vec<String> = process.cmdline.split(' ').take(3).map(base).collect();
            let named = |name: &str| process.comm == name || words.iter().any(|word| word == name);
            let measures = agents && named(AGENT) && words.iter().any(|word| word == "run");
            let program = wanted.iter().copied().find(|program| named(program));
            let program = measures.then_some(AGENT).or(program)?;
            Some(format!("{program} (process {})", process.pid))
        })
        .collect();
    if !schemes_are_known {
        let pids = process::pids(reader).unwrap_or_default();
        let is_damon = |pid: &u32| {
            let comm = reader.value(&format!("/proc/{pid}/comm"));
            comm.is_ok_and(|comm| comm.starts_with(DAMON_THREAD))
        };
        found.extend(
            pids.into_iter()
                .find(is_damon)
                .map(|pid| format!("DAMON (thread {pid})")),
        );
    }
    found
}

/// Nodes on which kswapd gave up, and the free pages of each node.
fn zones(reader: &mut Reader) -> (Vec<u32>, BTreeMap<u32, i64>) {
    let mut given_up = Vec::new();
    let mut free_pages: BTreeMap<u32, i64> = BTreeMap::new();
    let outcome = zoneinfo::read(reader, |place, name, value| match (place, name, value) {
        (zoneinfo::Place::Zone(node, _), "node_unreclaimable", 1) => given_up.push(node),
        (zoneinfo::Place::Zone(node, _), "free", pages) => {
            let sum = free_pages.entry(node).or_default();
            *sum = sum.saturating_add(pages);
        }
        _ => {}
    });
    given_up.dedup();
    // A zoneinfo that cannot be read, or only in part, gives no reason to worry anybody.
    if matches!(outcome, Ok(Ok(()))) {
        (given_up, free_pages)
    } else {
        (Vec::new(), BTreeMap::new())
    }
}

fn in_pods(discovered: &Discovered) -> BTreeSet<String> {
    let processes = discovered.processes.iter();
    let in_pods = processes.filter(|process| pod_uid(&process.cgroup).is_some());
    in_pods.map(|process| process.service.to_string()).collect()
}

/// What one process of each service answers; without those of which none does.
fn by_service<T>(discovered: &Discovered, mut ask: impl FnMut(u32) -> Option<T>) -> Vec<(String, T)> {
    let mut asked = BTreeSet::new();
    let processes = discovered.processes.iter();
    let first = processes.filter(|process| asked.insert(&process.service));
    first
        .filter_map(|process| Some((process.service.to_string(), ask(process.pid)?)))
        .collect()
}

fn nodes_bound_to(policies: &[(String, String)]) -> Vec<(String, Vec<u32>)> {
    let nodes =
        |(service, policy): &(String, String)| Some((service.clone(), numa_maps::bound_nodes(policy)?));
    policies.iter().filter_map(nodes).collect()
}

/// Services that may not use some node with memory, with those nodes, by which they may use.
fn without_nodes(inventory: &Inventory, usable: Vec<(String, Vec<u32>)>) -> Vec<(String, Vec<u32>)> {
    let has_memory = |node: &&Node| node.memory_bytes.is_some_and(|bytes| bytes > 0);
    let with_memory: BTreeSet<u32> = inventory
        .nodes
        .iter()
        .filter(has_memory)
        .map(|node| node.id)
        .collect();
    let mut found = Vec::new();
    for (service, nodes) in usable {
        let barred = |node: &u32| with_memory.len() > 1 && !nodes.contains(node);
        let missing: Vec<u32> = with_memory.iter().copied().filter(barred).collect();
        if !missing.is_empty() {
            found.push((service, missing));
        }
    }
    found
}

/// Caches in front of the memory of nodes, the largest of each.
fn memory_side_caches(reader: &mut Reader, inventory: &Inventory) -> Vec<(u32, i64)> {
    let nodes = inventory.nodes.iter();
    nodes
        .map(|node| (node.id, ratings::side_cache_bytes(reader, node.id)))
        .filter(|(_, bytes)| *bytes > 0)
        .collect()
}
