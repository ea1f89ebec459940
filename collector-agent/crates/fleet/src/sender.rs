//! Sends one sealed batch and insists, as an agent's spool does.

use std::time::{Duration, Instant};

use anyhow::bail;
use tierscope_upload::{Backoff, Client, Outcome};
use tierscope_wire::Sealed;

use crate::stage::Stage;

/// A service that cannot take a batch for this long is down.
const PATIENCE: Duration = Duration::from_secs(180);

/// Sends a batch until the service has it.
///
/// Fails when the service refuses it for good, or is away for too long.
pub(crate) fn send(stage: &Stage, client: &Client, credential: &str, sealed: &Sealed) -> anyhow::Result<()> {
    let first_try = Instant::now();
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10), sealed.seq);
    loop {
        let start = Instant::now();
        let outcome = client.send_batch(credential, &sealed.body, None);
        stage.report.count_attempt(start.elapsed());
        let (after, cause) = match outcome {
            Outcome::Accepted(receipt) | Outcome::Duplicate(receipt) => {
                stage.report.count_batch(sealed, &receipt);
                return Ok(());
            }
            Outcome::Rejected(problem) | Outcome::UnknownLayout(problem) | Outcome::Held(problem) => {
                bail!("the service refused a batch: {problem}");
            }
            Outcome::Retry { after, cause } => (after, cause),
        };
        stage.report.count_retry(&cause);
        if first_try.elapsed() > PATIENCE {
            bail!(
                "the service did not take a batch for {} s: {cause}",
                PATIENCE.as_secs()
            );
        }
        std::thread::sleep(backoff.next_wait(after));
    }
}
