//! Heat of single pages by accessed bits: clears them, and walks the page tables at the end of the interval.
//!
//! Exact, but it weighs on the processes measured: it is used only where the settings name it. Rules:
//! docs/method/page-bits.md.

use tierscope_pagetable::abit::AbitReader;
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::Unmeasured;
use tierscope_pagetable::walk_probe::probe_walk;
use tierscope_pagetable::walker::WalkError;
use tierscope_rootfs::Root;
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::heat::Backend;
use tierscope_sample::page_group::Census;

use crate::backend::{HeatBackend, HeatProcess, HeatRound, HeatSettings};
use crate::backend::{Refusal, Started};
use crate::page_groups::{PageGroups, mapping_namer};
use crate::tiers::Tiers;
use tierscope_host::names::NamePolicy;

/// The name of this back end.
pub(crate) const NAME: &str = "abit_walk";

/// Measures which pages were touched.
pub(crate) struct AbitWalkBackend {
    reader: AbitReader,
    groups: PageGroups,
    tiers: Tiers,
    interval_s: f64,
}

impl AbitWalkBackend {
    /// One that has visited no process yet. `names` says how mapped files may be called.
    pub(crate) fn new(root: &Root, settings: &HeatSettings, names: NamePolicy) -> Result<Self, WalkError> {
        let tiers = Tiers::read(root, settings);
        let mapping_name = mapping_namer(names);
        let reader = AbitReader::new(root, settings.rss_limit_bytes, mapping_name, Placement::default())?;
        let groups = PageGroups::new(Backend::AbitWalk, Census::Full, settings);
        Ok(Self {
            reader,
            groups: groups.with_tiers(tiers.labels()),
            tiers,
            interval_s: settings.interval_ns as f64 / 1e9,
        })
    }

    /// Reads what a process touched in the interval that ends, and begins its next one. The first visit only begins
    /// one, so it shows what is resident and no activity.
    fn visit(&mut self, process: &HeatProcess, end: IntervalEnd) -> Result<(), Unmeasured> {
        let observed = self.groups.is_observed(process.key, end);
        if observed.is_none() {
            // What may not be cleared need not be read.
            self.reader.clear(process.key)?;
        }
        let mut reading = self.groups.reading(process, observed == Some(true));
        self.reader
            .read(process.key, |mapping, pages| reading.mapping(mapping, pages))?;
        if observed.is_some() {
            self.reader.clear(process.key)?;
        }
        self.groups.begin(process.key, end);
        Ok(())
    }

    /// Skips everybody: what was touched is not known.
    fn skip_all(&mut self, processes: &[HeatProcess], reason: &str) -> HeatRound {
        self.groups.miss();
        let skipped = processes
            .iter()
            .map(|process| (process.clone(), reason.to_owned()));
        HeatRound {
            skipped: skipped.collect(),
            ..HeatRound::default()
        }
    }
}

impl HeatBackend for AbitWalkBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn collect(&mut self, processes: &[HeatProcess], end: IntervalEnd) -> HeatRound {
        let (cpu_before, bytes_before) = (tierscope_clock::thread_cpu_ns(), self.reader.bytes_read());
        let rival = self.reader.rival();
        let effect = rival.as_ref().map(|rival| rival.effect(self.interval_s));
        if rival.is_some_and(|rival| !rival.is_bearable(self.interval_s)) {
            return self.skip_all(processes, &effect.unwrap_or_default());
        }
        self.reader.set_placement(self.tiers.placement());
        let mut round = HeatRound {
            note: effect,
            ..HeatRound::default()
        };
        for process in processes {
            if let Err(reason) = self.visit(process, end) {
                round.skipped.push((process.clone(), reason.to_string()));
            }
        }
        (round.folded, round.measured) = self.groups.finish(end);
        round.cpu_ns = tierscope_clock::thread_cpu_ns() - cpu_before;
        round.bytes_read = self.reader.bytes_read() - bytes_before;
        round
    }

    fn miss(&mut self) {
        self.groups.miss();
    }
}

