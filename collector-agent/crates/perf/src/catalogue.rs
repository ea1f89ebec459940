//! Which events sample memory accesses, by processor, as data.
//!
//! Intel's encodings are those of the kernel's tools/perf/pmu-events; AMD's and Arm's events are described by the kernel
//! itself. Which processor this is decides what is tried; whether it works is found out by doing ([`crate::probe`]).

use tierscope_rootfs::{Reader, Root};

use crate::error::PerfError;
use crate::pmu::Pmu;

/// Events for each sample of PEBS, before it is randomised.
pub const DEFAULT_PERIOD: u64 = 200;
/// Ops for each sample of IBS: all ops count, so that 200 would stop the processor.
const IBS_PERIOD_OPS: u64 = 1 << 16;
/// Loads that took long, for each sample of what served them.
const SERVED_PERIOD: u64 = 1000;
/// Loads count as long from here on: most hits of the last cache take less, and DRAM takes more.
const SERVED_LATENCY_CYCLES: u32 = 128;
/// The term of a unit that says from which latency on loads are sampled.
const LATENCY_TERM: &str = "ldlat";
/// IBS counts in steps of 16.
const IBS_STEP: u64 = 16;
/// Operations for each sample of SPE.
const SPE_PERIOD_OPS: u64 = 1 << 12;
/// `PERF_TYPE_RAW` and `PERF_TYPE_SOFTWARE`.
const TYPE_RAW: u32 = 4;
const TYPE_SOFTWARE: u32 = 1;
/// `PERF_COUNT_SW_PAGE_FAULTS`, `_MIN`, `_MAJ`.
const SOFTWARE_FAULTS: u64 = 2;
const SOFTWARE_FAULTS_MINOR: u64 = 5;
const SOFTWARE_FAULTS_MAJOR: u64 = 6;

/// What takes the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SamplerKind {
    /// Intel, precise event-based sampling.
    Pebs,
    /// AMD, instruction-based sampling.
    Ibs,
    /// Arm, statistical profiling extension.
    Spe,
    /// The kernel's page faults: first touches, which are no heat. For tests of the same path.
    PageFaults,
}

impl SamplerKind {
    /// Short name, as in configuration and inventory.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pebs => "pebs",
            Self::Ibs => "ibs",
            Self::Spe => "spe",
            Self::PageFaults => "fault-only",
        }
    }
}

/// What a sample of an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A load.
    Load,
    /// A store.
    Store,
    /// What the IBS registers in the sample say.
    IbsOp,
    /// What the packets in the auxiliary buffer say.
    SpePackets,
    /// A first touch; counted with loads, because the kernel does not tell.
    Fault,
    /// A load that took long, sampled for what served it alone: its page is not counted, because loads that took long
    /// are another population than loads that missed the cache.
    Served,
}

/// One event to sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSpec {
    /// Its name in the processor's documentation.
    pub name: String,
    /// The unit's number.
    pub pmu_type: u32,
    /// `config`, `config1`, `config2`, `config3`.
    pub config: [u64; 4],
    /// 0 any skid, 2 none asked for.
    pub precise_ip: u8,
    /// Events for each sample, before it is randomised.
    pub period: u64,
    /// Periods are multiples of it.
    pub period_step: u64,
    /// What a sample is.
    pub meaning: Meaning,
    /// Whether accesses of the kernel are left out.
    pub exclude_kernel: bool,
    /// CPUs that have the unit; `None` for all.
    pub cpus: Option<Vec<u32>>,
    /// `config` to `config3` of the event that has to lead its group; `None` where the kernel asks for none.
    pub leader: Option<[u64; 4]>,
}

/// The events of one processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSet {
    /// What takes the samples.
    pub kind: SamplerKind,
    /// The events. Those of `kind` SPE fill an auxiliary buffer.
    pub events: Vec<EventSpec>,
}

