//! Names in the order in which kernels print them, as recorded from Debian's builds of 6.1.0-50, 6.12.95 and 7.2.12.

use crate::laws::Dialect;

/// Names of `/proc/vmstat`.
pub(super) fn vmstat(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    lines(match dialect {
        Dialect::V6_1 => include_str!("../../names/6.1-vmstat.txt"),
        Dialect::V6_12 => include_str!("../../names/6.12-vmstat.txt"),
        Dialect::V7_2 => include_str!("../../names/7.2-vmstat.txt"),
    })
}

/// Names of a node's `vmstat`.
pub(super) fn node_vmstat(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    lines(match dialect {
        Dialect::V6_1 => include_str!("../../names/6.1-node-vmstat.txt"),
        Dialect::V6_12 => include_str!("../../names/6.12-node-vmstat.txt"),
        Dialect::V7_2 => include_str!("../../names/7.2-node-vmstat.txt"),
    })
}

/// Names of a cgroup's `memory.stat`.
pub(super) fn memory_stat(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    lines(match dialect {
        Dialect::V6_1 => include_str!("../../names/6.1-memory-stat.txt"),
        Dialect::V6_12 => include_str!("../../names/6.12-memory-stat.txt"),
        Dialect::V7_2 => include_str!("../../names/7.2-memory-stat.txt"),
    })
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty())
}
