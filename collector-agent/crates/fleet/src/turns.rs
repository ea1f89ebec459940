//! Which host sends next: one that is due in this minute, else one whose history is not sent yet.
//!
//! Each host sends its history in large batches, then one batch a minute at its own moment of the minute, or in a load one
//! in several minutes. It goes live as soon as its own history is sent, so that none falls silent while others still load.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use tierscope_upload::Client;

use crate::host::SimHost;
use crate::progress::Progress;
use crate::stage::Stage;
use crate::{seeds, sender};

const MINUTE: Duration = Duration::from_secs(60);
/// A connection without work looks again after this.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Up to where hosts send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// The history before this minute, and nothing live.
    History(i64),
    /// Live, a batch for each minute before this one, however late.
    Minute(i64),
    /// The history, then live until the process is ended.
    Ended,
}

/// The minute that has begun, since the Unix epoch.
pub(crate) fn this_minute() -> anyhow::Result<i64> {
    Ok((since_epoch()?.as_secs() / MINUTE.as_secs()) as i64)
}

/// Waits until a minute begins.
pub(crate) fn await_minute(minute: i64) -> anyhow::Result<()> {
    let begin = MINUTE * u32::try_from(minute).context("the clock of this machine is far ahead: set it")?;
    std::thread::sleep(begin.saturating_sub(since_epoch()?));
    Ok(())
}

/// Sends for all hosts over the connections of the stage, and gives back the hosts that have sent everything.
pub(crate) fn send(stage: &Stage, hosts: Vec<SimHost>, until: Until) -> anyhow::Result<Vec<SimHost>> {
    let turns = Turns::new(hosts, until);
    let work = || -> anyhow::Result<()> {
        let client = stage.connect()?;
        while let Some(mut turn) = turns.next()? {
            let sent = send_some(stage, &client, &mut turn, until);
            turns.put_back(&stage.progress, turn, sent.is_err());
            sent?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..stage.connections.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    let ended = turns.state.into_inner();
    Ok(ended.unwrap_or_else(PoisonError::into_inner).done)
}

/// Sends the next stretch of a host.
fn send_some(stage: &Stage, client: &Client, turn: &mut Turn, until: Until) -> anyhow::Result<()> {
    let host = &mut turn.host;
    let batch = host.batch_end();
    let end = match (until, turn.due) {
        (Until::Minute(last), _) => {
            let told = host.ask_send_minutes(client);
            let minutes = stage.send_minutes.unwrap_or(told);
            if !host.is_due(minutes) && host.turn() + 1 < last {
                host.pass();
                return Ok(());
            }
            host.turn() + 1
        }
        (Until::History(end), _) => batch.min(end),
        (Until::Ended, None) => batch.min(this_minute()?),
        // What a host missed while this machine slept goes with the minute that is due.
        (Until::Ended, Some(_)) => batch.min(this_minute()? + 1),
    };
    if end <= host.next_minute() {
        return Ok(());
    }
    let mut minutes = end - host.next_minute();
    for sealed in host.seal_until(end)? {
        if let Some(due) = turn.due {
            stage.report.count_lag(since_epoch()?.saturating_sub(due));
        }
        if let Err(error) = sender::send(stage, client, &host.credential, &sealed) {
            stage.report.count_error(&error);
            minutes = 0;
            if !matches!(until, Until::Minute(_)) {
                return Err(error);
            }
        }
    }
    stage.report.count_minutes(minutes.unsigned_abs());
    stage.saved.advance(host);
    Ok(())
}

/// A host and when it is due; `None` while its history is sent.
struct Turn {
    host: SimHost,
    due: Option<Duration>,
}

/// Hosts that wait for their turn.
struct Turns {
    until: Until,
    total: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Hosts whose history is not sent; the first one is finished first, its older history apart.
    behind: VecDeque<SimHost>,
    /// Live hosts by the moment at which they are due, and in which order they came.
    live: BTreeMap<(Duration, u64), SimHost>,
    /// Hosts that have sent everything.
    done: Vec<SimHost>,
    /// Hosts in the hands of a connection.
    taken: usize,
    /// Hosts whose history is sent.
    loaded: usize,
    has_failed: bool,
    next_place: u64,
}

impl State {
    fn go_live(&mut self, host: SimHost) {
        let due = MINUTE * u32::try_from(host.turn()).unwrap_or(u32::MAX) + offset_of(&host.name);
        self.next_place += 1;
        self.live.insert((due, self.next_place), host);
    }
}

impl Turns {
    fn new(hosts: Vec<SimHost>, until: Until) -> Self {
        let mut state = State::default();
        let total = hosts.len();
        match until {
            Until::Minute(_) => hosts.into_iter().for_each(|host| state.go_live(host)),
            Until::History(_) | Until::Ended => state.behind = hosts.into(),
        }
        Self {
            until,
            total,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next turn; `None` where there will be none.
    fn next(&self) -> anyhow::Result<Option<Turn>> {
        let mut state = self.lock();
        loop {
            let now = since_epoch()?;
            let next_due = state.live.first_key_value().map(|((due, _), _)| *due);
            let turn = match next_due {
                _ if state.has_failed => return Ok(None),
                Some(due) if due <= now => state.live.pop_first().map(|(_, host)| (host, next_due)),
                _ => state.behind.pop_front().map(|host| (host, None)),
            };
            if let Some((host, due)) = turn {
                state.taken += 1;
                return Ok(Some(Turn { host, due }));
            }
            if next_due.is_none() && state.taken == 0 {
                return Ok(None);
            }
            let wait = next_due.map_or(LONGEST_WAIT, |due| due.saturating_sub(now).min(LONGEST_WAIT));
            let waited = self.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes a host back after it has sent.
    fn put_back(&self, progress: &Progress, turn: Turn, has_failed: bool) {
        let Turn { host, due } = turn;
        let next = host.next_minute();
        let mut state = self.lock();
        state.taken -= 1;
        state.has_failed |= has_failed;
        let is_behind = due.is_none()
            && match self.until {
                Until::History(end) | Until::Minute(end) => next < end,
                Until::Ended => this_minute().is_ok_and(|now| next < now),
            };
        match self.until {
            // Older history of all hosts comes first: what is judged of a whole fleet needs it of all.
            _ if is_behind && host.begins_in_detail() => state.behind.push_back(host),
            _ if is_behind => state.behind.push_front(host),
            Until::History(_) => state.done.push(host),
            Until::Minute(end) if next >= end => state.done.push(host),
            Until::Minute(_) | Until::Ended => state.go_live(host),
        }
        if due.is_none() && !is_behind {
            state.loaded += 1;
            let (loaded, total) = (state.loaded, self.total);
            if loaded.is_multiple_of((total / 10).max(1)) || loaded == total {
                progress.say(&format!("history of {loaded} of {total} hosts sent"));
            }
            if loaded == total {
                progress.say(&format!("history of {total} hosts is complete, sending live"));
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// When in a minute a host sends: by its name alone, so that a fleet is spread evenly and each host keeps its moment.
fn offset_of(name: &str) -> Duration {
    let hash = name
        .bytes()
        .fold(0, |hash, byte| seeds::mix(hash, u64::from(byte)));
    Duration::from_millis(hash % MINUTE.as_millis() as u64)
}

fn since_epoch() -> anyhow::Result<Duration> {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .context("the clock of this machine stands before 1970: set it")
}
