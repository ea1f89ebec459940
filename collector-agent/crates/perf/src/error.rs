//! Why an event cannot be opened or read, and what to do.

use std::io;

use rustix::io::Errno;

/// Why sampling or counting does not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PerfError {
    /// `ENOENT`, `ENODEV`, `ENXIO`: the processor, or the virtual machine, has no such event.
    #[error(
        "no performance monitoring unit offers {event}; a virtual machine has one only if its host passes it through"
    )]
    NoPmu {
        /// The event.
        event: String,
    },
    /// `EACCES`, `EPERM`: it is there, but not for this user.
    #[error("not permitted to open {event}: grant CAP_PERFMON, or lower kernel.perf_event_paranoid")]
    Privilege {
        /// The event.
        event: String,
    },
    /// `EINVAL`: the kernel or the processor knows the event in another form.
    #[error(
        "the kernel refuses the parameters of {event}: this kernel or processor knows it in another form"
    )]
    Invalid {
        /// The event.
        event: String,
    },
    /// `EOPNOTSUPP`: the event exists and cannot be sampled with addresses.
    #[error("the processor counts {event} but cannot sample it with addresses")]
    NotSampled {
        /// The event.
        event: String,
    },
    /// `EBUSY`: another program holds the unit.
    #[error("another program holds the counters for {event}: end it, or let it finish")]
    Busy {
        /// The event.
        event: String,
    },
    /// `EMFILE`, `ENFILE`: too many open files.
    #[error("too many open files for {event}: raise the limit (LimitNOFILE=), or sample the whole host")]
    TooManyFiles {
        /// The event.
        event: String,
    },
    /// The ring buffer was refused.
    #[error(
        "no memory for a ring of {bytes} bytes: raise kernel.perf_event_mlock_kb, grant CAP_IPC_LOCK, or choose a smaller ring"
    )]
    NoRing {
        /// Its size, without the control page.
        bytes: usize,
    },
    /// The processor is not in the catalogue of events.
    #[error("no sampled memory events are known for this processor ({processor}): use another heat back end")]
    UnknownProcessor {
        /// Vendor, family and model.
        processor: String,
    },
    /// A file below `/sys/bus/event_source` is missing or not understood.
    #[error("{path}: {problem}")]
    Pmu {
        /// The file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A parameter that cannot work.
    #[error("{0}")]
    Option(String),
    /// The events open, and no sample with an address came.
    #[error(
        "the events open but no sample with an address came after {accesses} accesses to fresh memory; a virtual \
         machine may count without sampling"
    )]
    NoSamples {
        /// Accesses that were made for the probe.
        accesses: usize,
    },
    /// The sampling thread ended.
    #[error("the sampling thread has ended: {0}")]
    Ended(String),
    /// Any other error of the system.
    #[error("{event}: {problem}")]
    System {
        /// The event or the step.
        event: String,
        /// The system's words.
        problem: String,
    },
}

impl PerfError {
    /// What an error of `perf_event_open` or of an ioctl means for `event`.
    pub(crate) fn from_errno(event: &str, errno: Errno) -> Self {
        let event = event.to_owned();
        match errno {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => Self::NoPmu { event },
            Errno::ACCESS | Errno::PERM => Self::Privilege { event },
            Errno::INVAL => Self::Invalid { event },
            Errno::OPNOTSUPP => Self::NotSampled { event },
            Errno::BUSY => Self::Busy { event },
            Errno::MFILE | Errno::NFILE => Self::TooManyFiles { event },
            other => Self::System {
                event,
                problem: io::Error::from(other).to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_number_has_its_meaning() {
        let of = |errno| PerfError::from_errno("loads", errno);
        let event = || "loads".to_owned();
        assert_eq!(of(Errno::NOENT), PerfError::NoPmu { event: event() });
        assert_eq!(of(Errno::NODEV), PerfError::NoPmu { event: event() });
        assert_eq!(of(Errno::ACCESS), PerfError::Privilege { event: event() });
        assert_eq!(of(Errno::PERM), PerfError::Privilege { event: event() });
        assert_eq!(of(Errno::INVAL), PerfError::Invalid { event: event() });
        assert_eq!(of(Errno::OPNOTSUPP), PerfError::NotSampled { event: event() });
        assert_eq!(of(Errno::MFILE), PerfError::TooManyFiles { event: event() });
        assert!(of(Errno::NOENT).to_string().contains("virtual machine"));
        assert!(of(Errno::IO).to_string().starts_with("loads: "));
    }
}
