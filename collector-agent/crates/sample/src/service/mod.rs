//! Identity of a service on a host: which processes belong together, and under which name. Pure rules.
//!
//! The first rule that fits names the service: the owner's rules, Kubernetes, libvirt, systemd, the path of the control
//! group, the executable. A name must be the same on every host that runs the service, so instances, ids and random
//! suffixes are cut off.

mod cgroup_names;
mod glob;
mod qemu;

use std::sync::Arc;

use serde::Deserialize;

pub use cgroup_names::{PodOwner, cron_job_of, owner_of_pod, pod_and_container, pod_uid};
pub use glob::matches_glob;

/// Namespace of services that have none of their own.
pub const HOST_NAMESPACE: &str = "host";
/// Name that collects the services beyond the limit of one host.
pub const OTHER: &str = "other";
/// Longest name that travels, in characters.
const MAX_NAME_CHARS: usize = 120;

/// Namespace and name of a service, and the rule that found it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId {
    /// Where the name is unique: `host`, a Kubernetes namespace, ...
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl ServiceId {
    /// An id from any text: characters that would break a counter key become `_`, and the length is cut.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: printable(namespace, true),
            name: printable(name, false),
        }
    }
}

impl std::fmt::Display for ServiceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

fn printable(text: &str, is_namespace: bool) -> Arc<str> {
    let breaks =
        |character: char| character.is_control() || character == '|' || (is_namespace && character == '/');
    let clean = text
        .chars()
        .take(MAX_NAME_CHARS)
        .map(|character| if breaks(character) { '_' } else { character });
    clean.collect::<String>().into()
}

/// A rule of the owner. All patterns that are given must match; `*` stands for any text, `?` for one character.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnRule {
    /// Namespace of the service; `host` unless given.
    #[serde(default = "host_namespace")]
    pub namespace: String,
    /// Name of the service.
    pub name: String,
    /// Pattern for the path of the executable.
    pub exe: Option<String>,
    /// Pattern for the path of the control group.
    pub cgroup: Option<String>,
    /// Pattern for the command line, words separated by single spaces. It is matched on the host and never sent.
    pub cmdline: Option<String>,
    /// Pattern for the name of the process as the kernel keeps it, at most 15 bytes.
    pub comm: Option<String>,
}

fn host_namespace() -> String {
    HOST_NAMESPACE.to_owned()
}

/// What is known of a process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessFacts<'a> {
    /// Path of the executable, "" where unknown.
    pub exe: &'a str,
    /// Command line. The owner's rules look at it, and that of a virtual machine names its guest.
    pub cmdline: &'a str,
    /// Name as the kernel keeps it.
    pub comm: &'a str,
    /// Path of the control group that says most about identity.
    pub cgroup: &'a str,
    /// Name of the executable as it may travel.
    pub group: &'a str,
    /// Namespace and name of the pod, where the process is in one and the host knows it.
    pub pod: Option<(&'a str, &'a str)>,
}

/// Which rule named a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleKind {
    /// A rule of the owner.
    Own,
    /// A Kubernetes pod: its workload where the pod is known, else the executable in it.
    Kubernetes,
    /// A libvirt domain.
    Libvirt,
    /// A systemd unit.
    Systemd,
    /// The path of the control group.
    Cgroup,
    /// The executable.
    Executable,
    /// Beyond the limit of one host.
    Limit,
}

impl RuleKind {
    /// The name in the inventory.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own rule",
            Self::Kubernetes => "kubernetes pod",
            Self::Libvirt => "libvirt domain",
            Self::Systemd => "systemd unit",
            Self::Cgroup => "cgroup path",
            Self::Executable => "executable",
            Self::Limit => "limit of services",
        }
    }
}

/// Names the service of a process.
pub fn identify(own: &[OwnRule], facts: &ProcessFacts<'_>) -> (ServiceId, RuleKind) {
    if let Some(rule) = own.iter().find(|rule| fits(rule, facts)) {
        return (ServiceId::new(&rule.namespace, &rule.name), RuleKind::Own);
    }
    if pod_uid(facts.cgroup).is_some() {
        let id = match facts.pod {
            Some((namespace, pod)) => ServiceId::new(namespace, owner_of_pod(pod).name),
            None => ServiceId::new("kubernetes", facts.group),
        };
        return (id, RuleKind::Kubernetes);
    }
    let domain =
        cgroup_names::libvirt_domain(facts.cgroup).or_else(|| qemu::guest(facts.group, facts.cmdline));
    if let Some(domain) = domain {
        return (ServiceId::new("libvirt", &domain), RuleKind::Libvirt);
    }
    if let Some(unit) = cgroup_names::systemd_unit(facts.cgroup) {
        return (ServiceId::new(HOST_NAMESPACE, &unit), RuleKind::Systemd);
    }
    match cgroup_names::path_without_ids(facts.cgroup) {
        Some(path) => (ServiceId::new(HOST_NAMESPACE, &path), RuleKind::Cgroup),
        None => (ServiceId::new(HOST_NAMESPACE, facts.group), RuleKind::Executable),
    }
}

