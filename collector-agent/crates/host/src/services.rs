//! Which processes run on the host, and which service each belongs to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tierscope_procfs::process::{self, Cgroups};
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::service::{
    HOST_NAMESPACE, OTHER, OwnRule, ProcessFacts, RuleKind, ServiceId, identify, pod_uid,
};
use tierscope_sysfs::cgroup;

use crate::names::NamePolicy;
use crate::pods::{self, Pods};

/// How processes are named.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The owner's rules, in order.
    pub own: Vec<OwnRule>,
    /// How executables may be named.
    pub names: NamePolicy,
    /// Services told apart on one host; those beyond become `other`.
    pub max_services: usize,
}

impl Rules {
    /// No rules of the owner, 200 services.
    pub fn new(names: NamePolicy) -> Self {
        Self {
            own: Vec::new(),
            names,
            max_services: 200,
        }
    }
}

/// A process of user space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Start in ticks of 1/100 s since boot; with the pid it names the process for good.
    pub start_time: u64,
    /// Path of the executable where it can be seen. It stays on the host.
    pub exe: Option<String>,
    /// Its name as the kernel keeps it, at most 15 bytes.
    pub comm: String,
    /// Its command line, words separated by single spaces. It stays on the host.
    pub cmdline: String,
    /// Path of the control group with the memory files.
    pub cgroup: String,
    /// The service.
    pub service: ServiceId,
    /// The executable as it may travel: the process group within the service.
    pub group: String,
    /// The rule that named the service.
    pub rule: RuleKind,
}

/// A service of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundService {
    /// Namespace and name.
    pub id: ServiceId,
    /// The rule that named it, for its first process.
    pub rule: RuleKind,
    /// Its processes.
    pub processes: u32,
    /// Paths of control groups whose processes all belong to it.
    pub cgroups: BTreeSet<String>,
}

/// Result of a walk over `/proc`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovered {
    /// Services, sorted by id.
    pub services: Vec<FoundService>,
    /// Processes, sorted by pid.
    pub processes: Vec<Process>,
    /// Services beyond the limit, whose processes are counted under `host/other`.
    pub dropped: usize,
}

impl Discovered {
    /// Services all of whose processes are in one pod, as `namespace/name`, with the uid of the pod. What is known of such
    /// a service is known of the pod.
    pub fn pods_of_services(&self) -> BTreeMap<String, String> {
        let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
        for process in &self.processes {
            let uid = pod_uid(&process.cgroup);
            found
                .entry(process.service.to_string())
                .and_modify(|known| *known = known.take().filter(|known| Some(known) == uid.as_ref()))
                .or_insert(uid);
        }
        found
            .into_iter()
            .filter_map(|(service, uid)| Some((service, uid?)))
            .collect()
    }
}

/// Walks `/proc` of `root` once.
pub fn discover(root: &Root, rules: &Rules) -> Discovered {
    let mut reader = Reader::new(root.clone());
    Walker::default().walk(&mut reader, rules)
}

/// Walks `/proc` again and again; a process that it knows costs two reads instead of four.
#[derive(Debug, Default)]
pub struct Walker {
    known: HashMap<(u32, u64), WalkedProcess>,
}

/// A process as it was at the last walk. Another name (after `exec`) or control group makes it new.
#[derive(Debug, Clone)]
struct WalkedProcess {
    cgroups: Cgroups,
    process: Process,
}

impl Walker {
    /// Forgets everything: for another root.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// One walk.
    pub fn walk(&mut self, reader: &mut Reader, rules: &Rules) -> Discovered {
        let mut pods = None;
        let mut seen = HashMap::new();
        for pid in process::pids(reader).unwrap_or_default() {
            // A process that went away meanwhile has nothing to tell.
            let Ok(Ok(stat)) = process::stat(reader, pid) else {
                continue;
            };
            if stat.kernel_thread {
                continue;
            }
            let Ok(cgroups) = process::cgroups(reader, pid) else {
                continue;
            };
            let key = (pid, stat.start_time_ticks);
            let known = self
                .known
                .remove(&key)
                .filter(|known| known.process.comm == stat.comm && known.cgroups == cgroups);
            let known = known.unwrap_or_else(|| look_at(reader, rules, &mut pods, &stat, cgroups));
            seen.insert(key, known);
        }
        let mut processes: Vec<Process> = seen.values().map(|known| known.process.clone()).collect();
        processes.sort_unstable_by_key(|process| process.pid);
        self.known = seen;
        group_by_service(processes, rules.max_services)
    }
}

