//! Heat of services, and where their memory lies.

use std::collections::BTreeMap;

use tierscope_sample::heat::{AGE_BUCKET_STARTS, HeatRow};
use tierscope_sample::history::mask;

use super::exposition::Page;
use super::readings::Readings;

/// Active within so many intervals is hot, within so many is warm (docs/method/heat.md).
const HOT_INTERVALS: u32 = 2;
const WARM_INTERVALS: u32 = 10;

/// Bytes by class of heat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Classes {
    hot: i64,
    warm: i64,
    cold: i64,
    /// What too few intervals saw, or none.
    unknown: i64,
}

impl Classes {
    /// The classes of a row. Memory is warm or cold only where all intervals were observed that say so.
    fn of(row: &HeatRow) -> Self {
        let observed = |intervals: u32| {
            let mask = mask(intervals);
            row.validity & mask == mask
        };
        let mut classes = Self::default();
        for (start, (aged, never)) in AGE_BUCKET_STARTS
            .iter()
            .zip(row.age_bytes.iter().zip(&row.never_bytes))
        {
            match *start {
                age if age < HOT_INTERVALS => classes.hot += aged,
                age if age < WARM_INTERVALS && observed(HOT_INTERVALS) => classes.warm += aged,
                age if age >= WARM_INTERVALS && observed(WARM_INTERVALS) => classes.cold += aged,
                _ => {}
            }
            if *start >= WARM_INTERVALS {
                classes.cold += never;
            }
        }
        classes.unknown = (row.resident_bytes - classes.hot - classes.warm - classes.cold).max(0);
        classes
    }

    /// Bytes by name of the class.
    pub(super) fn named(&self) -> [(&'static str, i64); 4] {
        [
            ("hot", self.hot),
            ("warm", self.warm),
            ("cold", self.cold),
            ("unknown", self.unknown),
        ]
    }

    fn add(&mut self, other: Self) {
        self.hot += other.hot;
        self.warm += other.warm;
        self.cold += other.cold;
        self.unknown += other.unknown;
    }
}

/// Namespace and name of `namespace/name`.
fn split(service: &str) -> (&str, &str) {
    service.split_once('/').unwrap_or(("", service))
}

/// Bytes by service, tier and kind.
pub(super) type HeatByPlace<'a> = BTreeMap<(&'a str, &'a str, &'a str), Classes>;

/// Sums rows of one place, such as those of several page sizes.
pub(super) fn heat_by_place(rows: &[HeatRow]) -> HeatByPlace<'_> {
    let mut sums = HeatByPlace::new();
    for row in rows {
        let tier = row.tier.as_deref().unwrap_or("unknown");
        let place = (&*row.service, tier, row.kind.name());
        sums.entry(place).or_default().add(Classes::of(row));
    }
    sums
}

/// Writes the heat of the last interval that was measured, which is that of any of its rows.
pub(super) fn write_heat(page: &mut Page, heat: &HeatByPlace<'_>, row: Option<&HeatRow>) {
    let Some(row) = row else { return };
    page.metric(
        "tierscope_service_heat_bytes",
        "gauge",
        "Resident memory of a service whose heat is measured: hot was active within 2 intervals, warm within 10, cold in none \
         of 10, unknown was not watched long enough.",
    );
    for (&(service, tier, kind), classes) in heat {
        let (namespace, name) = split(service);
        for (class, bytes) in classes.named() {
            let labels = [
                ("namespace", namespace),
                ("service", name),
                ("tier", tier),
                ("kind", kind),
                ("class", class),
            ];
            page.sample(&labels, bytes as f64);
        }
    }
    page.gauge(
        "tierscope_heat_interval_seconds",
        "Length of an interval of heat.",
        row.interval_ns as f64 / 1e9,
    );
    page.gauge(
        "tierscope_heat_last_interval_timestamp_seconds",
        "End of the last interval of heat.",
        row.end_wall_ns as f64 / 1e9,
    );
}

/// Where the memory of services lies: known on hosts with several classes of memory.
pub(super) fn write_placement(page: &mut Page, readings: &Readings) {
    page.metric(
        "tierscope_service_memory_bytes",
        "gauge",
        "Resident memory of a service by tier and kind.",
    );
    for (scope, source, name, bytes) in readings.iter() {
        let (Some(service), "placement") = (scope.strip_prefix("service:"), source) else {
            continue;
        };
        let Some((kind, tier)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) else {
            continue;
        };
        let (namespace, name) = split(service);
        let labels = [
            ("namespace", namespace),
            ("service", name),
            ("tier", tier),
            ("kind", kind),
        ];
        page.sample(&labels, bytes as f64);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tierscope_sample::heat::{AGE_BUCKETS, Backend, Beside, Granularity, PageKind};

    /// A row of 64 bytes of `shop/cache`, 3 of them hot.
    pub(in crate::metrics) fn row(validity: u64) -> HeatRow {
        let mut age_bytes = [0; AGE_BUCKETS];
        let mut never_bytes = [0; AGE_BUCKETS];
        // Active now, one interval ago, 3 to 4 and 20 to 39 intervals ago; never in 5 to 9, never in 10 to 19.
        (age_bytes[0], age_bytes[1], age_bytes[3], age_bytes[6]) = (1, 2, 4, 8);
        (never_bytes[4], never_bytes[5]) = (16, 32);
        HeatRow {
            backend: Backend::Referenced,
            granularity: Granularity::Vma,
            interval_ns: 60_000_000_000,
            end_wall_ns: 120_000_000_000,
            end_boottime_ns: None,
            service: "shop/cache".into(),
            group: "cached".into(),
            kind: PageKind::Anon,
            page_size_bytes: 4096,
            tier: None,
            validity,
            resident_bytes: 64,
            age_bytes,
            never_bytes,
            active_count_bytes: [0; 11],
            active_lo_bytes: [0; 4],
            active_hi_bytes: [0; 4],
            samples: None,
            period_events: None,
            duty_ratio: None,
            distinct_pages: None,
            f1_pages: None,
            f2_pages: None,
            hot_overlap_bytes: None,
            bits_per_interval: 1,
            beside: Beside::default(),
        }
    }

    #[test]
    fn classes_add_up_to_resident_memory_and_unobserved_memory_is_unknown() {
        let classes = |hot, warm, cold, unknown| Classes {
            hot,
            warm,
            cold,
            unknown,
        };
        assert_eq!(Classes::of(&row(u64::MAX)), classes(3, 4, 40, 17));
        // One of the ten newest is missing, then one of the two newest.
        assert_eq!(Classes::of(&row(!(1 << 5))), classes(3, 4, 32, 25));
        assert_eq!(Classes::of(&row(!(1 << 1))), classes(3, 0, 32, 29));
    }

    #[test]
    fn rows_of_one_place_are_one_sample_and_no_rows_are_none() {
        let rows = [row(u64::MAX), row(u64::MAX)];
        let mut page = Page::default();
        write_heat(&mut page, &heat_by_place(&rows), rows.first());
        let text = page.into_text();
        let hot = "tierscope_service_heat_bytes{namespace=\"shop\",service=\"cache\",tier=\"unknown\",kind=\"anon\",class=\"hot\"} 6";
        assert!(text.lines().any(|line| line == hot), "{text}");
        assert!(text.contains("tierscope_heat_interval_seconds 60\n"), "{text}");
        let mut page = Page::default();
        write_heat(&mut page, &heat_by_place(&[]), None);
        assert_eq!(page.into_text(), "");
    }
}
