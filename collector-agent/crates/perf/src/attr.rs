//! `perf_event_attr` for the events of this crate.

use perf_event_open_sys::bindings::perf_event_attr;

use crate::catalogue::{EventSpec, Meaning};
use crate::record::{Layout, sample_type};

/// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_DUMMY`.
const TYPE_SOFTWARE: u32 = 1;
const SOFTWARE_DUMMY: u64 = 9;
/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `_RUNNING`: reading gives a count and both times.
const READ_TIMES: u64 = 3;
/// What every sample carries.
///
/// All of it is in `LARGE_PEBS_FLAGS` (`arch/x86/events/perf_event.h`), so that PEBS fills its buffer without an interrupt
/// for each sample: docs/method/perf.md, "Interrupts". Therefore no TIME, which Broadwell's records do not have
/// (`intel_ds_init` in `arch/x86/events/intel/ds.c`), and no `DATA_PAGE_SIZE`. Not PERIOD either: with a fixed period the
/// kernel would then sample every software event with weight 1, whatever the period.
const SAMPLE_FIELDS: u64 =
    sample_type::IDENTIFIER | sample_type::TID | sample_type::ADDR | sample_type::DATA_SRC;

/// How samples are laid out in all rings of a sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SampleShape {
    /// Ask for the page size at the address (kernel 5.11). PEBS then interrupts for each sample.
    pub(crate) page_size: bool,
    /// Ask for the event's own payload.
    pub(crate) raw: bool,
}

impl SampleShape {
    pub(crate) fn layout(self) -> Layout {
        let mut fields = SAMPLE_FIELDS;
        if self.page_size {
            fields |= sample_type::DATA_PAGE_SIZE;
        }
        if self.raw {
            fields |= sample_type::RAW;
        }
        Layout {
            sample_type: fields,
            trailer: true,
            ..Layout::default()
        }
    }
}

/// An event that takes samples. It starts disabled.
pub(crate) fn sampling(event: &EventSpec, shape: SampleShape, period: u64, inherit: bool) -> perf_event_attr {
    let mut attr = basic(event.pmu_type, event.config);
    attr.sample_period = period;
    attr.sample_type = shape.layout().sample_type;
    if event.meaning == Meaning::SpePackets {
        // Its samples are in the auxiliary buffer; the ring tells of them.
        attr.sample_type &=
            !(sample_type::ADDR | sample_type::DATA_SRC | sample_type::DATA_PAGE_SIZE | sample_type::RAW);
    }
    attr.read_format = READ_TIMES;
    attr.set_disabled(1);
    attr.set_inherit(inherit.into());
    attr.set_exclude_kernel(event.exclude_kernel.into());
    attr.set_exclude_hv(event.exclude_kernel.into());
    attr.set_precise_ip(event.precise_ip.into());
    attr.set_sample_id_all(1);
    attr
}

/// An event without samples, which puts names, births and ends of processes into the ring.
///
/// Mappings are not asked for: the kernel reports one when it grows, is joined with its neighbour or changes its
/// protection, as well as when it is new, so that a record does not say which pages are gone.
pub(crate) fn side_band(shape: SampleShape, inherit: bool, wakeup_bytes: u32) -> perf_event_attr {
    let mut attr = basic(TYPE_SOFTWARE, [SOFTWARE_DUMMY, 0, 0, 0]);
    attr.sample_type = shape.layout().sample_type;
    attr.sample_period = 1;
    attr.set_inherit(inherit.into());
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    attr.set_sample_id_all(1);
    attr.set_watermark(1);
    attr.wakeup_watermark = wakeup_bytes;
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_task(1);
    attr
}

/// The event that has to lead the group of `event` where the kernel asks for one: it counts from the start, so that the
/// other alone decides when samples are taken.
pub(crate) fn leader(event: &EventSpec, config: [u64; 4], inherit: bool) -> perf_event_attr {
    let mut attr = basic(event.pmu_type, config);
    attr.set_inherit(inherit.into());
    attr.set_exclude_kernel(event.exclude_kernel.into());
    attr.set_exclude_hv(event.exclude_kernel.into());
    attr
}

