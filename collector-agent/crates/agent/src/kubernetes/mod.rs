//! What a Kubernetes cluster says of this node: its pods with their owners and labels, and labels of the node.
//!
//! Without rights in the cluster pods are known by what lies on the node: uids in control groups, names in the kubelet's
//! log directory, owners by the pods' names. Where the settings say so, the API server is asked too.

mod api;
mod cluster;
mod labels;
mod pods;

use std::path::PathBuf;

use serde::Deserialize;

pub(crate) use api::Access;
pub(crate) use cluster::{COLLECTOR, Cluster, finding};
pub(crate) use labels::{fits, read as read_labels_file};
pub(crate) use pods::{describe, running};

/// What of the cluster travels. Labels do only where they are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KubernetesConfig {
    /// Where the downward API writes the pod's labels; read again once a minute.
    pub(crate) labels_file: Option<PathBuf>,
    /// Keys of labels of the host, as the cluster names them: from the file, and of the node where `api` is on.
    pub(crate) labels: Vec<String>,
    /// Whether the API server is asked for the pods of this node and its labels, as the agent's own service account.
    pub(crate) api: bool,
    /// Keys of labels of pods that travel; takes `api`.
    pub(crate) pod_labels: Vec<String>,
}

#[cfg(test)]
mod tests;
