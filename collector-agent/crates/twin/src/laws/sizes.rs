//! The same laws for fewer hosts, or for more.

use super::{HostLaw, Laws, ServiceShare};

impl Laws {
    fn with_hosts(&self, hosts: Vec<HostLaw>) -> Self {
        Self {
            clock: self.clock.clone(),
            page: self.page.clone(),
            noise: self.noise.clone(),
            memory: self.memory.clone(),
            kernel_work: self.kernel_work.clone(),
            settings: self.settings.clone(),
            services: self.services.clone(),
            hosts,
            incidents: self.incidents.clone(),
        }
    }

    /// The laws of the host with this index alone, with its services and settings: it goes its way as among the others.
    #[must_use]
    pub fn of_host(&self, index: usize) -> Self {
        let host = &self.hosts[index];
        let mut laws = self.with_hosts(vec![host.clone()]);
        let runs = |name: &str| host.services.iter().any(|share| share.service == name);
        laws.services.retain(|service| runs(&service.name));
        laws.settings.retain(|name, _| *name == host.settings);
        laws
    }

    /// Laws of `count` hosts for load: the kinds of these hosts in turn, each host with a name and so with chances of its
    /// own, without incidents, in pages of `unit_bytes`. A host runs `services` services at least: what its own ones have
    /// of its memory is divided evenly between them and those that follow in the laws.
    #[must_use]
    pub fn repeated(&self, count: usize, services: usize, unit_bytes: u64) -> Self {
        let kinds = self.hosts.len();
        let hosts = (0..count).map(|number| {
            let kind = &self.hosts[number % kinds];
            let round = number / kinds + 1;
            HostLaw {
                name: format!("{}-{round:04}", kind.name),
                rack: format!("{}-{round:04}", kind.rack),
                services: self.widened(&kind.services, services),
                ..kind.clone()
            }
        });
        let mut laws = self.with_hosts(hosts.collect());
        laws.page.unit_bytes = unit_bytes;
        laws.incidents.clear();
        laws
    }

    /// `own` services, and those that follow the first one in the laws until there are `least`.
    fn widened(&self, own: &[ServiceShare], least: usize) -> Vec<ServiceShare> {
        let mut names: Vec<&str> = own.iter().map(|share| share.service.as_str()).collect();
        if names.len() >= least {
            return own.to_vec();
        }
        let first = self
            .services
            .iter()
            .position(|service| names.first() == Some(&service.name.as_str()));
        let others = self.services.iter().cycle().skip(first.unwrap_or(0) + 1);
        for service in others.take(self.services.len()) {
            if names.len() < least && !names.contains(&service.name.as_str()) {
                names.push(&service.name);
            }
        }
        let share = own.iter().map(|share| share.share).sum::<f64>() / names.len() as f64;
        names
            .into_iter()
            .map(|name| ServiceShare {
                service: name.to_owned(),
                share,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const UNIT_BYTES: u64 = 1 << 28;

    fn default_laws() -> Laws {
        Laws::parse(Laws::DEFAULT).expect("the default laws")
    }

    #[test]
    fn a_larger_fleet_has_the_kinds_of_the_laws_in_turn() {
        let laws = default_laws();
        let many = laws.repeated(60, 1, UNIT_BYTES);
        many.check().expect("laws in order");
        let kind = |host: &HostLaw| (host.cpus, host.settings.clone(), host.services.clone());
        for (number, host) in many.hosts.iter().enumerate() {
            assert_eq!(kind(host), kind(&laws.hosts[number % laws.hosts.len()]));
        }
        assert_eq!((many.hosts.len(), many.page.unit_bytes), (60, UNIT_BYTES));
        assert!(many.incidents.is_empty());
    }

    #[test]
    fn a_host_with_more_services_divides_the_memory_of_its_own() {
        let laws = default_laws();
        let many = laws.repeated(laws.hosts.len(), 3, UNIT_BYTES);
        many.check().expect("laws in order");
        for (wide, own) in many.hosts.iter().zip(&laws.hosts) {
            let names: BTreeSet<&str> = wide.services.iter().map(|share| share.service.as_str()).collect();
            assert_eq!(names.len(), 3);
            assert_eq!(wide.services[0].service, own.services[0].service);
            let sum = |host: &HostLaw| host.services.iter().map(|share| share.share).sum::<f64>();
            assert!((sum(wide) - sum(own)).abs() < 1e-9);
        }
        let used: BTreeSet<&str> = many
            .hosts
            .iter()
            .flat_map(|host| host.services.iter().map(|share| share.service.as_str()))
            .collect();
        assert_eq!(used.len(), laws.services.len());
    }
}
