//! One question to the API server of the cluster: metadata of this node and of the pods on it. Reads, bounded in time and
//! size, never anything else.

use std::collections::BTreeMap;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tierscope_sample::service::cron_job_of;
use ureq::Agent;

use super::KubernetesConfig;
use super::labels::fits;

/// Where the kubelet puts the token and the authority of a pod's service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Longest token.
const MAX_TOKEN_BYTES: u64 = 64 << 10;
/// Largest answer that is read: the metadata of a pod has some kB.
const MAX_ANSWER_BYTES: u64 = 8 << 20;
/// Most pods of an answer that are kept.
const MAX_PODS: usize = 4096;
/// Longest time of one request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Metadata alone: what containers hold, with their environments, stays with the server.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/// The controllers of a deployment's pods name the hash of the template in this label of the pod.
const TEMPLATE_HASH: &str = "pod-template-hash";
/// Annotations of the server's mirrors of pods that the kubelet runs from files of its own.
const MIRROR: &str = "kubernetes.io/config.mirror";
const FILE_HASH: &str = "kubernetes.io/config.hash";

/// How the API server is reached.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// Base address.
    pub(crate) url: String,
    pub(crate) token_file: PathBuf,
    pub(crate) ca_file: PathBuf,
    /// Longest time of one request.
    pub(crate) patience: Duration,
}

/// What the cluster told. `None` where a part was not asked for or not told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Pods of this node by uid.
    pub(crate) pods: Option<BTreeMap<String, ToldPod>>,
    /// The listed labels of this node, by key.
    pub(crate) node_labels: Option<Vec<(String, String)>>,
    /// What failed, and what to do.
    pub(crate) problem: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToldPod {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Kind and name of the owner; `None` for a pod without.
    pub(crate) owner: Option<(String, String)>,
    /// The listed labels, by key.
    pub(crate) labels: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct List {
    /// The server writes an empty list as null.
    items: Option<Vec<Object>>,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    namespace: String,
    uid: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    owner_references: Vec<OwnerReference>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OwnerReference {
    kind: String,
    name: String,
    controller: bool,
}

impl Access {
    /// As every pod reaches it. Fails outside of a cluster.
    pub(crate) fn in_cluster() -> Result<Self, String> {
        let named = |variable: &str| std::env::var(variable).ok().filter(|value| !value.is_empty());
        let (Some(host), Some(port)) = (named("KUBERNETES_SERVICE_HOST"), named("KUBERNETES_SERVICE_PORT"))
        else {
            return Err("KUBERNETES_SERVICE_HOST is not set: this agent runs in no pod, so no API server is known; run it \
                        as deploy/kubernetes/agent-api does, or set api = false"
                .to_owned());
        };
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host
        };
        Ok(Self {
            url: format!("https://{host}:{port}"),
            token_file: Path::new(ACCOUNT).join("token"),
            ca_file: Path::new(ACCOUNT).join("ca.crt"),
            patience: PATIENCE,
        })
    }

    /// Asks for the pods on `node`, and for its labels where some are listed. Token and authority are read anew each
    /// time, because the kubelet changes them.
    pub(crate) fn ask(&self, node: &str, config: &KubernetesConfig) -> Told {
        let mut told = Told::default();
        let asked = self.question(node).and_then(|question| {
            told.pods = Some(question.pods(&config.pod_labels)?);
            if !config.labels.is_empty() {
                told.node_labels = Some(question.node_labels(&config.labels)?);
            }
            Ok(())
        });
        told.problem = asked.err();
        told
    }

    fn question<'a>(&'a self, node: &'a str) -> Result<Question<'a>, String> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
        if node.is_empty() || !node.bytes().all(is_name) {
            return Err(format!(
                "{node:?} is no name of a node: give that of the node with --hostname, as the DaemonSet does"
            ));
        }
        let tls = if self.url.starts_with("https:") {
            Some(tierscope_upload::tls(Some(&self.ca_file)).map_err(|error| error.to_string())?)
        } else {
            None
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect or a proxy would carry the token to a place that nobody named.
            .max_redirects(0)
            .proxy(None)
            .user_agent(format!("tierscope-agent/{}", crate::VERSION))
            .timeout_global(Some(self.patience));
        let config = match tls {
            Some(tls) => config.tls_config(tls),
            None => config,
        };
        Ok(Question {
            http: config.build().new_agent(),
            access: self,
            token: read_token(&self.token_file)?,
            node,
        })
    }
}

/// A connection and what it is allowed to ask.
struct Question<'a> {
    http: Agent,
    access: &'a Access,
    token: String,
    node: &'a str,
}

