//! A record of damo as heat, by the same fold as live mappings.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tierscope_import::damo::{DamoLimits, DamoRecord, looks_like_damo, read};
use tierscope_import::damo_fold::{DamoIdentity, DamoIntervalPlan};
use tierscope_import::damo_wss::{EXCLUDED_SNAPSHOTS, WorkingSet};
use tierscope_wire::Content;

use super::source::{Gather, HeatSource, Identity, WorkingSetSummary, read_matching};

/// Bytes of a file in which its form must show.
const HEAD_BYTES: u64 = 4096;
const PERCENTS: [u32; 5] = [0, 25, 50, 75, 100];

/// The records of one file; one for each target.
pub(crate) struct Damo {
    records: Vec<DamoRecord>,
}

impl Damo {
    /// Reads a record; `None` for a file of another form.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        let limits = DamoLimits::default();
        let Some(bytes) = read_matching(path, HEAD_BYTES, limits.text_bytes, looks_like_damo)? else {
            return Ok(None);
        };
        let records = read(&bytes, limits).with_context(|| format!("record of damo {}", path.display()))?;
        Ok(Some(Self { records }))
    }

    fn plans(&self) -> impl Iterator<Item = DamoIntervalPlan<'_>> {
        self.records.iter().map(DamoIntervalPlan::new)
    }
}

impl HeatSource for Damo {
    fn kind(&self) -> &'static str {
        "damo-record"
    }

    fn rule(&self) -> &'static str {
        "imported record of damo"
    }

    fn intervals(&self) -> i64 {
        self.plans().map(|plan| plan.intervals).max().unwrap_or(0)
    }

    fn duration_ns(&self) -> i64 {
        self.plans()
            .map(|plan| plan.interval_ns * plan.intervals)
            .max()
            .unwrap_or(0)
    }

    fn problems(&self) -> Vec<String> {
        let clipped = |record: &DamoRecord| {
            let found = record.overlaps();
            (found.regions > 0).then(|| {
                format!(
                    "target {}: {} regions of {} snapshots overlap others and were clipped; {} bytes were recorded twice",
                    record.target, found.regions, found.snapshots, found.bytes
                )
            })
        };
        self.records.iter().filter_map(clipped).collect()
    }

    fn working_sets(&self) -> Vec<WorkingSetSummary> {
        let summary = |record: &DamoRecord| {
            let set = WorkingSet::of(record, 1, EXCLUDED_SNAPSHOTS)?;
            Some(WorkingSetSummary {
                target: record.target,
                snapshots: set.bytes.len(),
                average_bytes: set.average_bytes(),
                bytes_by_percentile: set.by_size(&PERCENTS),
            })
        };
        self.records.iter().filter_map(summary).collect()
    }

    fn fold(
        &self,
        identity: &Identity,
        last_ns: i64,
        emit: &mut dyn FnMut(Content) -> Result<()>,
    ) -> Result<()> {
        let mut gather = Gather::new(emit);
        for (number, plan) in (0..).zip(self.plans()) {
            let group = if self.records.len() == 1 {
                Arc::clone(&identity.group)
            } else {
                Arc::from(format!("{}-{number}", identity.group))
            };
            let identity = DamoIdentity {
                service: Arc::clone(&identity.service),
                group,
                epoch_seed: identity.epoch_seed.wrapping_add(number),
            };
            plan.fold(&identity, last_ns, |folded| gather.add(folded))?;
        }
        gather.finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn record(name: &str) -> Damo {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/damo");
        Damo::open(&data.join(name)).unwrap().unwrap()
    }

    #[test]
    fn a_record_is_told_by_its_content_and_folds_to_heat() {
        let damo = record("r3-redis-1gib.data");
        assert_eq!(damo.kind(), "damo-record");
        let set = &damo.working_sets()[0];
        // As in r3-redis-1gib.reports/wss-size.txt.
        assert_eq!((set.average_bytes, set.snapshots), (4_154_862, 89));
        assert_eq!(set.bytes_by_percentile, [4096, 4096, 4096, 4096, 53_248_000]);
        let identity = Identity {
            service: Arc::from("host/redis"),
            group: Arc::from("r3"),
            epoch_seed: 1,
        };
        let (mut rows, mut columns) = (0, 0);
        damo.fold(&identity, 1_700_000_000_000_000_000, &mut |content| {
            rows += content.heat.len();
            columns += content.tile_columns.len();
            Ok(())
        })
        .unwrap();
        assert_eq!(
            (rows as i64, columns as i64),
            (damo.intervals(), damo.intervals())
        );
        assert!(damo.intervals() > 10);
    }

    #[test]
    fn clipped_regions_are_a_problem_of_the_record() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("overlap.json");
        let region =
            |start, end| format!(r#"{{"start": {start}, "end": {end}, "nr_accesses": {{"samples": 1}}}}"#);
        let regions = [region(0, 8192), region(4096, 12_288)].join(",");
        let text = format!(
            r#"[{{"kdamond_idx": 0, "snapshots": [{{"start_time": 0, "end_time": 9, "regions": [{regions}]}}]}}]"#
        );
        std::fs::write(&path, text).unwrap();
        let damo = Damo::open(&path).unwrap().unwrap();
        assert_eq!(
            damo.problems(),
            [
                "target 0: 1 regions of 1 snapshots overlap others and were clipped; 4096 bytes were recorded twice"
            ]
        );
        assert!(record("r3-redis-1gib.data").problems().is_empty());
    }

    #[test]
    fn other_files_are_left_to_other_readers() {
        let this = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(Damo::open(&this).unwrap().is_none());
        assert!(Damo::open(Path::new("/does/not/exist")).is_err());
        let text = record("r4-redis-1gib.perf_script");
        assert_eq!(text.working_sets()[0].average_bytes, 14_253_194);
    }
}
