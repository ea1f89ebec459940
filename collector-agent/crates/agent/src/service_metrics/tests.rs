//! Sources that answer, hang, fail and restart.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::*;

fn config(text: &str) -> Vec<ServiceMetricsConfig> {
    #[derive(serde::Deserialize)]
    struct File {
        service_metrics: Vec<ServiceMetricsConfig>,
    }
    toml::from_str::<File>(text).unwrap().service_metrics
}

/// Answers each connection with the next of these answers, then with none.
fn server(answers: Vec<String>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 2048];
            let _ = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    port
}

fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn body(requests: f64, slow: f64) -> String {
    format!(
        "requests_total{{code=\"200\"}} {requests}\nrequests_total{{code=\"500\"}} 1\nconnections 12.5\n\
         latency_seconds_bucket{{le=\"0.001\"}} {}\nlatency_seconds_bucket{{le=\"0.01\"}} {requests}\n\
         latency_seconds_bucket{{le=\"+Inf\"}} {requests}\nlatency_seconds_count {requests}\n",
        requests - slow
    )
}

/// On a busy machine an answer takes long, and is an answer all the same.
fn start(configs: &[ServiceMetricsConfig]) -> ServiceMetrics {
    let long = Duration::from_secs(300);
    let limits = Limits {
        round: long,
        patience: long,
    };
    ServiceMetrics::start_within(limits, configs).unwrap()
}

/// One round; values by name of the only service.
fn round(metrics: &mut ServiceMetrics) -> (Vec<Option<i64>>, CollectorCost) {
    metrics.begin();
    let (values, cost) = metrics.finish();
    (values.into_iter().map(|(_, value)| value).collect(), cost)
}

const MAPPED: &str = "throughput = \"requests_total{code=\\\"200\\\"}\"\nload = \"connections\"\nlatency = \"latency_seconds\"\n";

#[test]
fn an_endpoint_gives_throughput_load_and_the_latency_of_each_interval() {
    let port = server(vec![
        answer("200 OK", &body(1000.0, 0.0)),
        answer("200 OK", &body(1100.0, 50.0)),
        answer("500 Oh", ""),
        answer("200 OK", &body(10.0, 0.0)),
    ]);
    let text = format!(
        "[[service_metrics]]\nservice = \"shop/cart\"\nurl = \"http://127.0.0.1:{port}/metrics\"\ntimeout_ms = 300000\n{MAPPED}"
    );
    let mut metrics = start(&config(&text));
    let keys: Vec<String> = metrics.keys.iter().map(|key| key.as_str().to_owned()).collect();
    assert_eq!(keys[5], "service:shop/cart|metrics|throughput_total_milli");
    let (first, cost) = round(&mut metrics);
    assert_eq!(
        first,
        [None, None, None, Some(12_500), None, Some(1_000_000)],
        "{cost:?}"
    );
    assert_eq!((cost.runs, cost.failures), (1, 0));
    let (second, _) = round(&mut metrics);
    // Of 100 requests 50 stayed below 1 ms: the median is its bound, 99 % lie at 98 % of the way from 1 to 10 ms.
    assert_eq!(
        second,
        [
            None,
            Some(1_000_000),
            Some(9_820_000),
            Some(12_500),
            None,
            Some(1_100_000)
        ]
    );
    let (third, cost) = round(&mut metrics);
    assert_eq!(third, [None; 6]);
    assert_eq!(cost.failures, 1);
    assert!(
        cost.last_error.contains("shop/cart") && cost.last_error.contains("status 500"),
        "{}",
        cost.last_error
    );
    let (fourth, _) = round(&mut metrics);
    assert_eq!(fourth[5], Some(10_000), "a restart starts the counter anew");
    assert_eq!(fourth[1], None, "and has no latency before its second reading");
}