fn look_at(
    reader: &mut Reader,
    rules: &Rules,
    pods: &mut Option<Pods>,
    stat: &process::Stat,
    cgroups: Cgroups,
) -> WalkedProcess {
    let cmdline = process::cmdline(reader, stat.pid).unwrap_or_default();
    let (exe, group) = rules.names.group_of(reader, stat.pid, &stat.comm, &cmdline);
    let identity = cgroups.identity_path();
    let pod =
        pod_uid(identity).and_then(|uid| pods.get_or_insert_with(|| pods::read(reader)).get(&uid).cloned());
    let facts = ProcessFacts {
        exe: exe.as_deref().unwrap_or_default(),
        cmdline: &cmdline,
        comm: &stat.comm,
        cgroup: identity,
        group: &group,
        pod: pod
            .as_ref()
            .map(|pod| (pod.namespace.as_str(), pod.name.as_str())),
    };
    let (service, rule) = identify(&rules.own, &facts);
    let version = cgroup::detect(reader);
    let process = Process {
        pid: stat.pid,
        start_time: stat.start_time_ticks,
        cgroup: cgroup::memory_group(reader, version, cgroups.memory_path()),
        exe,
        comm: stat.comm.clone(),
        service,
        group,
        rule,
        cmdline,
    };
    WalkedProcess { cgroups, process }
}

fn group_by_service(mut processes: Vec<Process>, max_services: usize) -> Discovered {
    let mut counts: BTreeMap<ServiceId, u32> = BTreeMap::new();
    for process in &processes {
        *counts.entry(process.service.clone()).or_default() += 1;
    }
    let dropped = counts.len().saturating_sub(max_services);
    if dropped > 0 {
        let mut by_size: Vec<(&ServiceId, &u32)> = counts.iter().collect();
        by_size.sort_by_key(|(id, count)| (std::cmp::Reverse(**count), (*id).clone()));
        let kept: BTreeSet<ServiceId> = by_size
            .iter()
            .take(max_services)
            .map(|(id, _)| (*id).clone())
            .collect();
        for process in processes
            .iter_mut()
            .filter(|process| !kept.contains(&process.service))
        {
            process.service = ServiceId::new(HOST_NAMESPACE, OTHER);
            process.rule = RuleKind::Limit;
        }
    }
    Discovered {
        services: services_of(&processes),
        processes,
        dropped,
    }
}

fn services_of(processes: &[Process]) -> Vec<FoundService> {
    let mut owners: BTreeMap<&str, Option<&ServiceId>> = BTreeMap::new();
    let mut services: BTreeMap<&ServiceId, FoundService> = BTreeMap::new();
    for process in processes {
        owners
            .entry(&process.cgroup)
            .and_modify(|owner| *owner = owner.filter(|owner| **owner == process.service))
            .or_insert(Some(&process.service));
        let service = services.entry(&process.service).or_insert_with(|| FoundService {
            id: process.service.clone(),
            rule: process.rule,
            processes: 0,
            cgroups: BTreeSet::new(),
        });
        service.processes += 1;
    }
    for (cgroup, owner) in owners {
        if let Some(service) = owner.and_then(|owner| services.get_mut(owner)) {
            // The root group is the host, whoever sits in it.
            service.cgroups.extend((cgroup != "/").then(|| cgroup.to_owned()));
        }
    }
    services.into_values().collect()
}

