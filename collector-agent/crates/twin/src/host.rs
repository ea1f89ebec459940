//! A host: one step at a time, from what its services want to what its kernel does.

use crate::conditions::{self, Conditions};
use crate::draws::Draws;
use crate::kind::{KINDS, Kind, Place};
use crate::laws::{Dialect, GIB, HostLaw, Laws, MemoryLaw, PAGE_BYTES};
use crate::memory::Memory;
use crate::performance::{Circumstances, Demand, Loaded, Performance};
use crate::placement::{Placing, Rules};
use crate::popularity::{Popularities, SLOTS};
use crate::population::{GAPS, Marked, Population, Touched, Touching};
use crate::pressure::Pressure;
use crate::promotion::{self, MODE_NORMAL, MODE_TIERING, PromotionControl};
use crate::service::{Activity, HostService};
use crate::tally::Tally;

/// A host with its state.
#[derive(Debug)]
pub struct Host {
    /// Its law.
    pub law: HostLaw,
    /// Its services, in the order of the law.
    pub services: Vec<HostService>,
    /// Its memory.
    pub memory: Memory,
    /// Pages: the populations of each service in turn, then what each has leaked.
    pub populations: Vec<Population>,
    /// Counts by service since boot.
    pub tallies: Vec<Tally>,
    /// Stalls by service since boot, and of the host.
    pub pressures: Vec<Pressure>,
    /// Stalls of the host, kswapd among them.
    pub pressure: Pressure,
    /// Steps done, the ones before the start among them.
    pub steps: u32,
    dram: MemoryLaw,
    slow: Option<MemoryLaw>,
    /// Index of a population within its service; `None` for what has leaked.
    population_laws: Vec<Option<usize>>,
    intervals_before: u32,
    control: PromotionControl,
    scan_passes: Vec<f64>,
    started_h: Vec<Option<f64>>,
    /// Pages that kswapd of each node can still reclaim in this step.
    kswapd_left: [u64; 2],
    /// By population, in the last step; `None` for what has leaked, which is not touched again.
    activities: Vec<Option<Activity>>,
    draws: Draws,
}

/// What happened on a host in one interval.
#[derive(Debug, Clone)]
pub struct HostInterval {
    /// Number of the interval after the start; negative before it.
    pub number: i64,
    /// What held.
    pub conditions: Conditions,
    /// DRAM as it answered.
    pub dram: Loaded,
    /// The slow node as it answered.
    pub slow: Option<Loaded>,
    /// By service.
    pub services: Vec<ServiceInterval>,
}

/// What happened to a service on a host in one interval.
#[derive(Debug, Clone)]
pub struct ServiceInterval {
    /// Accesses by kind and place: DRAM, slow node, out of memory.
    pub accesses: [[f64; 3]; KINDS],
    /// How it did.
    pub performance: Performance,
    /// How it would have done with all its memory in DRAM.
    pub all_dram: Performance,
    /// What it reports of itself, with the noise of measuring.
    pub measured: Performance,
    /// Passes that the scanner did over its memory.
    pub scan_passes: f64,
    /// Base pages touched again, by kind and gap in intervals (index i: i + 1).
    pub gap_pages: Vec<[u64; GAPS]>,
    /// Base pages touched, by kind.
    pub touched_pages: [u64; KINDS],
    /// Capacity with all anonymous memory on CXL memory and the rest in DRAM, and with all file memory and tmpfs there;
    /// `None` without such accesses, or without CXL memory in the laws.
    pub off_dram_ops_per_s: [Option<f64>; 2],
}

impl ServiceInterval {
    /// Share of accesses that went to the slow node; `None` without any.
    pub fn slow_share(&self) -> Option<f64> {
        let sum = |place: usize| self.accesses.iter().map(|by_place| by_place[place]).sum::<f64>();
        let all: f64 = (0..3).map(sum).sum();
        (all > 0.0).then(|| sum(1) / all)
    }
}

