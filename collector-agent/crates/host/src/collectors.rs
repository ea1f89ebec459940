//! What each collector sees, how finely, with which rights and at which cost: one table for the inventory, for
//! `explain`, for the systemd unit and for the manifests.

use tierscope_sample::inventory::{Collector, Inventory};

/// What is true of a collector on every host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its name in the inventory and, for back ends of heat, in the settings.
    pub name: &'static str,
    /// Whether it is a back end of heat, which the settings name under `[heat] backends`.
    pub is_backend: bool,
    /// What it sees.
    pub sees: &'static str,
    /// The smallest unit that it tells apart.
    pub granularity: &'static str,
    /// Who may use it, in words.
    pub privilege: &'static str,
    /// Linux capabilities that it takes to measure processes of other users, for root without all others.
    pub capabilities: &'static [&'static str],
    /// What it costs the agent and whom it measures, as measured or documented; see docs/benchmarks.md.
    pub cost: &'static str,
    /// Whether it slows down, or changes the state of, what it measures so much that the owner must ask for it.
    pub intrusive: bool,
}

const SYS_PTRACE: &str = "CAP_SYS_PTRACE";
const DAC_OVERRIDE: &str = "CAP_DAC_OVERRIDE";
const DAC_READ_SEARCH: &str = "CAP_DAC_READ_SEARCH";
const PERFMON: &str = "CAP_PERFMON";
const IPC_LOCK: &str = "CAP_IPC_LOCK";
const SYS_ADMIN: &str = "CAP_SYS_ADMIN";
const BPF: &str = "CAP_BPF";

/// A hardware sampler of memory accesses.
const fn sampler(name: &'static str, sees: &'static str) -> Facts {
    Facts {
        name,
        is_backend: true,
        sees,
        granularity: "access",
        privilege: "root or CAP_PERFMON",
        capabilities: &[PERFMON, IPC_LOCK, SYS_PTRACE],
        cost: "at most 1 us of a core per sample; the programs under test pay for an interrupt per sample (IBS), or \
               per full hardware buffer (SPE, and PEBS while nobody else samples precisely)",
        intrusive: false,
    }
}

/// Every collector, counters first, then back ends of heat from the finest to the coarsest.
pub const ALL: &[Facts] = &[
    Facts {
        name: "counters",
        is_backend: false,
        sees: "counters and gauges of the kernel: memory, tier moves, faults, pressure, control groups, devices",
        granularity: "host, node, zone, cgroup, service",
        privilege: "none; root adds settings in debugfs and the memory of other users' processes",
        capabilities: &[SYS_PTRACE, DAC_READ_SEARCH],
        cost: "some ms of a core per reading; nothing for the programs on the host",
        intrusive: false,
    },
    Facts {
        name: "memory_bandwidth",
        is_backend: false,
        sees: "bytes at memory controllers and CXL devices, by socket and device; not whose they are",
        granularity: "socket, device",
        privilege: "root or CAP_PERFMON; resctrl, where it is mounted, needs neither",
        capabilities: &[PERFMON],
        cost: "some us per counter every 10 s; nothing for the programs on the host",
        intrusive: false,
    },
    Facts {
        name: "memory_stall",
        is_backend: false,
        sees: "the share of cycles in which processors wait for memory beyond the last cache",
        granularity: "host",
        privilege: "root or CAP_PERFMON",
        capabilities: &[PERFMON],
        cost: "one general counter of each processor asked; nothing for the programs on the host",
        intrusive: false,
    },
    Facts {
        name: "hotness_unit",
        is_backend: false,
        sees: "which blocks of its memory a CXL device itself counts as hot (CHMU, CXL 3.2); found and named, not read yet",
        granularity: "block of the device",
        privilege: "root or CAP_PERFMON; a kernel with the driver cxl_hmu, which is not in mainline",
        capabilities: &[],
        cost: "nothing: it is only looked for",
        intrusive: false,
    },
    Facts {
        name: "page_moves",
        is_backend: false,
        sees: "moves of a random sample of pages between the top tier and slower memory: ping-pong",
        granularity: "page, of a sample",
        privilege: "root or CAP_SYS_ADMIN; memory in a lower tier",
        capabilities: &[SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH],
        cost: "some ms of a core every 15 s; nothing for the programs on the host, whose pages are not touched",
        intrusive: false,
    },
    Facts {
        name: "service_metrics",
        is_backend: false,
        sees: "throughput, load and latency as services tell them",
        granularity: "service",
        privilege: "none; the file or port of the service",
        capabilities: &[],
        cost: "one request to each service per interval",
        intrusive: false,
    },
    Facts {
        name: "kubernetes_api",
        is_backend: false,
        sees: "pods of this node with their owners and listed labels, and listed labels of the node",
        granularity: "pod",
        privilege: "a service account that may list pods and get nodes",
        capabilities: &[],
        cost: "two requests to the API server in ten minutes, and when a pod begins",
        intrusive: false,
    },
    sampler(
        "pebs",
        "loads that miss the last cache and stores that miss the TLB, with their addresses, and what served loads that took \
         long (Intel)",
    ),
    sampler(
        "ibs",
        "sampled instructions with the address of their data and what served it (AMD)",
    ),
    sampler("spe", "sampled memory operations with their addresses (Arm)"),
    Facts {
        name: "abit_walk",
        is_backend: true,
        sees: "reads and writes together: which pages were touched in the interval, exactly",
        granularity: "page",
        privilege: "root; x86-64, a kernel with BTF that is not locked down",
        capabilities: &[BPF, PERFMON, SYS_ADMIN, DAC_OVERRIDE, SYS_PTRACE],
        cost: "per GiB some 20 ms to clear and 3 ms to read; the program pays 0.6 us at the next touch of each page",
        intrusive: true,
    },
    Facts {
        name: "idle_page",
        is_backend: true,
        sees: "reads and writes together: which pages were touched since they were marked idle",
        granularity: "page",
        privilege: "root; a kernel with CONFIG_IDLE_PAGE_TRACKING",
        capabilities: &[SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH],
        cost: "per GiB some 10 ms to translate and as much to mark and read; each mark clears an accessed bit",
        intrusive: true,
    },
    Facts {
        name: "damon_pages",
        is_backend: true,
        sees: "reads and writes together, with frequency, on a random sample of pages",
        granularity: "page, scaled up from a sample",
        privilege: "root; a kernel with CONFIG_DAMON_SYSFS and CONFIG_DAMON_PADDR that nobody else uses",
        capabilities: &[SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH],
        cost: "2 to 5 % of a core in the kernel thread kdamond for 1,000 to 4,000 pages, next to nothing in the agent",
        intrusive: false,
    },
    Facts {
        name: "damon_regions",
        is_backend: true,
        sees: "reads and writes together: how much of each region was touched",
        granularity: "region",
        privilege: "root; a kernel with CONFIG_DAMON_SYSFS and CONFIG_DAMON_PADDR that nobody else uses",
        capabilities: &[SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH],
        cost: "1 to 6 % of a core in the kernel thread kdamond, next to nothing in the agent",
        intrusive: false,
    },
    Facts {
        name: "referenced",
        is_backend: true,
        sees: "reads and writes together: how many bytes of each mapping were touched, exactly, but not which",
        granularity: "vma",
        privilege: "root, or the user of the process",
        capabilities: &[SYS_PTRACE, DAC_OVERRIDE],
        cost: "per GiB some 12 ms to clear and 12 ms to read; the program pays 0.6 us at the next touch of each page",
        intrusive: false,
    },
    Facts {
        name: "write_tracking",
        is_backend: false,
        sees: "which pages were written, beside a back end that cannot tell reads from writes",
        granularity: "page",
        privilege: "root; a kernel with soft-dirty bits, or userfaultfd and PAGEMAP_SCAN (6.7 and later)",
        capabilities: &[SYS_PTRACE, DAC_OVERRIDE],
        cost: "the program stops for up to 11 ms once and pays 1 us at its first write to each page of an interval",
        intrusive: true,
    },
];

