//! As much of an HTTP server as one page takes: one request at a time, each bounded in bytes and time.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Most bytes of a request's head.
const MAX_HEAD_BYTES: usize = 8 << 10;
/// Longest time for a request and for its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Wait after a connection could not be taken, such as for lack of file descriptors.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Answers request after request, for good.
pub(super) fn serve(listener: &TcpListener, render: &dyn Fn() -> String) {
    serve_within(PATIENCE, listener, render);
}

fn serve_within(patience: Duration, listener: &TcpListener, render: &dyn Fn() -> String) {
    for stream in listener.incoming() {
        match stream {
            // Whoever goes away early has no answer to miss.
            Ok(stream) => drop(answer(patience, stream, render)),
            Err(_) => std::thread::sleep(AFTER_FAILURE),
        }
    }
}

fn answer(patience: Duration, mut stream: TcpStream, render: &dyn Fn() -> String) -> std::io::Result<()> {
    stream.set_write_timeout(Some(patience))?;
    let (status, body) = match read_head(patience, &mut stream)? {
        None => ("400 Bad Request", "no request was understood\n".to_owned()),
        Some(head) => respond(&head, render),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// The request up to its empty line; `None` when it does not come whole, in time and within its bound.
fn read_head(patience: Duration, stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let deadline = Instant::now() + patience;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while head.len() < MAX_HEAD_BYTES {
        let Some(left) = deadline
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
        else {
            return Ok(None);
        };
        stream.set_read_timeout(Some(left))?;
        let bytes = stream.read(&mut part)?;
        if bytes == 0 {
            return Ok(None);
        }
        head.extend_from_slice(&part[..bytes]);
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(String::from_utf8(head).ok());
        }
    }
    Ok(None)
}

fn respond(head: &str, render: &dyn Fn() -> String) -> (&'static str, String) {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next(), words.next());
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    if !host.is_none_or(is_loopback_name) {
        return (
            "421 Misdirected Request",
            "only names of this host are answered\n".to_owned(),
        );
    }
    match (method, target) {
        (Some("GET"), Some("/metrics")) => ("200 OK", render()),
        (Some("GET"), _) => ("404 Not Found", "the figures are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET is answered\n".to_owned()),
    }
}

/// Whether a `Host` header names this host: a page elsewhere cannot reach the figures through a name of its own.
fn is_loopback_name(host: &str) -> bool {
    let name = host
        .rsplit_once(':')
        .map_or(host, |(name, port)| if port.ends_with(']') { host } else { name });
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than a request can take on a busy machine.
    const LONG: Duration = Duration::from_secs(300);

    fn ask(request: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || serve_within(LONG, &listener, &|| "figures\n".to_owned()));
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.write_all(request.as_bytes()).expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("shut");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer
    }

    #[test]
    fn only_the_page_is_served_and_only_to_this_hosts_names() {
        let cases = [
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9465\r\n\r\n", "200 OK"),
            ("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n", "200 OK"),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]:9465\r\n\r\n", "200 OK"),
            ("GET /metrics HTTP/1.0\r\n\r\n", "200 OK"),
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET /metrics HTTP/1.1\r\nHost: evil.example:9465\r\n\r\n", "421"),
            ("GET /metrics HTTP/1.1\r\n", "400"),
            ("\u{1}\r\n\r\n", "405"),
        ];
        for (request, status) in cases {
            let answer = ask(request);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{request}: {answer}"
            );
            assert_eq!(answer.ends_with("figures\n"), status == "200 OK", "{request}");
        }
    }

    #[test]
    fn a_head_without_end_is_refused() {
        let start = "GET /metrics HTTP/1.1\r\nX: ";
        let endless = format!("{start}{}", "a".repeat(MAX_HEAD_BYTES - start.len()));
        assert!(ask(&endless).starts_with("HTTP/1.1 400"));
    }
}
