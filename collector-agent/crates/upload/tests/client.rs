//! The client against a small server made of a listening socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use tierscope_upload::{Client, Enrolment, Outcome, PlanAnswer, SentAt, Settings, UploadError};

/// A request as it arrived: its lines, lower case, and its body.
struct Request {
    lines: Vec<String>,
    body: Vec<u8>,
}

impl Request {
    fn has(&self, line: &str) -> bool {
        self.lines.iter().any(|other| other == line)
    }
}

/// Answers one connection after the other with the given texts; gives the requests.
fn serve(answers: Vec<String>) -> (Client, JoinHandle<Vec<Request>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = format!("http://{}/base/", listener.local_addr().expect("an address"));
    let thread = std::thread::spawn(move || {
        let answer = |text: String| {
            let (mut stream, _) = listener.accept().expect("a connection");
            let request = read_request(&stream);
            stream.write_all(text.as_bytes()).expect("answered");
            request
        };
        answers.into_iter().map(answer).collect()
    });
    (client(&server), thread)
}

fn client(server: &str) -> Client {
    Client::new(&Settings {
        server: server.to_owned(),
        ca_file: None,
        allow_http: false,
        agent_version: "0.1.0".to_owned(),
        timeout: Duration::from_secs(300),
    })
    .expect("settings are right")
}

fn read_request(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        let line = line.trim_end().to_lowercase();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let length = lines
        .iter()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).expect("the body");
    Request { lines, body }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
        body.len()
    )
}

#[test]
fn a_batch_carries_its_credential_and_encoding() {
    let (client, server) = serve(vec![answer(
        "200 OK",
        "",
        r#"{"result":"accepted","stored":{"counters":2},"too_late":1}"#,
    )]);
    let outcome = client.send_batch("secret", b"frame", None);
    let Outcome::Accepted(receipt) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((receipt.stored["counters"], receipt.too_late), (2, 1));
    let requests = server.join().expect("served");
    assert_eq!(requests[0].lines[0], "post /base/v1/ingest/batches http/1.1");
    assert!(requests[0].has("authorization: bearer secret"));
    assert!(requests[0].has("content-encoding: zstd"));
    assert!(requests[0].has("content-type: application/x-protobuf"));
    assert!(requests[0].has("user-agent: tierscope-agent/0.1.0"));
    assert_eq!(requests[0].body, b"frame");
}

#[test]
fn a_live_batch_says_what_the_clocks_were_when_it_was_sent() {
    let clocks = |wall_ns| {
        Some(SentAt {
            wall_ns,
            boottime_ns: 7,
        })
    };
    let (client, server) = serve(vec![answer("503 Busy", "", ""), answer("503 Busy", "", "")]);
    client.send_batch("secret", b"frame", clocks(1_795_221_490_441_000_000));
    client.send_batch("secret", b"frame", clocks(-1));
    let requests = server.join().expect("served");
    assert!(requests[0].has("x-tierscope-sent-wall-ns: 1795221490441000000"));
    assert!(requests[0].has("x-tierscope-sent-boottime-ns: 7"));
    let said = |line: &String| line.starts_with("x-tierscope");
    assert!(
        !requests[1].lines.iter().any(said),
        "a clock from before 1970 would have the batch refused"
    );
}

#[test]
fn an_unavailable_service_is_tried_again_when_it_says() {
    let (client, server) = serve(vec![
        answer("503 Service Unavailable", "Retry-After: 7\r\n", ""),
        answer("429 Too Many Requests", "Retry-After: 999999\r\n", ""),
    ]);
    let outcome = client.send_batch("secret", b"frame", None);
    assert!(
        matches!(outcome, Outcome::Retry { after: Some(wait), .. } if wait.as_secs() == 7),
        "{outcome:?}"
    );
    let outcome = client.send_batch("secret", b"frame", None);
    assert!(
        matches!(outcome, Outcome::Retry { after: Some(wait), .. } if wait.as_secs() == 3600),
        "{outcome:?}"
    );
    server.join().expect("served");
}

#[test]
fn a_cut_answer_and_a_dead_service_are_tried_again() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{\"result\":".to_owned();
    let (cut_off, server) = serve(vec![cut, String::new()]);
    assert!(matches!(
        cut_off.send_batch("secret", b"frame", None),
        Outcome::Retry { after: None, .. }
    ));
    assert!(matches!(
        cut_off.send_batch("secret", b"frame", None),
        Outcome::Retry { after: None, .. }
    ));
    server.join().expect("served");
    // No program is given this port when it asks for any free one.
    let nobody = client("http://127.0.0.1:1");
    assert!(
        matches!(
            nobody.send_batch("secret", b"frame", None),
            Outcome::Retry { after: None, .. }
        ),
        "nobody listens"
    );
}

#[test]
fn a_redirect_is_not_followed() {
    let (client, server) = serve(vec![answer(
        "307 Temporary Redirect",
        "Location: http://127.0.0.1:1/\r\n",
        "",
    )]);
    assert!(
        matches!(client.send_batch("secret", b"frame", None), Outcome::Held(problem) if problem.status == 307)
    );
    server.join().expect("served");
}