impl Question<'_> {
    fn pods(&self, listed: &[String]) -> Result<BTreeMap<String, ToldPod>, String> {
        // Version 0: the server's cache will do, its database is not asked.
        let path = format!(
            "/api/v1/pods?fieldSelector=spec.nodeName%3D{}&resourceVersion=0",
            self.node
        );
        let list: List = self.get(&path, METADATA_LIST, "list pods")?;
        let items = list.items.unwrap_or_default();
        if items.is_empty() {
            return Err(format!(
                "{} knows no pod on a node {:?}: give the node's name with --hostname, as the DaemonSet does",
                self.access.url, self.node
            ));
        }
        let told = items.into_iter().filter_map(|item| pod(item.metadata, listed));
        Ok(told.take(MAX_PODS).collect())
    }

    fn node_labels(&self, listed: &[String]) -> Result<Vec<(String, String)>, String> {
        let path = format!("/api/v1/nodes/{}?resourceVersion=0", self.node);
        let node: Object = self.get(&path, METADATA, "get nodes")?;
        Ok(listed_labels(node.metadata.labels, listed))
    }

    fn get<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        accept: &str,
        right: &str,
    ) -> Result<T, String> {
        let base = &self.access.url;
        let mut response = self
            .http
            .get(format!("{base}{path}"))
            .header("Accept", accept)
            .header("Authorization", format!("Bearer {}", self.token))
            .call()
            .map_err(|error| format!("{base} does not answer: {error}"))?;
        match response.status().as_u16() {
            200 => {}
            401 => {
                return Err(format!(
                    "{base} takes the service account's token for no account (401): check which cluster it is of"
                ));
            }
            403 => {
                return Err(format!(
                    "{base} refuses (403): the service account may not {right}; apply deploy/kubernetes/agent-api"
                ));
            }
            other => {
                return Err(format!(
                    "{base} answers {path} with status {other} instead of 200"
                ));
            }
        }
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).reader();
        serde_json::from_reader(BufReader::new(body)).map_err(|error| {
            format!("the answer of {base} to {path} cannot be read (at most 8 MiB are): {error}")
        })
    }
}

fn read_token(path: &Path) -> Result<String, String> {
    let fail = |cause: String| {
        format!(
            "{} cannot be used: {cause}; the pod needs automountServiceAccountToken: true",
            path.display()
        )
    };
    let file = tierscope_rootfs::open_plain(path).map_err(|error| fail(error.to_string()))?;
    let mut token = String::new();
    file.take(MAX_TOKEN_BYTES)
        .read_to_string(&mut token)
        .map_err(|error| fail(error.to_string()))?;
    let token = token.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(fail("it holds no token".to_owned()));
    }
    Ok(token.to_owned())
}

fn pod(mut metadata: Metadata, listed: &[String]) -> Option<(String, ToldPod)> {
    // A pod of the kubelet's own files is known on the node by the hash of its file, and by a mirror's uid to the server.
    if metadata.annotations.contains_key(MIRROR)
        && let Some(hash) = metadata.annotations.remove(FILE_HASH)
    {
        metadata.uid = hash;
    }
    let told = ToldPod {
        owner: owner(&metadata),
        namespace: metadata.namespace,
        name: metadata.name,
        labels: listed_labels(metadata.labels, listed),
    };
    (!metadata.uid.is_empty() && !told.name.is_empty()).then_some((metadata.uid, told))
}

/// What people call the owner: the deployment rather than its replica set of now, the cron job rather than its run.
fn owner(metadata: &Metadata) -> Option<(String, String)> {
    let told = metadata
        .owner_references
        .iter()
        .find(|reference| reference.controller)?;
    let parent = match told.kind.as_str() {
        "ReplicaSet" => {
            let hash = metadata.labels.get(TEMPLATE_HASH);
            hash.and_then(|hash| told.name.strip_suffix(hash.as_str())?.strip_suffix('-'))
                .map(|name| ("Deployment", name))
        }
        "Job" => cron_job_of(&told.name).map(|name| ("CronJob", name)),
        // Mirrors of files belong to their node.
        "Node" => return None,
        _ => None,
    };
    let (kind, name) = parent.unwrap_or((&told.kind, &told.name));
    (fits(kind) && fits(name)).then(|| (kind.to_owned(), name.to_owned()))
}

fn listed_labels(labels: BTreeMap<String, String>, listed: &[String]) -> Vec<(String, String)> {
    labels
        .into_iter()
        .filter(|(key, value)| listed.contains(key) && fits(key) && fits(value))
        .collect()
}
