//! The requests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use ureq::http::{Response, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use crate::UploadError;
use crate::address::{self, Address};
use crate::outcome::{Outcome, classify, read_problem};

/// Largest answer that is read.
const MAX_ANSWER_BYTES: u64 = 256 << 10;
/// Size of the buffers of a connection; a batch of a minute has some kB.
const BUFFER_BYTES: usize = 16 << 10;
/// Longest Retry-After that is obeyed.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// How to reach the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Base address, such as `https://tierscope.example`.
    pub server: String,
    /// Certificates of a private authority; without it the public ones are trusted.
    pub ca_file: Option<PathBuf>,
    /// Allows plain http to other hosts than this one.
    pub allow_http: bool,
    /// For the User-Agent header.
    pub agent_version: String,
    /// Longest time for each step of a request: connecting (10 s at most), sending, waiting for the answer, reading it.
    pub timeout: Duration,
}

/// Speaks with one service. Keeps connections open; can be shared between threads.
#[derive(Debug, Clone)]
pub struct Client {
    http: Agent,
    address: Address,
}

/// The host's clocks at the moment of sending. A batch may have waited for days, so that its own times say nothing of
/// the clocks of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentAt {
    /// `CLOCK_REALTIME`, nanoseconds since the Unix epoch.
    pub wall_ns: i64,
    /// `CLOCK_BOOTTIME`, nanoseconds.
    pub boottime_ns: i64,
}

/// What a host says when it asks for a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Enrolment {
    /// From the operator.
    pub join_token: String,
    /// For display; never an identity.
    pub hostname: String,
    /// From the agent's file.
    pub labels: BTreeMap<String, String>,
    /// `live`, `import` or `simulated`.
    pub origin: &'static str,
}

/// What a host gets for its join token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Enrolled {
    /// Goes into every batch.
    pub host_id: String,
    /// A secret; allows writing this host alone.
    pub credential: String,
}

/// What the service wants of the agent. A limit in the host's own file always wins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// Seconds between collections.
    pub interval_seconds: u32,
    /// Minutes that a batch holds.
    pub send_minutes: u32,
    /// The kill switch: collect and send nothing.
    pub paused: bool,
    /// Heat collection.
    pub heat: HeatPlan,
}

/// The heat part of a [`Plan`]: it names services, which this host compares with its own, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HeatPlan {
    /// Whether heat is measured.
    pub enabled: bool,
    /// Services (`namespace/name`) whose heat is measured on this host; `None` for all that its owner listed.
    pub services: Option<Vec<String>>,
    /// Services whose page samples this host sends; `None` for all that are measured.
    pub sample_services: Option<Vec<String>>,
}

impl Default for HeatPlan {
    fn default() -> Self {
        Self {
            enabled: true,
            services: None,
            sample_services: None,
        }
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            interval_seconds: 60,
            send_minutes: 1,
            paused: false,
            heat: HeatPlan::default(),
        }
    }
}

/// Answer to a question for the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanAnswer {
    /// The plan that the `ETag` names still holds.
    Unchanged,
    /// A plan and its `ETag`.
    Changed(Plan, Option<String>),
}

impl Client {
    /// Checks the settings and makes a client. Connects to nothing yet.
    pub fn new(settings: &Settings) -> Result<Self, UploadError> {
        let address = address::check(&settings.server, settings.allow_http)?;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would carry the credential to a place that nobody configured.
            .max_redirects(0)
            .proxy(None)
            .user_agent(format!("tierscope-agent/{}", settings.agent_version))
            .max_idle_connections_per_host(1)
            .input_buffer_size(BUFFER_BYTES)
            .output_buffer_size(BUFFER_BYTES)
            // No limit for the whole request: it would take a new thread per request to end a look-up of the name,
            // which the system ends by itself.
            .timeout_connect(Some(settings.timeout.min(Duration::from_secs(10))))
            .timeout_send_request(Some(settings.timeout))
            .timeout_send_body(Some(settings.timeout))
            .timeout_recv_response(Some(settings.timeout))
            .timeout_recv_body(Some(settings.timeout));
        if address.base.starts_with("https:") {
            config = config.tls_config(tls(settings.ca_file.as_deref())?);
        }
        Ok(Self {
            http: Agent::new_with_config(config.build()),
            address,
        })
    }

