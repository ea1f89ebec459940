//! Sends the fleet live: one batch per host and minute, each host at its own moment of the minute.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;

use crate::simulated::Stage;
use crate::simulated::host::SimHost;
use crate::simulated::sender;

const MINUTE: Duration = Duration::from_secs(60);

/// The minute that has begun, since the Unix epoch.
pub(crate) fn this_minute() -> anyhow::Result<i64> {
    Ok((since_epoch()?.as_secs() / 60) as i64)
}

/// A host and when in a minute it sends.
struct Turn {
    offset: Duration,
    host: Mutex<SimHost>,
}

/// Sends for `minutes` whole minutes, or until the process is ended; with 0 nothing, at once. A limited run begins with
/// the next minute, and what its hosts would have sent before is left out. Whatever connection is free takes the host
/// that is due next.
pub(crate) fn send(stage: &Stage, mut hosts: Vec<SimHost>, minutes: Option<u32>) -> anyhow::Result<()> {
    if minutes == Some(0) {
        return Ok(());
    }
    let mut first = this_minute()?;
    if minutes.is_some() {
        first += 1;
        for host in &mut hosts {
            host.skip_to(first);
        }
    }
    let mut turns: Vec<Turn> = hosts
        .into_iter()
        .map(|host| Turn {
            offset: offset_of(&host),
            host: Mutex::new(host),
        })
        .collect();
    turns.sort_by_key(|turn| turn.offset);
    let total = minutes.map_or(u64::MAX, |minutes| u64::from(minutes) * turns.len() as u64);
    sleep_until(MINUTE * u32::try_from(first).context("the clock of this machine is far ahead: set it")?)?;
    stage.report.start_live();
    let next = AtomicU64::new(0);
    let work = || -> anyhow::Result<()> {
        let client = stage.connect()?;
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= total {
                return Ok(());
            }
            let turn = &turns[(place % turns.len() as u64) as usize];
            let minute = first + (place / turns.len() as u64) as i64;
            send_turn(stage, &client, turn, minute)?;
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..stage.connections.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

fn send_turn(
    stage: &Stage,
    client: &tierscope_upload::Client,
    turn: &Turn,
    minute: i64,
) -> anyhow::Result<()> {
    let due = Duration::from_secs(minute as u64 * 60) + turn.offset;
    sleep_until(due)?;
    let mut host = turn
        .host
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    for sealed in host.seal_until(minute + 1)? {
        stage.report.count_lag(since_epoch()?.saturating_sub(due));
        if let Err(error) = sender::send(stage, client, &host.credential, &sealed) {
            stage.report.count_error(&error);
            if !stage.goes_on {
                return Err(error);
            }
        }
    }
    stage.saved.advance(&host);
    Ok(())
}

/// When in a minute a host sends: by its name alone, so that a fleet is spread evenly and each host keeps its moment.
fn offset_of(host: &SimHost) -> Duration {
    let hash = host.name.bytes().fold(0, |hash, byte| {
        crate::simulated::seeds::mix(hash, u64::from(byte))
    });
    Duration::from_millis(hash % MINUTE.as_millis() as u64)
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
