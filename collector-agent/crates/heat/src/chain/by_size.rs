//! Two chains of back ends: the one that the settings name, and for processes that are too large for the one in use
//! the sampling back ends among them. Large processes cost no more than others, or are left out with the reason.

use tierscope_host::collectors::State;
use tierscope_host::names::NamePolicy;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::fold::IntervalEnd;

use crate::backend::{HeatProcess, HeatRound, HeatSettings};
use crate::chain::FallbackChain;
use crate::resident;

pub(crate) struct SizedChain {
    chain: FallbackChain,
    /// Measures who is too large for the back end in use there.
    of_large: FallbackChain,
    /// Processes that it had to measure in the last round.
    large: usize,
    status: Reader,
    limit_bytes: u64,
}

impl SizedChain {
    /// The chains of the back ends that the settings name. Nothing is tried yet. Back ends that visit every page are
    /// given no process of more than `limit_bytes`.
    pub(crate) fn new(root: Root, names: NamePolicy, backends: &[String], limit_bytes: u64) -> Self {
        Self {
            chain: FallbackChain::new(root.clone(), names.clone(), backends),
            of_large: FallbackChain::of_any_reach(root.clone(), names, backends),
            large: 0,
            status: Reader::new(root),
            limit_bytes,
        }
    }

    /// The back end that measures; `None` while none does.
    pub(crate) fn active(&self) -> Option<&'static str> {
        self.chain.active().or(self.of_large.active())
    }

    /// What measured before and gave way to the one that measures, and why.
    pub(crate) fn given_way(&self) -> Vec<String> {
        self.chain.given_way()
    }

    /// Whether the one that measures could give way to a cheaper one.
    pub(crate) fn has_cheaper(&self) -> bool {
        self.chain.has_cheaper()
    }

    /// Leaves out the back end that measures and those before it, if there is one behind it; or takes all in again.
    pub(crate) fn set_degraded(&mut self, degraded: bool) {
        self.chain.set_degraded(degraded);
    }

    /// One round: large processes by a back end that samples, if the one in use does not.
    pub(crate) fn collect(
        &mut self,
        processes: &[HeatProcess],
        end: IntervalEnd,
        settings: &HeatSettings,
    ) -> HeatRound {
        self.chain.ready(settings);
        let (large, others) = if self.chain.is_limited() {
            self.by_size(processes)
        } else {
            (Vec::new(), processes.to_vec())
        };
        self.large = large.len();
        if large.is_empty() {
            // Nothing stays in the kernel for nobody.
            self.of_large.stop();
            return self.chain.collect(&others, end, settings);
        }
        self.of_large.ready(settings);
        if let Some(works) = self.of_large.active()
            && self.chain.try_again(works)
        {
            // It had not worked for all before; one at a time can have it.
            self.of_large.stop();
            return self.chain.collect(processes, end, settings);
        }
        let mut of_large = self.of_large.collect(&large, end, settings);
        if self.of_large.active().is_none() {
            let reason = self.why_too_large();
            for (_, skipped) in &mut of_large.skipped {
                skipped.clone_from(&reason);
            }
        }
        add(self.chain.collect(&others, end, settings), of_large)
    }

    fn by_size(&mut self, processes: &[HeatProcess]) -> (Vec<HeatProcess>, Vec<HeatProcess>) {
        let (status, limit_bytes) = (&mut self.status, self.limit_bytes);
        processes
            .iter()
            .cloned()
            .partition(|process| resident::total_bytes(status, process.key.pid) > limit_bytes)
    }

    fn why_too_large(&self) -> String {
        format!(
            "more than {} MiB resident: {} visits every page, and for so many none that samples works ({}); raise \
             max_process_mib under [heat] if the process can bear it",
            self.limit_bytes >> 20,
            self.chain.active().unwrap_or("the back end in use"),
            self.of_large.why_none()
        )
    }

    /// An interval passes without a visit: it is missing, not idle.
    pub(crate) fn miss(&mut self) {
        self.chain.miss();
        self.of_large.miss();
    }

    /// Ends the back ends in use, and with them their state in the kernel. The next round begins anew.
    pub(crate) fn stop(&mut self) {
        self.chain.stop();
        self.of_large.stop();
    }

    /// Where each back end stands, by name. `measuring` is what the one in use says of itself.
    pub(crate) fn states(&self, measuring: &State) -> Vec<(&'static str, State)> {
        let mut states = self.chain.states(measuring);
        if let Some(active) = self.of_large.active()
            && let Some((_, state)) = states.iter_mut().find(|(name, _)| *name == active)
        {
            *state = State {
                reason: format!(
                    "measures {} of more than {} MiB, for which {} would take too long",
                    if self.large == 1 {
                        "the process"
                    } else {
                        "the processes"
                    },
                    self.limit_bytes >> 20,
                    self.chain.active().unwrap_or("another back end")
                ),
                ..State::on()
            };
        }
        states
    }

    /// Takes it that every back end works, as on a recorded root, whose accessed bits never change.
    #[cfg(test)]
    pub(crate) fn trust(&mut self) {
        self.chain.trust();
    }
}

