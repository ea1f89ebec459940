//! The delivering side against a service that is scripted answer by answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use tempfile::TempDir;
use tierscope_opened::open;
use tierscope_sample::counters::{CounterSample, Key, Scope};
use tierscope_spool::{Limits, OsDisk};
use tierscope_upload::Settings;
use tierscope_upload::credential::Credential;
use tierscope_wire::{CounterRow, LayoutCache};

use super::*;
use crate::config::Config;

/// Answers POST after POST with a status and a problem slug; gives the bodies.
fn serve(answers: Vec<(u16, &'static str)>) -> (Client, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = move |(status, slug): (u16, &str)| {
        let (mut stream, _) = listener.accept().expect("a connection");
        let body = read_body(BufReader::new(&stream));
        let text = match status {
            200 => format!(r#"{{"result":"{slug}"}}"#),
            _ => format!(r#"{{"type":"https://tierscope.dev/problems/{slug}","title":"{slug}"}}"#),
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        stream
            .write_all(format!("{head}{text}").as_bytes())
            .expect("answered");
        body
    };
    let thread = std::thread::spawn(move || answers.into_iter().map(answer).collect());
    let settings = Settings {
        server,
        ca_file: None,
        allow_http: false,
        agent_version: "0".to_owned(),
        timeout: Duration::from_secs(300),
    };
    (Client::new(&settings).expect("settings are right"), thread)
}

fn read_body(mut reader: BufReader<&std::net::TcpStream>) -> Vec<u8> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body");
    body
}

/// What collector and uplink share, in `directory`.
pub(crate) fn shared(directory: &Path) -> Arc<Shared> {
    let limits = Limits::for_bytes(1 << 20);
    let spool = Spool::open(Box::new(OsDisk), &directory.join("spool"), limits, "machine").expect("opened");
    let credential = Credential {
        host_id: "h1".to_owned(),
        secret: "c1".to_owned(),
        obtained_wall_ns: wall_ns(),
    };
    let config = Config {
        state_dir: directory.to_owned(),
        ..Config::default()
    };
    Arc::new(Shared {
        spool: Mutex::new(spool),
        layouts: Mutex::new(LayoutStore::open(&directory.join("layouts")).expect("opened")),
        plan: Mutex::new(Plan::default()),
        most_send_minutes: 10,
        credential: CredentialStore::new(directory.join("credential.json"), credential),
        pause: Pause::new(&config),
        status: StatusFile::new(directory, None),
    })
}

/// Queues batches of one counter each. The first carries the layout, as in a real stream.
fn queue(shared: &Shared, batches: i64) {
    let (mut cache, mut sealer) = (LayoutCache::default(), Sealer::default());
    for value in 0..batches {
        let sample = CounterSample {
            end_wall_ns: value,
            end_boottime_ns: None,
            boot_id: Arc::from("boot"),
            values: vec![(Key::new(&Scope::Host, "vmstat", "pgfault"), Some(value))],
        };
        let row = CounterRow::new(&sample, &mut cache);
        lock(&shared.layouts).keep(&row.layout).expect("kept");
        let mut spool = lock(&shared.spool);
        let header = header("h1", spool.stream_id(), spool.next_seq(), "boot");
        let content = Content {
            counters: vec![row],
            ..Content::default()
        };
        for batch in sealer.seal(content, &header).expect("sealed") {
            spool.append(batch.seq, &batch.body).expect("appended");
        }
    }
}

fn uplink(shared: &Arc<Shared>, client: Client) -> Uplink {
    let (_sender, signals) = sync_channel(1);
    let allowance = Allowance::new(1 << 40);
    Uplink::new(Arc::clone(shared), client, signals, Duration::ZERO, allowance, 7)
}

fn pending(shared: &Shared) -> u64 {
    lock(&shared.spool).stats().pending_records
}

#[test]
fn an_outage_loses_nothing_and_a_repeat_is_acknowledged() {
    let directory = TempDir::new().expect("a directory");
    let shared = shared(directory.path());
    queue(&shared, 3);
    let (client, server) = serve(vec![
        (503, "not-ready"),
        (500, "internal"),
        (200, "accepted"),
        (502, "bad-gateway"),
        (200, "duplicate"),
        (200, "accepted"),
    ]);
    let mut uplink = uplink(&shared, client);
    for expected in [3, 3, 2] {
        assert!(matches!(uplink.deliver(), Next::Wait(_)));
        assert_eq!(pending(&shared), expected);
    }
    assert!(matches!(uplink.deliver(), Next::Idle));
    assert_eq!(pending(&shared), 0);
    let bodies = server.join().expect("served");
    assert!(
        bodies[0] == bodies[1] && bodies[1] == bodies[2],
        "the same bytes until they are taken"
    );
    assert!(bodies[3] == bodies[4]);
}

#[test]
fn a_batch_that_will_never_be_taken_does_not_block_the_queue() {
    let directory = TempDir::new().expect("a directory");
    let shared = shared(directory.path());
    queue(&shared, 2);
    let (client, server) = serve(vec![(422, "unreadable"), (200, "accepted")]);
    assert!(matches!(uplink(&shared, client).deliver(), Next::Idle));
    server.join().expect("served");
    let stats = lock(&shared.spool).stats();
    assert_eq!((stats.pending_records, stats.rejected), (0, 1));
    let reason = directory
        .path()
        .join("spool/rejected/00000000000000000000.reason");
    assert!(
        std::fs::read_to_string(reason)
            .expect("kept")
            .contains("unreadable")
    );
}

#[test]
fn a_revoked_credential_keeps_the_queue_and_is_reported() {
    let directory = TempDir::new().expect("a directory");
    let shared = shared(directory.path());
    queue(&shared, 2);
    let (client, server) = serve(vec![(401, "unknown-credential")]);
    let next = uplink(&shared, client).deliver();
    assert!(matches!(next, Next::Wait(wait) if wait >= HELD_WAIT));
    server.join().expect("served");
    assert_eq!(pending(&shared), 2);
    let status = std::fs::read_to_string(directory.path().join("status.json")).expect("written");
    assert!(status.contains("unknown-credential"), "{status}");
}

#[test]
fn a_service_that_lacks_a_layout_gets_it_in_a_batch_of_its_own() {
    let directory = TempDir::new().expect("a directory");
    let shared = shared(directory.path());
    queue(&shared, 2);
    let (client, server) = serve(vec![
        (200, "accepted"),
        (409, "unknown-layout"),
        (200, "accepted"),
        (200, "accepted"),
    ]);
    assert!(matches!(uplink(&shared, client).deliver(), Next::Idle));
    let bodies = server.join().expect("served");
    assert_eq!(bodies[1], bodies[3], "the refused batch again, unchanged");
    let layouts = open(&bodies[2], &[]).expect("readable");
    assert_eq!(layouts.header.seq, 2, "a number of its own");
    assert_eq!(layouts.content.layouts.len(), 1);
    assert!(layouts.content.counters.is_empty());
    let refused = open(&bodies[1], &layouts.content.layouts).expect("readable with that layout");
    assert_eq!(refused.content.counters[0].values, [Some(1)]);
}

#[test]
fn a_service_that_asks_for_layouts_for_ever_is_left_alone() {
    let directory = TempDir::new().expect("a directory");
    let shared = shared(directory.path());
    queue(&shared, 1);
    let mut answers = Vec::new();
    for _ in 0..MAX_LAYOUT_ANSWERS {
        answers.extend([(409, "unknown-layout"), (200, "accepted")]);
    }
    answers.push((409, "unknown-layout"));
    let (client, server) = serve(answers);
    assert!(matches!(uplink(&shared, client).deliver(), Next::Wait(wait) if wait >= HELD_WAIT));
    server.join().expect("served");
    assert_eq!(pending(&shared), 1);
}

#[test]
fn a_pause_holds_everything_and_a_spent_budget_the_rest() {
    let directory = TempDir::new().expect("a directory");
    let shared = shared(directory.path());
    queue(&shared, 2);
    let (client, server) = serve(vec![(200, "accepted")]);
    let mut uplink = uplink(&shared, client);
    let pause = directory.path().join("pause");
    std::fs::write(&pause, "").expect("written");
    assert!(matches!(uplink.deliver(), Next::Wait(wait) if wait == PAUSED_WAIT));
    assert_eq!(pending(&shared), 2);
    std::fs::remove_file(&pause).expect("removed");
    // Smaller than any batch: one goes, the next waits until it is paid back.
    uplink.allowance = Allowance::new(60);
    assert!(matches!(uplink.deliver(), Next::Wait(wait) if wait > PAUSED_WAIT));
    assert_eq!(server.join().expect("served").len(), 1);
    assert_eq!(pending(&shared), 1);
}

#[test]
fn a_credential_that_the_service_forgot_gives_way_to_the_one_before() {
    let directory = TempDir::new().expect("a directory");
    let shared = shared(directory.path());
    queue(&shared, 1);
    let previous = directory.path().join("credential.previous");
    std::fs::write(&previous, r#"{"host_id":"h1","credential":"c0"}"#).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&previous, mode).expect("changed");
    let (client, server) = serve(vec![(401, "unknown-credential"), (200, "accepted")]);
    assert!(matches!(uplink(&shared, client).deliver(), Next::Idle));
    assert_eq!(server.join().expect("served").len(), 2);
    assert_eq!((shared.credential.secret().as_str(), pending(&shared)), ("c0", 0));
}