impl Host {
    /// The host with this index in the laws, empty. `popularities` are those of the laws.
    pub fn new(laws: &Laws, popularities: &Popularities, index: usize, seed: u64) -> Self {
        let law = laws.hosts[index].clone();
        // By name, so that a host is the same whatever other hosts there are.
        let draws = Draws::new(seed).named(&law.name);
        let unit = laws.unit_pages();
        let memory = Memory::new(&law, laws.kernel_work.kernel_share, unit);
        let luck = laws.noise.rack_sd * Draws::new(seed).named("rack").named(&law.rack).normal(0)
            + laws.noise.host_sd * draws.named("host").normal(0);
        let bytes = (memory.managed() * PAGE_BYTES) as f64;
        let services: Vec<HostService> = law
            .services
            .iter()
            .filter_map(|share| {
                let service = laws.service(&share.service)?;
                Some(HostService::new(
                    service,
                    popularities.of(&service.name)?,
                    bytes * share.share,
                    luck,
                    draws.named(&service.name),
                ))
            })
            .collect();
        let (populations, population_laws) = populate(&services, draws);
        Self {
            dram: laws.memory["dram"].clone(),
            slow: law.slow.as_ref().map(|slow| laws.memory[&slow.memory].clone()),
            tallies: vec![Tally::default(); services.len()],
            pressures: vec![Pressure::default(); services.len()],
            pressure: Pressure::default(),
            scan_passes: vec![0.0; services.len()],
            started_h: vec![None; services.len()],
            control: PromotionControl::default(),
            kswapd_left: [0; 2],
            activities: Vec::new(),
            steps: 0,
            intervals_before: 0,
            law,
            services,
            memory,
            populations,
            population_laws,
            draws,
        }
    }

    /// All counts of the host.
    pub fn tally(&self) -> Tally {
        self.tallies
            .iter()
            .fold(Tally::default(), |sum, tally| sum.plus(tally))
    }

    /// Touches per second of base pages of a population in the last step, by slot of popularity, and how far ranks had
    /// moved on.
    pub fn rates(&self, population: usize) -> (Vec<f32>, u16) {
        let service = &self.services[self.populations[population].service];
        let activity = self.activities.get(population).and_then(Option::as_ref);
        self.population_laws[population].zip(activity).map_or_else(
            || (vec![0.0; SLOTS], 0),
            |(position, activity)| service.rates(position, activity),
        )
    }

    /// Whether the kernel sees the slow node as a lower tier.
    pub fn has_lower_tier(&self) -> bool {
        self.slow.as_ref().is_some_and(|slow| slow.is_lower_tier)
    }

    /// Begins so many intervals before the laws' clock, with the sizes and the load of that time.
    pub fn begin_before(&mut self, intervals: u32) {
        self.intervals_before = intervals;
    }

    /// Lets one interval go by.
    pub fn step(&mut self, laws: &Laws) -> HostInterval {
        let interval_s = laws.clock.interval_s;
        let before = i64::from(laws.clock.warm_up_intervals) + i64::from(self.intervals_before);
        let number = i64::from(self.steps) - before;
        let now_s = number as f64 * interval_s;
        let conditions = conditions::at(laws, &self.law, now_s / 3600.0);
        self.memory
            .dram
            .set_watermarks(conditions.settings.watermark_scale_factor);
        if let Some(slow) = &mut self.memory.slow {
            slow.set_watermarks(conditions.settings.watermark_scale_factor);
        }
        let kswapd_bytes = laws.kernel_work.kswapd_bytes_per_s * interval_s;
        self.kswapd_left = [kswapd_bytes as u64 / PAGE_BYTES; 2];
        let before = self.tallies.clone();
        let loads: Vec<f64> = self
            .services
            .iter()
            .map(|service| service.load(laws.clock.start_unix_s as f64 + now_s, &laws.noise))
            .collect();
        self.change_sizes(laws, &conditions, now_s);
        let passes_before = self.scan_passes.clone();
        let mut touched = self.touch(laws, &conditions, &loads, now_s);
        self.refault(laws, &conditions, &mut touched);
        self.promote(laws, &conditions, &touched);
        let mut interval = self.measure(laws, conditions, &loads, (&before, &touched), number);
        for (index, service) in interval.services.iter_mut().enumerate() {
            service.scan_passes = self.scan_passes[index] - passes_before[index];
        }
        self.steps += 1;
        interval
    }

    fn rules(&self, conditions: &Conditions) -> Rules {
        let settings = &conditions.settings;
        let is_tiering = settings.numa_balancing & MODE_TIERING != 0;
        Rules {
            demotes: settings.demotion_enabled && self.has_lower_tier(),
            is_tiering: is_tiering && self.has_lower_tier(),
            // Before 6.12 the counter does not ask for the mode (mm/migrate.c, migrate_misplaced_page).
            counts_promotions: self.has_lower_tier() && (is_tiering || settings.dialect == Dialect::V6_1),
            swappiness: settings.swappiness,
            failed_share: conditions.failed_share,
        }
    }

