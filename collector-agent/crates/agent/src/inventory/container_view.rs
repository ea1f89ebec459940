//! What tells that files are not those of a host's own kernel: sizes that one kernel cannot print together (a container's
//! own `meminfo` of lxcfs over counters of its host), kernels that are programs (gVisor, WSL 1), containers whose kernel
//! shows them their share as a whole (`OpenVZ`), and files of lxcfs over those of the kernel.

use tierscope_sample::inventory::Inventory;
use tierscope_sysfs::guest::{LXCFS, OPENVZ};

/// What versions of kernels that are programs say, and what these are. Every kernel of gVisor says that it was built then,
/// five minutes after Linux 4.4. WSL 2 is a kernel, and writes its maker in small letters. FreeBSD says the same of all its
/// releases (`linprocfs`).
const PROGRAMS: [(&str, &str); 4] = [
    ("Sun Jan 10 15:06:54 PST 2016", "a sandbox of gVisor"),
    ("-Microsoft (", "Windows Subsystem for Linux 1"),
    ("BrandZ virtual linux", "a zone of illumos"),
    ("des@freebsd.org", "FreeBSD, which runs programs of Linux"),
];

/// Why files of a kernel with this version say nothing of a host; `None` where they may.
pub(crate) fn sandbox(kernel_version: &str) -> Option<String> {
    let (_, what) = PROGRAMS.iter().find(|(sign, _)| kernel_version.contains(sign))?;
    Some(format!(
        "this is {what}: its files are made up by a program, not by its host's kernel"
    ))
}

/// Why files that fit together are still not those of a host; `None` where they may be.
pub(crate) fn not_of_a_host(inventory: &Inventory) -> Option<String> {
    let shares = [
        (
            OPENVZ,
            "this is a container of OpenVZ: its sizes are its share of its host",
        ),
        (
            LXCFS,
            "this is a container with files of lxcfs over those of its kernel: its sizes and its uptime are its own, its counters \
             are its host's",
        ),
    ];
    sandbox(&inventory.kernel_version).or_else(|| {
        let mut of_kind = shares
            .iter()
            .filter(|(kind, _)| inventory.hypervisor.contains(kind));
        of_kind.next().map(|(_, why)| (*why).to_owned())
    })
}

/// Pages that are on the lists of reclaim, so that they can be moved.
pub(crate) const MOVABLE: [&str; 4] = ["Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)"];
/// Parts of a host's memory: lines of `meminfo` that one kernel never sums up to more than `MemTotal`.
const PARTS: [(&str, &[&str]); 6] = [
    ("its lists of reclaim hold", &MOVABLE),
    ("its free memory is", &["MemFree"]),
    ("its anonymous pages have", &["AnonPages"]),
    ("its shared memory has", &["Shmem"]),
    ("its mapped files have", &["Mapped"]),
    ("its slabs have", &["SReclaimable", "SUnreclaim"]),
];

/// Sizes of memory that are read together, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "names carry their unit")]
pub(crate) struct Sizes {
    /// `MemTotal` of the host; `None` where it is not shown.
    total_bytes: Option<i64>,
    /// By part; 0 where none of its lines is shown.
    parts_bytes: [i64; PARTS.len()],
    /// `MemTotal` of all nodes together; `None` where none shows it.
    nodes_bytes: Option<i64>,
}

impl Sizes {
    pub(crate) fn of_nodes(inventory: &Inventory) -> Self {
        let nodes = inventory.nodes.iter().filter_map(|node| node.memory_bytes);
        Self {
            nodes_bytes: nodes.reduce(i64::saturating_add),
            ..Self::default()
        }
    }

    /// Takes a line of `meminfo`.
    pub(crate) fn add(&mut self, name: &str, bytes: i64) {
        if name == "MemTotal" {
            self.total_bytes = Some(bytes);
        }
        for (sum, (_, lines)) in self.parts_bytes.iter_mut().zip(PARTS) {
            if lines.contains(&name) {
                *sum = sum.saturating_add(bytes);
            }
        }
    }
}

const GIB: f64 = (1_u64 << 30) as f64;
/// Sizes are read one after the other, and per-CPU counts lag: more than this over the whole is no rounding.
const EXCESS_PERCENT: i64 = 3;

/// The most that a part of so much memory can read.
pub(crate) const fn most_of(total_bytes: i64) -> i64 {
    total_bytes.saturating_add(total_bytes / 100 * EXCESS_PERCENT)
}

