//! The metric catalogue: which names the kernel may print where, in which unit, and whether they only grow.

pub use crate::_generated::catalogue::METRICS;

/// Whether a value only grows within one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Grows, until the next boot.
    Counter,
    /// A state.
    Gauge,
}

/// The sort of thing that a metric can belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeKind {
    /// The whole host.
    Host,
    /// A NUMA node.
    Node,
    /// A zone of a node.
    Zone,
    /// A control group.
    Cgroup,
    /// A service.
    Service,
}

/// One entry of the catalogue. Its texts stand in docs/metrics.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// As the kernel prints it.
    pub name: &'static str,
    /// The file's short name.
    pub source: &'static str,
    /// One of the units of docs/metrics.md.
    pub unit: &'static str,
    /// Counter or gauge.
    pub kind: Kind,
    /// Where it can stand.
    pub scopes: &'static [ScopeKind],
    /// Whether the service keeps it for longer than raw values.
    pub rollup: bool,
}

/// Makes an entry, so that the generated table has one line for each metric: source, name, unit, kind, scopes, and whether
/// the service keeps it for longer than raw values.
pub(crate) const fn metric(
    source: &'static str,
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    scopes: &'static [ScopeKind],
    rollup: bool,
) -> Metric {
    Metric {
        name,
        source,
        unit,
        kind,
        scopes,
        rollup,
    }
}

/// All metrics of a source, by binary search.
pub fn of_source(source: &str) -> &'static [Metric] {
    let start = METRICS.partition_point(|metric| metric.source < source);
    let end = METRICS.partition_point(|metric| metric.source <= source);
    &METRICS[start..end]
}

/// The entry of a name, with or without the `[N0]` of a value per node.
pub fn find(source: &str, name: &str) -> Option<&'static Metric> {
    let base = name.split_once('[').map_or(name, |(base, _)| base);
    let metrics = of_source(source);
    metrics
        .binary_search_by(|metric| metric.name.cmp(base))
        .ok()
        .map(|index| &metrics[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_under_its_own_name() {
        for metric in METRICS {
            assert_eq!(
                find(metric.source, metric.name),
                Some(metric),
                "{}|{}",
                metric.source,
                metric.name
            );
        }
        assert_eq!(find("vmstat", "no_such_counter"), None);
    }

    #[test]
    fn a_value_per_node_has_the_entry_of_its_base_name() {
        let metric = find("memory.numa_stat", "anon[N1]");
        assert!(metric.is_some_and(|metric| metric.unit == "bytes" && metric.kind == Kind::Gauge));
    }

    #[test]
    fn promotions_are_counters_of_hosts_and_nodes() {
        let metric = find("vmstat", "pgpromote_success");
        assert!(metric.is_some_and(|metric| {
            metric.kind == Kind::Counter
                && metric.scopes == [ScopeKind::Host, ScopeKind::Node]
                && metric.rollup
        }));
    }
}
