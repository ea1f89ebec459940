//! A server on loopback that answers as the API server does, and servers that do not.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tierscope_host::services::{Rules, discover};
use tierscope_host::{names::NamePolicy, pods as kubelet};
use tierscope_rootfs::Reader;
use tierscope_sample::inventory::Pod;

use super::*;
use crate::fake_root::FakeRoot;
use crate::live::LiveSource;

const ZONE: &str = "topology.kubernetes.io/zone";
/// On a busy machine an answer takes long, and is an answer all the same.
const LONG: Duration = Duration::from_secs(300);

fn config() -> KubernetesConfig {
    KubernetesConfig {
        labels: vec![ZONE.to_owned()],
        api: true,
        pod_labels: vec!["team".to_owned()],
        ..KubernetesConfig::default()
    }
}

/// Metadata as the API server sends it, with fields that the agent passes over.
fn pod(uid: &str, name: &str, labels: &str, owner: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"shop","uid":"{uid}","resourceVersion":"4711","managedFields":[{{}}],
        "labels":{{{labels}}}{owner}}}}}"#
    )
}

fn owned(kind: &str, name: &str) -> String {
    format!(
        r#","ownerReferences":[{{"apiVersion":"v1","kind":"Other","name":"x","uid":"1"}},
        {{"apiVersion":"apps/v1","kind":"{kind}","name":"{name}","uid":"2","controller":true}}]"#
    )
}

fn pod_list() -> String {
    let hash = r#""pod-template-hash":"7c9d8b6f5","team":"checkout","secret":"x""#;
    let pods = [
        pod(
            "aa-1",
            "cart-7c9d8b6f5-x2k9z",
            hash,
            &owned("ReplicaSet", "cart-7c9d8b6f5"),
        ),
        pod("bb-1", "node-agent-x2k9z", "", &owned("DaemonSet", "node-agent")),
        pod(
            "cc-1",
            "nightly-28391040-x2k9z",
            "",
            &owned("Job", "nightly-28391040"),
        ),
        pod("dd-1", "once-x2k9z", "", &owned("Job", "once")),
        pod("ee-1", "bare", "", ""),
        pod("ff-1", "lone-x2k9z", "", &owned("ReplicaSet", "lone")),
    ];
    format!(
        r#"{{"kind":"PartialObjectMetadataList","metadata":{{}},"items":[{}]}}"#,
        pods.join(",")
    )
}

const NODE: &str = r#"{"kind":"PartialObjectMetadata","metadata":{"name":"node-7",
    "labels":{"topology.kubernetes.io/zone":"eu-1a","kubernetes.io/os":"linux"}}}"#;

fn answer(status: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn head(stream: &mut impl Read) -> String {
    let mut head = String::new();
    let mut lines = BufReader::new(stream);
    while lines.read_line(&mut head).is_ok_and(|read| read > 2) {}
    head
}

/// Answers each connection with the next of these, and tells what was asked.
fn plain_server(answers: Vec<Vec<u8>>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, questions) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = asked.send(head(&mut stream));
            // A client that has read enough goes away.
            let _ = stream.write_all(&answer);
        }
    });
    (url, questions)
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/kubernetes")
        .join(name)
}

/// The same over TLS, with a certificate of the authority in `ca.crt`.
fn tls_server(answers: Vec<Vec<u8>>) -> (String, Receiver<String>) {
    let chain = vec![CertificateDer::from_pem_file(testdata("server.crt")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(testdata("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (asked, questions) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut tls = rustls::Stream::<_, TcpStream>::new(&mut session, &mut stream);
            let _ = asked.send(head(&mut tls));
            let _ = tls.write_all(&answer);
            session.send_close_notify();
            let _ = session.complete_io(&mut stream);
        }
    });
    (url, questions)
}

/// A folder with a token, and access with it.
fn access(url: String) -> (tempfile::TempDir, Access) {
    let folder = tempfile::tempdir().unwrap();
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, "ey.to.ken\n").unwrap();
    let access = Access {
        url,
        token_file,
        ca_file: testdata("ca.crt"),
        patience: LONG,
    };
    (folder, access)
}

fn owner_of(told: &api::Told, uid: &str) -> Option<(String, String)> {
    told.pods.as_ref().unwrap()[uid].owner.clone()
}

