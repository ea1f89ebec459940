//! Counters of a host of the twin under the keys that an agent gives them.

use std::sync::{Arc, Mutex, PoisonError};

use tierscope_sample::counters::{Key, Scope};
use tierscope_twin::counters::{CgroupReading, Reading, Values};
use tierscope_twin::host::{Host, HostInterval, ServiceInterval};
use tierscope_twin::pressure::Pressure;
use tierscope_wire::Layout;

use crate::twin::work::Work;

/// Ticks per second of `/proc/stat`.
const USER_HZ: f64 = 100.0;
/// Of a processor of the twin, which has no frequency of its own.
const CYCLES_PER_S: f64 = 2.5e9;
/// Bytes of the unit in which `meminfo` is printed.
const KIB: u64 = 1024;

/// Reads one host again and again. Its kernel prints the same names in the same order each time, so that a key is made
/// once: the texts of a reading would take longer than its numbers.
#[derive(Debug, Default)]
pub(super) struct Reader {
    names: Option<Arc<Names>>,
}

/// The names of one kind of host.
#[derive(Debug)]
struct Names {
    /// As its files are read.
    keys: Vec<Key>,
    /// In order of key: the places in `keys`.
    order: Vec<usize>,
    layout: Arc<Layout>,
}

impl Names {
    fn new(keys: Vec<Key>) -> Self {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|place| keys[*place].as_str());
        let texts = keys.iter().map(|key| Box::from(key.as_str())).collect();
        Self {
            layout: Arc::new(Layout::new(texts)),
            keys,
            order,
        }
    }
}

/// The names of all kinds of hosts of a fleet: hosts of one kind share them.
#[derive(Debug, Default)]
pub(super) struct KnownNames(Mutex<Vec<Arc<Names>>>);

impl KnownNames {
    fn of(&self, keys: Vec<Key>) -> Arc<Names> {
        // Whoever panicked while it was held has ended the run.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(names) = known.iter().find(|names| names.keys == keys) {
            return Arc::clone(names);
        }
        let names = Arc::new(Names::new(keys));
        known.push(Arc::clone(&names));
        names
    }
}

/// Values in the order in which files are read, with their keys where those are not known yet.
#[derive(Debug)]
struct Keyed {
    keys: Option<Vec<Key>>,
    values: Vec<Option<i64>>,
}

impl Keyed {
    fn put(&mut self, scope: &Scope, source: &str, name: &str, value: u64) {
        self.put_option(scope, source, name, i64::try_from(value).ok());
    }

    fn put_option(&mut self, scope: &Scope, source: &str, name: &str, value: Option<i64>) {
        if let Some(keys) = &mut self.keys {
            keys.push(Key::new(scope, source, name));
        }
        self.values.push(value);
    }

    fn put_all(&mut self, scope: &Scope, source: &str, values: &Values, unit: u64) {
        for (name, value) in values {
            self.put(scope, source, name, value * unit);
        }
    }

    fn put_pressure(&mut self, scope: &Scope, source: &str, pressure: &Pressure) {
        self.put(scope, source, "some_total_us", pressure.some.total_us);
        self.put(scope, source, "full_total_us", pressure.full.total_us);
    }
}

impl Reader {
    /// What an agent reads on the host at the end of an interval, and what it saw of the pages that it follows: names, and
    /// values in their order.
    pub(super) fn read(
        &mut self,
        known: &KnownNames,
        host: &Host,
        interval: &HostInterval,
        work: &Work,
        followed: Vec<(Key, Option<i64>)>,
    ) -> (Arc<Layout>, Vec<Option<i64>>) {
        let reading = tierscope_twin::counters::read(host, &interval.conditions.settings);
        let mut keyed = Keyed {
            values: Vec::new(),
            keys: self.names.is_none().then(Vec::new),
        };
        put_host(&mut keyed, &reading);
        put_work(&mut keyed, work);
        for ((cgroup, own), busy_s) in reading.cgroups.iter().zip(&interval.services).zip(&work.busy_s) {
            put_service(&mut keyed, cgroup, own);
            let scope = Scope::Service(cgroup.service.clone());
            keyed.put(&scope, "cpu.stat", "usage_usec", (busy_s * 1e6) as u64);
        }
        for (key, value) in followed {
            if let Some(keys) = &mut keyed.keys {
                keys.push(key);
            }
            keyed.values.push(value);
        }
        let Keyed { keys, values } = keyed;
        let names = self
            .names
            .get_or_insert_with(|| known.of(keys.unwrap_or_default()));
        let in_order = names.order.iter().map(|place| values[*place]).collect();
        (Arc::clone(&names.layout), in_order)
    }
}

