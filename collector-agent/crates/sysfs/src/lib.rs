//! Readers of `/sys`: NUMA nodes, memory tiers, memory devices, settings and control groups.

pub mod cgroup;
pub mod classify;
pub mod copy_engines;
pub mod cxl;
pub mod damon_admin;
pub mod damon_stat;
pub mod damos;
pub mod devices;
pub mod dimms;
pub mod gpus;
pub mod guest;
pub mod hotness;
pub mod huge_pages;
pub mod knobs;
pub mod lru_gen;
pub mod memory_blocks;
pub mod node_classes;
pub mod nodes;
pub mod ratings;
pub mod resctrl;
pub mod tiers;
pub mod zram;

#[cfg(test)]
mod fake_root;