#[test]
fn enrolment_hands_over_the_token_and_gives_a_credential() {
    let unfit = [r"a\r\nX: b", r"a\u0000", "é", ""];
    let lies = unfit.map(|word| format!(r#"{{"host_id":"h1","credential":"{word}"}}"#));
    let mut answers: Vec<_> = lies.iter().map(|body| answer("201 Created", "", body)).collect();
    answers.extend([
        answer(
            "201 Created",
            "",
            r#"{"host_id":"h1","credential":"c1","more":1}"#,
        ),
        answer(
            "401 Unauthorized",
            "",
            r#"{"title":"join token is used up","next_step":"make another"}"#,
        ),
    ]);
    let (client, server) = serve(answers);
    let enrolment = Enrolment {
        join_token: "t1".to_owned(),
        hostname: "host-01".to_owned(),
        labels: [("rack".to_owned(), "r1".to_owned())].into(),
        origin: "live",
    };
    for word in unfit {
        let refused = client.enrol(&enrolment).expect_err(word).to_string();
        assert!(refused.contains("cannot stand in a header"), "{refused}");
    }
    let enrolled = client.enrol(&enrolment).expect("enrolled");
    assert_eq!(
        (enrolled.host_id.as_str(), enrolled.credential.as_str()),
        ("h1", "c1")
    );
    let refused = client.enrol(&enrolment).expect_err("refused").to_string();
    assert!(
        refused.contains("join token is used up: make another"),
        "{refused}"
    );
    let requests = server.join().expect("served");
    let body = String::from_utf8(requests[0].body.clone()).expect("text");
    assert_eq!(
        body,
        r#"{"join_token":"t1","hostname":"host-01","labels":{"rack":"r1"},"origin":"live"}"#
    );
}

#[test]
fn the_plan_is_asked_for_with_its_etag() {
    let (client, server) = serve(vec![
        answer(
            "200 OK",
            "ETag: \"a1\"\r\n",
            r#"{"interval_seconds":30,"send_minutes":5,"paused":true,"heat":{"enabled":false}}"#,
        ),
        answer("304 Not Modified", "", ""),
    ]);
    let PlanAnswer::Changed(plan, etag) = client.plan("secret", None, 10).expect("answered") else {
        panic!("no plan")
    };
    assert!(plan.paused && !plan.heat.enabled && plan.interval_seconds == 30 && plan.send_minutes == 5);
    assert_eq!(
        client.plan("secret", etag.as_deref(), 5).expect("answered"),
        PlanAnswer::Unchanged
    );
    let requests = server.join().expect("served");
    assert!(requests[0].has("x-tierscope-most-send-minutes: 10"));
    assert!(requests[1].has("if-none-match: \"a1\""));
}

#[test]
fn a_plan_names_services_and_nothing_else_of_it_counts() {
    let plans = [
        r#"{"heat":{"enabled":true,"services":["a/b"],"sample_services":[]},"command":"rm","url":"http://x"}"#,
        r#"{"heat":{"services":null}}"#,
    ];
    let (client, server) = serve(plans.map(|body| answer("200 OK", "", body)).to_vec());
    let heat = |client: &Client| match client.plan("secret", None, 5).expect("answered") {
        PlanAnswer::Changed(plan, _) => plan.heat,
        PlanAnswer::Unchanged => panic!("no plan"),
    };
    let narrowed = heat(&client);
    assert_eq!(narrowed.services, Some(vec!["a/b".to_owned()]));
    assert_eq!(narrowed.sample_services, Some(Vec::new()));
    let free = heat(&client);
    assert!(free.enabled && free.services.is_none() && free.sample_services.is_none());
    server.join().expect("served");
}

#[test]
fn a_credential_is_changed_with_the_one_in_use() {
    let body = r#"{"host_id":"h1","credential":"new"}"#;
    let (client, server) = serve(vec![
        answer("200 OK", "", body),
        answer("401 Unauthorized", "", ""),
    ]);
    assert_eq!(client.rotate("old").expect("answered").credential, "new");
    assert!(client.rotate("gone").is_err());
    let requests = server.join().expect("served");
    assert!(
        requests[0].has("post /base/v1/agent/rotate http/1.1"),
        "{:?}",
        requests[0].lines
    );
    assert!(
        requests[0].has("authorization: bearer old"),
        "{:?}",
        requests[0].lines
    );
}

#[test]
fn a_missing_or_empty_authority_file_is_named() {
    let empty = tempfile::NamedTempFile::new().expect("a file");
    for path in [empty.path().to_owned(), "/does/not/exist.pem".into()] {
        let settings = Settings {
            server: "https://127.0.0.1:1".to_owned(),
            ca_file: Some(path.clone()),
            allow_http: false,
            agent_version: "0".to_owned(),
            timeout: Duration::from_secs(1),
        };
        let error = Client::new(&settings).expect_err("refused");
        assert!(matches!(error, UploadError::Authorities { .. }));
        assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
    }
}
