//! Samples of memory accesses that `perf` recorded elsewhere, whichever of its forms they came in.
//!
//! What an event of a recording means is told by its name alone, because that is all that a recording has. Rules:
//! docs/method/perf.md, "Recordings".

use std::sync::Arc;

use tierscope_perf::Served;

/// What recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PerfSource {
    /// Intel PEBS.
    Pebs,
    /// AMD IBS.
    Ibs,
    /// Arm SPE, as `perf script` decodes it.
    Spe,
    /// Page faults: first touches, which say nothing about a page that is touched again.
    Faults,
}

/// Which accesses an event samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerfAccess {
    /// Loads.
    Loads,
    /// Stores.
    Stores,
    /// Both; the sample's data source tells, and a sample without one is a load.
    Either,
}

/// An event of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerfEvent {
    /// Its name as recorded.
    pub name: String,
    /// What recorded; `None` for an event that samples no data addresses.
    pub source: Option<PerfSource>,
    /// Which accesses.
    pub access: PerfAccess,
    /// Events for each sample; `None` where it varied or is not known.
    pub period: Option<u64>,
}

/// One access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerfSample {
    /// Clock of the recorded host, nanoseconds.
    pub time_ns: u64,
    /// Process.
    pub pid: u32,
    /// Virtual address.
    pub address: u64,
    /// Whether it wrote.
    pub is_store: bool,
    /// What served it; `None` for stores, and where the recording has no data source.
    pub served: Option<Served>,
    /// Index into [`PerfRecording::events`].
    pub event: usize,
}

/// What happened to a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessChange {
    /// A mapping is new; what was there before is gone.
    Mapped {
        /// First address.
        start: u64,
        /// Its length.
        size_bytes: u64,
        /// Offset in the file.
        offset_bytes: u64,
        /// Device and inode of the file; zeros without one.
        file: (u64, u64),
        /// As the kernel prints it.
        name: Arc<str>,
    },
    /// It has a name; with `exec` also a new address space.
    Named {
        /// The name.
        name: Arc<str>,
        /// Whether it runs another program from now on.
        exec: bool,
    },
    /// It was made as a copy of another process.
    Forked {
        /// That process.
        parent_pid: u32,
    },
}

/// A [`ProcessChange`] and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedChange {
    /// Clock of the recorded host, nanoseconds.
    pub time_ns: u64,
    /// Process.
    pub pid: u32,
    /// What happened.
    pub change: ProcessChange,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PerfRecording {
    /// Its events.
    pub events: Vec<PerfEvent>,
    /// By time. Samples without an address, or with one of the kernel, are left out.
    pub samples: Vec<PerfSample>,
    /// By time.
    pub changes: Vec<TimedChange>,
    /// Samples without an address of the process.
    pub without_address: u64,
    /// Samples that the kernel reported as lost.
    pub lost: u64,
}

/// What a recording may hold at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerfLimits {
    /// Bytes of the file, and of what is inflated.
    pub bytes: u64,
    /// Samples.
    pub samples: usize,
}

impl Default for PerfLimits {
    fn default() -> Self {
        Self {
            bytes: 2 << 30,
            samples: 50_000_000,
        }
    }
}

