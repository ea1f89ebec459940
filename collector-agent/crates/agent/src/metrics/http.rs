//! As much of an HTTP server as one page takes: one request a connection, each bounded in bytes and time.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::threads::spawn;

/// Connections that are open at once. Of more, the oldest is ended: whoever scrapes asks at once and reads at once, and
/// connections that do neither keep nobody waiting.
const OPEN_MAX: usize = 64;

/// Most bytes of a request's head.
const MAX_HEAD_BYTES: usize = 8 << 10;
/// Longest time for a request and for its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Wait after a connection could not be taken, such as for lack of file descriptors.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// By which names requests may address the server: a page of another site cannot reach the figures through a name of
/// its own (DNS rebinding).
#[derive(Debug, Clone, Default)]
pub(super) struct HostNames {
    /// Whether any address is right, not only one of loopback.
    any_address: bool,
    names: Vec<String>,
}

impl HostNames {
    /// `localhost` and addresses of loopback.
    pub(super) fn loopback() -> Self {
        Self::default()
    }

    /// Any address, and these names beside `localhost`: for a server that other hosts reach.
    pub(super) fn of_network(names: Vec<String>) -> Self {
        Self {
            any_address: true,
            names,
        }
    }

    /// Whether the text of a `Host` header, with a port or without, names this host.
    fn has(&self, host: &str) -> bool {
        let name = host
            .rsplit_once(':')
            .map_or(host, |(name, port)| if port.ends_with(']') { host } else { name });
        let address = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost"
            || self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
            || address
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| self.any_address || address.is_loopback())
    }
}

/// Answers requests with a page, each in a thread of its own.
pub(super) struct Answerer<F> {
    patience: Duration,
    listener: TcpListener,
    names: HostNames,
    render: F,
    /// Connections by age.
    open: Mutex<VecDeque<(u64, TcpStream)>>,
}

impl<F: Fn() -> String + Send + Sync + 'static> Answerer<F> {
    /// Answers what comes to `listener`.
    pub(super) fn new(listener: TcpListener, names: HostNames, render: F) -> Self {
        Self {
            patience: PATIENCE,
            listener,
            names,
            render,
            open: Mutex::default(),
        }
    }

    /// Answers request after request, for good.
    pub(super) fn serve(self: &Arc<Self>) {
        for number in 0.. {
            let taken = self.listener.accept().map_err(anyhow::Error::from);
            if taken.and_then(|(stream, _)| self.take(number, stream)).is_err() {
                std::thread::sleep(AFTER_FAILURE);
            }
        }
    }

    /// Answers a connection in a thread of its own, and ends the oldest one where there are too many.
    fn take(self: &Arc<Self>, number: u64, stream: TcpStream) -> anyhow::Result<()> {
        let mut open = self.open();
        if open.len() >= OPEN_MAX
            && let Some((_, oldest)) = open.pop_front()
        {
            drop(oldest.shutdown(Shutdown::Both));
        }
        open.push_back((number, stream.try_clone()?));
        drop(open);
        let answerer = Arc::clone(self);
        let begun = spawn("metrics", move || {
            // Whoever goes away early has no answer to miss.
            drop(answerer.answer(stream));
            answerer.forget(number);
        });
        if begun.is_err() {
            self.forget(number);
        }
        begun.map(drop)
    }

    fn forget(&self, number: u64) {
        self.open().retain(|(other, _)| *other != number);
    }

    fn open(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_write_timeout(Some(self.patience))?;
        let (status, body) = match read_head(self.patience, &mut stream)? {
            None => ("400 Bad Request", "no request was understood\n".to_owned()),
            Some(head) => self.respond(&head),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())
    }

    fn respond(&self, head: &str) -> (&'static str, String) {
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (words.next(), words.next());
        let host = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim())
        });
        if !host.is_none_or(|host| self.names.has(host)) {
            return (
                "421 Misdirected Request",
                "only names of this host are answered\n".to_owned(),
            );
        }
        match (method, target) {
            (Some("GET"), Some("/metrics")) => ("200 OK", (self.render)()),
            (Some("GET"), _) => ("404 Not Found", "the figures are at /metrics\n".to_owned()),
            _ => ("405 Method Not Allowed", "only GET is answered\n".to_owned()),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than a request can take on a busy machine.
    const LONG: Duration = Duration::from_secs(300);

    fn ask(request: &str) -> String {
        ask_of(HostNames::loopback(), request)
    }

    fn serve(listener: TcpListener, names: HostNames) {
        let mut answerer = Answerer::new(listener, names, || "figures\n".to_owned());
        answerer.patience = LONG;
        let answerer = Arc::new(answerer);
        std::thread::spawn(move || answerer.serve());
    }

    fn ask_of(names: HostNames, request: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        serve(listener, names);
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
    fn a_server_for_other_hosts_answers_to_addresses_and_to_the_names_that_it_is_given() {
        let names = HostNames::of_network(vec!["node-7.example".to_owned()]);
        for (host, status) in [
            ("10.1.2.3:9465", "200 OK"),
            ("[fd00::7]:9465", "200 OK"),
            ("Node-7.example:9465", "200 OK"),
            ("node-7.example.evil.example", "421"),
        ] {
            let answer = ask_of(
                names.clone(),
                &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            );
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{host}: {answer}"
            );
        }
    }

    #[test]
    fn connections_that_say_nothing_keep_nobody_waiting() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        serve(listener, HostNames::loopback());
        let mut idle: Vec<TcpStream> = (0..2 * OPEN_MAX)
            .map(|_| TcpStream::connect(address).expect("connected"))
            .collect();
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        assert!(answer.ends_with("figures\n"), "{answer}");
        let mut ended = Vec::new();
        idle[0].read_to_end(&mut ended).expect("the oldest one was ended");
    }

    #[test]
    fn a_head_without_end_is_refused() {
        let start = "GET /metrics HTTP/1.1\r\nX: ";
        let endless = format!("{start}{}", "a".repeat(MAX_HEAD_BYTES - start.len()));
        assert!(ask(&endless).starts_with("HTTP/1.1 400"));
    }
}
