//! The chain of back ends of heat: tried in the order of the settings, by doing; the first that works measures.
//!
//! A back end that stops working gives way to the next one, and those that did not work are tried again later. Why
//! each one does not measure is kept for the inventory.

pub(crate) mod by_size;

use tierscope_clock::SECOND_NS;
use tierscope_host::collectors::{self, State};
use tierscope_host::names::NamePolicy;
use tierscope_rootfs::Root;
use tierscope_sample::fold::IntervalEnd;

use crate::backend::{Candidate, HeatBackend, HeatProcess, HeatRound, HeatSettings, Reach, Refusal};
use crate::candidates::CANDIDATES;

/// Rounds without a single measured process after which a back end gives way.
const FRUITLESS_ROUNDS: u32 = 3;
/// After this time back ends that did not work are tried again.
const RETRY_NS: i64 = 3600 * SECOND_NS;

/// One back end of the chain.
struct Entry {
    candidate: Candidate,
    /// Why it does not measure, and when that was found; `None` while nothing speaks against it.
    refused: Option<(i64, Refusal)>,
    probed: bool,
}

/// The back end that measures.
struct Active {
    entry: usize,
    interval_ns: i64,
    backend: Box<dyn HeatBackend>,
    /// Rounds in a row in which it measured nobody.
    fruitless: u32,
}

pub(crate) struct FallbackChain {
    root: Root,
    names: NamePolicy,
    entries: Vec<Entry>,
    active: Option<Active>,
    /// Entries before it are left out to save the host's time.
    first_allowed: usize,
}

impl FallbackChain {
    /// The chain of the back ends that the settings name. Nothing is tried yet.
    pub(crate) fn new(root: Root, names: NamePolicy, wanted: &[String]) -> Self {
        Self::with_candidates(root, names, wanted, CANDIDATES)
    }

    /// The same with the back ends alone that measure processes of any size.
    pub(crate) fn of_any_reach(root: Root, names: NamePolicy, wanted: &[String]) -> Self {
        let candidates = CANDIDATES.iter().copied();
        let sampling: Vec<Candidate> = candidates
            .filter(|candidate| candidate.reach == Reach::Any)
            .collect();
        Self::with_candidates(root, names, wanted, &sampling)
    }

    pub(crate) fn with_candidates(
        root: Root,
        names: NamePolicy,
        wanted: &[String],
        candidates: &[Candidate],
    ) -> Self {
        let candidate = |name: &String| candidates.iter().find(|candidate| candidate.name == name);
        let entries = wanted.iter().filter_map(candidate).map(|candidate| Entry {
            candidate: *candidate,
            refused: None,
            probed: false,
        });
        Self {
            root,
            names,
            entries: entries.collect(),
            active: None,
            first_allowed: 0,
        }
    }

