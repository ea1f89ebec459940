//! The chain of back ends of heat: tried in the order of the settings, by doing; the first that works measures.
//!
//! A back end that stops working gives way to the next one, and those that did not work are tried again later. Why
//! each one does not measure is kept for the inventory.

use tierscope_rootfs::Root;
use tierscope_sample::fold::IntervalEnd;

use crate::clocks::{self, SECOND_NS};
use crate::collectors::{self, State};
use crate::heat;
use crate::heat::backend::{HeatBackend, HeatProcess, HeatRound, HeatSettings};
use crate::names::NamePolicy;

/// Why a back end cannot measure on this host, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What stands in the way.
    pub(crate) reason: String,
    /// What to do; "" where nothing helps.
    pub(crate) hint: String,
}

/// A back end, or why there is none.
pub(crate) type Made = Result<Box<dyn HeatBackend>, Refusal>;

/// A back end of this program.
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    /// Its name in the settings.
    pub(crate) name: &'static str,
    /// Tries it on this process's own memory.
    pub(crate) probe: fn(&Root) -> Result<(), Refusal>,
    /// Makes one that has measured nothing yet.
    pub(crate) make: fn(&Root, &HeatSettings, &NamePolicy) -> Made,
}

/// Rounds without a single measured process after which a back end gives way.
const FRUITLESS_ROUNDS: u32 = 3;
/// After this time back ends that did not work are tried again.
const RETRY_NS: i64 = 3600 * SECOND_NS;

/// One back end of the chain.
struct Rung {
    offer: Offer,
    /// Why it does not measure, and when that was found; `None` while nothing speaks against it.
    refused: Option<(i64, Refusal)>,
    probed: bool,
}

/// The back end that measures.
struct Active {
    rung: usize,
    interval_ns: i64,
    backend: Box<dyn HeatBackend>,
    /// Rounds in a row in which it measured nobody.
    fruitless: u32,
}

/// The chain of one host.
pub(crate) struct Ladder {
    root: Root,
    names: NamePolicy,
    rungs: Vec<Rung>,
    active: Option<Active>,
    /// Rungs above are left out to save the host's time.
    lowest_allowed: usize,
}

impl Ladder {
    /// The chain of the back ends that the settings name. Nothing is tried yet.
    pub(crate) fn new(root: Root, names: NamePolicy, wanted: &[String]) -> Self {
        Self::with_offers(root, names, wanted, heat::OFFERS)
    }

    fn with_offers(root: Root, names: NamePolicy, wanted: &[String], offers: &[Offer]) -> Self {
        let offer = |name: &String| offers.iter().find(|offer| offer.name == name);
        let rungs = wanted.iter().filter_map(offer).map(|offer| Rung {
            offer: *offer,
            refused: None,
            probed: false,
        });
        Self {
            root,
            names,
            rungs: rungs.collect(),
            active: None,
            lowest_allowed: 0,
        }
    }

    /// The back end that measures; `None` while none does.
    pub(crate) fn active(&self) -> Option<&'static str> {
        self.active.as_ref().map(|active| active.backend.name())
    }

    /// Whether the one that measures could give way to a cheaper one.
    pub(crate) fn has_cheaper(&self) -> bool {
        let used = self
            .active
            .as_ref()
            .map_or(self.lowest_allowed, |active| active.rung);
        self.rungs[(used + 1).min(self.rungs.len())..]
            .iter()
            .any(|rung| rung.refused.is_none())
    }

    /// Leaves out the back end that measures and those before it, if there is one behind it; or takes all in again.
    pub(crate) fn be_thrifty(&mut self, thrifty: bool) {
        let is_thrifty = self.lowest_allowed > 0;
        if thrifty == is_thrifty || (thrifty && !self.has_cheaper()) {
            return;
        }
        let used = self.active.as_ref().map_or(0, |active| active.rung);
        self.lowest_allowed = if thrifty { used + 1 } else { 0 };
        self.stop();
    }

    /// One round with the best back end that works.
    pub(crate) fn collect(
        &mut self,
        processes: &[HeatProcess],
        end: IntervalEnd,
        settings: &HeatSettings,
    ) -> HeatRound {
        self.retire(settings.interval_ns);
        self.reconsider();
        if self.active.is_none() {
            self.climb(settings);
        }
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
        let now_ns = clocks::boottime_ns();
        let used = self
            .active
            .as_ref()
            .map_or(self.rungs.len(), |active| active.rung);
        let mut better = false;
        for (index, rung) in self.rungs.iter_mut().enumerate() {
            let is_old = |(at_ns, _): &(i64, Refusal)| now_ns - at_ns >= RETRY_NS;
            if !rung.refused.as_ref().is_some_and(is_old) {
                continue;
            }
            rung.refused = (rung.offer.probe)(&self.root)
                .err()
                .map(|refusal| (now_ns, refusal));
            better |= rung.refused.is_none() && (self.lowest_allowed..used).contains(&index);
        }
        if better {
            self.stop();
        }
    }

    /// Starts the first back end that works.
    fn climb(&mut self, settings: &HeatSettings) {
        let now_ns = clocks::boottime_ns();
        for index in self.lowest_allowed..self.rungs.len() {
            let rung = &mut self.rungs[index];
            if rung.refused.is_some() {
                continue;
            }
            let probed = if rung.probed {
                Ok(())
            } else {
                (rung.offer.probe)(&self.root)
            };
            match probed.and_then(|()| (rung.offer.make)(&self.root, settings, &self.names)) {
                Ok(backend) => {
                    rung.probed = true;
                    self.active = Some(Active {
                        rung: index,
                        interval_ns: settings.interval_ns,
                        backend,
                        fruitless: 0,
                    });
                    return;
                }
                Err(refusal) => rung.refused = Some((now_ns, refusal)),
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
        self.rungs[active.rung].refused = Some((clocks::boottime_ns(), refusal));
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
    fn why_none(&self) -> String {
        let reasons: Vec<String> = self
            .rungs
            .iter()
            .filter_map(|rung| {
                let (_, refusal) = rung.refused.as_ref()?;
                Some(format!("{}: {}", rung.offer.name, refusal.reason))
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
        self.rungs.iter_mut().for_each(|rung| rung.probed = true);
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
        let Some(index) = self.rungs.iter().position(|rung| rung.offer.name == name) else {
            return not_named(name);
        };
        if let Some((_, refusal)) = &self.rungs[index].refused {
            return State::off(&refusal.reason, &refusal.hint);
        }
        match &self.active {
            Some(active) if active.rung == index => measuring.clone(),
            Some(active) if index > active.rung => State::off(
                format!("{} measures instead", self.rungs[active.rung].offer.name),
                format!("to prefer it, name it first under [heat]: backends = [\"{name}\"]"),
            ),
            _ if index < self.lowest_allowed => State::off(
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
