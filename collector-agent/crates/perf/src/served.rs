//! What served a sampled load: `perf_mem_data_src` of the kernel, and the data source of AMD's IBS registers.
//!
//! Bits and values: `union perf_mem_data_src` and `PERF_MEM_*` of `include/uapi/linux/perf_event.h`. Which of them a
//! processor fills in: arch/x86/events/intel/ds.c (`get_data_src`), arch/x86/events/amd/ibs.c (`perf_ibs_get_mem_lvl`),
//! tools/perf/util/arm-spe.c.

use crate::ibs::IbsOp;

/// Shifts and widths of the fields of `perf_mem_data_src` that are used.
pub(crate) mod field {
    pub(crate) const OPERATION: (u32, u32) = (0, 5);
    pub(crate) const LEVEL: (u32, u32) = (5, 14);
    pub(crate) const LEVEL_NUMBER: (u32, u32) = (33, 4);
    pub(crate) const REMOTE: (u32, u32) = (37, 1);
    pub(crate) const HOPS: (u32, u32) = (43, 3);
}

/// `PERF_MEM_OP_*`.
pub(crate) mod operation {
    #[cfg(test)]
    pub(crate) const LOAD: u64 = 0x02;
    pub(crate) const STORE: u64 = 0x04;
}

/// `PERF_MEM_LVL_*`, the older name space, which processors before Skylake fill in alone.
pub(crate) mod level {
    pub(crate) const NOT_AVAILABLE: u64 = 0x01;
    pub(crate) const HIT: u64 = 0x02;
    pub(crate) const MISS: u64 = 0x04;
    pub(crate) const L1: u64 = 0x08;
    pub(crate) const LINE_FILL_BUFFER: u64 = 0x10;
    pub(crate) const L2: u64 = 0x20;
    pub(crate) const L3: u64 = 0x40;
    pub(crate) const LOCAL_RAM: u64 = 0x80;
    pub(crate) const REMOTE_RAM_1_HOP: u64 = 0x100;
    pub(crate) const REMOTE_RAM_2_HOPS: u64 = 0x200;
    pub(crate) const REMOTE_CACHE_1_HOP: u64 = 0x400;
    pub(crate) const REMOTE_CACHE_2_HOPS: u64 = 0x800;
    pub(crate) const IO: u64 = 0x1000;
    pub(crate) const UNCACHED: u64 = 0x2000;
}

/// `PERF_MEM_LVLNUM_*`.
pub(crate) mod level_number {
    pub(crate) const L1: u64 = 0x1;
    pub(crate) const L4: u64 = 0x4;
    pub(crate) const L2_MISS_BUFFER: u64 = 0x5;
    pub(crate) const MEMORY_SIDE_CACHE: u64 = 0x6;
    pub(crate) const L0: u64 = 0x7;
    pub(crate) const UNCACHED: u64 = 0x8;
    pub(crate) const CXL: u64 = 0x9;
    pub(crate) const IO: u64 = 0xa;
    pub(crate) const ANY_CACHE: u64 = 0xb;
    pub(crate) const LINE_FILL_BUFFER: u64 = 0xc;
    pub(crate) const RAM: u64 = 0xd;
    pub(crate) const PMEM: u64 = 0xe;
}

/// `PERF_MEM_HOPS_0`: another core of the same node, which is no remote memory.
pub(crate) const HOPS_SAME_NODE: u64 = 1;

/// What served a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Served {
    /// A cache of this or another core or socket, or one in front of memory.
    Cache,
    /// DRAM of the node that the processor belongs to.
    DramLocal,
    /// DRAM of another node.
    DramRemote,
    /// Memory behind CXL, of whichever node.
    Cxl,
    /// Persistent memory.
    Pmem,
    /// No memory tier: I/O or uncached memory.
    Uncached,
    /// The processor or the kernel does not say.
    Unknown,
}

impl Served {
    /// All of them, in the order of [`ServedLoads::counts`].
    pub const ALL: [Self; 7] = [
        Self::Cache,
        Self::DramLocal,
        Self::DramRemote,
        Self::Cxl,
        Self::Pmem,
        Self::Uncached,
        Self::Unknown,
    ];