/// `namespace/name`; a bare name is one of the host.
pub fn service_name(text: &str) -> Arc<str> {
    let (namespace, name) = text.split_once('/').unwrap_or((HOST_NAMESPACE, text));
    Arc::from(ServiceId::new(namespace, name).to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    fn add_process(root: &FakeRoot, pid: u32, comm: &str, cmdline: &str, cgroup: &str) {
        let stat = format!("{pid} ({comm}) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 {pid}00 0 0");
        root.write(&format!("proc/{pid}/stat"), &stat);
        root.write(&format!("proc/{pid}/cmdline"), cmdline);
        root.write(&format!("proc/{pid}/cgroup"), cgroup);
    }

    fn rules() -> Rules {
        Rules::new(NamePolicy::with_fleet_key(b"k", Vec::new()))
    }

    #[test]
    fn processes_are_grouped_and_kernel_threads_left_out() {
        let root = FakeRoot::new();
        add_process(
            &root,
            10,
            "nginx",
            "/usr/sbin/nginx\0-g\0",
            "0::/system.slice/nginx.service\n",
        );
        add_process(
            &root,
            11,
            "nginx",
            "nginx: worker\0",
            "0::/system.slice/nginx.service\n",
        );
        add_process(&root, 12, "tool", "/home/ann/tool\0", "0::/\n");
        root.write(
            "proc/53/stat",
            "53 (kswapd0) S 2 0 0 0 -1 10758208 0 0 0 0 0 0 0 0 20 0 1 0 60 0 0",
        );
        let found = discover(&root.root(), &rules());
        let names: Vec<String> = found
            .services
            .iter()
            .map(|service| service.id.to_string())
            .collect();
        let hidden = rules().names.group(Some("/home/ann/tool"), "tool");
        assert_eq!(names, ["host/nginx".to_owned(), format!("host/{hidden}")]);
        assert_eq!(found.services[0].processes, 2);
        assert_eq!(found.services[0].rule, RuleKind::Systemd);
        assert!(found.services[0].cgroups.contains("/system.slice/nginx.service"));
        assert!(found.services[1].cgroups.is_empty());
        assert_eq!(found.processes.len(), 3);
        assert_eq!(found.dropped, 0);
    }

    #[test]
    fn a_cgroup_shared_by_two_services_belongs_to_neither() {
        let root = FakeRoot::new();
        add_process(&root, 10, "a", "/usr/bin/a\0", "0::/load\n");
        add_process(&root, 11, "b", "/usr/bin/b\0", "0::/load\n");
        let own = OwnRule {
            namespace: "x".into(),
            name: "b".into(),
            exe: Some("/usr/bin/b".into()),
            ..OwnRule::default()
        };
        let found = discover(
            &root.root(),
            &Rules {
                own: vec![own],
                ..rules()
            },
        );
        assert_eq!(found.services.len(), 2);
        assert!(found.services.iter().all(|service| service.cgroups.is_empty()));
    }

    #[test]
    fn services_beyond_the_limit_become_other_and_are_counted() {
        let root = FakeRoot::new();
        for pid in 10..15 {
            add_process(
                &root,
                pid,
                "p",
                "/usr/bin/p\0",
                &format!("0::/system.slice/s{pid}.service\n"),
            );
        }
        add_process(&root, 20, "p", "/usr/bin/p\0", "0::/system.slice/s14.service\n");
        let found = discover(
            &root.root(),
            &Rules {
                max_services: 2,
                ..rules()
            },
        );
        assert_eq!(found.dropped, 3);
        let names: Vec<String> = found
            .services
            .iter()
            .map(|service| service.id.to_string())
            .collect();
        assert_eq!(names, ["host/other", "host/s10", "host/s14"]);
        assert_eq!(found.services[0].processes, 3);
    }

    #[test]
    fn pods_get_the_name_of_their_workload_from_the_kubelet_logs() {
        let root = FakeRoot::new();
        let cgroup = "0::/kubepods/burstable/podaa11-bb22/0123456789abcdef\n";
        add_process(&root, 10, "java", "/usr/bin/java\0", cgroup);
        std::fs::create_dir_all(
            root.root()
                .join("/var/log/pods/shop_cart-7c9d8b6f5-x2k9z_aa11-bb22"),
        )
        .unwrap();
        let found = discover(&root.root(), &rules());
        assert_eq!(found.services[0].id.to_string(), "shop/cart");
    }

    #[test]
    fn a_service_is_of_a_pod_only_where_all_its_processes_are_in_it() {
        let root = FakeRoot::new();
        root.write("sys/fs/cgroup/cgroup.controllers", "memory\n");
        for (pid, pod, name) in [
            (10, "aa-1", "db-0"),
            (11, "aa-1", "db-0"),
            (12, "bb-1", "cart-7c9d8b6f5-x2k9z"),
            (13, "cc-1", "cart-7c9d8b6f5-z9k2x"),
        ] {
            let group = format!("/kubepods/burstable/pod{pod}/c{pid}");
            root.write(&format!("sys/fs/cgroup{group}/memory.stat"), "anon 1\n");
            add_process(&root, pid, "java", "/usr/bin/java\0", &format!("0::{group}\n"));
            std::fs::create_dir_all(root.root().join(&format!("/var/log/pods/shop_{name}_{pod}"))).unwrap();
        }
        let found = discover(&root.root(), &rules());
        assert_eq!(
            found.pods_of_services(),
            BTreeMap::from([("shop/db".to_owned(), "aa-1".to_owned())])
        );
        let known = pods::read(&Reader::new(root.root()));
        assert_eq!(
            (known["bb-1"].namespace.as_str(), known["bb-1"].name.as_str()),
            ("shop", "cart-7c9d8b6f5-x2k9z")
        );
    }

    #[test]
    fn a_pid_used_again_is_a_new_process() {
        let root = FakeRoot::new();
        add_process(&root, 10, "a", "/usr/bin/a\0", "0::/\n");
        let mut reader = Reader::new(root.root());
        let mut walker = Walker::default();
        assert_eq!(walker.walk(&mut reader, &rules()).processes[0].group, "a");
        add_process(&root, 10, "b", "/usr/bin/b\0", "0::/\n");
        root.write(
            "proc/10/stat",
            "10 (b) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 9999 0 0",
        );
        assert_eq!(walker.walk(&mut reader, &rules()).processes[0].group, "b");
    }
}