#[test]
fn a_cluster_tells_owners_and_listed_labels_over_tls() {
    let (url, questions) = tls_server(vec![answer("200 OK", &pod_list()), answer("200 OK", NODE)]);
    let (_folder, access) = access(url);
    let told = access.ask("node-7", &config());
    assert_eq!(told.problem, None);
    for (uid, wanted) in [
        ("aa-1", Some(("Deployment", "cart"))),
        ("bb-1", Some(("DaemonSet", "node-agent"))),
        ("cc-1", Some(("CronJob", "nightly"))),
        ("dd-1", Some(("Job", "once"))),
        ("ee-1", None),
        ("ff-1", Some(("ReplicaSet", "lone"))),
    ] {
        let wanted = wanted.map(|(kind, name)| (kind.to_owned(), name.to_owned()));
        assert_eq!(owner_of(&told, uid), wanted, "{uid}");
    }
    let pods = told.pods.unwrap();
    assert_eq!(pods["aa-1"].labels, [("team".to_owned(), "checkout".to_owned())]);
    assert_eq!(told.node_labels.unwrap(), [(ZONE.to_owned(), "eu-1a".to_owned())]);
    let (list, node) = (questions.recv().unwrap(), questions.recv().unwrap());
    assert!(
        list.starts_with("GET /api/v1/pods?fieldSelector=spec.nodeName%3Dnode-7&"),
        "{list}"
    );
    assert!(node.starts_with("GET /api/v1/nodes/node-7?"), "{node}");
    assert!(
        list.to_lowercase().contains("authorization: bearer ey.to.ken"),
        "{list}"
    );
}

#[test]
fn a_mirror_is_the_pod_that_the_node_knows_by_its_file() {
    let annotated = |uid: &str, more: &str| {
        format!(r#"{{"metadata":{{"name":"etcd-node-7","namespace":"kube-system","uid":"{uid}"{more}}}}}"#)
    };
    let mirror =
        r#","annotations":{"kubernetes.io/config.mirror":"ab12","kubernetes.io/config.hash":"ab12"}"#;
    let body = format!(
        r#"{{"items":[{},{},{}]}}"#,
        annotated("mm-1", &format!("{mirror}{}", owned("Node", "node-7"))),
        annotated("nn-1", ""),
        pod(
            "ii-1",
            "nightly-28391040-0-x2k9z",
            "",
            &owned("Job", "nightly-28391040")
        ),
    );
    let (url, _) = plain_server(vec![answer("200 OK", &body), answer("200 OK", NODE)]);
    let (_folder, access) = access(url);
    let told = access.ask("node-7", &config());
    let uids: Vec<&String> = told.pods.as_ref().unwrap().keys().collect();
    assert_eq!(uids, ["ab12", "ii-1", "nn-1"]);
    assert_eq!(owner_of(&told, "ab12"), None, "a node owns no pods");
    assert_eq!(owner_of(&told, "ii-1").unwrap().0, "CronJob");
}

#[test]
fn no_pods_mean_another_name_of_the_node() {
    for body in [r#"{"items":null}"#, r#"{"items":[]}"#, "{}"] {
        let (url, _) = plain_server(vec![answer("200 OK", body)]);
        let (_folder, access) = access(url);
        let problem = access.ask("node-7", &config()).problem.unwrap();
        assert!(problem.contains("--hostname"), "{problem}");
    }
}

#[test]
fn pods_that_are_known_whole_are_not_unavailable_where_labels_of_the_node_are() {
    let (url, _) = plain_server(vec![answer("200 OK", &pod_list()), answer("403 Forbidden", "")]);
    let (_folder, access) = access(url);
    let told = access.ask("node-7", &config());
    assert!(told.problem.is_some());
    let unknown = Pod {
        service: "cart".to_owned(),
        name: "cart-1".to_owned(),
        ..Pod::default()
    };
    let known = Pod {
        labels_known: true,
        ..unknown.clone()
    };
    let list = |pod: &Pod| running(&[("aa-1".to_owned(), pod.clone())].into(), Some(&told)).unwrap();
    assert_eq!(list(&known).unavailable, "");
    assert!(list(&unknown).unavailable.contains("may not get nodes"));
}

#[test]
fn a_server_of_another_authority_gets_no_token() {
    let (url, questions) = tls_server(vec![answer("200 OK", &pod_list())]);
    let (folder, mut access) = access(url);
    access.ca_file = folder.path().join("ca.crt");
    std::fs::write(&access.ca_file, std::fs::read(testdata("server.crt")).unwrap()).unwrap();
    let told = access.ask("node-7", &config());
    assert!(told.problem.unwrap().contains("does not answer"));
    assert_eq!(questions.recv().unwrap_or_default(), "");
}

#[test]
fn refusals_say_what_to_do_and_keep_what_was_told() {
    let (url, _) = plain_server(vec![
        answer("200 OK", &pod_list()),
        answer("403 Forbidden", "{}"),
        answer("403 Forbidden", "{}"),
        answer("401 Unauthorized", "{}"),
        answer("302 Found", ""),
        answer("200 OK", "{\"items\":[{\"metadata\":"),
    ]);
    let (_folder, access) = access(url);
    let half = access.ask("node-7", &config());
    assert_eq!(half.pods.map(|pods| pods.len()), Some(6));
    assert_eq!(half.node_labels, None);
    assert!(half.problem.unwrap().contains("may not get nodes"));
    for wanted in ["may not list pods", "401", "status 302", "cannot be read"] {
        let told = access.ask("node-7", &config());
        assert_eq!(told.pods, None);
        let problem = told.problem.unwrap();
        assert!(problem.contains(wanted), "{problem}");
    }
}

#[test]
fn a_body_beyond_the_bound_is_not_read() {
    let mut body = "{\"items\":[".to_owned();
    while body.len() < 9 << 20 {
        let _ = write!(body, "{},", pod("aa-1", &"x".repeat(4000), "", ""));
    }
    let (url, _) = plain_server(vec![answer("200 OK", &body)]);
    let (_folder, access) = access(url);
    let problem = access.ask("node-7", &config()).problem.unwrap();
    assert!(problem.contains("at most 8 MiB"), "{problem}");
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_folder, mut access) = access(format!("http://{}", listener.local_addr().unwrap()));
    access.patience = Duration::from_millis(50);
    let problem = access.ask("node-7", &config()).problem.unwrap();
    assert!(problem.contains("timeout"), "{problem}");
}

