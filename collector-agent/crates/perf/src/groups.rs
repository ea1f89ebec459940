//! Core groups: which events are on, on which cores, and for how long. Pure: the clock is an argument.
//!
//! Cores are dealt to groups in turn. At each step (every `mini_interval`) some groups are active, and the active ones
//! may carry different events: loads on one group, stores on another. Over one full turn each event is on for the same
//! time on each core, so that its share of time and cores, the duty cycle, is `active / (groups x sets)`.

/// How cores and events take turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPlan {
    /// Groups that the cores are dealt to.
    pub groups: usize,
    /// Groups that are active at a time.
    pub active: usize,
    /// Events (their numbers in the event set) that are on together. Active groups carry different sets in turn.
    pub sets: Vec<Vec<usize>>,
}

impl GroupPlan {
    /// All events on all cores all the time.
    pub fn always(events: usize) -> Self {
        Self {
            groups: 1,
            active: 1,
            sets: vec![(0..events).collect()],
        }
    }

    /// `active` of `groups` at a time, each with one of the sets.
    pub fn in_turn(groups: usize, active: usize, sets: Vec<Vec<usize>>) -> Self {
        Self { groups, active, sets }
    }

    /// What is wrong with the plan for an event set of `events`, if anything.
    pub fn problem(&self, events: usize) -> Option<String> {
        if self.groups == 0 || self.active == 0 || self.active > self.groups {
            return Some(format!(
                "{} of {} core groups cannot be active: choose 1 to all of them",
                self.active, self.groups
            ));
        }
        let outside = self.sets.iter().flatten().find(|event| **event >= events);
        if self.sets.is_empty() || self.sets.iter().any(Vec::is_empty) {
            Some("a set of events is empty: name at least one event in each".to_owned())
        } else {
            outside.map(|event| format!("event {event} of a set does not exist: there are {events}"))
        }
    }

    /// The group of the core with this place in the list of cores.
    pub fn group_of(&self, core_index: usize) -> usize {
        core_index % self.groups
    }

    /// Whether an event is on, on the cores of a group, at a step.
    pub fn is_on(&self, step: u64, group: usize, event: usize) -> bool {
        let groups = self.groups as u64;
        // The active groups are the `active` ones from `step` on, going round.
        let slot = (group as u64 + groups - step % groups) % groups;
        if slot >= self.active as u64 {
            return false;
        }
        // The sets go round once more with every turn of the groups, so that every group meets every set in every slot.
        let turn = step / groups;
        let set = (slot + turn) % self.sets.len() as u64;
        self.sets[set as usize].contains(&event)
    }

    /// Steps after which everything repeats.
    pub fn steps(&self) -> u64 {
        (self.groups * self.sets.len()) as u64
    }

    /// Share of time and cores that an event is on, over a full turn.
    pub fn duty_ratio(&self, event: usize) -> f64 {
        let sets = self.sets.iter().filter(|set| set.contains(&event)).count();
        self.active as f64 * sets as f64 / (self.groups * self.sets.len()) as f64
    }
}

/// When the next step begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    mini_interval_ns: u64,
    step: u64,
    next_ns: u64,
}

impl Rotation {
    /// The first step begins at `now_ns`.
    pub fn new(mini_interval_ns: u64, now_ns: u64) -> Self {
        Self {
            mini_interval_ns,
            step: 0,
            next_ns: now_ns.saturating_add(mini_interval_ns),
        }
    }

    /// The step in force.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// When the next one begins.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Goes to the next step if its time has come. A late call makes one step, not several: what counts is the time that
    /// events were really on.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        if now_ns < self.next_ns {
            return false;
        }
        self.step += 1;
        self.next_ns = now_ns.saturating_add(self.mini_interval_ns);
        true
    }
}

/// For how long an event was on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OnTime {
    since_ns: Option<u64>,
    on_ns: u64,
    /// Nanoseconds over the period that was in force: what the mean period is made from.
    weight: f64,
}

impl OnTime {
    /// Notes that the event is on from `now_ns`.
    pub fn begin(&mut self, now_ns: u64) {
        self.since_ns = Some(now_ns);
    }

    /// Notes that it is off, or on with another period, from `now_ns`; `period` was in force until then.
    pub fn end(&mut self, now_ns: u64, period: u64) {
        if let Some(since_ns) = self.since_ns.take() {
            let on_ns = now_ns.saturating_sub(since_ns);
            self.on_ns += on_ns;
            self.weight += on_ns as f64 / period.max(1) as f64;
        }
    }

    /// Whether it is on.
    pub fn is_on(&self) -> bool {
        self.since_ns.is_some()
    }

    /// Time on since the last call, and that time over the period in force; counting goes on.
    pub fn take(&mut self, now_ns: u64, period: u64) -> (u64, f64) {
        let is_on = self.is_on();
        self.end(now_ns, period);
        if is_on {
            self.begin(now_ns);
        }
        (std::mem::take(&mut self.on_ns), std::mem::take(&mut self.weight))
    }
}

/// Randomises periods: regular access patterns would else meet a regular sampler (aliasing).
#[derive(Debug, Clone)]
pub struct PeriodJitter {
    state: u64,
    share: f64,
}

impl PeriodJitter {
    /// Periods are drawn evenly from `1 - share ..= 1 + share` times the nominal one.
    pub fn new(seed: u64, share: f64) -> Self {
        Self {
            state: seed,
            share: share.clamp(0.0, 0.5),
        }
    }