    /// Whether the service is on this host.
    pub fn is_loopback(&self) -> bool {
        self.address.is_loopback
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address.base)
    }

    /// Sends one batch: a zstd frame. `clocks` is `None` for recordings, whose times are their own.
    pub fn send_batch(&self, credential: &str, body: &[u8], clocks: Option<SentAt>) -> Outcome {
        let mut request = self
            .http
            .post(self.url("/v1/ingest/batches"))
            .header(header::AUTHORIZATION, format!("Bearer {credential}"))
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .header(header::CONTENT_ENCODING, "zstd");
        // The service refuses a clock from before 1970, and the batch is good without it.
        if let Some(clocks) = clocks.filter(|clocks| clocks.wall_ns >= 0 && clocks.boottime_ns >= 0) {
            request = request
                .header("X-Tierscope-Sent-Wall-Ns", clocks.wall_ns)
                .header("X-Tierscope-Sent-Boottime-Ns", clocks.boottime_ns);
        }
        let sent = request.send(body);
        match sent {
            Err(error) => Outcome::Retry {
                after: None,
                cause: error.to_string(),
            },
            Ok(mut answer) => {
                let retry_after = retry_after(&answer);
                match read_body(&mut answer) {
                    Ok(body) => classify(answer.status().as_u16(), retry_after, &body),
                    // Perhaps stored, perhaps not: a repeat changes nothing.
                    Err(cause) => Outcome::Retry {
                        after: retry_after,
                        cause,
                    },
                }
            }
        }
    }

    /// Buys a credential for a join token.
    pub fn enrol(&self, enrolment: &Enrolment) -> Result<Enrolled, UploadError> {
        let url = self.url("/v1/agents/enrol");
        let body = serde_json::to_vec(enrolment).map_err(|error| UploadError::Answer {
            url: url.clone(),
            reason: error.to_string(),
        })?;
        let sent = self
            .http
            .post(&url)
            .header(header::CONTENT_TYPE, "application/json")
            .send(&body[..]);
        let (body, _) = self.expect_success(&url, sent)?;
        read_enrolled(url, &body)
    }

    /// Gets a new credential for the one given, which the service takes for 24 hours more.
    pub fn rotate(&self, credential: &str) -> Result<Enrolled, UploadError> {
        let url = self.url("/v1/agent/rotate");
        let sent = self
            .http
            .post(&url)
            .header(header::AUTHORIZATION, format!("Bearer {credential}"))
            .send_empty();
        let (body, _) = self.expect_success(&url, sent)?;
        read_enrolled(url, &body)
    }

    /// Asks for the plan; `etag` names the one that the agent has, `most_send_minutes` is the longest time between
    /// batches that it takes.
    pub fn plan(
        &self,
        credential: &str,
        etag: Option<&str>,
        most_send_minutes: u32,
    ) -> Result<PlanAnswer, UploadError> {
        let url = self.url("/v1/agent/config");
        let mut request = self
            .http
            .get(&url)
            .header(header::AUTHORIZATION, format!("Bearer {credential}"))
            .header("X-Tierscope-Most-Send-Minutes", most_send_minutes);
        if let Some(etag) = etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        let sent = request.call();
        if sent.as_ref().is_ok_and(|answer| answer.status().as_u16() == 304) {
            return Ok(PlanAnswer::Unchanged);
        }
        let (body, etag) = self.expect_success(&url, sent)?;
        let plan = serde_json::from_slice(&body).map_err(|error| UploadError::Answer {
            url,
            reason: format!("no plan in it: {error}"),
        })?;
        Ok(PlanAnswer::Changed(plan, etag))
    }

    /// The body and the `ETag` of a successful answer.
    fn expect_success(
        &self,
        url: &str,
        sent: Result<Response<Body>, ureq::Error>,
    ) -> Result<(Vec<u8>, Option<String>), UploadError> {
        let unreachable = |cause: String| UploadError::Unreachable {
            url: self.address.base.clone(),
            cause,
        };
        let mut answer = sent.map_err(|error| unreachable(error.to_string()))?;
        let body = read_body(&mut answer).map_err(unreachable)?;
        let status = answer.status().as_u16();
        if !(200..300).contains(&status) {
            return Err(UploadError::Refused {
                url: url.to_owned(),
                problem: Box::new(read_problem(status, &body)),
            });
        }
        let etag = answer
            .headers()
            .get(header::ETAG)
            .and_then(|value| value.to_str().ok());
        Ok((body, etag.map(str::to_owned)))
    }
}

fn read_enrolled(url: String, body: &[u8]) -> Result<Enrolled, UploadError> {
    let refuse = |cause: String| UploadError::Answer {
        url,
        reason: format!("no credential in it: {cause}"),
    };
    match serde_json::from_slice::<Enrolled>(body) {
        // One that no header can hold would be stored, and the host could never send nor enrol again.
        Ok(enrolled) if is_word(&enrolled.credential) && is_word(&enrolled.host_id) => Ok(enrolled),
        Ok(_) => Err(refuse("it cannot stand in a header".to_owned())),
        Err(error) => Err(refuse(error.to_string())),
    }
}

/// Whether a text can stand in a header as it is.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn read_body(answer: &mut Response<Body>) -> Result<Vec<u8>, String> {
    let body = answer
        .body_mut()
        .with_config()
        .limit(MAX_ANSWER_BYTES)
        .read_to_vec();
    body.map_err(|error| error.to_string())
}

/// Retry-After in seconds; the form with a date is passed over.
fn retry_after(answer: &Response<Body>) -> Option<Duration> {
    let seconds = answer
        .headers()
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

/// How TLS is spoken: with the authorities of the file, or with the public ones.
pub fn tls(ca_file: Option<&Path>) -> Result<TlsConfig, UploadError> {
    let roots = match ca_file {
        None => RootCerts::WebPki,
        Some(path) => read_authorities(path).map_err(|reason| UploadError::Authorities {
            path: path.to_owned(),
            reason,
        })?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

fn read_authorities(path: &Path) -> Result<RootCerts, String> {
    let pem = std::fs::read(path).map_err(|error| error.to_string())?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err("no certificate is in it".to_owned());
    }
    Ok(RootCerts::new_with_certs(&certificates))
}
