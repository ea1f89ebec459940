//! Gets the text of a source: over http from an address in the settings, or from a file. Bounded in time and size.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tierscope_rootfs::open_plain;
use ureq::Agent;

/// Largest text that is read.
const MAX_BYTES: u64 = 4 << 20;

/// Gets texts. Keeps a connection to each address open.
pub(super) struct Fetcher {
    http: Agent,
}

/// A text, and for a file its age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) text: String,
    pub(super) age_s: Option<i64>,
}

impl Fetcher {
    pub(super) fn new() -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The settings name every address that is asked: neither a redirect nor a proxy may add one.
            .max_redirects(0)
            .proxy(None)
            .user_agent(format!("tierscope-agent/{}", crate::VERSION))
            .max_idle_connections_per_host(1)
            .build();
        Self {
            http: config.new_agent(),
        }
    }

    /// Asks a Prometheus endpoint; each step takes at most `timeout`.
    pub(super) fn url(&self, url: &str, timeout: Duration) -> Result<Fetched, String> {
        let request = self
            .http
            .get(url)
            .header("Accept", "text/plain; version=0.0.4")
            .config()
            .timeout_connect(Some(timeout))
            .timeout_send_request(Some(timeout))
            .timeout_recv_response(Some(timeout))
            .timeout_recv_body(Some(timeout))
            .build();
        let mut response = request.call().map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(format!("it answered with status {status} instead of 200"));
        }
        let text = response
            .body_mut()
            .with_config()
            .limit(MAX_BYTES)
            .lossy_utf8(true)
            .read_to_string()
            .map_err(|error| format!("its answer cannot be read (at most 4 MiB are): {error}"))?;
        Ok(Fetched { text, age_s: None })
    }

    pub(super) fn file(path: &Path) -> Result<Fetched, String> {
        let fail = |error: std::io::Error| format!("its file cannot be read: {error}");
        let file = open_plain(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.len() > MAX_BYTES {
            return Err("its file is larger than 4 MiB".to_owned());
        }
        let modified = metadata.modified().map_err(fail)?;
        let age = SystemTime::now().duration_since(modified).unwrap_or_default();
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(fail)?;
        Ok(Fetched {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            age_s: i64::try_from(age.as_secs()).ok(),
        })
    }
}
