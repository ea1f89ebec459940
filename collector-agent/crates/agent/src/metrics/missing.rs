//! What this host or this user does not show, and why: absent figures have a name.

use std::collections::BTreeMap;

use tierscope_rootfs::Missing;
use tierscope_sample::inventory::Inventory;

use super::exposition::Page;

/// Most files that are named; those of control groups could be thousands.
const MAX_FILES: usize = 100;

/// Writes one sample for each file that gave nothing, by path with why and when, and for each collector.
pub(super) fn write(page: &mut Page, gone: &BTreeMap<String, (Missing, i64)>, inventory: &Inventory) {
    let mut named: Vec<_> = gone
        .iter()
        .map(|(path, (missing, _))| {
            (
                path.starts_with("/sys/fs/cgroup/"),
                path.as_str(),
                missing.to_string(),
            )
        })
        .collect();
    named.sort_unstable();
    page.metric(
        "tierscope_agent_missing_files",
        "gauge",
        "1 for each kernel file that gave nothing within the last 11 minutes, with the reason. At most 100 are named.",
    );
    for (_, path, reason) in named.iter().take(MAX_FILES) {
        page.sample(&[("path", path), ("reason", reason)], 1.0);
    }
    page.metric(
        "tierscope_agent_collector_active",
        "gauge",
        "1 for a collector that measures, 0 for one that does not, with the reason.",
    );
    for collector in &inventory.collectors {
        let labels = [
            ("collector", collector.name.as_str()),
            ("reason", collector.reason.as_str()),
        ];
        page.sample(&labels, f64::from(u8::from(collector.active)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_sample::inventory::Collector;

    #[test]
    fn what_is_missing_says_why() {
        let groups = (0..200).map(|number| (format!("/sys/fs/cgroup/{number}"), (Missing::Absent, 0)));
        let mut files: BTreeMap<_, _> = groups.collect();
        let refused = Missing::Unreadable("permission denied".to_owned());
        files.insert("/sys/kernel/debug/lru_gen".to_owned(), (refused, 0));
        let inventory = Inventory {
            collectors: vec![Collector {
                name: "pebs".to_owned(),
                reason: "a guest".to_owned(),
                ..Collector::default()
            }],
            ..Inventory::default()
        };
        let mut page = Page::default();
        write(&mut page, &files, &inventory);
        let text = page.into_text();
        for line in [
            "tierscope_agent_missing_files{path=\"/sys/kernel/debug/lru_gen\",reason=\"unreadable: permission denied\"} 1",
            "tierscope_agent_collector_active{collector=\"pebs\",reason=\"a guest\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        let named = text
            .lines()
            .filter(|line| line.starts_with("tierscope_agent_missing_files{"));
        assert_eq!(named.count(), MAX_FILES);
    }
}
