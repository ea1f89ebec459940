//! Heat of single pages by accessed bits: clears them, and walks the page tables at the end of the interval.
//!
//! Exact, but it weighs on the processes measured: it is used only where the settings name it. Rules:
//! docs/method/page-bits.md.

use tierscope_damon::session::Session;
use tierscope_host::names::NamePolicy;
use tierscope_pagetable::abit::AbitReader;
use tierscope_pagetable::mappings::Namer;
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::Unmeasured;
use tierscope_pagetable::walk_probe::probe_walk;
use tierscope_pagetable::walker::WalkError;
use tierscope_rootfs::Root;
use tierscope_sample::heat::Backend;

use crate::backend::{HeatProcess, HeatSettings, Refusal, Started};
use crate::damon_guard;
use crate::page_groups::PageGroups;
use crate::page_walk::{PageReader, PageWalk};

/// The name of this back end.
pub(crate) const NAME: &str = "abit_walk";

/// Measures which pages were touched.
pub(crate) type AbitWalkBackend = PageWalk<AbitReader>;

impl PageReader for AbitReader {
    const NAME: &str = NAME;
    const BACKEND: Backend = Backend::AbitWalk;
    type Error = WalkError;

    fn open(root: &Root, rss_limit_bytes: u64, namer: Box<Namer>) -> Result<Self, WalkError> {
        Self::new(root, rss_limit_bytes, namer, Placement::default())
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read()
    }

    fn set_placement(&mut self, placement: Placement) {
        self.set_placement(placement);
    }

    /// Others that clear the same bits. What this agent has DAMON watch are pages of processes that are too large to be
    /// walked.
    fn obstacle(&mut self, interval_s: f64) -> Result<Option<String>, String> {
        match self.rival() {
            None => Ok(None),
            Some(_) if Session::is_of_this_process(&damon_guard::directory()) => Ok(None),
            Some(rival) if rival.is_bearable(interval_s) => Ok(Some(rival.effect(interval_s))),
            Some(rival) => Err(rival.effect(interval_s)),
        }
    }

    fn visit(
        &mut self,
        groups: &mut PageGroups,
        process: &HeatProcess,
        observed: Option<bool>,
    ) -> Result<(), Unmeasured> {
        if observed.is_none() {
            // What may not be cleared need not be read.
            self.clear(process.key)?;
        }
        let mut reading = groups.reading(process, observed == Some(true));
        self.read(process.key, |mapping, pages| reading.mapping(mapping, pages))?;
        if observed.is_some() {
            self.clear(process.key)?;
        }
        Ok(())
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
    use crate::backend::{DEFAULT_RSS_LIMIT_BYTES, HeatBackend as _, HeatRound, SamplingSettings};
    use std::sync::Arc;
    use tierscope_sample::fold::IntervalEnd;
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
        let HeatRound { folded, measured, .. } = backend.collect(&[], end(3));
        assert!(
            folded.rows.is_empty() && measured == 0,
            "all processes are forgotten"
        );
    }
}