#[test]
fn a_file_gives_its_age_and_a_metric_that_is_not_there_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db.prom");
    std::fs::write(
        &path,
        "rate 7.25\nlatency{quantile=\"0.5\"} 3\nlatency{quantile=\"0.99\"} NaN\nbroken line here\n",
    )
    .unwrap();
    let text = format!(
        "[[service_metrics]]\nservice = \"db\"\nfile = {path:?}\nthroughput_per_s = \"rate\"\nlatency = \"latency\"\nlatency_unit = \"ms\"\nload = \"queue\"\n"
    );
    let mut metrics = start(&config(&text));
    let written_s = 1_000_000_000;
    let written = std::time::UNIX_EPOCH + Duration::from_secs(written_s);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(written).unwrap();
    let age_s = || tierscope_clock::wall_ns() / tierscope_clock::SECOND_NS - written_s.cast_signed();
    let before_s = age_s();
    let (values, cost) = round(&mut metrics);
    assert!(
        values[0].is_some_and(|seen_s| (before_s..=age_s()).contains(&seen_s)),
        "{values:?}"
    );
    assert_eq!(values[1..], [Some(3_000_000), None, None, Some(7250), None]);
    assert!(
        cost.failures == 1 && cost.last_error.contains("`queue`"),
        "{}",
        cost.last_error
    );
    assert!(metrics.keys[0].as_str().starts_with("service:host/db|"));
    std::fs::remove_file(&path).unwrap();
    let (values, cost) = round(&mut metrics);
    assert_eq!(values, [None; 6]);
    assert!(cost.last_error.contains("cannot be read"), "{}", cost.last_error);
}

#[test]
fn a_service_that_hangs_fails_alone() {
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = hanging.local_addr().unwrap().port();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ok.prom");
    std::fs::write(&path, "work_total 2\n").unwrap();
    let text = format!(
        "[[service_metrics]]\nservice = \"host/hangs\"\nurl = \"http://127.0.0.1:{port}/\"\nload = \"x\"\ntimeout_ms = 50\n\
         [[service_metrics]]\nservice = \"host/works\"\nfile = {path:?}\nthroughput = \"work_total\"\n"
    );
    let mut metrics = start(&config(&text));
    let (values, cost) = round(&mut metrics);
    assert_eq!(values.len(), 12);
    assert_eq!((values[3], values[11]), (None, Some(2000)));
    assert!(
        cost.failures == 1 && cost.last_error.contains("host/hangs"),
        "{}",
        cost.last_error
    );
}

#[test]
fn mistakes_of_the_settings_are_named() {
    let of = |text: &str| check(&config(&format!("[[service_metrics]]\n{text}")));
    assert_eq!(
        of("service = \"a/b\"\nurl = \"http://x/\"\nload = \"l\"\n"),
        Ok(())
    );
    for (text, fix) in [
        (
            "service = \"a/b\"\nurl = \"https://x/\"\nload = \"l\"\n",
            "http://",
        ),
        ("service = \"a/b\"\nload = \"l\"\n", "one of `url` and `file`"),
        ("service = \"a/b\"\nfile = \"rel\"\nload = \"l\"\n", "absolute"),
        ("service = \"a/b\"\nurl = \"http://x/\"\n", "at least one"),
        (
            "service = \"\"\nurl = \"http://x/\"\nload = \"l\"\n",
            "namespace/name",
        ),
        (
            "service = \"a\"\nurl = \"http://x/\"\nload = \"l\"\ntimeout_ms = 9\n",
            "10 to 2000",
        ),
    ] {
        let error = of(text).unwrap_err();
        assert!(error.contains(fix), "{error}");
    }
    let twice = "service = \"a\"\nurl = \"http://x/\"\nload = \"l\"\n[[service_metrics]]\nservice = \"a\"\nurl = \"http://y/\"\nload = \"l\"\n";
    assert!(of(twice).unwrap_err().contains("one source"));
}

#[test]
fn values_come_in_among_others_in_order() {
    let key = |text: &str| (Key::from_text(text), Some(1));
    let mut values = vec![key("a"), key("c")];
    merge(&mut values, vec![key("b"), key("d")]);
    assert!(values.is_sorted_by(|a, b| a.0 < b.0));
}