#[test]
fn without_a_token_or_a_node_nothing_is_asked() {
    let (_folder, mut access) = access("http://127.0.0.1:1".to_owned());
    for node in ["", "node 7", "a/../b", "x?y"] {
        let problem = access.ask(node, &config()).problem.unwrap();
        assert!(problem.contains("--hostname"), "{problem}");
    }
    std::fs::write(&access.token_file, "two words\r\nX: y").unwrap();
    assert!(
        access
            .ask("node-7", &config())
            .problem
            .unwrap()
            .contains("holds no token")
    );
    access.token_file = PathBuf::from("/nowhere/token");
    let problem = access.ask("node-7", &config()).problem.unwrap();
    assert!(problem.contains("automountServiceAccountToken"), "{problem}");
}

#[test]
fn what_was_told_stays_until_it_is_told_anew() {
    let (url, _) = plain_server(vec![
        answer("200 OK", &pod_list()),
        answer("200 OK", NODE),
        answer("500 Oh", ""),
    ]);
    let (_folder, access) = access(url);
    let mut cluster = Cluster::start_with(Ok(access), &config(), "node-7").unwrap();
    let running = ["aa-1".to_owned()];
    assert_eq!(cluster.told().pods, None);
    cluster.look(0, running.iter());
    cluster.wait();
    let told = cluster.told().clone();
    assert_eq!(told.pods.as_ref().map(std::collections::BTreeMap::len), Some(6));
    assert_eq!(cluster.finding(), None);
    let minute = 60 * tierscope_clock::SECOND_NS;
    // A pod that the answer does not hold is asked for, though not at once.
    let more = ["aa-1".to_owned(), "zz-1".to_owned()];
    cluster.look(minute, more.iter());
    cluster.look(2 * minute, more.iter());
    cluster.wait();
    let cost = cluster.cost();
    assert_eq!((cost.runs, cost.failures), (2, 1));
    assert!(cost.last_error.contains("status 500"), "{}", cost.last_error);
    assert!(cluster.finding().unwrap().cause.contains("status 500"));
    assert_eq!(
        (&cluster.told().pods, &cluster.told().node_labels),
        (&told.pods, &told.node_labels)
    );
}

