//! Sends the fleet live: one batch per host and minute, spread over the minute.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;

use crate::fleet::Stage;
use crate::fleet::host::SimHost;
use crate::fleet::sender;

/// Sending is spread over this part of a minute, so that a slow service has the rest to catch up.
const SPREAD: Duration = Duration::from_secs(50);

/// The minute that has begun, since the Unix epoch.
pub(crate) fn this_minute() -> anyhow::Result<i64> {
    Ok((since_epoch()?.as_secs() / 60) as i64)
}

/// Sends for `minutes`, or until the process is ended. Each connection serves its own share of the hosts.
pub(crate) fn send(stage: &Stage, mut hosts: Vec<SimHost>, minutes: Option<u32>) -> anyhow::Result<()> {
    let last = match minutes {
        Some(minutes) => this_minute()? + i64::from(minutes),
        None => i64::MAX,
    };
    stage.report.start_live();
    let share = hosts.len().div_ceil(stage.connections.max(1)).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = hosts
            .chunks_mut(share)
            .map(|chunk| scope.spawn(move || send_share(stage, chunk, last)))
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

fn send_share(stage: &Stage, hosts: &mut [SimHost], last: i64) -> anyhow::Result<()> {
    let mut minute = this_minute()?;
    while minute < last {
        let step = SPREAD / hosts.len().max(1) as u32;
        for (index, host) in hosts.iter_mut().enumerate() {
            sleep_until(Duration::from_secs(minute as u64 * 60) + step * index as u32)?;
            for sealed in host.seal_until(minute + 1)? {
                let lag = since_epoch()?.saturating_sub(Duration::from_secs(minute as u64 * 60));
                stage.report.count_lag(lag);
                sender::send(stage, &host.credential, &sealed)?;
            }
            stage.saved.advance(host);
        }
        minute += 1;
    }
    Ok(())
}

fn sleep_until(moment: Duration) -> anyhow::Result<()> {
    let wait = moment.saturating_sub(since_epoch()?);
    if !wait.is_zero() {
        std::thread::sleep(wait);
    }
    Ok(())
}

fn since_epoch() -> anyhow::Result<Duration> {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .context("the clock of this machine stands before 1970: set it")
}