    fn placing(&mut self, laws: &Laws, conditions: &Conditions) -> Placing<'_> {
        let rules = self.rules(conditions);
        let draws = self.draws.named("placing").branch(u64::from(self.steps));
        Placing::new(
            (&mut self.memory, &mut self.populations, &mut self.tallies),
            &mut self.kswapd_left,
            rules,
            &laws.kernel_work,
            (self.steps, laws.clock.interval_s),
            draws,
        )
    }

    /// Which services start anew in this step.
    fn restart(&mut self, conditions: &Conditions, hours: f64) -> Vec<bool> {
        let started: Vec<Option<f64>> = self
            .services
            .iter()
            .zip(&conditions.services)
            .map(|(service, own)| service.started_h(hours, own))
            .collect();
        let is_first = self.steps == 0;
        let restarted = started
            .iter()
            .zip(&self.started_h)
            .map(|(now, before)| !is_first && now > before);
        let restarted = restarted.collect();
        self.started_h = started;
        restarted
    }

    /// Frees and allocates what services free and allocate: restarts, turnover, growth.
    fn change_sizes(&mut self, laws: &Laws, conditions: &Conditions, now_s: f64) {
        let hours = now_s / 3600.0;
        let (step, unit_bytes) = (self.steps, laws.page.unit_bytes as f64);
        let draws = self.draws.named("sizes").branch(u64::from(step));
        let mut wanted = vec![0; self.populations.len()];
        let mut renewed = vec![0; self.populations.len()];
        let restarted = self.restart(conditions, hours);
        for (index, population) in self.populations.iter_mut().enumerate() {
            let number = population.service;
            let (service, own) = (&self.services[number], &conditions.services[number]);
            let Some(position) = self.population_laws[index] else {
                wanted[index] = (own.leaked_gib * GIB / unit_bytes) as usize;
                continue;
            };
            let law = &service.law.populations[position];
            let bytes = service.wanted_bytes(law, hours, own, self.started_h[number]);
            wanted[index] = (bytes / unit_bytes).round() as usize;
            let per_step = population.allocated() as f64 * laws.clock.interval_s / 3600.0;
            let pairs = draws
                .named("drift")
                .rounded(index as u64, law.drift_per_hour * per_step / 2.0);
            if !population.is_empty() {
                population.drift(step, pairs);
            }
            renewed[index] = draws
                .named("turnover")
                .rounded(index as u64, law.turnover_per_hour * per_step);
        }
        let mut placing = self.placing(laws, conditions);
        for index in 0..wanted.len() {
            let population = &placing.populations[index];
            let keeps = !(restarted[population.service] && population.kind == Kind::Anon);
            let kept = if keeps {
                population.allocated().min(wanted[index])
            } else {
                0
            };
            let start = draws.named("free").bits(index as u64) as usize;
            let excess = population.allocated() - kept;
            placing.free_some(index, excess, start);
            let renewed = renewed[index].min(placing.populations[index].allocated());
            placing.free_some(index, renewed, start.wrapping_mul(31));
        }
        placing.give_birth(&wanted);
        placing.balance();
    }

    /// Lets services touch their pages, and the scanner mark them.
    fn touch(&mut self, laws: &Laws, conditions: &Conditions, loads: &[f64], now_s: f64) -> Vec<Touched> {
        let interval_s = laws.clock.interval_s;
        let settings = &conditions.settings;
        let scans = settings.numa_balancing != 0 && !conditions.scanner_rests && self.slow.is_some();
        let mut scans_by_service = vec![None; self.services.len()];
        for (number, scan) in scans_by_service.iter_mut().enumerate().filter(|_| scans) {
            let own = self
                .populations
                .iter()
                .filter(|population| population.service == number);
            let resident: usize = own.map(Population::resident).sum();
            let bytes = resident as f64 * laws.page.unit_bytes as f64;
            let passes = interval_s / promotion::scan_pass_s(settings, &laws.kernel_work, bytes);
            *scan = Some((self.scan_passes[number], self.scan_passes[number] + passes));
            self.scan_passes[number] += passes;
        }
        let unit_pages = laws.unit_pages() as f64;
        let activity = |(population, position): (&Population, &Option<usize>)| {
            position.map(|_| Activity {
                pages: population.allocated() as f64 * unit_pages,
                load: loads[population.service],
                now_s,
                interval_s,
                hot_share: conditions.services[population.service].hot_share,
            })
        };
        self.activities = self
            .populations
            .iter()
            .zip(&self.population_laws)
            .map(activity)
            .collect();
        (0..self.populations.len())
            .map(|index| {
                let (rates, rank_offset) = self.rates(index);
                let population = &mut self.populations[index];
                population.touch(&Touching {
                    step: self.steps,
                    interval_s,
                    rates: &rates,
                    rank_offset,
                    scan: scans_by_service[population.service],
                    scans_dram: settings.numa_balancing & MODE_NORMAL != 0,
                })
            })
            .collect()
    }

    /// Brings back what was touched out of memory. The first touch is the fault; the others find the page in its place.
    fn refault(&mut self, laws: &Laws, conditions: &Conditions, touched: &mut [Touched]) {
        let mut placing = self.placing(laws, conditions);
        for (index, touched) in touched.iter_mut().enumerate() {
            for (unit, touches) in &touched.out {
                let Some(place) = placing.allocate(index, *unit as usize).and_then(Place::index) else {
                    continue;
                };
                touched.touches[2] -= touches - 1.0;
                touched.touches[place] += touches - 1.0;
                let population = &placing.populations[index];
                let tally = &mut placing.tallies[population.service];
                let (kind, pages) = (population.kind.index(), placing.memory.unit);
                tally.refaulted[kind] += pages;
                tally.refaulted_slow[kind] += pages * place as u64;
            }
        }
    }

    /// Decides for each page that was hit by a hint fault.
    fn promote(&mut self, laws: &Laws, conditions: &Conditions, touched: &[Touched]) {
        let (settings, interval_s) = (&conditions.settings, laws.clock.interval_s);
        let mut control = std::mem::take(&mut self.control);
        let unit = self.memory.unit;
        control.begin(settings, interval_s, unit);
        let threshold_s = control.threshold_s(settings);
        for (population, touched) in self.populations.iter().zip(touched) {
            self.tallies[population.service].marked += touched.scanned * unit;
        }
        let mut marked: Vec<(usize, Marked)> = touched
            .iter()
            .enumerate()
            .flat_map(|(index, touched)| touched.marked.iter().map(move |marked| (index, *marked)))
            .collect();
        marked.sort_by(|(_, one), (_, other)| one.draw.total_cmp(&other.draw));
        let is_tiering = self.rules(conditions).is_tiering;
        let mut placing = self.placing(laws, conditions);
        for (index, marked) in marked {
            let faults = promotion::faults(&marked, interval_s, threshold_s);
            let (page, service) = (marked.unit as usize, placing.populations[index].service);
            placing.tallies[service].hint_faults += faults.times * unit;
            if placing.populations[index].place(page) != Place::Slow {
                placing.tallies[service].hint_faults_local += faults.times * unit;
                continue;
            }
            let goes = if is_tiering {
                decide_tiering(&mut control, &mut placing, service, faults)
            } else {
                // Two faults in a row from one node, out of which every second one is (should_numa_migrate_memory).
                settings.numa_balancing & MODE_NORMAL != 0 && marked.draw < 0.5
            };
            if goes {
                placing.promote(index, page);
            }
        }
        placing.balance();
        control.end(settings, interval_s);
        self.control = control;
    }

    /// What the interval was like for services.
    fn measure(
        &mut self,
        laws: &Laws,
        conditions: Conditions,
        loads: &[f64],
        (before, touched): (&[Tally], &[Touched]),
        number: i64,
    ) -> HostInterval {
        let interval_s = laws.clock.interval_s;
        let mut services = self.gather(touched);
        let done: Vec<Tally> = self
            .tallies
            .iter()
            .zip(before)
            .map(|(now, before)| now.since(before))
            .collect();
        let demand = self.all_dram_demand(&services, interval_s);
        let (dram, slow, all_dram) = self.answer(&conditions, &services, &done, interval_s);
        let kernel_s: f64 = done.iter().map(|tally| kernel_time_s(laws, tally)).sum();
        let kernel_share = kernel_s / interval_s / f64::from(self.law.cpus);
        for (index, own) in services.iter_mut().enumerate() {
            let service = &self.services[index];
            let offered = loads[index] * service.idle_ops_per_s;
            let refaulted: u64 = done[index].refaulted.iter().sum();
            let fault_s = refaulted as f64 * laws.kernel_work.major_fault_ns / 1e9 / interval_s;
            let met = Circumstances {
                slow_share: own.slow_share().unwrap_or(0.0),
                dram,
                slow,
                idle_dram_ns: self.dram.latency_ns,
                fault_share: fault_s / (offered * service.law.op_us / 1e6).max(1e-9),
                kernel_share,
            };
            own.performance = Performance::new(&service.law, &met, service.idle_ops_per_s, offered);
            let ideal = met.all_in_dram(all_dram);
            own.all_dram = Performance::new(&service.law, &ideal, service.idle_ops_per_s, offered);
            let cxl = laws.memory.get("cxl");
            own.off_dram_ops_per_s = self.off_dram(
                own,
                index,
                offered,
                cxl.map(|cxl| (cxl, demand, ideal, interval_s)),
            );
            own.measured = self.with_noise(laws, &own.performance, index);
            self.pressures[index].add(&laws.kernel_work, &done[index], interval_s);
        }
        let sum = done.iter().fold(Tally::default(), |sum, tally| sum.plus(tally));
        self.pressure.add_host(&laws.kernel_work, &sum, interval_s);
        HostInterval {
            number,
            conditions,
            dram,
            slow,
            services,
        }
    }

    /// Accesses and gaps of each service.
    fn gather(&self, touched: &[Touched]) -> Vec<ServiceInterval> {
        let unit = self.memory.unit;
        let mut services: Vec<ServiceInterval> = self.services.iter().map(|_| empty_interval()).collect();
        for (population, touched) in self.populations.iter().zip(touched) {
            let own = &mut services[population.service];
            let kind = population.kind.index();
            for (sum, touches) in own.accesses[kind].iter_mut().zip(touched.touches) {
                *sum += touches * unit as f64;
            }
            own.touched_pages[kind] += touched.active * unit;
            for (sum, gaps) in own.gap_pages[kind].iter_mut().zip(&touched.gaps) {
                *sum += gaps * unit;
            }
        }
        services
    }

    /// All accesses in DRAM, without moves.
    fn all_dram_demand(&self, services: &[ServiceInterval], interval_s: f64) -> Demand {
        let mut demand = Demand::default();
        for (service, own) in self.services.iter().zip(services) {
            let accesses: f64 = own.accesses.iter().flatten().sum();
            demand.add_accesses(accesses / interval_s, service.law.write_share);
        }
        demand
    }

    /// Capacity of a service with its memory of one kind on CXL memory: anonymous memory, then file memory and tmpfs.
    fn off_dram(
        &self,
        own: &ServiceInterval,
        index: usize,
        offered: f64,
        cxl: Option<(&MemoryLaw, Demand, Circumstances, f64)>,
    ) -> [Option<f64>; 2] {
        let service = &self.services[index];
        [false, true].map(|is_named| {
            let met = self.without(own, service, is_named, cxl?)?;
            let found = Performance::new(&service.law, &met, service.idle_ops_per_s, offered);
            Some(found.capacity_ops_per_s)
        })
    }

    /// What a service would meet with its anonymous memory, or its file memory and tmpfs, on the node of slow memory alone
    /// and all else in DRAM; `None` without accesses to it.
    fn without(
        &self,
        own: &ServiceInterval,
        service: &HostService,
        is_named: bool,
        (slow, demand, ideal, interval_s): (&MemoryLaw, Demand, Circumstances, f64),
    ) -> Option<Circumstances> {
        let sum = |kind: Kind| own.accesses[kind.index()].iter().sum::<f64>();
        let moved: f64 = Kind::ALL
            .into_iter()
            .filter(|kind| (*kind != Kind::Anon) == is_named)
            .map(sum)
            .sum();
        let all: f64 = Kind::ALL.into_iter().map(sum).sum();
        let mut on_slow = Demand::default();
        on_slow.add_accesses(moved / interval_s, service.law.write_share);
        let in_dram = Demand {
            access_bytes_per_s: demand.access_bytes_per_s - on_slow.access_bytes_per_s,
            move_bytes_per_s: 0.0,
        };
        (moved > 0.0).then(|| Circumstances {
            slow_share: moved / all,
            dram: Loaded::new(&self.dram, &in_dram, 1.0, 1.0),
            slow: Some(Loaded::new(slow, &on_slow, 1.0, 1.0)),
            ..ideal
        })
    }

    /// How the nodes answer: DRAM, the slow node, and DRAM if it had all accesses and no moves.
    fn answer(
        &self,
        conditions: &Conditions,
        services: &[ServiceInterval],
        done: &[Tally],
        interval_s: f64,
    ) -> (Loaded, Option<Loaded>, Loaded) {
        let mut demands = [Demand::default(); 3];
        for (service, own) in self.services.iter().zip(services) {
            let write_share = service.law.write_share;
            for by_place in &own.accesses {
                demands[0].add_accesses((by_place[0] + by_place[2]) / interval_s, write_share);
                demands[1].add_accesses(by_place[1] / interval_s, write_share);
                demands[2].add_accesses(by_place.iter().sum::<f64>() / interval_s, write_share);
            }
        }
        let moved: u64 = done
            .iter()
            .map(|tally| tally.promoted_pages() + tally.demoted())
            .sum();
        demands[0].add_moves(moved as f64 / interval_s);
        demands[1].add_moves(moved as f64 / interval_s);
        let slow = self.slow.as_ref().map(|slow| {
            Loaded::new(
                slow,
                &demands[1],
                conditions.slow_latency_factor,
                conditions.slow_bandwidth_factor,
            )
        });
        (
            Loaded::new(&self.dram, &demands[0], 1.0, 1.0),
            slow,
            Loaded::new(&self.dram, &demands[2], 1.0, 1.0),
        )
    }

    fn with_noise(&self, laws: &Laws, performance: &Performance, service: usize) -> Performance {
        let draws = self
            .draws
            .named("measuring")
            .branch(u64::from(self.steps))
            .branch(service as u64);
        let factor = |index: u64| (laws.noise.measurement_sd * draws.normal(index)).exp();
        Performance {
            throughput_ops_per_s: performance.throughput_ops_per_s * factor(0),
            p50_us: performance.p50_us * factor(1),
            p99_us: performance.p99_us * factor(2),
            stall_share: (performance.stall_share * factor(3)).min(1.0),
            ..*performance
        }
    }
}

