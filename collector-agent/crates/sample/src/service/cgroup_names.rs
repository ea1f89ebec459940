//! What the path of a control group says about identity.

/// Beginnings of container scopes whose rest is an id: they say how a process runs, not what it is.
const RUNTIMES: [&str; 9] = [
    "docker",
    "cri-containerd",
    "containerd",
    "crio",
    "libpod",
    "podman",
    "lxc",
    "lxc.payload",
    "machine",
];
/// Slices that say nothing about identity.
const GENERIC: [&str; 6] = [
    "user.slice",
    "system.slice",
    "machine.slice",
    "app.slice",
    "session.slice",
    "-.slice",
];

/// The uid of the pod in a path of the kubelet, with `-` between its parts.
pub fn pod_uid(cgroup: &str) -> Option<String> {
    pod_and_container(cgroup).map(|(uid, _)| uid)
}

/// The uid of the pod, and the path below the pod's own group: a container, with the groups that it makes itself. ""
/// where the path ends with the pod.
pub fn pod_and_container(cgroup: &str) -> Option<(String, &str)> {
    if !cgroup.contains("kubepods") {
        return None;
    }
    let mut rest = cgroup;
    while !rest.is_empty() {
        let (part, below) = rest.split_once('/').unwrap_or((rest, ""));
        if let Some(uid) = uid_in(part) {
            return Some((uid.replace('_', "-"), below));
        }
        rest = below;
    }
    None
}

/// The uid in the name of a pod's group.
fn uid_in(part: &str) -> Option<&str> {
    let rest = part
        .rsplit_once("-pod")
        .map(|(_, rest)| rest)
        .or_else(|| part.strip_prefix("pod"))?;
    Some(rest.trim_end_matches(".slice"))
}

/// What owns a pod, as far as the pod's name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodOwner<'a> {
    /// `Deployment`, `StatefulSet` or `CronJob`; `None` where several kinds name their pods so, or none does.
    pub kind: Option<&'static str>,
    /// Its name.
    pub name: &'a str,
}

