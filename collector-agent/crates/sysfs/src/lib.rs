//! Readers of `/sys`: NUMA nodes, memory tiers, memory devices, settings and control groups.

pub mod cgroup;
pub mod classify;
pub mod devices;
pub mod knobs;
pub mod nodes;
pub mod tiers;

#[cfg(test)]
mod fake_root;