    /// Short name; counters are called `loads_` and this.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::DramLocal => "dram_local",
            Self::DramRemote => "dram_remote",
            Self::Cxl => "cxl",
            Self::Pmem => "pmem",
            Self::Uncached => "uncached",
            Self::Unknown => "unknown",
        }
    }

    /// What a `perf_mem_data_src` says. Every value gives one; a level that was missed, with nothing said of what
    /// served the load then, is [`Self::Unknown`].
    pub fn of_data_src(data_src: u64) -> Self {
        let is_remote = get(data_src, field::REMOTE) != 0 && get(data_src, field::HOPS) != HOPS_SAME_NODE;
        let levels = get(data_src, field::LEVEL);
        let named = match get(data_src, field::LEVEL_NUMBER) {
            level_number::L1..=level_number::L4
            | level_number::L2_MISS_BUFFER
            | level_number::MEMORY_SIDE_CACHE
            | level_number::L0
            | level_number::ANY_CACHE
            | level_number::LINE_FILL_BUFFER => Self::Cache,
            level_number::RAM if is_remote => Self::DramRemote,
            level_number::RAM => Self::DramLocal,
            level_number::CXL => Self::Cxl,
            level_number::PMEM => Self::Pmem,
            level_number::UNCACHED | level_number::IO => Self::Uncached,
            _ => Self::of_levels(levels),
        };
        let only_missed = levels & (level::HIT | level::MISS) == level::MISS;
        if named == Self::Cache && only_missed {
            Self::Unknown
        } else {
            named
        }
    }

    fn of_levels(levels: u64) -> Self {
        let caches = level::L1
            | level::LINE_FILL_BUFFER
            | level::L2
            | level::L3
            | level::REMOTE_CACHE_1_HOP
            | level::REMOTE_CACHE_2_HOPS;
        let remote = level::REMOTE_RAM_1_HOP | level::REMOTE_RAM_2_HOPS;
        if levels & level::NOT_AVAILABLE != 0 {
            Self::Unknown
        } else if levels & remote != 0 {
            Self::DramRemote
        } else if levels & level::LOCAL_RAM != 0 {
            Self::DramLocal
        } else if levels & caches != 0 {
            Self::Cache
        } else if levels & (level::IO | level::UNCACHED) != 0 {
            Self::Uncached
        } else {
            Self::Unknown
        }
    }

    /// What the registers of IBS say of a load, for kernels that leave `perf_mem_data_src` empty (before 6.1). Values
    /// of `DataSrc`: arch/x86/include/asm/amd-ibs.h.
    pub fn of_ibs(op: &IbsOp) -> Self {
        match (op.cache_miss, op.data_source) {
            (false, _) | (true, 1 | 2 | 4 | 5) => Self::Cache,
            (true, 3) if op.remote => Self::DramRemote,
            (true, 3) => Self::DramLocal,
            (true, 6) => Self::Pmem,
            (true, 7) => Self::Uncached,
            (true, 8) => Self::Cxl,
            (true, _) => Self::Unknown,
        }
    }
}

/// Whether a `perf_mem_data_src` is that of a store.
pub fn is_store(data_src: u64) -> bool {
    get(data_src, field::OPERATION) & operation::STORE != 0
}

fn get(data_src: u64, (shift, width): (u32, u32)) -> u64 {
    data_src >> shift & ((1 << width) - 1)
}

/// Source of the counters of [`ServedLoads`], as in `contract/metrics/served_loads.toml`.
pub const COUNTER_SOURCE: &str = "served_loads";

/// Sampled loads by what served them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServedLoads {
    /// In the order of [`Served::ALL`].
    pub counts: [u64; Served::ALL.len()],
}

impl ServedLoads {
    /// Counts one load.
    pub fn add(&mut self, served: Served) {
        self.counts[served as usize] += 1;
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }

    /// Loads that `served` served.
    pub fn of(&self, served: Served) -> u64 {
        self.counts[served as usize]
    }

    /// Name and value of each counter, in the order of [`Served::ALL`].
    pub fn counters(&self) -> impl Iterator<Item = (String, i64)> + use<> {
        let counts = self.counts;
        Served::ALL
            .into_iter()
            .zip(counts)
            .map(|(served, count)| (format!("loads_{}", served.name()), count.cast_signed()))
    }