/// Intel event codes (umask << 8 | event): loads and stores.
struct IntelCodes {
    loads: (&'static str, u64),
    stores: (&'static str, u64),
}

const BROADWELL: IntelCodes = IntelCodes {
    loads: ("MEM_LOAD_UOPS_RETIRED.L3_MISS", 0x20d1),
    stores: ("MEM_UOPS_RETIRED.STLB_MISS_STORES", 0x12d0),
};
const P_CORE: IntelCodes = IntelCodes {
    loads: ("MEM_LOAD_RETIRED.L3_MISS", 0x20d1),
    stores: ("MEM_INST_RETIRED.STLB_MISS_STORES", 0x12d0),
};
/// E-cores have no precise event for misses of the last-level cache: loads that missed the second-level TLB stand in.
const E_CORE: IntelCodes = IntelCodes {
    loads: ("MEM_UOPS_RETIRED.STLB_MISS_LOADS", 0x11d0),
    stores: ("MEM_UOPS_RETIRED.STLB_MISS_STORES", 0x12d0),
};

/// Models of family 6, by generation.
const BROADWELL_MODELS: [u32; 4] = [0x3d, 0x47, 0x4f, 0x56];
/// Skylake to Granite Rapids, servers and clients without E-cores.
const P_CORE_MODELS: [u32; 16] = [
    0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6, 0x7d, 0x7e, 0x6a, 0x6c, 0x8c, 0x8d, 0xa7, 0x8f, 0xcf,
];
const GRANITE_RAPIDS_MODELS: [u32; 2] = [0xad, 0xae];
/// Sierra Forest, Clearwater Forest.
const E_CORE_MODELS: [u32; 2] = [0xaf, 0xdd];
/// Alder Lake, Raptor Lake, Meteor Lake: two units, `cpu_core` and `cpu_atom`.
const HYBRID_MODELS: [u32; 7] = [0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xaa, 0xac];

/// What `/proc/cpuinfo` says about the first processor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Processor {
    /// `GenuineIntel`, `AuthenticAMD`; empty on Arm.
    pub vendor: String,
    /// CPU family.
    pub family: u32,
    /// Model.
    pub model: u32,
}

impl Processor {
    /// Reads it.
    pub fn read(root: &Root) -> Self {
        let mut reader = Reader::new(root.clone());
        let text = reader.read("/proc/cpuinfo").unwrap_or_default();
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim())
        };
        let number = |name: &str| value(name).and_then(|value| value.parse().ok()).unwrap_or(0);
        Self {
            vendor: value("vendor_id").unwrap_or_default().to_owned(),
            family: number("cpu family"),
            model: number("model"),
        }
    }
}

impl Processor {
    /// What samples addresses on processors of this maker; `None` for one that is not known.
    pub fn sampler(&self) -> Option<SamplerKind> {
        match self.vendor.as_str() {
            "GenuineIntel" => Some(SamplerKind::Pebs),
            "AuthenticAMD" | "HygonGenuine" => Some(SamplerKind::Ibs),
            // Arm names no vendor by this name.
            "" => Some(SamplerKind::Spe),
            _ => None,
        }
    }
}

impl EventSet {
    /// The events to try on a host.
    ///
    /// # Errors
    /// [`PerfError::UnknownProcessor`] for an Intel processor that is not in the catalogue, [`PerfError::NoPmu`] where
    /// the processor or the virtual machine has no unit that samples addresses.
    pub fn for_host(root: &Root) -> Result<Self, PerfError> {
        if let Ok(pmu) = Pmu::read(root, "arm_spe_0") {
            return spe(&pmu);
        }
        let processor = Processor::read(root);
        match processor.vendor.as_str() {
            "AuthenticAMD" | "HygonGenuine" => ibs(&Pmu::read(root, "ibs_op")?),
            "GenuineIntel" => pebs(root, &processor),
            _ => Err(PerfError::UnknownProcessor {
                processor: describe(&processor),
            }),
        }
    }

