//! Sends a result at once, as part of the inventory that a running agent would send.

use std::time::Duration;

use anyhow::{Result, bail};
use tierscope_clock::{boottime_ns, wall_ns};
use tierscope_heat::order::{HeatOrder, Order};
use tierscope_sample::fold::IntervalEnd;
use tierscope_upload::credential::{self, Credential, Introduction};
use tierscope_upload::{Client, Outcome, Settings};
use tierscope_wire::{Content, Sealer};

use crate::config::Config;
use crate::live::LiveSource;
use crate::machine;
use crate::source::Source as _;
use crate::uplink::{header, sent_at};

/// Longest time for each step of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The inventory does not depend on it.
const INTERVAL_SECONDS: u32 = 60;
/// Why the inventory of a bench knows of no heat.
const NO_HEAT: &str = "a bench runs, and the agent's next inventory tells";

/// Sends the inventory with the result that is kept in the state directory, on a stream of its own.
pub(super) fn send(config: &Config) -> Result<()> {
    let client = Client::new(&Settings {
        server: config.server.clone().unwrap_or_default(),
        ca_file: config.ca_file.clone(),
        allow_http: config.allow_http,
        agent_version: crate::VERSION.to_owned(),
        timeout: REQUEST_TIMEOUT,
    })?;
    let credential = obtain(config, &client)?;
    let end = IntervalEnd {
        wall_ns: wall_ns(),
        boottime_ns: Some(boottime_ns()),
    };
    let order = Order {
        interval_seconds: INTERVAL_SECONDS,
        heat: HeatOrder::Miss(NO_HEAT.to_owned()),
    };
    let collection = LiveSource::new(config)?.collect(end, &order);
    let content = Content {
        inventory: Some(collection.inventory.as_ref().clone()),
        ..Content::default()
    };
    let mut stream_id = [0; 16];
    getrandom::fill(&mut stream_id)
        .map_err(|error| anyhow::anyhow!("the kernel gives no random numbers: {error}"))?;
    let header = header(&credential.host_id, stream_id, 0, &collection.sample.boot_id);
    for batch in Sealer::default().seal(content, &header)? {
        match client.send_batch(&credential.secret, &batch.body, Some(sent_at())) {
            Outcome::Accepted(_) | Outcome::Duplicate(_) => {}
            Outcome::Rejected(problem) | Outcome::UnknownLayout(problem) | Outcome::Held(problem) => {
                bail!("the service refused the result: {problem}");
            }
            Outcome::Retry { cause, .. } => bail!(
                "the service does not take the result now: {cause}; it is kept, and a running agent sends it"
            ),
        }
    }
    Ok(())
}

/// The kept credential, or a new one for a join token.
fn obtain(config: &Config, client: &Client) -> Result<Credential> {
    let path = config.credential_path();
    if let Some(credential) = credential::load(&path)? {
        return Ok(credential);
    }
    let Some(token_file) = &config.join_token_file else {
        bail!(
            "{} does not exist and no join token is given: make one with `tierscope token join` and name its file \
             with --join-token-file",
            path.display()
        );
    };
    let hostname = config.hostname.clone().unwrap_or_else(machine::hostname);
    let introduction = Introduction {
        hostname: &hostname,
        labels: &config.labels,
        origin: "live",
    };
    let join_token = credential::read_join_token(token_file)?;
    credential::enrol_and_save(client, &join_token, &introduction, &path)
}
