//! Who else clears accessed bits on this host, so that a page that was touched may show none.
//!
//! DAMON does, of one page of each region at each of its samples: a walk of page tables beside it misses some touches.
//! How many follows from its settings. The per-mapping sums of smaps are safe, because the kernel keeps a second mark
//! for them.

use tierscope_rootfs::Reader;

const KDAMONDS: &str = "/sys/kernel/mm/damon/admin/kdamonds";
/// Parts of the kernel that use DAMON on their own, with settings that do not say how many pages they sample.
const MODULES: [&str; 3] = ["damon_stat", "damon_reclaim", "damon_lru_sort"];
/// Largest share of pages touched once in an interval that may be missed: up to it the share is stated, and which pages
/// were touched is worth more than exact sums of whole mappings.
pub const MAX_MISSED_RATIO: f64 = 0.2;

/// A part of the kernel that clears accessed bits now.
#[derive(Debug, Clone, PartialEq)]
pub struct Rival {
    /// What it is, such as `DAMON (kdamond 0)`.
    pub name: String,
    /// Share of the memory it watches whose bits it clears in a second, at most; `None` where its settings do not tell.
    pub cleared_ratio_per_s: Option<f64>,
}

impl Rival {
    /// Share of the pages touched once in an interval of so many seconds that a walk at its end misses, at most: bits
    /// set early in the interval are exposed longest, half of it on average.
    pub fn missed_ratio(&self, interval_s: f64) -> Option<f64> {
        self.cleared_ratio_per_s
            .map(|ratio| (ratio * interval_s / 2.0).min(1.0))
    }

    /// Whether a walk at the end of such an interval still shows next to all touches.
    pub fn is_bearable(&self, interval_s: f64) -> bool {
        self.missed_ratio(interval_s)
            .is_some_and(|missed| missed <= MAX_MISSED_RATIO)
    }

    /// What it does to a measurement of such intervals, in words.
    pub fn effect(&self, interval_s: f64) -> String {
        match self.missed_ratio(interval_s) {
            Some(missed) => format!(
                "{} clears accessed bits too: up to {:.1} % of the pages touched once in an interval are missed",
                self.name,
                missed * 100.0
            ),
            None => format!("{} clears accessed bits too: touches are missed", self.name),
        }
    }
}

/// The part of the kernel that clears most accessed bits now; `None` where there is none.
pub fn who_clears_accessed_bits(reader: &mut Reader) -> Option<Rival> {
    let is_set = |reader: &mut Reader, path: &str, wanted: &str| reader.value(path) == Ok(wanted);
    let module = MODULES
        .into_iter()
        .find(|module| is_set(reader, &format!("/sys/module/{module}/parameters/enabled"), "Y"));
    if let Some(module) = module {
        return Some(Rival {
            name: module.to_owned(),
            cleared_ratio_per_s: None,
        });
    }
    let kdamonds = reader.list(KDAMONDS).unwrap_or_default();
    let index = kdamonds
        .into_iter()
        .find(|index| is_set(reader, &format!("{KDAMONDS}/{index}/state"), "on"))?;
    let cleared_ratio_per_s = cleared_ratio_per_s(reader, &format!("{KDAMONDS}/{index}/contexts/0"));
    Some(Rival {
        name: format!("DAMON (kdamond {index})"),
        cleared_ratio_per_s,
    })
}

/// One page of each region at each sample, over the pages of all target regions.
fn cleared_ratio_per_s(reader: &mut Reader, context: &str) -> Option<f64> {
    let regions = number(reader, &format!("{context}/monitoring_attrs/nr_regions/max"))?;
    let sample_us = number(reader, &format!("{context}/monitoring_attrs/intervals/sample_us"))?;
    let targets = format!("{context}/targets");
    let mut watched_bytes = 0.0;
    for target in reader.list(&targets).ok()? {
        let ranges = format!("{targets}/{target}/regions");
        for range in reader.list(&ranges).unwrap_or_default() {
            let start = number(reader, &format!("{ranges}/{range}/start"));
            let end = number(reader, &format!("{ranges}/{range}/end"));
            watched_bytes += end.zip(start).map_or(0.0, |(end, start)| (end - start).max(0.0));
        }
    }
    let is_known = watched_bytes > 0.0 && sample_us > 0.0;
    let watched_pages = watched_bytes / reader.root().page_bytes() as f64;
    is_known.then(|| regions * 1e6 / sample_us / watched_pages)
}

fn number(reader: &mut Reader, path: &str) -> Option<f64> {
    reader.value(path).ok()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_rootfs::Root;

    const NR: &str = "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds";
    const STATE: &str = "sys/kernel/mm/damon/admin/kdamonds/0/state";
    const CONTEXT: &str = "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0";

    fn who(files: &[(&str, &str)]) -> Option<Rival> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        who_clears_accessed_bits(&mut Reader::new(Root::new(directory.path())))
    }

    #[test]
    fn damon_is_named_while_it_is_on() {
        assert_eq!(who(&[]), None);
        assert_eq!(who(&[(NR, "1\n"), (STATE, "off\n")]), None);
        let on = who(&[(NR, "1\n"), (STATE, "on\n")]).unwrap();
        assert_eq!(
            (on.name.as_str(), on.cleared_ratio_per_s),
            ("DAMON (kdamond 0)", None)
        );
        assert!(!on.is_bearable(1.0), "what is not known is not borne");
        let module = "sys/module/damon_reclaim/parameters/enabled";
        assert_eq!(who(&[(module, "Y\n")]).unwrap().name, "damon_reclaim");
        assert_eq!(who(&[(module, "N\n")]), None);
    }

    #[test]
    fn its_settings_say_how_many_touches_are_missed() {
        let path = |file: &str| format!("{CONTEXT}/{file}");
        let (regions, sample) = (
            path("monitoring_attrs/nr_regions/max"),
            path("monitoring_attrs/intervals/sample_us"),
        );
        let (start, end) = (path("targets/0/regions/0/start"), path("targets/0/regions/0/end"));
        // 2,000 regions, twice a second, over a million pages: 0.4 % of the bits in each second.
        let rival = who(&[
            (NR, "1\n"),
            (STATE, "on\n"),
            (&regions, "2000\n"),
            (&sample, "500000\n"),
            (&start, "4096\n"),
            (&end, "4096004096\n"),
        ])
        .unwrap();
        assert!((rival.cleared_ratio_per_s.unwrap() - 0.004).abs() < 1e-9);
        assert!((rival.missed_ratio(10.0).unwrap() - 0.02).abs() < 1e-9);
        assert!(rival.is_bearable(10.0) && rival.is_bearable(60.0) && !rival.is_bearable(120.0));
        assert!(rival.effect(10.0).contains("2.0 %"));
    }
}