/// The entry of this name.
pub fn facts(name: &str) -> Option<&'static Facts> {
    ALL.iter().find(|facts| facts.name == name)
}

/// Names that `[heat] backends` may hold.
pub fn backend_names() -> Vec<&'static str> {
    ALL.iter()
        .filter(|facts| facts.is_backend)
        .map(|facts| facts.name)
        .collect()
}

/// The capabilities that counters and the given back ends take together, sorted, each once.
pub fn capabilities_of(backends: &[&str]) -> Vec<&'static str> {
    let used = ALL
        .iter()
        .filter(|facts| facts.name == "counters" || backends.contains(&facts.name));
    let mut capabilities: Vec<_> = used.flat_map(|facts| facts.capabilities).copied().collect();
    capabilities.sort_unstable();
    capabilities.dedup();
    capabilities
}

impl Facts {
    /// Whether it tells pages apart, so that page samples come of it.
    pub fn tells_pages_apart(&self) -> bool {
        self.is_backend
            && ["access", "page"]
                .iter()
                .any(|unit| self.granularity.starts_with(unit))
    }

    /// Its entry in the inventory: on, or off for a reason.
    pub fn entry(&self, state: State) -> Collector {
        Collector {
            name: self.name.to_owned(),
            active: state.active,
            reason: state.reason,
            enable_hint: state.hint,
            granularity: self.granularity.to_owned(),
            privilege: self.privilege.to_owned(),
            sees: self.sees.to_owned(),
            cost: self.cost.to_owned(),
            capabilities: self.capabilities.iter().map(|&name| name.to_owned()).collect(),
        }
    }
}

/// Whether a collector is on, and what stands in its way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Whether it measures now.
    pub active: bool,
    /// Why not, or what of it is missing; "" when there is nothing to say.
    pub reason: String,
    /// How to switch it on; "" where nothing helps.
    pub hint: String,
}

impl State {
    /// On, without reserve.
    pub fn on() -> Self {
        Self {
            active: true,
            ..Self::default()
        }
    }

    /// Off.
    pub fn off(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            active: false,
            reason: reason.into(),
            hint: hint.into(),
        }
    }
}

/// Writes whether collectors measure, and why not, into their entries of an inventory.
pub fn write_states(inventory: &mut Inventory, states: &[(&'static str, State)]) {
    for (name, state) in states {
        let Some(facts) = facts(name) else { continue };
        inventory.collectors.retain(|collector| collector.name != *name);
        inventory.collectors.push(facts.entry(state.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        for (index, facts) in ALL.iter().enumerate() {
            assert!(
                ALL[..index].iter().all(|other| other.name != facts.name),
                "{}",
                facts.name
            );
        }
        assert_eq!(backend_names().len(), 8);
    }

    #[test]
    fn regions_and_mappings_are_no_pages() {
        let coarse = ALL
            .iter()
            .filter(|facts| facts.is_backend && !facts.tells_pages_apart());
        let names: Vec<_> = coarse.map(|facts| facts.name).collect();
        assert_eq!(names, ["damon_regions", "referenced"]);
        assert!(facts("write_tracking").is_some_and(|facts| !facts.tells_pages_apart()));
    }
}