    /// A period near `period`, a multiple of `step`.
    pub fn draw(&mut self, period: u64, step: u64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let factor = 1.0 + self.share * (2.0 * unit - 1.0);
        crate::catalogue::round_period((period as f64 * factor).round() as u64, step)
    }

    /// splitmix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn loads_and_stores_take_turns_on_different_groups() {
        let plan = GroupPlan::in_turn(4, 2, vec![vec![0], vec![1]]);
        let on =
            |step, event| -> Vec<usize> { (0..4).filter(|group| plan.is_on(step, *group, event)).collect() };
        assert_eq!((on(0, 0), on(0, 1)), (vec![0], vec![1]));
        assert_eq!((on(1, 0), on(1, 1)), (vec![1], vec![2]));
        assert_eq!((on(3, 0), on(3, 1)), (vec![3], vec![0]));
        // The second turn exchanges them.
        assert_eq!((on(4, 0), on(4, 1)), (vec![1], vec![0]));
    }

    #[test]
    fn every_core_has_every_event_for_its_share_of_a_full_turn() {
        let sets = [
            vec![vec![0], vec![1]],
            vec![vec![0, 1]],
            vec![vec![0], vec![1], vec![0]],
        ];
        for sets in sets {
            for groups in 1..=5 {
                for active in 1..=groups {
                    let plan = GroupPlan::in_turn(groups, active, sets.clone());
                    for (group, event) in (0..groups).flat_map(|group| [(group, 0), (group, 1)]) {
                        let on = (0..plan.steps()).filter(|step| plan.is_on(*step, group, event));
                        let share = on.count() as f64 / plan.steps() as f64;
                        assert!(
                            (share - plan.duty_ratio(event)).abs() < 1e-12,
                            "{plan:?} {group} {event}"
                        );
                    }
                }
            }
        }
        assert!((GroupPlan::always(2).duty_ratio(1) - 1.0).abs() < 1e-12);
        let quarter = GroupPlan::in_turn(4, 1, vec![vec![0, 1]]);
        assert!((quarter.duty_ratio(0) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn impossible_plans_are_refused() {
        assert_eq!(GroupPlan::always(2).problem(2), None);
        assert!(GroupPlan::in_turn(2, 3, vec![vec![0]]).problem(1).is_some());
        assert!(GroupPlan::in_turn(2, 0, vec![vec![0]]).problem(1).is_some());
        assert!(
            GroupPlan::in_turn(2, 1, vec![vec![0], vec![]])
                .problem(1)
                .is_some()
        );
        assert!(
            GroupPlan::always(2)
                .problem(1)
                .is_some_and(|text| text.contains("event 1"))
        );
    }

    #[test]
    fn steps_follow_the_clock_and_a_late_call_makes_one() {
        let mut rotation = Rotation::new(5 * SECOND_NS, 100);
        assert!(!rotation.advance(5 * SECOND_NS));
        assert!(rotation.advance(5 * SECOND_NS + 100));
        assert_eq!((rotation.step(), rotation.next_ns()), (1, 10 * SECOND_NS + 100));
        assert!(rotation.advance(60 * SECOND_NS));
        assert_eq!((rotation.step(), rotation.next_ns()), (2, 65 * SECOND_NS));
    }

    #[test]
    fn duty_comes_from_the_time_that_events_were_really_on() {
        let plan = GroupPlan::in_turn(4, 1, vec![vec![0]]);
        let mut rotation = Rotation::new(5 * SECOND_NS, 0);
        let mut cores = [OnTime::default(); 4];
        cores[0].begin(0);
        // Steps come late by up to a second; one minute.
        for now_s in [0, 5, 11, 16, 22, 27, 33, 38, 44, 50, 55, 60] {
            let now_ns = now_s * SECOND_NS;
            if rotation.advance(now_ns) {
                for (group, core) in cores.iter_mut().enumerate() {
                    core.end(now_ns, 200);
                    if plan.is_on(rotation.step(), group, 0) {
                        core.begin(now_ns);
                    }
                }
            }
        }
        let taken = cores.map(|mut core| core.take(60 * SECOND_NS, 200).0);
        assert_eq!(taken.iter().sum::<u64>(), 60 * SECOND_NS, "one core at a time");
        assert!(
            taken
                .iter()
                .all(|on_ns| (10 * SECOND_NS..=20 * SECOND_NS).contains(on_ns))
        );
    }

    #[test]
    fn the_mean_period_weighs_each_by_its_time() {
        let mut on = OnTime::default();
        on.begin(0);
        on.end(SECOND_NS, 200);
        on.begin(SECOND_NS);
        let (on_ns, weight) = on.take(4 * SECOND_NS, 190);
        assert_eq!(on_ns, 4 * SECOND_NS);
        let mean = on_ns as f64 / weight;
        assert!((mean - 4.0 / (1.0 / 200.0 + 3.0 / 190.0)).abs() < 1e-9, "{mean}");
        assert!(on.is_on());
        assert_eq!(on.take(5 * SECOND_NS, 190).0, SECOND_NS);
    }

    #[test]
    fn periods_are_spread_evenly_around_the_nominal_one() {
        let mut jitter = PeriodJitter::new(7, 0.05);
        let draws: Vec<u64> = (0..10_000).map(|_| jitter.draw(200, 1)).collect();
        assert!(draws.iter().all(|period| (190..=210).contains(period)));
        assert!((190..=210).all(|period| draws.contains(&period)));
        let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        assert!((mean - 200.0).abs() < 0.5, "{mean}");
        assert!((0..100).all(|_| jitter.draw(65_536, 16).is_multiple_of(16)));
        assert_eq!(PeriodJitter::new(1, 0.0).draw(1, 1), 1);
    }
}