/// The populations of each service in turn, then what each has leaked, with their index in the service's law.
fn populate(services: &[HostService], draws: Draws) -> (Vec<Population>, Vec<Option<usize>>) {
    let of_laws = services.iter().enumerate().flat_map(|(number, service)| {
        let draws = draws.named(&service.law.name).named("population");
        let populations = service.law.populations.iter().enumerate();
        populations.map(move |(position, law)| {
            (
                Population::new(law.kind, number, draws.branch(position as u64)),
                Some(position),
            )
        })
    });
    let leaked = services.iter().enumerate().map(|(number, service)| {
        (
            Population::new(Kind::Anon, number, draws.named(&service.law.name).named("leak")),
            None,
        )
    });
    of_laws.chain(leaked).unzip()
}

fn empty_interval() -> ServiceInterval {
    ServiceInterval {
        accesses: [[0.0; 3]; KINDS],
        performance: Performance::default(),
        all_dram: Performance::default(),
        measured: Performance::default(),
        scan_passes: 0.0,
        gap_pages: vec![[0; GAPS]; KINDS],
        touched_pages: [0; KINDS],
        off_dram_ops_per_s: [None; 2],
    }
}

fn decide_tiering(
    control: &mut PromotionControl,
    placing: &mut Placing<'_>,
    service: usize,
    faults: promotion::Faults,
) -> bool {
    let unit = placing.memory.unit;
    let tally = &mut placing.tallies[service];
    if control.has_plenty_free(placing.memory) {
        tally.candidates_free += unit;
        return true;
    }
    if faults.hot_times == 0 {
        return false;
    }
    let admitted = control.admit(faults.hot_times, unit);
    // A page that goes is a candidate once; one that stays is one again at each later fault.
    let times = if admitted { 1 } else { faults.hot_times };
    tally.candidates += times * unit;
    if !admitted {
        tally.limited += times * unit;
    }
    admitted
}

fn kernel_time_s(laws: &Laws, tally: &Tally) -> f64 {
    let moved = tally.promoted_pages() + tally.demoted();
    let work = &laws.kernel_work;
    (tally.hint_faults as f64 * work.hint_fault_ns + moved as f64 * work.page_move_ns) / 1e9
}