    /// Page faults, one sample each. First touches, which are no heat: for tests of the path that the others take.
    pub fn page_faults() -> Self {
        Self {
            kind: SamplerKind::PageFaults,
            events: vec![fault_event("page-faults", SOFTWARE_FAULTS)],
        }
    }

    /// Page faults, minor and major ones as two events.
    pub fn page_faults_apart() -> Self {
        Self {
            kind: SamplerKind::PageFaults,
            events: vec![
                fault_event("minor-faults", SOFTWARE_FAULTS_MINOR),
                fault_event("major-faults", SOFTWARE_FAULTS_MAJOR),
            ],
        }
    }

    /// Which event's samples say what served them; `None` where none does.
    ///
    /// On Intel that is an event of its own. IBS says it of each load. The packets of SPE say it in a code of each
    /// processor's own, which is not decoded, and page faults have no answer.
    pub fn served_by(&self) -> Option<&EventSpec> {
        let of = |meaning| self.events.iter().find(|event| event.meaning == meaning);
        of(Meaning::Served).or_else(|| of(Meaning::IbsOp))
    }

    /// The same events with another period, rounded to what each event allows.
    #[must_use]
    pub fn with_period(mut self, period: u64) -> Self {
        for event in &mut self.events {
            event.period = round_period(period, event.period_step);
        }
        self
    }
}

/// `period` as a multiple of `step`, at least one step.
pub(crate) fn round_period(period: u64, step: u64) -> u64 {
    (period.saturating_add(step / 2) / step).max(1) * step
}

fn describe(processor: &Processor) -> String {
    let Processor {
        vendor,
        family,
        model,
    } = processor;
    if vendor.is_empty() && *family == 0 {
        return "/proc/cpuinfo does not tell it".to_owned();
    }
    let vendor = if vendor.is_empty() { "no vendor" } else { vendor };
    format!("{vendor}, family {family}, model {model:#x}")
}

fn fault_event(name: &str, config: u64) -> EventSpec {
    EventSpec {
        name: name.to_owned(),
        pmu_type: TYPE_SOFTWARE,
        config: [config, 0, 0, 0],
        precise_ip: 0,
        period: 1,
        period_step: 1,
        meaning: Meaning::Fault,
        exclude_kernel: false,
        cpus: None,
        leader: None,
    }
}

