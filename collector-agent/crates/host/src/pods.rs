//! Pods of this node, as the kubelet leaves them on its disk.

use std::collections::BTreeMap;

use tierscope_rootfs::Reader;

/// Where the kubelet writes logs: a directory per pod, `<namespace>_<pod>_<uid>`. Outside the cluster's API it is the only
/// place on a host that gives a pod's name for the uid in its control group. It says nothing of the pod's owner.
const LOGS: &str = "/var/log/pods";

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Pods by uid, with those that ended and whose logs are still there.
pub type Pods = BTreeMap<String, Pod>;

/// All pods; none where no kubelet runs or its directory cannot be seen.
pub fn read(reader: &Reader) -> Pods {
    let names = reader.list(LOGS).unwrap_or_default();
    let parse = |name: &String| {
        let mut parts = name.split('_');
        let (namespace, pod, uid) = (parts.next()?, parts.next()?, parts.next()?);
        let pod = Pod {
            namespace: namespace.to_owned(),
            name: pod.to_owned(),
        };
        Some((uid.to_owned(), pod))
    };
    names.iter().filter_map(parse).collect()
}
