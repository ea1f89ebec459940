//! A recording of `perf` as heat, by the same fold as live samples.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tierscope_import::perf_fold::{PerfIdentity, PerfIntervalPlan};
use tierscope_import::perf_recording::{
    PerfLimits, PerfRecording, SERVED_SOURCE, Served, ServedLoads, is_perf_data, looks_like_perf, read,
};
use tierscope_sample::counters::{CounterSample, Key, Scope};
use tierscope_wire::{Content, CounterRow, LayoutCache};

use super::source::{Gather, HeatSource, Identity, read_matching};

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
        let limits = PerfLimits::default();
        let Some(bytes) = read_matching(path, HEAD_BYTES, limits.bytes, looks_like_perf)? else {
            return Ok(None);
        };
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

/// Counters of the service at the end of each interval; none where the recording does not say what served loads.
fn served_rows(service: &str, ends: Option<Vec<(i64, ServedLoads)>>) -> Vec<CounterRow> {
    let scope = Scope::Service(service.to_owned());
    let mut layouts = LayoutCache::default();
    let row = |(end_wall_ns, loads): (i64, ServedLoads)| {
        let key = |name: &str| Key::new(&scope, SERVED_SOURCE, name);
        let mut values: Vec<(Key, Option<i64>)> = loads
            .counters()
            .map(|(name, count)| (key(&name), Some(count)))
            .collect();
        values.sort_by(|a, b| a.0.cmp(&b.0));
        let sample = CounterSample {
            end_wall_ns,
            end_boottime_ns: None,
            boot_id: Arc::from(""),
            values,
        };
        CounterRow::new(&sample, &mut layouts)
    };
    ends.into_iter().flatten().map(row).collect()
}

/// What a recording says of the memory that served its loads, in words.
fn describe_served(loads: &ServedLoads) -> String {
    let counts: Vec<String> = Served::ALL
        .into_iter()
        .filter(|served| loads.of(*served) > 0)
        .map(|served| format!("{} {}", served.name(), loads.of(served)))
        .collect();
    let share = loads.slow_ratio().map_or_else(String::new, |ratio| {
        format!(
            "; {:.1} % of those that memory served came from slow memory",
            100.0 * ratio
        )
    });
    format!("sampled loads by what served them: {}{share}", counts.join(", "))
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

    fn notes(&self) -> Vec<String> {
        let mut loads = ServedLoads::default();
        let served = self.recording.samples.iter().filter_map(|sample| sample.served);
        served.for_each(|served| loads.add(served));
        (loads.total() > 0)
            .then(|| describe_served(&loads))
            .into_iter()
            .collect()
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
        let plan = PerfIntervalPlan::new(&self.recording)?;
        gather.add_counters(served_rows(&identity.service, plan.served(last_ns)));
        plan.fold(&identity, last_ns, |folded| gather.add(folded))?;
        gather.finish()
    }
}