fn pebs(root: &Root, processor: &Processor) -> Result<EventSet, PerfError> {
    let model = processor.model;
    let on_all = |codes: &IntelCodes| {
        // Only the unit's presence is asked for: raw events have a number of their own.
        match Pmu::read(root, "cpu") {
            Ok(pmu) => {
                let mut events = intel_events(codes, TYPE_RAW, None);
                events.extend(served_event(&pmu, None));
                Ok(events)
            }
            Err(PerfError::NoPmu { .. }) => Err(PerfError::NoPmu {
                event: codes.loads.0.to_owned(),
            }),
            Err(error) => Err(error),
        }
    };
    let events = if processor.family != 6 {
        Err(PerfError::UnknownProcessor {
            processor: describe(processor),
        })
    } else if HYBRID_MODELS.contains(&model) {
        let mut events = Vec::new();
        for (unit, codes) in [("cpu_core", &P_CORE), ("cpu_atom", &E_CORE)] {
            match Pmu::read(root, unit) {
                Ok(pmu) => {
                    events.extend(intel_events(codes, pmu.kind, Some(&pmu.cpus)));
                    events.extend(served_event(&pmu, Some(&pmu.cpus)));
                }
                // Either kind of core may be switched off.
                Err(PerfError::NoPmu { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if events.is_empty() {
            on_all(&P_CORE)
        } else {
            Ok(events)
        }
    } else if BROADWELL_MODELS.contains(&model) {
        on_all(&BROADWELL)
    } else if E_CORE_MODELS.contains(&model) {
        on_all(&E_CORE)
    } else if P_CORE_MODELS.contains(&model) || GRANITE_RAPIDS_MODELS.contains(&model) {
        on_all(&P_CORE)
    } else {
        Err(PerfError::UnknownProcessor {
            processor: describe(processor),
        })
    };
    Ok(EventSet {
        kind: SamplerKind::Pebs,
        events: events?,
    })
}

fn intel_events(codes: &IntelCodes, pmu_type: u32, cpus: Option<&[u32]>) -> Vec<EventSpec> {
    let event = |(name, code): (&str, u64), meaning| EventSpec {
        name: name.to_owned(),
        pmu_type,
        config: [code, 0, 0, 0],
        precise_ip: 2,
        period: DEFAULT_PERIOD,
        period_step: 1,
        meaning,
        exclude_kernel: true,
        cpus: cpus.map(<[u32]>::to_vec),
        leader: None,
    };
    vec![
        event(codes.loads, Meaning::Load),
        event(codes.stores, Meaning::Store),
    ]
}

/// The event whose samples say what served them, where the kernel describes it (`mem-loads`, with the event that has to
/// lead its group on Sapphire Rapids and Alder Lake). Of loads that missed the last cache, the kernel does not say it
/// (`precise_datala_hsw` in arch/x86/events/intel/ds.c).
fn served_event(pmu: &Pmu, cpus: Option<&[u32]>) -> Option<EventSpec> {
    let described = pmu.event("mem-loads").filter(|_| pmu.has_term(LATENCY_TERM))?;
    let others = described
        .terms
        .split(',')
        .filter(|term| !term.starts_with(LATENCY_TERM));
    let terms: Vec<&str> = others.collect();
    let terms = format!("{},{LATENCY_TERM}={SERVED_LATENCY_CYCLES}", terms.join(","));
    let leader = pmu.event("mem-loads-aux").map(|aux| pmu.encode(&aux.terms));
    Some(EventSpec {
        name: format!("mem-loads,{LATENCY_TERM}={SERVED_LATENCY_CYCLES}"),
        pmu_type: pmu.kind,
        config: pmu.encode(&terms).ok()?.words,
        precise_ip: 2,
        period: SERVED_PERIOD,
        period_step: 1,
        meaning: Meaning::Served,
        exclude_kernel: true,
        cpus: cpus.map(<[u32]>::to_vec),
        leader: leader.transpose().ok()?.map(|config| config.words),
    })
}

fn ibs(pmu: &Pmu) -> Result<EventSet, PerfError> {
    let mut terms = Vec::new();
    // Count ops rather than cycles, and drop those that did not miss the last-level cache, where the processor can.
    for term in ["cnt_ctl", "l3missonly"] {
        if pmu.has_term(term) {
            terms.push(term);
        }
    }
    let config = pmu.encode(&terms.join(","))?;
    let event = EventSpec {
        name: format!("ibs_op/{}/", terms.join(",")),
        pmu_type: pmu.kind,
        config: config.words,
        precise_ip: 0,
        period: IBS_PERIOD_OPS,
        period_step: IBS_STEP,
        meaning: Meaning::IbsOp,
        // The unit cannot tell user from kernel before Zen 5; kernel addresses are dropped as they are read.
        exclude_kernel: false,
        cpus: None,
        leader: None,
    };
    Ok(EventSet {
        kind: SamplerKind::Ibs,
        events: vec![event],
    })
}

fn spe(pmu: &Pmu) -> Result<EventSet, PerfError> {
    let terms = "ts_enable=1,jitter=1,load_filter=1,store_filter=1";
    let config = pmu.encode(terms)?;
    let event = EventSpec {
        name: format!("arm_spe/{terms}/"),
        pmu_type: pmu.kind,
        config: config.words,
        precise_ip: 0,
        period: SPE_PERIOD_OPS,
        period_step: 1,
        meaning: Meaning::SpePackets,
        exclude_kernel: true,
        cpus: (!pmu.cpus.is_empty()).then(|| pmu.cpus.clone()),
        leader: None,
    };
    Ok(EventSet {
        kind: SamplerKind::Spe,
        events: vec![event],
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
