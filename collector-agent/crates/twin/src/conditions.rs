//! What incidents make of a host at one moment.

use crate::laws::{Change, HostLaw, IncidentLaw, Laws, SettingChange, Settings};

/// What holds on a host now.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Kernel settings in force.
    pub settings: Settings,
    /// The scanner marks nothing.
    pub scanner_rests: bool,
    /// Share of decided promotions that fail.
    pub failed_share: f64,
    /// Factor on the latency of the slow node.
    pub slow_latency_factor: f64,
    /// Factor on its bandwidth.
    pub slow_bandwidth_factor: f64,
    /// By service of the host.
    pub services: Vec<ServiceConditions>,
    /// The agent.
    pub agent: AgentConditions,
}

/// What holds for a service on a host.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceConditions {
    /// Accesses spread over this share of its pages.
    pub hot_share: Option<f64>,
    /// Memory that has leaked.
    pub leaked_gib: f64,
    /// Factor on all its memory.
    pub level: f64,
    /// Factor on its anonymous memory.
    pub anon_level: f64,
    /// When its last deploy was, hours after the start.
    pub deployed_h: Option<f64>,
}

impl Default for ServiceConditions {
    fn default() -> Self {
        Self {
            hot_share: None,
            leaked_gib: 0.0,
            level: 1.0,
            anon_level: 1.0,
            deployed_h: None,
        }
    }
}

/// How the agent of a host behaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentConditions {
    /// The wall clock is ahead by this.
    pub clock_ahead_s: f64,
    /// What it reads arrives this much later.
    pub delay_s: f64,
    /// It sends nothing.
    pub is_silent: bool,
    /// An old version.
    pub version: Option<String>,
    /// The host whose machine id it reports.
    pub machine_of: Option<String>,
}

/// Whether an incident concerns a host.
pub fn concerns(incident: &IncidentLaw, host: &HostLaw) -> bool {
    let named = incident.hosts.is_empty() || incident.hosts.contains(&host.name);
    let serves = |name: &String| host.services.iter().any(|share| share.service == *name);
    named && incident.service.as_ref().is_none_or(serves)
}

/// What the incidents make of a host, `hours` after the start.
pub fn at(laws: &Laws, host: &HostLaw, hours: f64) -> Conditions {
    let mut conditions = Conditions {
        settings: laws.settings[&host.settings].clone(),
        scanner_rests: false,
        failed_share: 0.0,
        slow_latency_factor: 1.0,
        slow_bandwidth_factor: 1.0,
        services: vec![ServiceConditions::default(); host.services.len()],
        agent: AgentConditions::default(),
    };
    for incident in laws
        .incidents
        .iter()
        .filter(|incident| hours >= incident.begin_h && concerns(incident, host))
    {
        let is_over = hours >= incident.end_h;
        change_services(
            &mut conditions,
            host,
            incident,
            hours.min(incident.end_h) - incident.begin_h,
            is_over,
        );
        if !is_over {
            change_host(&mut conditions, &incident.change, hours - incident.begin_h);
        }
    }
    conditions
}

fn change_host(conditions: &mut Conditions, change: &Change, since_h: f64) {
    let agent = &mut conditions.agent;
    match change {
        Change::RestingScanner => conditions.scanner_rests = true,
        Change::FailingPromotion { failed_share } => conditions.failed_share = *failed_share,
        Change::BindingLimiter { limit_mib_per_s } => {
            conditions.settings.promote_rate_limit_mib_per_s = *limit_mib_per_s;
        }
        Change::DegradedLink {
            latency_factor,
            bandwidth_factor,
        } => {
            conditions.slow_latency_factor = *latency_factor;
            conditions.slow_bandwidth_factor = *bandwidth_factor;
        }
        Change::RunawayClock { drift_s_per_h } => agent.clock_ahead_s = drift_s_per_h * since_h,
        Change::LateAgent { delay_s } => agent.delay_s = *delay_s,
        Change::SilentAgent => agent.is_silent = true,
        Change::OutdatedAgent { version } => agent.version = Some(version.clone()),
        Change::ClonedHost { of } => agent.machine_of = Some(of.clone()),
        Change::Experiment { set } => apply(set, &mut conditions.settings),
        Change::PingPong { .. } | Change::Leak { .. } | Change::LevelShift { .. } | Change::Growth { .. } => {
        }
    }
}