/// The workload that owns a pod, from the pod's name: `cart-7c9d8b6f5-x2k9z` is of the deployment `cart`, `db-0` of the
/// stateful set `db`. `node-agent-x2k9z` is of `node-agent`, which may be a daemon set, a job or a replica set.
pub fn owner_of_pod(pod: &str) -> PodOwner<'_> {
    let owner = |kind, name| PodOwner { kind, name };
    let Some((rest, last)) = pod.rsplit_once('-') else {
        return owner(None, pod);
    };
    if is_number(last) {
        return owner(Some("StatefulSet"), rest);
    }
    if last.len() != 5 || !is_generated(last) {
        return owner(None, pod);
    }
    match rest.rsplit_once('-') {
        Some((name, hash)) if is_time_stamp(hash) => owner(Some("CronJob"), name),
        Some((name, hash)) if is_template_hash(hash) => owner(Some("Deployment"), name),
        _ => owner(None, rest),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Kubernetes builds random parts from letters without vowels and digits without 0, 1 and 3.
fn is_generated(text: &str) -> bool {
    text.bytes()
        .all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
}

/// The cron job whose run a job is, by the job's name.
///
/// ```
/// # use tierscope_sample::service::cron_job_of;
/// assert_eq!(cron_job_of("nightly-28391040"), Some("nightly"));
/// assert_eq!(cron_job_of("once"), None);
/// ```
#[must_use]
pub fn cron_job_of(job: &str) -> Option<&str> {
    let (name, at) = job.rsplit_once('-')?;
    is_time_stamp(at).then_some(name)
}

/// The time of a cron job's run, in minutes since 1970.
fn is_time_stamp(text: &str) -> bool {
    text.len() >= 8 && is_number(text)
}

/// The hash of a replica set's template.
fn is_template_hash(text: &str) -> bool {
    (6..=10).contains(&text.len()) && is_generated(text)
}

/// The domain in `machine-qemu\x2d3\x2dname.scope`.
pub(super) fn libvirt_domain(cgroup: &str) -> Option<String> {
    let part = cgroup
        .split('/')
        .find_map(|part| part.strip_prefix("machine-qemu")?.strip_suffix(".scope"))?;
    let decoded = unescape(part);
    let (_, name) = decoded.strip_prefix('-')?.split_once('-')?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The innermost `.service` of a path without its instance. The per-user manager is passed over, because everything in
/// a login session lives in it.
pub(super) fn systemd_unit(cgroup: &str) -> Option<String> {
    let unit = cgroup
        .split('/')
        .rev()
        .find_map(|part| part.strip_suffix(".service"))?;
    let name = unescape(unit.split('@').next().unwrap_or(unit));
    (!name.is_empty() && name != "user").then_some(name)
}

/// The path with ids cut off; `None` where nothing remains that names anything.
pub(super) fn path_without_ids(cgroup: &str) -> Option<String> {
    let parts: Vec<&str> = cgroup.split('/').filter(|part| !part.is_empty()).collect();
    let in_session = parts
        .iter()
        .any(|part| part.starts_with("user@") || part.starts_with("session-"));
    if in_session {
        return None;
    }
    let named: Vec<String> = parts.iter().filter_map(|part| without_id(part)).collect();
    let tells = named.iter().any(|part| !RUNTIMES.contains(&part.as_str()));
    tells.then(|| named.join("/"))
}

/// A part of a path without ids and unit suffixes; `None` where it is an id as a whole or generic.
fn without_id(part: &str) -> Option<String> {
    if GENERIC.contains(&part) || part.starts_with("user-") || part.starts_with("run-") {
        return None;
    }
    let plain = unescape(part.trim_end_matches(".scope").trim_end_matches(".slice"));
    let kept: Vec<&str> = plain.split(['-', ':']).filter(|word| !is_id(word)).collect();
    let joined = kept.join("-");
    (!joined.is_empty()).then_some(joined)
}

/// Whether a word is an id: a number, or at least eight hexadecimal digits with a digit among them.
fn is_id(word: &str) -> bool {
    let is_hex = word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    word.is_empty() || word.bytes().all(|byte| byte.is_ascii_digit()) || (is_hex && has_digit)
}

/// Undoes systemd's `\x2d` escapes of ASCII characters.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        plain.push_str(before);
        let code = after.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        if let Some(byte) = code.filter(u8::is_ascii) {
            plain.push(char::from(byte));
            rest = &after[2..];
        } else {
            plain.push_str("\\x");
            rest = after;
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_found_under_both_cgroup_drivers() {
        let systemd = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podaa_bb.slice/cri-containerd-1.scope";
        assert_eq!(pod_uid(systemd).as_deref(), Some("aa-bb"));
        assert_eq!(
            pod_uid("/kubepods/burstable/podaa-bb/0123").as_deref(),
            Some("aa-bb")
        );
        assert_eq!(pod_uid("/system.slice/podman.service"), None);
    }

    #[test]
    fn a_container_is_all_that_lies_below_its_pod() {
        let below = |path| pod_and_container(path).map(|(_, container)| container);
        assert_eq!(below("/kubepods/podaa-1/c1"), Some("c1"));
        assert_eq!(below("/kubepods/podaa-1/c1/init"), Some("c1/init"));
        assert_eq!(
            below("/kubepods.slice/kubepods-podaa_1.slice/crio-c1.scope/container"),
            Some("crio-c1.scope/container")
        );
        assert_eq!(below("/kubepods/podaa-1"), Some(""));
    }

    #[test]
    fn owners_are_told_by_the_suffixes_that_they_generate() {
        for (pod, kind, name) in [
            ("cart-7c9d8b6f5-x2k9z", Some("Deployment"), "cart"),
            ("db-0", Some("StatefulSet"), "db"),
            ("nightly-28391040-x2k9z", Some("CronJob"), "nightly"),
            // A daemon set, a job or a replica set.
            ("node-agent-x2k9z", None, "node-agent"),
            ("my-proxy", None, "my-proxy"),
            ("plain", None, "plain"),
        ] {
            assert_eq!(owner_of_pod(pod), PodOwner { kind, name }, "{pod}");
        }
    }

    #[test]
    fn ids_are_cut_and_words_are_kept() {
        assert_eq!(
            path_without_ids("/batch/job-1234/0a1b2c3d4e5f").as_deref(),
            Some("batch/job")
        );
        assert_eq!(path_without_ids("/feedface").as_deref(), Some("feedface"));
        assert_eq!(path_without_ids("/12/34"), None);
        assert_eq!(
            path_without_ids("/system.slice/docker-0123456789abcdef.scope"),
            None
        );
    }

    #[test]
    fn a_broken_escape_is_kept() {
        assert_eq!(unescape("a\\x2db"), "a-b");
        assert_eq!(unescape("a\\xzz"), "a\\xzz");
        assert_eq!(unescape("end\\x2"), "end\\x2");
    }
}