/// Tries the walk on this process itself.
pub(crate) fn probe(root: &Root) -> Result<(), Refusal> {
    probe_walk(root).map_err(|error| refusal(&error))
}

/// One that has measured nothing yet.
pub(crate) fn make(root: &Root, settings: &HeatSettings, names: &NamePolicy) -> Started {
    let backend = AbitWalkBackend::new(root, settings, names.clone()).map_err(|error| refusal(&error))?;
    Ok(Box::new(backend))
}

fn refusal(error: &WalkError) -> Refusal {
    let hint = match error {
        WalkError::Refused { .. } | WalkError::NoFrames(_) => {
            "give the agent CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN and CAP_SYS_PTRACE, or run it as root"
        }
        WalkError::NotFound => "run the agent in the host's namespace of process ids",
        _ => "use another back end",
    };
    Refusal {
        reason: error.to_string(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::backend::{DEFAULT_RSS_LIMIT_BYTES, SamplingSettings};
    use std::sync::Arc;
    use tierscope_sample::heat::{Granularity, PageKind};

    const INTERVAL_NS: i64 = 10_000_000_000;

    fn settings() -> HeatSettings {
        HeatSettings {
            interval_ns: INTERVAL_NS,
            rss_limit_bytes: DEFAULT_RSS_LIMIT_BYTES,
            tier: Some(Arc::from("dram")),
            epoch_seed: 7,
            sampling: SamplingSettings::default(),
        }
    }

    fn end(intervals: i64) -> IntervalEnd {
        IntervalEnd {
            wall_ns: intervals * INTERVAL_NS,
            boottime_ns: Some(intervals * INTERVAL_NS),
        }
    }

    #[test]
    fn a_recording_has_no_page_tables() {
        let refusal = probe(&Root::new("/nowhere")).unwrap_err();
        assert!(refusal.reason.contains("recording"), "{}", refusal.reason);
        let wanted = refusal_of_missing_rights();
        assert!(wanted.hint.contains("CAP_BPF"));
    }

    fn refusal_of_missing_rights() -> Refusal {
        refusal(&WalkError::Refused {
            step: "loading the program",
            reason: "operation not permitted".to_owned(),
        })
    }

    #[test]
    fn a_real_process_goes_through_two_rounds() {
        use std::io::Write as _;
        let root = Root::live();
        if let Err(refusal) = probe(&root) {
            let _ = writeln!(std::io::stderr(), "skipped: {}", refusal.reason);
            return;
        }
        let this = HeatProcess {
            key: tierscope_pagetable::probe::this_process(&root).unwrap(),
            service: Arc::from("host/shop"),
            group: Arc::from("server"),
        };
        let mut backend = AbitWalkBackend::new(&root, &settings(), NamePolicy::plain()).unwrap();
        let first = backend.collect(std::slice::from_ref(&this), end(1));
        if let [(_, reason)] = &first.skipped[..] {
            let _ = writeln!(std::io::stderr(), "skipped: {reason}");
            return;
        }
        assert!(first.folded.rows.iter().all(|row| row.validity == 0));
        let round = backend.collect(&[this], end(2));
        assert_eq!((round.measured, round.skipped.len()), (1, 0));
        let anon = round
            .folded
            .rows
            .iter()
            .find(|row| row.kind == PageKind::Anon)
            .unwrap();
        assert_eq!((anon.validity, anon.granularity), (1, Granularity::Page));
        assert_eq!(anon.tier.as_deref(), Some("dram"));
        assert!(anon.age_bytes[0] > 0 && anon.age_bytes[0] <= anon.resident_bytes);
        assert!(round.cpu_ns > 0 && round.bytes_read > 0);
        backend.miss();
        let (folded, measured) = backend.groups.finish(end(3));
        assert!(
            folded.rows.is_empty() && measured == 0,
            "all processes are forgotten"
        );
    }
}
