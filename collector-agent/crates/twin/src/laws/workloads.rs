//! Workloads of papers: services that a fleet may have beside its own, each on hosts of its own.

use serde::Deserialize;

use super::{HeatLaw, HostLaw, Laws, ServiceLaw, ServiceShare, SlowLaw, problem::LawError};

/// Hosts that run a workload: as many as advice on a service asks for.
pub const HOSTS_PER_WORKLOAD: usize = 3;
const FILE: &str = include_str!("../../laws/workloads.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Workloads {
    #[serde(rename = "service")]
    services: Vec<ServiceLaw>,
}

impl Laws {
    /// Adds workloads by name, each on three hosts with two parts of DRAM to one of CXL memory. Hyphens, underscores and
    /// capitals make no difference; one that is named twice is added once.
    ///
    /// # Errors
    ///
    /// There is no such workload, the laws lack the memory and settings of its hosts, or have such hosts already.
    pub fn add_workloads(&mut self, names: &[String]) -> Result<(), LawError> {
        let known: Workloads = toml::from_str(FILE)?;
        for name in names {
            let wanted = name.replace('_', "-").to_lowercase();
            let Some(service) = known.services.iter().find(|service| service.name == wanted) else {
                let all: Vec<&str> = known
                    .services
                    .iter()
                    .map(|service| service.name.as_str())
                    .collect();
                return Err(LawError::wrong(
                    format!("workload {name}"),
                    format!("there is none of this name; there are {}", all.join(", ")),
                ));
            };
            if self.service(&wanted).is_none() {
                self.services.push(service.clone());
                self.hosts
                    .extend((1..=HOSTS_PER_WORKLOAD).map(|number| host(&wanted, number)));
            }
        }
        self.check()
    }
}

fn host(workload: &str, number: usize) -> HostLaw {
    HostLaw {
        name: format!("{workload}-{number}"),
        rack: format!("w{number}"),
        cpus: 32,
        dram_gib: 64.0,
        slow: Some(SlowLaw {
            memory: "cxl".to_owned(),
            gib: 32.0,
        }),
        swap_gib: 0.0,
        settings: "tiered_6_12".to_owned(),
        reserved_gib: 0.0,
        services: vec![ServiceShare {
            service: workload.to_owned(),
            share: 0.9,
        }],
        heat: HeatLaw::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet;

    fn with(names: &[&str]) -> Result<Laws, LawError> {
        let mut laws = Laws::parse(Laws::DEFAULT)?;
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        laws.add_workloads(&names)?;
        Ok(laws)
    }

    #[test]
    fn all_workloads_are_laws_in_order_and_each_has_three_hosts() -> Result<(), LawError> {
        let known: Workloads = toml::from_str(FILE)?;
        let names: Vec<&str> = known
            .services
            .iter()
            .map(|service| service.name.as_str())
            .collect();
        let (own, all) = (Laws::parse(Laws::DEFAULT)?, with(&names)?);
        assert_eq!(all.services.len(), own.services.len() + names.len());
        assert_eq!(
            all.hosts.len(),
            own.hosts.len() + HOSTS_PER_WORKLOAD * names.len()
        );
        assert_eq!(
            with(&["ycsb_a", "YCSB-A"])?.hosts.len(),
            own.hosts.len() + HOSTS_PER_WORKLOAD
        );
        Ok(())
    }

    #[test]
    fn one_that_is_not_there_is_refused_with_those_that_are() {
        let problem = with(&["ycsb-z"]).expect_err("must be refused").to_string();
        assert!(
            problem.contains("ycsb-z") && problem.contains("ycsb-a, ycsb-b"),
            "{problem}"
        );
    }

    /// MEMO: 80,000 operations/s in DRAM, 65,000 with half of the accesses on CXL, 55,000 with all of them.
    #[test]
    fn redis_on_cxl_loses_what_memo_measured() -> Result<(), LawError> {
        let mut laws = with(&["ycsb-a"])?;
        laws.hosts.retain(|host| host.name == "ycsb-a-1");
        let points = fleet::loss_curve(&laws, 0, 1, 120, &[1.0, 0.02], ("cxl", "untouched"));
        assert!(points[0].loss_ratio.abs() < 0.01, "{:?}", points[0]);
        let slow = &points[1];
        let kept = 1.0 / (1.0 + 0.45 * slow.slow_access_share);
        assert!(slow.slow_access_share > 0.4, "{slow:?}");
        assert!(
            (1.0 - slow.loss_ratio - kept).abs() < 0.05,
            "{slow:?}, the paper: {kept}"
        );
        Ok(())
    }
}
