//! A recording of `perf` as heat, by the same fold as live samples.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tierscope_import::perf_fold::{PerfIdentity, PerfIntervalPlan};
use tierscope_import::perf_recording::{PerfLimits, PerfRecording, is_perf_data, looks_like_perf, read};
use tierscope_wire::Content;

use super::source::{Gather, HeatSource, Identity};

/// Bytes in which the form of a file must show.
const HEAD_BYTES: u64 = 16 << 10;

/// A recording before it is folded.
pub(crate) struct PerfSource {
    recording: PerfRecording,
    is_data: bool,
    intervals: i64,
    interval_ns: i64,
}

impl PerfSource {
    /// Reads a recording; `None` for a file of another form.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        let cannot = || format!("recording {} cannot be read", path.display());
        let mut file = File::open(path).with_context(cannot)?;
        let mut bytes = Vec::new();
        (&mut file)
            .take(HEAD_BYTES)
            .read_to_end(&mut bytes)
            .with_context(cannot)?;
        if !looks_like_perf(&bytes) {
            return Ok(None);
        }
        let limits = PerfLimits::default();
        file.take(limits.bytes)
            .read_to_end(&mut bytes)
            .with_context(cannot)?;
        let of_perf = || format!("recording of perf {}", path.display());
        let recording = read(&bytes, limits).with_context(of_perf)?;
        let plan = PerfIntervalPlan::new(&recording).with_context(of_perf)?;
        let (intervals, interval_ns) = (plan.intervals, plan.interval_ns);
        Ok(Some(Self {
            is_data: is_perf_data(&bytes),
            recording,
            intervals,
            interval_ns,
        }))
    }
}

impl HeatSource for PerfSource {
    fn kind(&self) -> &'static str {
        if self.is_data { "perf-data" } else { "perf-script" }
    }

    fn rule(&self) -> &'static str {
        "imported recording of perf"
    }

    fn intervals(&self) -> i64 {
        self.intervals
    }

    fn duration_ns(&self) -> i64 {
        self.interval_ns * self.intervals
    }

    fn problems(&self) -> Vec<String> {
        let recording = &self.recording;
        let counts = [
            (
                recording.lost,
                "samples were lost while recording: the duty cycle is less by their share",
            ),
            (
                recording.without_address,
                "samples have no address of the process and are left out",
            ),
        ];
        let told = counts.iter().filter(|(count, _)| *count > 0);
        told.map(|(count, what)| format!("{count} {what}")).collect()
    }

    fn fold(
        &self,
        identity: &Identity,
        last_ns: i64,
        emit: &mut dyn FnMut(Content) -> Result<()>,
    ) -> Result<()> {
        let identity = PerfIdentity {
            service: Arc::clone(&identity.service),
            epoch_seed: identity.epoch_seed,
        };
        let mut gather = Gather::new(emit);
        PerfIntervalPlan::new(&self.recording)?.fold(&identity, last_ns, |folded| gather.add(folded))?;
        gather.finish()
    }
}