/// A rule without any pattern fits nothing, so that a slip of the pen does not swallow the host.
fn fits(rule: &OwnRule, facts: &ProcessFacts<'_>) -> bool {
    let patterns = [
        (&rule.exe, facts.exe),
        (&rule.cgroup, facts.cgroup),
        (&rule.cmdline, facts.cmdline),
        (&rule.comm, facts.comm),
    ];
    let mut given = patterns
        .iter()
        .filter_map(|(pattern, text)| pattern.as_ref().map(|pattern| (pattern, text)));
    patterns.iter().any(|(pattern, _)| pattern.is_some())
        && given.all(|(pattern, text)| matches_glob(pattern, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(own: &[OwnRule], facts: &ProcessFacts<'_>) -> String {
        identify(own, facts).0.to_string()
    }

    fn in_cgroup(cgroup: &str) -> String {
        name(
            &[],
            &ProcessFacts {
                cgroup,
                group: "app",
                ..ProcessFacts::default()
            },
        )
    }

    #[test]
    fn the_owners_rules_come_first_and_all_their_patterns_must_match() {
        let rule = OwnRule {
            namespace: "shop".into(),
            name: "search".into(),
            exe: Some("/usr/bin/java".into()),
            cmdline: Some("* search.jar*".into()),
            cgroup: None,
            comm: None,
        };
        let mut facts = ProcessFacts {
            exe: "/usr/bin/java",
            cmdline: "java -jar search.jar -v",
            comm: "java",
            cgroup: "/system.slice/search.service",
            group: "java",
            pod: None,
        };
        assert_eq!(name(std::slice::from_ref(&rule), &facts), "shop/search");
        facts.cmdline = "java -jar other.jar";
        assert_eq!(name(&[rule], &facts), "host/search");
        let by_name = OwnRule {
            namespace: "shop".into(),
            name: "jvm".into(),
            comm: Some("jav?".into()),
            ..OwnRule::default()
        };
        assert_eq!(name(&[by_name], &facts), "shop/jvm");
        let empty = OwnRule {
            name: "all".into(),
            ..OwnRule::default()
        };
        assert_eq!(name(&[empty], &facts), "host/search");
    }

    #[test]
    fn units_lose_their_instance_and_sessions_are_named_by_executable() {
        assert_eq!(
            in_cgroup("/system.slice/postgresql@15-main.service"),
            "host/postgresql"
        );
        assert_eq!(in_cgroup("/system.slice/nginx.service/worker"), "host/nginx");
        assert_eq!(
            in_cgroup("/user.slice/user-1000.slice/user@1000.service/app.slice/app-foo-9c1.scope"),
            "host/app"
        );
        assert_eq!(
            in_cgroup("/user.slice/user-1000.slice/session-3.scope"),
            "host/app"
        );
        assert_eq!(in_cgroup("/"), "host/app");
    }

    #[test]
    fn pods_are_named_by_their_workload() {
        let cgroup = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podaa11bb22_cc33_dd44_ee55_ff6677889900.slice/cri-containerd-0123456789abcdef.scope";
        let facts = ProcessFacts {
            cgroup,
            group: "app",
            pod: Some(("shop", "cart-7c9d8b6f5-x2k9z")),
            ..ProcessFacts::default()
        };
        assert_eq!(
            identify(&[], &facts),
            (ServiceId::new("shop", "cart"), RuleKind::Kubernetes)
        );
        assert_eq!(in_cgroup(cgroup), "kubernetes/app");
    }

    #[test]
    fn domains_and_plain_cgroups_are_named_without_ids() {
        assert_eq!(
            in_cgroup("/machine.slice/machine-qemu\\x2d3\\x2dweb\\x2dvm.scope/libvirt/emulator"),
            "libvirt/web-vm"
        );
        assert_eq!(in_cgroup("/load"), "host/load");
        assert_eq!(
            in_cgroup("/process_api/5f14e73d13c2ca292101622f1f04c8c8"),
            "host/process_api"
        );
        assert_eq!(
            in_cgroup("/docker/5f14e73d13c2ca292101622f1f04c8c85f14e73d13c2ca292101622f1f04c8c8"),
            "host/app"
        );
    }

    #[test]
    fn names_cannot_break_a_counter_key() {
        let id = ServiceId::new("a/b", "c|d\n/e");
        assert_eq!(id.to_string(), "a_b/c_d_/e");
        assert_eq!(ServiceId::new("h", &"x".repeat(500)).name.len(), MAX_NAME_CHARS);
    }
}