/// A recording that cannot be read or folded, and why.
#[derive(Debug, thiserror::Error)]
pub enum PerfFileError {
    /// It has none of the known forms.
    #[error("is neither a perf.data file nor text of `perf script`")]
    Unknown,
    /// A file of a host with the other byte order, or of a form that is not read.
    #[error("{0}")]
    Form(&'static str),
    /// The file ends early, or contradicts itself.
    #[error("is damaged at byte {at}: {problem}; record it again")]
    Damaged {
        /// Where.
        at: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// More than a limit allows.
    #[error("has more than {limit} {what}: record for a shorter time, or with a longer period")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: u64,
    },
    /// Nothing to fold.
    #[error(
        "holds no samples with data addresses and times: record with `perf mem record` or `perf record -d -T`, and \
         print with `perf script -F comm,pid,tid,time,period,event,addr`"
    )]
    Empty,
    /// Page faults alone.
    #[error(
        "records page faults ({event}): they are first touches, which say nothing about pages that are touched again, \
         and no heat can be made of them; record loads and stores, such as with `perf mem record`"
    )]
    FaultsAreNoHeat {
        /// The event.
        event: String,
    },
    /// Events whose samples are no memory accesses.
    #[error(
        "records {events}, whose addresses are not known to be of memory accesses; known are the memory events of \
         Intel (MEM_*, mem-loads, mem-stores), ibs_op and arm_spe"
    )]
    NoMemoryEvent {
        /// Their names.
        events: String,
    },
    /// Events of different processors in one recording.
    #[error("mixes samples of different kinds ({events}): record them apart, they are never joined")]
    Mixed {
        /// Their names.
        events: String,
    },
}

impl PerfEvent {
    /// What the name says.
    pub fn named(name: &str, period: Option<u64>) -> Self {
        let lower = name.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        let source = if has(&["fault"]) {
            Some(PerfSource::Faults)
        } else if has(&["ibs_op"]) {
            Some(PerfSource::Ibs)
        } else if has(&["arm_spe"]) || SPE_NAMES.contains(&lower.trim_end_matches(':')) {
            Some(PerfSource::Spe)
        } else if has(&INTEL_NAMES) {
            Some(PerfSource::Pebs)
        } else {
            None
        };
        let access = match source {
            Some(PerfSource::Ibs | PerfSource::Spe) => PerfAccess::Either,
            _ if has(&["store", "r12d0", "r82d0", "0x12d0", "0x82d0"]) => PerfAccess::Stores,
            _ if lower.contains("mem-ldst") => PerfAccess::Either,
            _ => PerfAccess::Loads,
        };
        Self {
            name: name.to_owned(),
            source,
            access,
            period,
        }
    }
}

/// Parts of names of Intel's memory events, and their raw codes.
const INTEL_NAMES: [&str; 12] = [
    "mem_load",
    "mem_inst",
    "mem_uops",
    "mem_trans",
    "mem-loads",
    "mem-stores",
    "mem-ldst",
    "r20d1",
    "r12d0",
    "0x20d1",
    "0x12d0",
    "r11d0",
];
/// Names that `perf script` gives to the samples that it decodes from SPE.
const SPE_NAMES: [&str; 8] = [
    "l1d-miss",
    "l1d-access",
    "llc-miss",
    "llc-access",
    "tlb-miss",
    "tlb-access",
    "remote-access",
    "memory",
];

impl PerfRecording {
    /// What recorded, if the samples can be folded to heat.
    ///
    /// # Errors
    /// For page faults, for events that sample no memory accesses, and for a mixture.
    pub fn heat_source(&self) -> Result<PerfSource, PerfFileError> {
        let mut used: Vec<usize> = self.samples.iter().map(|sample| sample.event).collect();
        used.sort_unstable();
        used.dedup();
        let used: Vec<&PerfEvent> = used.iter().filter_map(|event| self.events.get(*event)).collect();
        let names = || {
            let names: Vec<&str> = used.iter().map(|event| event.name.as_str()).collect();
            names.join(", ")
        };
        let Some(first) = used.first() else {
            return Err(PerfFileError::Empty);
        };
        if used.iter().any(|event| event.source.is_none()) {
            return Err(PerfFileError::NoMemoryEvent { events: names() });
        }
        if used.iter().any(|event| event.source != first.source) {
            return Err(PerfFileError::Mixed { events: names() });
        }
        match first.source {
            Some(PerfSource::Faults) => Err(PerfFileError::FaultsAreNoHeat { event: names() }),
            Some(source) => Ok(source),
            None => Err(PerfFileError::NoMemoryEvent { events: names() }),
        }
    }

    /// Puts samples and changes in order of time.
    pub(crate) fn sort(&mut self) {
        self.samples.sort_by_key(|sample| sample.time_ns);
        self.changes.sort_by_key(|change| change.time_ns);
    }

