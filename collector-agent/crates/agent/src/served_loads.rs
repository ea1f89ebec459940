//! Sampled loads by what served them, as counters of services that grow from interval to interval.

use std::collections::BTreeMap;
use std::sync::Arc;

use tierscope_perf::served::COUNTER_SOURCE;
use tierscope_perf::{Served, ServedLoads};
use tierscope_sample::counters::{Key, Scope};

/// Counts since the agent started.
#[derive(Debug, Default)]
pub(crate) struct ServedTotals {
    services: BTreeMap<Arc<str>, ServedLoads>,
}

impl ServedTotals {
    /// Adds the loads of an interval and gives the counters of the services that they belong to, sorted by key. Services
    /// that were not measured in the interval have no value.
    pub(crate) fn add(&mut self, interval: &BTreeMap<Arc<str>, ServedLoads>) -> Vec<(Key, Option<i64>)> {
        let mut values = Vec::with_capacity(interval.len() * Served::ALL.len());
        for (service, loads) in interval {
            let total = self.services.entry(Arc::clone(service)).or_default();
            total.merge(loads);
            let scope = Scope::Service(service.to_string());
            let key = |name: &str| Key::new(&scope, COUNTER_SOURCE, name);
            values.extend(total.counters().map(|(name, count)| (key(&name), Some(count))));
        }
        values.sort_by(|a, b| a.0.cmp(&b.0));
        values
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_sample::catalogue;

    #[test]
    fn counters_grow_and_services_without_a_measurement_have_none() {
        let interval = |services: &[&str]| -> BTreeMap<Arc<str>, ServedLoads> {
            let mut loads = ServedLoads::default();
            loads.add(Served::DramLocal);
            loads.add(Served::Cxl);
            services.iter().map(|name| (Arc::from(*name), loads)).collect()
        };
        let mut totals = ServedTotals::default();
        totals.add(&interval(&["host/a", "host/b"]));
        assert!(totals.add(&BTreeMap::new()).is_empty());
        let values = totals.add(&interval(&["host/b"]));
        assert!(values.is_sorted_by(|a, b| a.0 < b.0));
        let shown: Vec<(&str, i64)> = values
            .iter()
            .map(|(key, value)| (key.as_str(), value.unwrap()))
            .collect();
        assert_eq!(
            shown,
            [
                ("service:host/b|served_loads|loads_cache", 0),
                ("service:host/b|served_loads|loads_cxl", 2),
                ("service:host/b|served_loads|loads_dram_local", 2),
                ("service:host/b|served_loads|loads_dram_remote", 0),
                ("service:host/b|served_loads|loads_pmem", 0),
                ("service:host/b|served_loads|loads_uncached", 0),
                ("service:host/b|served_loads|loads_unknown", 0),
            ]
        );
    }

    #[test]
    fn every_counter_is_in_the_catalogue() {
        let known: Vec<&str> = catalogue::of_source(COUNTER_SOURCE)
            .iter()
            .map(|metric| metric.name)
            .collect();
        let ours: Vec<String> = ServedLoads::default().counters().map(|(name, _)| name).collect();
        assert_eq!(known.len(), ours.len());
        assert!(
            ours.iter().all(|name| known.contains(&name.as_str())),
            "{known:?}"
        );
    }
}
