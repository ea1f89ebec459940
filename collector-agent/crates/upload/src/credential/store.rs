//! The credential in use, and its daily change.
//!
//! The service takes the one before for 24 hours more, so a crash at any moment leaves a credential that works: the file
//! is replaced only once the new one is known, and the old one is kept beside it.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tierscope_clock::{SECOND_NS, wall_ns};

use crate::Client;
use anyhow::{Result, ensure};

use super::file::{Credential, load_file, previous, save};

const HOUR_NS: i64 = 3600 * SECOND_NS;
/// A credential is changed when it is this old.
const CHANGE_AFTER_NS: i64 = 24 * HOUR_NS;
/// Wait after a change that failed.
const RETRY_AFTER_NS: i64 = HOUR_NS;

/// The credential of this host, shared by the threads.
pub struct CredentialStore {
    path: PathBuf,
    host_id: String,
    kept: Mutex<Kept>,
}

struct Kept {
    current: Credential,
    /// No change is tried before.
    not_before_wall_ns: i64,
}

impl CredentialStore {
    /// The store of the credential that was read from, or written to, `path`.
    pub fn new(path: PathBuf, current: Credential) -> Self {
        Self {
            path,
            host_id: current.host_id.clone(),
            kept: Mutex::new(Kept {
                current,
                not_before_wall_ns: i64::MIN,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the service knows this host by; it never changes.
    pub fn host_id(&self) -> &str {
        &self.host_id
    }

    /// The secret in use.
    pub fn secret(&self) -> String {
        self.lock().current.secret.clone()
    }

    /// Whether it is time for a new one. A clock that went back makes it so too.
    pub fn is_due(&self) -> bool {
        let (kept, now_ns) = (self.lock(), wall_ns());
        let age_ns = now_ns - kept.current.obtained_wall_ns;
        !(0..CHANGE_AFTER_NS).contains(&age_ns) && now_ns >= kept.not_before_wall_ns
    }

    /// Gets a new one. After a failure the old one stays in use, and the next try is an hour later.
    pub fn change(&self, client: &Client) -> Result<()> {
        let old = {
            let mut kept = self.lock();
            kept.not_before_wall_ns = wall_ns() + RETRY_AFTER_NS;
            kept.current.clone()
        };
        let new = Credential::from(client.rotate(&old.secret)?);
        ensure!(
            new.host_id == self.host_id,
            "the service gave this host the credential of another one"
        );
        save(&previous(&self.path), &old)?;
        save(&self.path, &new)?;
        self.lock().current = new;
        Ok(())
    }

    /// Goes back to the one before when the service does not know the one in use, as after it was restored from a
    /// backup. `false` when there is no other one.
    pub fn go_back(&self) -> bool {
        let mut kept = self.lock();
        match load_file(&previous(&self.path)) {
            Ok(Some(previous)) if previous.secret != kept.current.secret => {
                kept.current = previous;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::path::Path;

    /// Answers each request with the next text; gives the authorisations that were sent.
    fn serve(answers: Vec<&'static str>) -> (Client, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let server = format!("http://{}", listener.local_addr().expect("an address"));
        let thread = std::thread::spawn(move || {
            let answer = |text: &str| {
                let (mut stream, _) = listener.accept().expect("a connection");
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                stream.write_all(text.as_bytes()).expect("answered");
                assert!(head[0].starts_with("POST /v1/agent/rotate "), "{head:?}");
                let secret = head.iter().find_map(|line| line.split_once("Bearer "));
                secret.expect("authorised").1.to_owned()
            };
            answers.into_iter().map(answer).collect()
        });
        let settings = Settings {
            server,
            ca_file: None,
            allow_http: false,
            agent_version: "0".to_owned(),
            timeout: std::time::Duration::from_secs(300),
        };
        (Client::new(&settings).expect("right"), thread)
    }

    fn answer(body: &str) -> &'static str {
        let text = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        text.leak()
    }

    fn old() -> Credential {
        Credential {
            host_id: "h1".to_owned(),
            secret: "old".to_owned(),
            obtained_wall_ns: wall_ns() - CHANGE_AFTER_NS,
        }
    }

    #[test]
    fn an_old_credential_is_changed_and_both_are_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("credential.json");
        save(&path, &old()).expect("saved");
        let store = CredentialStore::new(path.clone(), old());
        assert!(store.is_due());
        let (client, server) = serve(vec![answer(r#"{"host_id":"h1","credential":"new"}"#)]);
        store.change(&client).expect("changed");
        assert_eq!(server.join().expect("served"), ["old"]);
        assert!(!store.is_due() && store.secret() == "new");
        let kept = |path: &Path| load_file(path).expect("readable").expect("there").secret;
        assert_eq!(
            (kept(&path), kept(&previous(&path))),
            ("new".to_owned(), "old".to_owned())
        );
        assert!(store.go_back() && store.secret() == "old");
        assert!(!store.go_back());
        std::fs::write(&path, "{").expect("damaged");
        assert!(
            super::super::load(&path)
                .expect("the one before")
                .is_some_and(|read| read.secret == "old")
        );
    }

    #[test]
    fn a_change_that_fails_leaves_the_old_one_in_use_and_waits() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("credential.json");
        save(&path, &old()).expect("saved");
        let answers = [
            "HTTP/1.1 503 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            // The answer is cut: the service has changed the credential, the host does not know it.
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 90\r\n\r\n{\"host_id\":",
            answer(r#"{"host_id":"another","credential":"new"}"#),
        ];
        for text in answers {
            let store = CredentialStore::new(path.clone(), old());
            let (client, server) = serve(vec![text]);
            assert!(store.change(&client).is_err());
            assert_eq!(server.join().expect("served"), ["old"]);
            assert!(store.secret() == "old" && !store.is_due());
            let read = super::super::load(&path).expect("readable").expect("there");
            assert!(read.secret == "old" && !previous(&path).exists());
        }
    }

    #[test]
    fn a_fresh_credential_stays() {
        let store = CredentialStore::new(
            PathBuf::from("/nowhere"),
            Credential {
                obtained_wall_ns: wall_ns(),
                ..old()
            },
        );
        assert!(!store.is_due() && !store.go_back());
    }
}