    /// Adds a sample, or counts it as one without an address of the process.
    pub(crate) fn add(&mut self, sample: PerfSample, limits: PerfLimits) -> Result<(), PerfFileError> {
        const KERNEL_BEGIN: u64 = 1 << 63;
        if sample.address == 0 || sample.address >= KERNEL_BEGIN {
            self.without_address += 1;
        } else if self.samples.len() >= limits.samples {
            return Err(PerfFileError::TooLarge {
                what: "samples",
                limit: limits.samples as u64,
            });
        } else {
            self.samples.push(sample);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_recorded_and_which_accesses() {
        let cases = [
            (
                "MEM_LOAD_RETIRED.L3_MISS:pp",
                Some(PerfSource::Pebs),
                PerfAccess::Loads,
            ),
            (
                "mem_inst_retired.stlb_miss_stores",
                Some(PerfSource::Pebs),
                PerfAccess::Stores,
            ),
            (
                "cpu/mem-loads,ldlat=30/P",
                Some(PerfSource::Pebs),
                PerfAccess::Loads,
            ),
            ("cpu/mem-stores/P", Some(PerfSource::Pebs), PerfAccess::Stores),
            ("r20d1:pp", Some(PerfSource::Pebs), PerfAccess::Loads),
            ("r12d0", Some(PerfSource::Pebs), PerfAccess::Stores),
            ("ibs_op//", Some(PerfSource::Ibs), PerfAccess::Either),
            (
                "arm_spe_0/ts_enable=1/",
                Some(PerfSource::Spe),
                PerfAccess::Either,
            ),
            ("llc-miss", Some(PerfSource::Spe), PerfAccess::Either),
            ("page-faults", Some(PerfSource::Faults), PerfAccess::Loads),
            (
                "exceptions:page_fault_user",
                Some(PerfSource::Faults),
                PerfAccess::Loads,
            ),
            ("cycles:ppp", None, PerfAccess::Loads),
        ];
        for (name, source, access) in cases {
            let event = PerfEvent::named(name, None);
            assert_eq!((event.source, event.access), (source, access), "{name}");
        }
    }

    fn recording(names: &[&str]) -> PerfRecording {
        let sample = |event| PerfSample {
            time_ns: 1,
            pid: 1,
            address: 0x1000,
            is_store: false,
            served: None,
            event,
        };
        PerfRecording {
            events: names.iter().map(|name| PerfEvent::named(name, None)).collect(),
            samples: (0..names.len()).map(sample).collect(),
            ..PerfRecording::default()
        }
    }

    #[test]
    fn only_memory_accesses_of_one_kind_are_heat() {
        let heat = |names: &[&str]| recording(names).heat_source();
        assert!(matches!(heat(&["r20d1", "r12d0"]), Ok(PerfSource::Pebs)));
        let faults = heat(&["page-faults"]).unwrap_err().to_string();
        assert!(
            faults.contains("first touches") && faults.contains("perf mem record"),
            "{faults}"
        );
        assert!(matches!(
            heat(&["cycles"]),
            Err(PerfFileError::NoMemoryEvent { .. })
        ));
        assert!(matches!(
            heat(&["r20d1", "page-faults"]),
            Err(PerfFileError::Mixed { .. })
        ));
        assert!(matches!(heat(&[]), Err(PerfFileError::Empty)));
    }

    #[test]
    fn addresses_that_are_not_of_the_process_are_counted_apart() {
        let mut recording = recording(&[]);
        let limits = PerfLimits {
            samples: 1,
            ..PerfLimits::default()
        };
        let sample = |address| PerfSample {
            time_ns: 1,
            pid: 1,
            address,
            is_store: false,
            served: None,
            event: 0,
        };
        for address in [0, u64::MAX, 0x1000] {
            recording.add(sample(address), limits).unwrap();
        }
        assert_eq!((recording.without_address, recording.samples.len()), (2, 1));
        assert!(recording.add(sample(0x2000), limits).is_err());
    }
}