/// What concerns services: some of it stays after the end.
fn change_services(
    conditions: &mut Conditions,
    host: &HostLaw,
    incident: &IncidentLaw,
    lasted_h: f64,
    is_over: bool,
) {
    for (share, service) in host.services.iter().zip(&mut conditions.services) {
        if incident
            .service
            .as_ref()
            .is_some_and(|name| *name != share.service)
        {
            continue;
        }
        match &incident.change {
            Change::PingPong { hot_share } if !is_over => service.hot_share = Some(*hot_share),
            // Its end is a restart, which frees what has leaked.
            Change::Leak { gib_per_h } if !is_over => service.leaked_gib += gib_per_h * lasted_h,
            Change::LevelShift { factor } => {
                service.anon_level *= factor;
                service.deployed_h = Some(incident.begin_h);
            }
            Change::Growth { per_day } => service.level *= (1.0 + per_day).powf(lasted_h / 24.0),
            _ => {}
        }
    }
}

fn apply(change: &SettingChange, settings: &mut Settings) {
    fn set<T: Copy>(to: &mut T, value: Option<T>) {
        *to = value.unwrap_or(*to);
    }
    set(&mut settings.numa_balancing, change.numa_balancing);
    set(&mut settings.demotion_enabled, change.demotion_enabled);
    set(
        &mut settings.promote_rate_limit_mib_per_s,
        change.promote_rate_limit_mib_per_s,
    );
    set(&mut settings.hot_threshold_ms, change.hot_threshold_ms);
    set(&mut settings.scan_period_max_ms, change.scan_period_max_ms);
    set(
        &mut settings.watermark_scale_factor,
        change.watermark_scale_factor,
    );
    set(&mut settings.swappiness, change.swappiness);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws() -> Laws {
        Laws::parse(Laws::DEFAULT).expect("the default laws")
    }

    fn host<'a>(laws: &'a Laws, name: &str) -> &'a HostLaw {
        laws.hosts
            .iter()
            .find(|host| host.name == name)
            .expect("a host of the default laws")
    }

    #[test]
    fn incidents_begin_and_end_on_their_hosts_alone() {
        let laws = laws();
        let rests = |name: &str, hours: f64| at(&laws, host(&laws, name), hours).scanner_rests;
        assert!(rests("redis-2", 13.0) && rests("redis-2", 15.99));
        assert!(!rests("redis-2", 12.99) && !rests("redis-2", 16.0) && !rests("redis-1", 14.0));
    }

    #[test]
    fn levels_stay_and_leaks_end() {
        let mut laws = laws();
        laws.incidents.push(IncidentLaw {
            name: "the guests grow".to_owned(),
            begin_h: 0.0,
            end_h: 1440.0,
            hosts: Vec::new(),
            service: Some("guests".to_owned()),
            controls: Vec::new(),
            change: Change::Growth { per_day: 0.01 },
        });
        let service = |name: &str, hours: f64| at(&laws, host(&laws, name), hours).services[0].clone();
        assert!((service("queue-1", 10.0).leaked_gib - 12.0).abs() < 1e-9);
        assert!(service("queue-1", 20.0).leaked_gib.abs() < 1e-9);
        assert!((service("cache-object-1", 100.0).anon_level - 1.12).abs() < 1e-9);
        assert!((service("guests-1", 24.0).level - 1.01).abs() < 1e-9);
    }

    #[test]
    fn an_experiment_changes_what_it_names() {
        let laws = laws();
        let settings = |hours: f64| at(&laws, host(&laws, "cache-graph-3"), hours).settings;
        assert_eq!(
            (settings(31.0).numa_balancing, settings(32.0).numa_balancing),
            (0, 2)
        );
        assert!((settings(32.0).swappiness - settings(31.0).swappiness).abs() < 1e-9);
    }
}