    /// The back end that measures; `None` while none does.
    pub(crate) fn active(&self) -> Option<&'static str> {
        self.active.as_ref().map(|active| active.backend.name())
    }

    /// What measured before and gave way to the one that measures, and why.
    pub(crate) fn given_way(&self) -> Vec<String> {
        let Some(active) = &self.active else {
            return Vec::new();
        };
        let before = self.entries[..active.entry].iter().filter(|entry| entry.probed);
        let lost = before.filter_map(|entry| Some((entry.candidate.name, &entry.refused.as_ref()?.1)));
        lost.map(|(name, refusal)| {
            let (measures, reason, hint) = (active.backend.name(), &refusal.reason, &refusal.hint);
            format!("{measures} measures instead of {name}, which {reason}; {hint}")
        })
        .collect()
    }

    /// Whether the one that measures leaves large processes out.
    pub(crate) fn is_limited(&self) -> bool {
        let active = self.active.as_ref();
        active.is_some_and(|active| self.entries[active.entry].candidate.reach == Reach::Limited)
    }

    /// Has a back end tried again that works after all, if it is better than the one that measures; says whether it is.
    pub(crate) fn try_again(&mut self, name: &str) -> bool {
        let used = self.active.as_ref().map_or(0, |active| active.entry);
        let mut better = self.entries[self.first_allowed.min(used)..used].iter_mut();
        let Some(entry) = better.find(|entry| entry.candidate.name == name) else {
            return false;
        };
        entry.refused = None;
        self.stop();
        true
    }

    /// Whether the one that measures could give way to a cheaper one.
    pub(crate) fn has_cheaper(&self) -> bool {
        let used = self
            .active
            .as_ref()
            .map_or(self.first_allowed, |active| active.entry);
        self.entries[(used + 1).min(self.entries.len())..]
            .iter()
            .any(|entry| entry.refused.is_none())
    }

    /// Leaves out the back end that measures and those before it, if there is one behind it; or takes all in again.
    pub(crate) fn set_degraded(&mut self, degraded: bool) {
        let is_degraded = self.first_allowed > 0;
        if degraded == is_degraded || (degraded && !self.has_cheaper()) {
            return;
        }
        let used = self.active.as_ref().map_or(0, |active| active.entry);
        self.first_allowed = if degraded { used + 1 } else { 0 };
        self.stop();
    }

    /// Chooses the best back end that works, for the rounds that follow.
    pub(crate) fn ready(&mut self, settings: &HeatSettings) {
        self.retire(settings.interval_ns);
        self.reconsider();
        if self.active.is_none() {
            self.start_first(settings);
        }
    }

    /// One round with the best back end that works.
    pub(crate) fn collect(
        &mut self,
        processes: &[HeatProcess],
        end: IntervalEnd,
        settings: &HeatSettings,
    ) -> HeatRound {
        self.ready(settings);
        let Some(active) = &mut self.active else {
            return self.refuse(processes);
        };
        let round = active.backend.collect(processes, end);
        if round.measured == 0 && !processes.is_empty() {
            active.fruitless += 1;
        } else {
            active.fruitless = 0;
        }
        if active.fruitless >= FRUITLESS_ROUNDS {
            self.give_way(&round);
        }
        round
    }

    /// An interval passes without a visit: it is missing, not idle.
    pub(crate) fn miss(&mut self) {
        if let Some(active) = &mut self.active {
            active.backend.miss();
        }
    }

    /// Ends the back end in use, and with it its state in the kernel. The next round begins anew.
    pub(crate) fn stop(&mut self) {
        self.active = None;
    }

    /// Drops a back end that was made for intervals of another length.
    fn retire(&mut self, interval_ns: i64) {
        if self
            .active
            .as_ref()
            .is_some_and(|active| active.interval_ns != interval_ns)
        {
            self.stop();
        }
    }

    /// Forgets refusals that are old enough to be tried again. Better back ends than the one in use are among them.
    fn reconsider(&mut self) {
        let now_ns = tierscope_clock::boottime_ns();
        let used = self
            .active
            .as_ref()
            .map_or(self.entries.len(), |active| active.entry);
        let mut better = false;
        for (index, entry) in self.entries.iter_mut().enumerate() {
            let is_old = |(at_ns, _): &(i64, Refusal)| now_ns - at_ns >= RETRY_NS;
            if !entry.refused.as_ref().is_some_and(is_old) {
                continue;
            }
            entry.refused = (entry.candidate.probe)(&self.root)
                .err()
                .map(|refusal| (now_ns, refusal));
            better |= entry.refused.is_none() && (self.first_allowed..used).contains(&index);
        }
        if better {
            self.stop();
        }
    }

    /// Starts the first back end that works.
    fn start_first(&mut self, settings: &HeatSettings) {
        let now_ns = tierscope_clock::boottime_ns();
        for index in self.first_allowed..self.entries.len() {
            let entry = &mut self.entries[index];
            if entry.refused.is_some() {
                continue;
            }
            let probed = if entry.probed {
                Ok(())
            } else {
                (entry.candidate.probe)(&self.root)
            };
            match probed.and_then(|()| (entry.candidate.make)(&self.root, settings, &self.names)) {
                Ok(backend) => {
                    entry.probed = true;
                    self.active = Some(Active {
                        entry: index,
                        interval_ns: settings.interval_ns,
                        backend,
                        fruitless: 0,
                    });
                    return;
                }
                Err(refusal) => entry.refused = Some((now_ns, refusal)),
            }
        }
    }

    /// Ends a back end that measures nobody, if another one may do better.
    fn give_way(&mut self, round: &HeatRound) {
        if !self.has_cheaper() {
            return;
        }
        let Some(active) = self.active.take() else { return };
        let reason = round
            .skipped
            .first()
            .map_or("it measured no process", |(_, reason)| reason);
        let refusal = Refusal {
            reason: format!("measured nobody in {FRUITLESS_ROUNDS} intervals: {reason}"),
            hint: "it is tried again every hour".to_owned(),
        };
        self.entries[active.entry].refused = Some((tierscope_clock::boottime_ns(), refusal));
    }

    /// A round in which nobody could be measured, with the reasons of all back ends.
    fn refuse(&self, processes: &[HeatProcess]) -> HeatRound {
        let reason = self.why_none();
        HeatRound {
            skipped: processes
                .iter()
                .map(|process| (process.clone(), reason.clone()))
                .collect(),
            ..HeatRound::default()
        }
    }

    /// Why no back end works.
    pub(crate) fn why_none(&self) -> String {
        let reasons: Vec<String> = self
            .entries
            .iter()
            .filter_map(|entry| {
                let (_, refusal) = entry.refused.as_ref()?;
                Some(format!("{}: {}", entry.candidate.name, refusal.reason))
            })
            .collect();
        if reasons.is_empty() {
            return "no back end is named under [heat] backends".to_owned();
        }
        format!("no back end works here ({})", reasons.join("; "))
    }

    /// Takes it that every back end works, as on a recorded root, whose accessed bits never change.
    #[cfg(test)]
    pub(crate) fn trust(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.probed = true);
    }

    /// Where each back end stands, by name. `measuring` is what the one in use says of itself.
    pub(crate) fn states(&self, measuring: &State) -> Vec<(&'static str, State)> {
        let backends = collectors::backend_names();
        backends
            .into_iter()
            .map(|name| (name, self.state(name, measuring)))
            .collect()
    }

    fn state(&self, name: &'static str, measuring: &State) -> State {
        let Some(index) = self.entries.iter().position(|entry| entry.candidate.name == name) else {
            return not_named(name);
        };
        if let Some((_, refusal)) = &self.entries[index].refused {
            return State::off(&refusal.reason, &refusal.hint);
        }
        match &self.active {
            Some(active) if active.entry == index => measuring.clone(),
            Some(active) if index > active.entry => State::off(
                format!("{} measures instead", self.entries[active.entry].candidate.name),
                format!("to prefer it, name it first under [heat]: backends = [\"{name}\"]"),
            ),
            _ if index < self.first_allowed => State::off(
                "left out to keep within the agent's budget",
                "raise cpu_max_ratio under [budget]",
            ),
            _ => State {
                active: false,
                ..measuring.clone()
            },
        }
    }
}

/// The state of a back end that the settings do not name.
fn not_named(name: &str) -> State {
    let intrusive = collectors::facts(name).is_some_and(|facts| facts.intrusive);
    let reason = if intrusive {
        "it weighs on the processes that it measures, so it is used only where the settings name it"
    } else {
        "the settings do not name it"
    };
    State::off(
        reason,
        format!("name it under [heat]: backends = [\"{name}\", ...]"),
    )
}

#[cfg(test)]
mod tests;