/// What two rounds gave together. What a sampler says of itself is that of the one that samples.
fn add(mut round: HeatRound, other: HeatRound) -> HeatRound {
    let (all, more) = (&mut round.folded, other.folded);
    all.rows.extend(more.rows);
    all.gaps.extend(more.gaps);
    all.tile_epochs.extend(more.tile_epochs);
    all.tile_columns.extend(more.tile_columns);
    all.page_samples.extend(more.page_samples);
    round.measured += other.measured;
    round.skipped.extend(other.skipped);
    round.cpu_ns += other.cpu_ns;
    round.bytes_read += other.bytes_read;
    round.kernel_cpu_ns += other.kernel_cpu_ns;
    round.sampling = round.sampling.or(other.sampling);
    round.served = round.served.or(other.served);
    round.note = round.note.or(other.note);
    round
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tierscope_sample::vma_fold::ProcessKey;

    use super::*;
    use crate::backend::{Candidate, HeatBackend, Reach, Refusal, SamplingSettings};
    use crate::fake_root::FakeRoot;

    /// Measures whom it is given, for one byte read each.
    struct Fake(&'static str);

    impl HeatBackend for Fake {
        fn name(&self) -> &'static str {
            self.0
        }

        fn collect(&mut self, processes: &[HeatProcess], _end: IntervalEnd) -> HeatRound {
            HeatRound {
                measured: processes.len(),
                bytes_read: processes.iter().map(|process| u64::from(process.key.pid)).sum(),
                ..HeatRound::default()
            }
        }

        fn miss(&mut self) {}
    }

    const VISITS_EACH: Candidate = Candidate {
        name: "referenced",
        reach: Reach::Limited,
        probe: |_| Ok(()),
        make: |_, _, _| Ok(Box::new(Fake("referenced"))),
    };
    const SAMPLES: Candidate = Candidate {
        name: "damon_pages",
        reach: Reach::Any,
        probe: |_| Ok(()),
        make: |_, _, _| Ok(Box::new(Fake("damon_pages"))),
    };
    const SAMPLES_NOT: Candidate = Candidate {
        probe: |_| {
            Err(Refusal {
                reason: "DAMON is in use".to_owned(),
                hint: String::new(),
            })
        },
        ..SAMPLES
    };

    fn chains(root: &FakeRoot, order: &[&str], sampling: Candidate) -> SizedChain {
        let names: Vec<String> = order.iter().map(|&name| name.to_owned()).collect();
        let chain = |candidates: &[Candidate]| {
            FallbackChain::with_candidates(root.root(), NamePolicy::plain(), &names, candidates)
        };
        SizedChain {
            chain: chain(&[VISITS_EACH, sampling]),
            of_large: chain(&[sampling]),
            large: 0,
            status: Reader::new(root.root()),
            limit_bytes: 1 << 30,
        }
    }

    /// Process 2 is large.
    fn round(chains: &mut SizedChain, root: &FakeRoot, pids: &[u32]) -> HeatRound {
        let process = |&pid: &u32| {
            let kib = if pid == 2 { 2 << 20 } else { 100 };
            root.write(&format!("proc/{pid}/status"), &format!("VmRSS:\t{kib} kB\n"));
            HeatProcess {
                key: ProcessKey {
                    pid,
                    start_time_ticks: 1,
                },
                service: Arc::from("host/shop"),
                group: Arc::from("server"),
            }
        };
        let processes: Vec<HeatProcess> = pids.iter().map(process).collect();
        let settings = HeatSettings {
            interval_ns: 60,
            rss_limit_bytes: 1 << 30,
            tier: None,
            epoch_seed: 1,
            sampling: SamplingSettings::default(),
        };
        let end = IntervalEnd {
            wall_ns: 0,
            boottime_ns: None,
        };
        chains.collect(&processes, end, &settings)
    }

    fn reason(chains: &SizedChain, name: &str) -> String {
        let states = chains.states(&State::on());
        let state = states.into_iter().find(|(other, _)| *other == name);
        state.expect("a back end").1.reason
    }

    #[test]
    fn large_processes_are_sampled_beside_a_back_end_that_visits_every_page() {
        let root = FakeRoot::new();
        let mut chains = chains(&root, &["referenced", "damon_pages"], SAMPLES);
        let all = round(&mut chains, &root, &[1, 2, 4]);
        assert_eq!((all.measured, all.skipped.len(), all.bytes_read), (3, 0, 7));
        assert_eq!(chains.chain.active(), Some("referenced"));
        assert_eq!(chains.of_large.active(), Some("damon_pages"));
        assert!(reason(&chains, "damon_pages").contains("the process of more than 1024 MiB"));
        round(&mut chains, &root, &[1, 4]);
        assert_eq!(chains.of_large.active(), None, "nothing stays for nobody");
    }

    #[test]
    fn one_back_end_measures_all_where_it_samples() {
        let root = FakeRoot::new();
        let mut chains = chains(&root, &["damon_pages", "referenced"], SAMPLES);
        assert_eq!(round(&mut chains, &root, &[1, 2]).measured, 2);
        assert_eq!(
            (chains.active(), chains.of_large.active()),
            (Some("damon_pages"), None)
        );
    }

    #[test]
    fn a_better_back_end_that_works_again_measures_all() {
        let root = FakeRoot::new();
        let mut chains = chains(&root, &["damon_pages", "referenced"], SAMPLES_NOT);
        round(&mut chains, &root, &[1]);
        assert_eq!(chains.active(), Some("referenced"));
        chains.of_large = FallbackChain::with_candidates(
            root.root(),
            NamePolicy::plain(),
            &["damon_pages".to_owned()],
            &[SAMPLES],
        );
        round(&mut chains, &root, &[1, 2]);
        assert_eq!(chains.of_large.active(), None);
    }

    #[test]
    fn who_is_too_large_for_all_that_work_is_left_out_with_the_reason() {
        let root = FakeRoot::new();
        let mut chains = chains(&root, &["damon_pages", "referenced"], SAMPLES_NOT);
        let all = round(&mut chains, &root, &[1, 2]);
        assert_eq!((all.measured, all.skipped.len()), (1, 1));
        let (process, reason) = &all.skipped[0];
        assert_eq!(process.key.pid, 2);
        for part in [
            "1024 MiB",
            "referenced visits every page",
            "DAMON is in use",
            "max_process_mib",
        ] {
            assert!(reason.contains(part), "{reason}");
        }
    }
}
