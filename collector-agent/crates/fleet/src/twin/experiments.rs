//! The experiments that are in the laws, as the owners of such a fleet would enter them.

use std::fs;
use std::path::Path;

use serde::Serialize;
use tierscope_twin::laws::{Change, IncidentLaw, Laws};

/// An experiment of one service: when it began and ended, and on which hosts, by name.
#[derive(Debug, PartialEq, Serialize)]
struct Experiment<'laws> {
    name: &'laws str,
    service: &'laws str,
    canary: &'laws [String],
    control: &'laws [String],
    /// Begin of the window before the change: nothing else was tried in it.
    before_unix_s: u64,
    change_unix_s: u64,
    end_unix_s: u64,
}

/// Writes all experiments on one service, of laws whose time begins at `start_unix_s`, as a JSON array.
pub(crate) fn write(path: &Path, laws: &Laws, start_unix_s: u64) -> std::io::Result<()> {
    fs::write(path, serde_json::to_string(&tell(laws, start_unix_s))?)
}

fn tell(laws: &Laws, start_unix_s: u64) -> Vec<Experiment<'_>> {
    let at = |hours: f64| start_unix_s + (hours * 3600.0) as u64;
    laws.incidents
        .iter()
        .filter(|incident| matches!(incident.change, Change::Experiment { .. }))
        .filter_map(|incident| {
            Some(Experiment {
                name: &incident.name,
                service: incident.service.as_deref()?,
                canary: &incident.hosts,
                control: &incident.controls,
                before_unix_s: at(last_end_h(laws, incident)),
                change_unix_s: at(incident.begin_h),
                end_unix_s: at(incident.end_h),
            })
        })
        .collect()
}

/// Hours until the last other experiment on the same service has ended, before this one.
fn last_end_h(laws: &Laws, incident: &IncidentLaw) -> f64 {
    laws.incidents
        .iter()
        .filter(|other| {
            matches!(other.change, Change::Experiment { .. }) && other.service == incident.service
        })
        .filter(|other| other.end_h <= incident.begin_h)
        .map(|other| other.end_h)
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_on_one_service_do_not_overlap() {
        let laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
        let told = tell(&laws, 3600);
        assert_eq!(told.len(), 2);
        let [first, second] = &told[..] else {
            panic!("two experiments")
        };
        assert_eq!((first.before_unix_s, first.change_unix_s), (3600, 9 * 3600));
        assert_eq!(second.before_unix_s, first.end_unix_s);
        for one in told {
            assert_eq!(
                (one.service, one.canary.len(), one.control.len()),
                ("cache-graph", 5, 5)
            );
            assert!(one.canary.iter().all(|host| !one.control.contains(host)));
        }
    }
}
