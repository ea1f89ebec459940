//! What is assessed: readings of a host as `once --json` prints them, so that a host and an export of it are judged by
//! the same code.

use std::collections::BTreeMap;

use anyhow::bail;
use serde::Deserialize;
use tierscope_sample::inventory::Inventory;

use crate::doctor::Moves;
use crate::inventory::container_view::Sizes;

/// Readings of this family are understood; fields are only ever added to it.
const SCHEMA: &str = "tierscope.once/1";
/// Nanoseconds of a second.
const SECOND_NS: f64 = 1e9;

type Values = BTreeMap<String, Option<i64>>;
type Sources = BTreeMap<String, Values>;

/// Readings of one host in order of time, at least one.
#[derive(Debug)]
pub(super) struct Host {
    /// The host's own name, else that of the file.
    pub(super) name: String,
    /// Where the readings came from.
    pub(super) source: String,
    pub(super) readings: Vec<Reading>,
}

impl Host {
    pub(super) fn last(&self) -> &Reading {
        &self.readings[self.readings.len() - 1]
    }

    /// The reading with the most memory in use: memory has to hold that, too.
    pub(super) fn fullest(&self) -> &Reading {
        let used_bytes = |reading: &&Reading| {
            let size_bytes = |name: &str| reading.value("meminfo", name);
            size_bytes("MemTotal")
                .zip(size_bytes("MemFree"))
                .map(|(all, free)| all - free)
        };
        self.readings.iter().max_by_key(used_bytes).unwrap_or(self.last())
    }

    /// Files of any reading that could not be understood, or that may be cut off.
    pub(super) fn problems(&self) -> impl Iterator<Item = &str> {
        let told = self.readings.iter().flat_map(|reading| &reading.problems);
        told.map(String::as_str)
    }

    /// Seconds from the first reading to the last; 0 for one reading.
    pub(super) fn window_seconds(&self) -> f64 {
        (self.last().taken_at_ns - self.readings[0].taken_at_ns).max(0) as f64 / SECOND_NS
    }

    /// How much counters of the host grew, and over how many seconds: between the first and the last reading of the
    /// last boot, else since that boot began. `None` where a counter or the time is unknown, or nothing passed.
    pub(super) fn growth(&self, source: &str, names: &[&str]) -> Option<Growth> {
        let last = self.last();
        let end = last.sum(source, names)?;
        let first = self.readings.iter().find(|reading| reading.is_same_boot(last));
        let between = first.and_then(|first| {
            let seconds = (last.boottime_ns? - first.boottime_ns?) as f64 / SECOND_NS;
            let count = end - first.sum(source, names)?;
            (seconds > 0.0 && count >= 0).then_some(Growth {
                count,
                seconds,
                since_boot: false,
            })
        });
        between.or_else(|| {
            let seconds = last.boottime_ns? as f64 / SECOND_NS;
            (seconds > 0.0).then_some(Growth {
                count: end,
                seconds,
                since_boot: true,
            })
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Growth {
    pub(super) count: i64,
    pub(super) seconds: f64,
    /// Whether it is the counter itself, since the host booted.
    pub(super) since_boot: bool,
}

impl Growth {
    pub(super) fn per_s(&self) -> f64 {
        self.count as f64 / self.seconds
    }
}

/// One reading of a host.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Reading {
    schema: String,
    pub(super) taken_at_ns: i64,
    boottime_ns: Option<i64>,
    boot_id: Option<String>,
    host: Sources,
    nodes: BTreeMap<String, Sources>,
    pub(super) processes: Vec<Process>,
    pub(super) inventory: Inventory,
    /// Files that could not be understood, or that may be cut off, in words.
    pub(super) problems: Vec<String>,
}

/// A process, as far as it is judged.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Process {
    /// Bytes by name; `None` where the file was not read.
    pub(super) smaps_rollup: Option<BTreeMap<String, i64>>,
}

impl Reading {
    /// The reading, if it is one that is understood.
    pub(super) fn checked(self) -> anyhow::Result<Self> {
        if self.schema != SCHEMA {
            bail!("has the schema {:?} instead of {SCHEMA:?}", self.schema);
        }
        Ok(self)
    }

    /// Whether both were taken between the same two boots.
    fn is_same_boot(&self, other: &Self) -> bool {
        self.boot_id == other.boot_id
    }

    /// A value of the host; `None` where the kernel has none.
    pub(super) fn value(&self, source: &str, name: &str) -> Option<i64> {
        self.host.get(source)?.get(name).copied().flatten()
    }

    /// The sum of those of these values that the kernel has; `None` where it has none of them.
    pub(super) fn sum(&self, source: &str, names: &[&str]) -> Option<i64> {
        names
            .iter()
            .filter_map(|name| self.value(source, name))
            .reduce(i64::saturating_add)
    }

    /// Reserved huge pages of a node that are free, in bytes; 0 where it tells of none.
    pub(super) fn free_huge_bytes(&self, node: u32) -> i64 {
        let pools = self
            .nodes
            .get(&node.to_string())
            .and_then(|node| node.get("hugepages"));
        let free = pools.into_iter().flatten().filter_map(|(name, pages)| {
            let size = name.strip_prefix("free_hugepages[")?.strip_suffix("kB]")?;
            let kib: i64 = size.parse().ok()?;
            Some((*pages)?.saturating_mul(kib).saturating_mul(1 << 10))
        });
        free.fold(0, i64::saturating_add)
    }

    /// The sizes that must fit together.
    pub(super) fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::of_nodes(&self.inventory);
        for (name, value) in self.host.get("meminfo").into_iter().flatten() {
            if let Some(bytes) = value {
                sizes.add(name, *bytes);
            }
        }
        sizes
    }

    /// Pages that the kernel counted as moved between tiers since boot.
    pub(super) fn moves(&self) -> Moves {
        let mut moves = Moves::default();
        for (name, value) in self.host.get("vmstat").into_iter().flatten() {
            if let Some(value) = value {
                moves.add(name, *value);
            }
        }
        moves
    }

    /// Whether the reading says how long the host has been up.
    pub(super) fn has_uptime(&self) -> bool {
        self.boottime_ns.is_some()
    }

    /// The sum of a size over nodes, or of the host where `nodes` is `None`; `None` where one of them does not say.
    pub(super) fn memory_bytes(&self, nodes: Option<&[u32]>, name: &str) -> Option<i64> {
        let Some(nodes) = nodes else {
            return self.value("meminfo", name);
        };
        let of_node = |id: &u32| {
            let meminfo = self.nodes.get(&id.to_string())?.get("meminfo")?;
            meminfo.get(name).copied().flatten()
        };
        nodes.iter().map(of_node).sum()
    }
}