/// Why sizes contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Contradiction {
    /// They are not those of one kernel.
    View(String),
    /// They are, by those of its nodes, and it counts a part above the whole.
    Count(String),
}

impl Contradiction {
    /// Why files are not those of a host; `None` where its kernel has a count wrong.
    pub(crate) fn view(self) -> Option<String> {
        match self {
            Self::View(why) => Some(why),
            Self::Count(_) => None,
        }
    }
}

/// Why the sizes cannot be right together; `None` where they can.
pub(crate) fn contradiction(sizes: Sizes) -> Option<Contradiction> {
    let total_bytes = sizes.total_bytes?;
    let most = most_of(total_bytes);
    let parts = PARTS.iter().map(|(what, _)| *what).zip(sizes.parts_bytes);
    let nodes = sizes.nodes_bytes.map(|bytes| ("its nodes have", bytes));
    let (what, bytes) = parts.chain(nodes).find(|(_, bytes)| *bytes > most)?;
    let told = format!(
        "{what} {:.1} GiB, and MemTotal is {:.1} GiB",
        bytes as f64 / GIB,
        total_bytes as f64 / GIB
    );
    // A container's own size is not that of its host's nodes.
    let is_of_all_nodes = total_bytes > 0
        && sizes
            .nodes_bytes
            .is_some_and(|bytes| bytes <= most && total_bytes <= most_of(bytes));
    Some(if is_of_all_nodes {
        Contradiction::Count(format!("the kernel of this host counts wrongly: {told}"))
    } else {
        Contradiction::View(format!("this is a container's view of its host: {told}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_gvisor_are_known_by_when_they_were_built() {
        assert!(sandbox("Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016").is_some());
        assert_eq!(
            sandbox("Linux version 4.4.0 (x) #1 SMP Tue Jan 12 00:00:00 UTC 2016"),
            None
        );
        assert!(sandbox("Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)").is_some());
        let second = "Linux version 5.15.153.1-microsoft-standard-WSL2 (root@941d701f84f1)";
        assert_eq!(sandbox(second), None, "a kernel of its own");
    }

    #[test]
    fn parts_above_the_whole_are_told_and_rounding_is_not() {
        let of = |lines: &[(&str, i64)], nodes_gib: i64| {
            let mut sizes = Sizes {
                nodes_bytes: Some(nodes_gib << 30),
                ..Sizes::default()
            };
            for (name, gib) in lines {
                sizes.add(name, gib << 30);
            }
            match contradiction(sizes) {
                Some(Contradiction::View(why)) => why,
                Some(Contradiction::Count(why)) => panic!("{why}"),
                None => String::new(),
            }
        };
        let whole = ("MemTotal", 100);
        assert_eq!(of(&[whole, ("MemFree", 100), ("Active(anon)", 101)], 103), "");
        assert!(of(&[whole], 512).contains("nodes have 512.0 GiB"));
        assert!(of(&[whole, ("Active(anon)", 60), ("Inactive(file)", 44)], 1).contains("104.0 GiB"));
        for (line, said) in [
            ("MemFree", "free memory"),
            ("AnonPages", "anonymous pages"),
            ("Shmem", "shared memory"),
            ("Mapped", "mapped files"),
            ("SUnreclaim", "slabs"),
        ] {
            assert!(of(&[whole, (line, 104)], 1).contains(said), "{line}");
        }
        assert_eq!(of(&[("MemFree", 104)], 512), "");
        assert!(of(&[("MemTotal", 0)], 16).contains("MemTotal is 0.0 GiB"));
    }

    #[test]
    fn a_part_above_the_whole_of_all_nodes_is_a_count_of_the_kernel() {
        let of = |nodes_gib: Option<i64>| {
            let mut sizes = Sizes {
                nodes_bytes: nodes_gib.map(|gib| gib << 30),
                ..Sizes::default()
            };
            sizes.add("MemTotal", 100 << 30);
            sizes.add("Inactive(file)", 187 << 30);
            contradiction(sizes)
        };
        for (nodes_gib, is_count) in [
            (Some(100), true),
            (Some(102), true),
            (Some(512), false),
            (None, false),
        ] {
            let told = of(nodes_gib);
            assert_eq!(
                matches!(told, Some(Contradiction::Count(_))),
                is_count,
                "{told:?}"
            );
        }
    }
}
