//! The metric catalogue: which names the kernel may print where, in which unit, and whether they only grow.

pub use crate::_generated::catalogue::METRICS;
pub use crate::metric::{Kind, Metric, ScopeKind};

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