fn node_with_pods() -> FakeRoot {
    let root = FakeRoot::new();
    root.write("sys/fs/cgroup/cgroup.controllers", "memory\n");
    for (pid, pod) in [(10, "aa-1"), (11, "aa-1"), (12, "zz-1")] {
        let group = format!("/kubepods/burstable/pod{pod}/c{pid}");
        root.write(&format!("sys/fs/cgroup{group}/memory.stat"), "anon 1\n");
        let stat = format!("{pid} (java) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 {pid}00 0 0");
        root.write(&format!("proc/{pid}/stat"), &stat);
        root.write(&format!("proc/{pid}/cmdline"), "/usr/bin/java\0");
        root.write(&format!("proc/{pid}/cgroup"), &format!("0::{group}\n"));
    }
    for pod in ["shop_cart-7c9d8b6f5-x2k9z_aa-1", "shop_gone-0_yy-1"] {
        std::fs::create_dir_all(root.root().join(&format!("/var/log/pods/{pod}"))).unwrap();
    }
    root
}

#[test]
fn pods_are_known_by_their_names_where_the_cluster_is_not_asked() {
    let root = node_with_pods();
    let discovered = discover(
        &root.root(),
        &Rules::new(NamePolicy::with_fleet_key(b"k", Vec::new())),
    );
    let names = kubelet::read(&Reader::new(root.root()));
    let found = describe(&names, &discovered, None);
    let list = running(&found, None).unwrap();
    let uids: Vec<&str> = list.pods.iter().map(|pod| pod.uid.as_str()).collect();
    assert_eq!(uids, ["aa-1", "zz-1"], "one that ended is not among them");
    let known = &list.pods[0];
    assert_eq!(
        (
            known.owner_kind.as_str(),
            known.owner.as_str(),
            known.owner_source.as_str()
        ),
        ("Deployment", "cart", "name")
    );
    assert_eq!(
        (known.service_namespace.as_str(), known.service.as_str()),
        ("shop", "cart")
    );
    assert!(!known.labels_known);
    assert_eq!(
        (list.pods[1].name.as_str(), list.pods[1].owner_source.as_str()),
        ("", "")
    );
    assert_eq!(list.unavailable, "");
    let unnamed = describe(&kubelet::Pods::new(), &discovered, None);
    assert!(
        running(&unnamed, None)
            .unwrap()
            .unavailable
            .contains("/var/log/pods")
    );
    assert_eq!(
        running(
            &describe(
                &names,
                &discover(&FakeRoot::new().root(), &Rules::new(NamePolicy::plain())),
                None
            ),
            None
        ),
        None
    );
}

#[test]
fn the_word_of_the_cluster_counts_and_reaches_the_inventory() {
    let (url, _) = plain_server(vec![answer("200 OK", &pod_list()), answer("200 OK", NODE)]);
    let (_folder, access) = access(url);
    let settings = crate::config::Config {
        kubernetes: config(),
        ..crate::config::Config::default()
    };
    let root = node_with_pods();
    let mut source = LiveSource::beneath(&root.root(), &settings).unwrap();
    let mut cluster = Cluster::start_with(Ok(access), &config(), "node-7").unwrap();
    let before = source.with_cluster(cluster_that_waits());
    assert!(before.kubernetes_labels_partial && before.kubernetes_labels.is_empty());
    cluster.look(0, std::iter::empty());
    cluster.wait();
    let inventory = source.with_cluster(cluster);
    assert_eq!(
        inventory.kubernetes_labels,
        [(ZONE.to_owned(), "eu-1a".to_owned())]
    );
    assert!(!inventory.kubernetes_labels_partial);
    let pods = inventory.pods.clone().unwrap();
    assert_eq!((pods.pods.len(), pods.unavailable.as_str()), (2, ""));
    assert_eq!(pods.pods[0].owner_source, "api");
    assert_eq!(pods.pods[0].labels, [("team".to_owned(), "checkout".to_owned())]);
    let collector = inventory
        .collectors
        .iter()
        .find(|collector| collector.name == COLLECTOR)
        .unwrap();
    assert!(collector.active);
}

/// One whose server was not found.
fn cluster_that_waits() -> Cluster {
    Cluster::start_with(Err("no cluster".to_owned()), &config(), "node-7").unwrap()
}
