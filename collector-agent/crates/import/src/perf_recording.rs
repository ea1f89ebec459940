//! Recordings of `perf`, whichever of its forms they came in.

pub use tierscope_perf::served::COUNTER_SOURCE as SERVED_SOURCE;
pub use tierscope_perf::{Served, ServedLoads};

pub use crate::perf_samples::{
    PerfAccess, PerfEvent, PerfFileError, PerfLimits, PerfRecording, PerfSample, PerfSource, ProcessChange,
    TimedChange,
};
use crate::{perf_data, perf_script};

/// Whether a file that begins with `head` (4 KiB of it suffice) was made by perf.
pub fn looks_like_perf(head: &[u8]) -> bool {
    perf_data::has_magic(head) || perf_script::looks_like_script(head)
}

/// Whether it is the binary form, `perf.data`.
pub fn is_perf_data(bytes: &[u8]) -> bool {
    perf_data::has_magic(bytes)
}

/// Reads a recording in either form.
pub fn read(bytes: &[u8], limits: PerfLimits) -> Result<PerfRecording, PerfFileError> {
    if bytes.len() as u64 > limits.bytes {
        return Err(PerfFileError::TooLarge {
            what: "bytes",
            limit: limits.bytes,
        });
    }
    if perf_data::has_magic(bytes) {
        perf_data::read(bytes, limits)
    } else if perf_script::looks_like_script(bytes) {
        perf_script::read(&String::from_utf8_lossy(bytes), limits)
    } else {
        Err(PerfFileError::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_neither_form_is_refused() {
        assert!(matches!(
            read(b"nothing", PerfLimits::default()),
            Err(PerfFileError::Unknown)
        ));
    }
}