/// An event that counts and takes no samples. It starts disabled.
pub(crate) fn counting(pmu_type: u32, config: [u64; 4]) -> perf_event_attr {
    let mut attr = basic(pmu_type, config);
    attr.read_format = READ_TIMES;
    attr.set_disabled(1);
    attr
}

fn basic(pmu_type: u32, config: [u64; 4]) -> perf_event_attr {
    let mut attr = perf_event_attr {
        type_: pmu_type,
        config: config[0],
        config3: config[3],
        ..perf_event_attr::default()
    };
    // Older kernels take a longer structure whose end, unknown to them, is zero.
    attr.size = size_of::<perf_event_attr>() as u32;
    attr.config1 = config[1];
    attr.config2 = config[2];
    attr
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::EventSet;
    use crate::sys::attr_bytes;

    /// The words of an attribute that are not zero, by their byte offset.
    fn words(attr: &perf_event_attr) -> Vec<(usize, u64)> {
        let (chunks, rest) = attr_bytes(attr).as_chunks::<8>();
        assert!(rest.is_empty());
        let words = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).enumerate();
        words
            .map(|(index, word)| (8 * index, word))
            .filter(|(_, word)| *word != 0)
            .collect()
    }

    fn pebs(config: u64, meaning: Meaning) -> EventSpec {
        EventSpec {
            pmu_type: 4,
            config: [config, 0, 0, 0],
            precise_ip: 2,
            meaning,
            exclude_kernel: true,
            ..EventSet::page_faults().events[0].clone()
        }
    }

    const SHAPE: SampleShape = SampleShape {
        page_size: false,
        raw: false,
    };
    /// Type and size in one word: 144 bytes.
    const RAW_AND_SIZE: u64 = 144 << 32 | 4;
    /// IDENTIFIER, TID, ADDR, `DATA_SRC`.
    const SAMPLE: u64 = 0x1_800a;
    /// Disabled, exclude kernel and hypervisor, `precise_ip` 2, `sample_id_all`.
    const FLAGS: u64 = 1 | 1 << 5 | 1 << 6 | 2 << 15 | 1 << 18;

    #[test]
    fn attributes_of_pebs_are_the_expected_bytes() {
        let loads = sampling(&pebs(0x20d1, Meaning::Load), SHAPE, 200, false);
        assert_eq!(
            words(&loads),
            [
                (0, RAW_AND_SIZE),
                (8, 0x20d1),
                (16, 200),
                (24, SAMPLE),
                (32, 3),
                (40, FLAGS)
            ]
        );
        let stores = sampling(&pebs(0x12d0, Meaning::Store), SHAPE, 206, true);
        assert_eq!(
            words(&stores),
            [
                (0, RAW_AND_SIZE),
                (8, 0x12d0),
                (16, 206),
                (24, SAMPLE),
                (32, 3),
                (40, FLAGS | 2)
            ]
        );
        assert_eq!(
            attr_bytes(&loads)[..12],
            [4, 0, 0, 0, 144, 0, 0, 0, 0xd1, 0x20, 0, 0]
        );
    }

    /// `LARGE_PEBS_FLAGS` of `arch/x86/events/perf_event.h`, Linux 4.14 to 6.18, without registers and branches. TIME is
    /// added for records of Skylake and later alone.
    const LARGE_PEBS: u64 = sample_type::IP
        | sample_type::TID
        | sample_type::ADDR
        | sample_type::ID
        | sample_type::CPU
        | sample_type::STREAM_ID
        | sample_type::DATA_SRC
        | sample_type::IDENTIFIER
        | sample_type::TRANSACTION
        | sample_type::PHYS_ADDR
        | sample_type::PERIOD;

    /// What `intel_pmu_hw_config` asks of an event before it lets the buffer fill (`PERF_X86_EVENT_LARGE_PEBS`).
    fn fills_the_buffer(attr: &perf_event_attr) -> bool {
        // SAFETY: both members of the union are 32-bit numbers.
        let wakeup_events = unsafe { attr.__bindgen_anon_2.wakeup_events };
        attr.precise_ip() > 0
            && attr.freq() == 0
            && (wakeup_events == 0 || attr.watermark() == 1)
            && attr.sample_type & !LARGE_PEBS == 0
    }

    #[test]
    fn pebs_may_fill_its_buffer_before_it_interrupts() {
        for meaning in [Meaning::Load, Meaning::Store, Meaning::Served] {
            for inherit in [false, true] {
                assert!(fills_the_buffer(&sampling(
                    &pebs(0x20d1, meaning),
                    SHAPE,
                    200,
                    inherit
                )));
            }
        }
        let with_size = SampleShape {
            page_size: true,
            ..SHAPE
        };
        let interrupting = sampling(&pebs(0x20d1, Meaning::Load), with_size, 200, false);
        assert!(!fills_the_buffer(&interrupting));
    }

    #[test]
    fn a_leader_counts_from_the_start_and_takes_no_samples() {
        let attr = leader(&pebs(0x1cd, Meaning::Served), [0x8203, 0, 0, 0], true);
        let flags = 1 << 1 | 1 << 5 | 1 << 6;
        assert_eq!(words(&attr), [(0, RAW_AND_SIZE), (8, 0x8203), (40, flags)]);
    }

    #[test]
    fn attributes_of_ibs_and_spe_are_the_expected_bytes() {
        let ibs = EventSpec {
            pmu_type: 11,
            config: [0x9_0000, 0, 0, 0],
            precise_ip: 0,
            exclude_kernel: false,
            ..pebs(0, Meaning::IbsOp)
        };
        let shape = SampleShape {
            raw: true,
            page_size: true,
        };
        assert_eq!(
            words(&sampling(&ibs, shape, 65_536, false)),
            [
                (0, 144 << 32 | 0xb),
                (8, 0x9_0000),
                (16, 65_536),
                (24, SAMPLE | 0x40_0400),
                (32, 3),
                (40, 1 | 1 << 18)
            ]
        );
        let spe = EventSpec {
            pmu_type: 12,
            config: [0x6_0001_0001, 0x55, 0x66, 0],
            precise_ip: 0,
            ..pebs(0, Meaning::SpePackets)
        };
        let flags = 1 | 1 << 5 | 1 << 6 | 1 << 18;
        let spe = words(&sampling(&spe, SHAPE, 4096, false));
        assert_eq!(spe[3], (24, 0x1_0002), "no address in the ring");
        assert_eq!(spe[5..], [(40, flags), (56, 0x55), (64, 0x66)]);
    }

    #[test]
    fn faults_have_no_period_among_their_fields() {
        let fault = &EventSet::page_faults().events[0];
        let attr = sampling(fault, SHAPE, 1, true);
        assert_eq!(words(&attr)[..2], [(0, 144 << 32 | 1), (8, 2)]);
        assert_eq!(attr.sample_type & sample_type::PERIOD, 0);
    }

    #[test]
    fn the_side_band_has_names_and_ends() {
        let attr = side_band(SHAPE, true, 4096);
        let (inherit, user_only) = (1 << 1, 1 << 5 | 1 << 6);
        let (comm, task, watermark) = (1 << 9, 1 << 13, 1 << 14);
        let (id_all, comm_exec) = (1 << 18, 1 << 24);
        let flags = inherit | user_only | comm | task | watermark | id_all | comm_exec;
        assert_eq!(
            words(&attr),
            [
                (0, 144 << 32 | 1),
                (8, 9),
                (16, 1),
                (24, SAMPLE),
                (40, flags),
                (48, 4096)
            ]
        );
    }
}