    /// All loads that were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Share of the loads served by remote DRAM, CXL or persistent memory among those served by any memory; `None`
    /// where no load is known to have been served by memory.
    pub fn slow_ratio(&self) -> Option<f64> {
        let slow = self.of(Served::DramRemote) + self.of(Served::Cxl) + self.of(Served::Pmem);
        let memory = slow + self.of(Served::DramLocal);
        (memory > 0).then(|| slow as f64 / memory as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data source with these fields; `PERF_MEM_OP_LOAD`.
    fn load(levels: u64, number: u64, remote: u64, hops: u64) -> u64 {
        operation::LOAD
            | levels << field::LEVEL.0
            | number << field::LEVEL_NUMBER.0
            | remote << field::REMOTE.0
            | hops << field::HOPS.0
    }

    #[test]
    fn what_processors_write_is_told_apart() {
        // As arch/x86/events/intel/ds.c (`pebs_data_source`, Skylake), amd/ibs.c and POWER's isa207-common.c write them.
        let cases = [
            (load(level::L1 | level::HIT, 1, 0, 0), Served::Cache),
            (
                load(level::LINE_FILL_BUFFER | level::HIT, 0xc, 0, 0),
                Served::Cache,
            ),
            (
                load(level::REMOTE_CACHE_1_HOP | level::HIT, 0xb, 1, 0),
                Served::Cache,
            ),
            (load(level::LOCAL_RAM | level::HIT, 0xd, 0, 0), Served::DramLocal),
            (
                load(level::REMOTE_RAM_1_HOP | level::HIT, 0xd, 1, 0),
                Served::DramRemote,
            ),
            (load(level::HIT, 0xd, 1, 2), Served::DramRemote),
            (load(level::HIT, 0xd, 1, HOPS_SAME_NODE), Served::DramLocal),
            (load(level::HIT, 9, 0, 0), Served::Cxl),
            (load(level::HIT, 9, 1, 2), Served::Cxl),
            (load(level::HIT, 0xe, 1, 0), Served::Pmem),
            (load(level::IO | level::HIT, 0xa, 0, 0), Served::Uncached),
            (load(level::UNCACHED | level::HIT, 8, 0, 0), Served::Uncached),
            (load(level::HIT, 6, 0, 0), Served::Cache),
        ];
        for (data_src, served) in cases {
            assert_eq!(Served::of_data_src(data_src), served, "{data_src:#x}");
        }
    }

    #[test]
    fn older_processors_fill_in_the_older_levels_alone() {
        let cases = [
            (level::L3 | level::HIT, Served::Cache),
            (level::REMOTE_CACHE_2_HOPS | level::HIT, Served::Cache),
            (level::LOCAL_RAM | level::HIT, Served::DramLocal),
            (level::REMOTE_RAM_1_HOP | level::HIT, Served::DramRemote),
            (level::REMOTE_RAM_2_HOPS | level::HIT, Served::DramRemote),
            (level::IO | level::HIT, Served::Uncached),
        ];
        for (levels, served) in cases {
            for number in [0, 0xf] {
                assert_eq!(
                    Served::of_data_src(load(levels, number, 0, 0)),
                    served,
                    "{levels:#x}"
                );
            }
        }
    }

    #[test]
    fn what_is_not_said_is_unknown() {
        // PERF_MEM_NA, as the kernel gives it where an event has no data source.
        let not_available = 1 | level::NOT_AVAILABLE << field::LEVEL.0 | 0xf << field::LEVEL_NUMBER.0;
        // "Unknown L3" and a store that missed the first level: what served it is not said.
        let missed = [load(level::MISS, 3, 0, 0), load(level::L1 | level::MISS, 0, 0, 0)];
        for data_src in [0, not_available, missed[0], missed[1]] {
            assert_eq!(Served::of_data_src(data_src), Served::Unknown, "{data_src:#x}");
        }
        assert!(!is_store(missed[0]) && !is_store(not_available));
        assert!(is_store(operation::STORE));
    }

    #[test]
    fn registers_of_ibs_tell_it_too() {
        let op = |cache_miss, data_source, remote| IbsOp {
            load: true,
            store: false,
            linear_address: None,
            physical_address: None,
            cache_miss,
            miss_latency_cycles: 0,
            data_source,
            remote,
        };
        let cases = [
            (op(false, 3, true), Served::Cache),
            (op(true, 2, false), Served::Cache),
            (op(true, 3, false), Served::DramLocal),
            (op(true, 3, true), Served::DramRemote),
            (op(true, 8, true), Served::Cxl),
            (op(true, 7, false), Served::Uncached),
            (op(true, 0, false), Served::Unknown),
        ];
        for (op, served) in cases {
            assert_eq!(Served::of_ibs(&op), served, "{op:?}");
        }
    }

    #[test]
    fn the_share_of_slow_memory_is_that_of_loads_that_memory_served() {
        let mut loads = ServedLoads::default();
        assert_eq!(loads.slow_ratio(), None);
        loads.add(Served::Cache);
        loads.add(Served::Unknown);
        assert_eq!(loads.slow_ratio(), None);
        for served in [
            Served::DramLocal,
            Served::DramLocal,
            Served::DramRemote,
            Served::Cxl,
        ] {
            loads.add(served);
        }
        let mut twice = loads;
        twice.merge(&loads);
        assert_eq!((twice.total(), twice.of(Served::Cxl)), (12, 2));
        assert_eq!(twice.slow_ratio(), Some(0.5));
        let names: std::collections::BTreeSet<&str> = Served::ALL.map(Served::name).into();
        assert_eq!(names.len(), Served::ALL.len());
        assert!(
            Served::ALL
                .iter()
                .enumerate()
                .all(|(index, served)| *served as usize == index)
        );
    }
}