fn put_host(keyed: &mut Keyed, reading: &Reading) {
    keyed.put_all(&Scope::Host, "vmstat", &reading.vmstat, 1);
    keyed.put_all(&Scope::Host, "meminfo", &reading.meminfo, KIB);
    keyed.put_pressure(&Scope::Host, "pressure.memory", &reading.pressure);
    for (node, number) in reading.nodes.iter().zip(0_u32..) {
        let scope = Scope::Node(number);
        keyed.put_all(&scope, "vmstat", &node.vmstat, 1);
        keyed.put_all(&scope, "meminfo", &node.meminfo, KIB);
        keyed.put_all(&scope, "numastat", &node.numastat, 1);
        let zone = Scope::Zone(number, node.zone.to_owned());
        keyed.put_all(&zone, "zoneinfo", &node.zoneinfo, 1);
    }
}

/// What processors and memory controllers count.
fn put_work(keyed: &mut Keyed, work: &Work) {
    let ticks = |seconds: f64| (seconds * USER_HZ) as u64;
    let busy_s: f64 = work.busy_s.iter().sum();
    keyed.put(&Scope::Host, "stat", "cpu_user", ticks(busy_s));
    keyed.put(&Scope::Host, "stat", "cpu_system", 0);
    keyed.put(&Scope::Host, "stat", "cpu_steal", 0);
    keyed.put(&Scope::Host, "stat", "cpu_iowait", 0);
    keyed.put(&Scope::Host, "stat", "cpu_idle", ticks(work.processor_s - busy_s));
    let cycles = |seconds: f64| (seconds * CYCLES_PER_S) as u64;
    keyed.put(&Scope::Host, "memory_stall", "cycles", cycles(busy_s));
    keyed.put(
        &Scope::Host,
        "memory_stall",
        "stall_cycles",
        cycles(work.stalled_s),
    );
    for ([read, written], number) in work.node_bytes.iter().zip(0_u32..) {
        keyed.put(&Scope::Node(number), "uncore", "read_bytes", *read as u64);
        keyed.put(&Scope::Node(number), "uncore", "write_bytes", *written as u64);
    }
}

fn put_service(keyed: &mut Keyed, cgroup: &CgroupReading, own: &ServiceInterval) {
    let scope = Scope::Service(cgroup.service.clone());
    keyed.put(&scope, "memory.current", "current", cgroup.current_bytes);
    // Services of the twin are neither protected nor limited: a limit of `max` has no value.
    for (name, value) in [("min", Some(0)), ("low", Some(0)), ("high", None), ("max", None)] {
        keyed.put_option(&scope, &format!("memory.{name}"), name, value);
    }
    keyed.put_all(&scope, "memory.stat", &cgroup.stat, 1);
    for (name, by_node) in &cgroup.numa_stat {
        for (node, value) in by_node.iter().enumerate() {
            keyed.put(&scope, "memory.numa_stat", &format!("{name}[N{node}]"), *value);
        }
    }
    keyed.put_pressure(&scope, "memory.pressure", &cgroup.pressure);
    let told = &own.measured;
    let metrics = [
        ("throughput_milli_per_s", told.throughput_ops_per_s * 1e3),
        ("load_milli", told.offered_ops_per_s * 1e3),
        ("latency_p50_ns", told.p50_us * 1e3),
        ("latency_p99_ns", told.p99_us * 1e3),
    ];
    for (name, value) in metrics {
        keyed.put(&scope, "metrics", name, value as u64);
    }
}
