//! From the queue on disk to the service: one thread that delivers what waits, and asks for the plan.

pub(crate) mod layouts;
pub(crate) mod queue;
pub(crate) mod sending;

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tierscope_clock::{boottime_ns, rfc3339, wall_ns};
use tierscope_spool::{Record, Spool};
use tierscope_upload::credential::CredentialStore;
use tierscope_upload::{Backoff, Client, Outcome, Plan, PlanAnswer, SentAt};
use tierscope_wire::{Content, Header, Origin, Sealer, layouts_used};

use crate::bounds::allowance::Allowance;
use crate::bounds::pause::Pause;
use crate::status::{SpoolStatus, StatusFile};
use crate::uplink::layouts::LayoutStore;

/// First and longest wait after a failure that goes away by itself.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MOST: Duration = Duration::from_secs(60);
/// Wait while a person has to act, such as after a revoked credential.
const HELD_WAIT: Duration = Duration::from_secs(60);
/// How often the plan is asked for.
const PLAN_EVERY: Duration = Duration::from_secs(60);
/// The same where batches hold several minutes: so long it takes at most until a host sends each minute again.
const PLAN_EVERY_WHILE_HOLDING: Duration = Duration::from_secs(120);
/// How often a paused agent looks whether it may go on.
const PAUSED_WAIT: Duration = Duration::from_secs(10);
/// The service does not know the credential.
const UNAUTHORIZED: u16 = 401;
/// A service that asks for the layouts of one batch again and again is not going to store it now.
const MAX_LAYOUT_ANSWERS: u32 = 3;

/// What collector and uplink share.
pub(crate) struct Shared {
    pub(crate) spool: Mutex<Spool>,
    pub(crate) layouts: Mutex<LayoutStore>,
    /// What the service wants; the defaults until it has answered.
    pub(crate) plan: Mutex<Plan>,
    /// The longest time between batches that the host's own settings allow, in minutes.
    pub(crate) most_send_minutes: u32,
    pub(crate) credential: CredentialStore,
    pub(crate) pause: Pause,
    pub(crate) status: StatusFile,
}

impl Shared {
    /// Why everything rests; `None` while nothing does.
    pub(crate) fn paused(&self) -> Option<String> {
        self.pause.reason(&lock(&self.plan))
    }

    /// Minutes that a batch holds: as the service wishes, within the host's own limit.
    pub(crate) fn send_minutes(&self) -> u32 {
        lock(&self.plan).send_minutes.clamp(1, self.most_send_minutes)
    }
}

/// A lock that a panicking thread left behind holds good data: every change is made as a whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) enum Signal {
    /// A batch was queued.
    Queued,
    /// End now.
    Stop,
}

/// What to do after an attempt.
enum Next {
    /// The queue is empty.
    Idle,
    /// Wait this long, then try the head again.
    Wait(Duration),
}

/// The delivering side.
pub(crate) struct Uplink {
    shared: Arc<Shared>,
    client: Client,
    signals: Receiver<Signal>,
    /// Wait between a batch and its upload, so that a fleet does not send at the same second.
    spread: Duration,
    backoff: Backoff,
    allowance: Allowance,
    plan_etag: Option<String>,
}

impl Uplink {
    /// An uplink; `seed` makes its waits differ from those of other hosts.
    pub(crate) fn new(
        shared: Arc<Shared>,
        client: Client,
        signals: Receiver<Signal>,
        spread: Duration,
        allowance: Allowance,
        seed: u64,
    ) -> Self {
        let backoff = Backoff::new(RETRY_FIRST, RETRY_MOST, seed);
        Self {
            shared,
            client,
            signals,
            spread,
            backoff,
            allowance,
            plan_etag: None,
        }
    }

    /// Delivers until it is told to stop.
    pub(crate) fn run(mut self) {
        let mut plan_due = Instant::now();
        let mut attempt_due: Option<Instant> = Some(Instant::now());
        loop {
            let status_due = self
                .shared
                .status
                .write_when_due()
                .map(|wait| Instant::now() + wait);
            let due = [attempt_due, status_due]
                .into_iter()
                .flatten()
                .fold(plan_due, Instant::min);
            match self
                .signals
                .recv_timeout(due.saturating_duration_since(Instant::now()))
            {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                // A wait after a failure is not cut short by new data.
                Ok(Signal::Queued) => {
                    attempt_due.get_or_insert_with(|| Instant::now() + self.spread);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if now >= plan_due {
                self.ask_for_plan();
                self.change_credential();
                let holds = self.shared.send_minutes() > 1;
                plan_due = now
                    + if holds {
                        PLAN_EVERY_WHILE_HOLDING
                    } else {
                        PLAN_EVERY
                    };
            }
            if attempt_due.is_some_and(|due| now >= due) {
                attempt_due = match self.deliver() {
                    Next::Idle => None,
                    Next::Wait(wait) => Some(Instant::now() + wait),
                };
            }
        }
    }

    /// A failure changes nothing: the last plan stays in force.
    fn ask_for_plan(&mut self) {
        let secret = self.shared.credential.secret();
        let most_minutes = self.shared.most_send_minutes;
        let answer = self.client.plan(&secret, self.plan_etag.as_deref(), most_minutes);
        if let Ok(PlanAnswer::Changed(plan, etag)) = answer {
            *lock(&self.shared.plan) = plan;
            self.plan_etag = etag;
        }
    }

    /// Once a day; after a failure the old one stays in use.
    fn change_credential(&self) {
        if !self.shared.credential.is_due() || self.shared.paused().is_some() {
            return;
        }
        let changed = self.shared.credential.change(&self.client);
        self.shared.status.update(|status| {
            status.credential_error = changed.err().map(|error| format!("{error:#}"));
        });
    }

    /// How long this batch has to wait: for the end of a pause, or for the next bytes of the budget.
    fn hold(&mut self, bytes: usize) -> Option<Duration> {
        let paused = self.shared.paused();
        let wait = match &paused {
            Some(_) => Some(PAUSED_WAIT),
            None => self.allowance.wait(bytes, Instant::now()),
        };
        let spent = || "upload_max_mib_per_hour is used up".to_owned();
        let reason = wait.map(|_| paused.unwrap_or_else(spent));
        self.shared.status.update(|status| status.upload_held = reason);
        wait
    }

    /// Delivers batch after batch until the queue is empty or something fails.
    fn deliver(&mut self) -> Next {
        let mut layout_answers = 0;
        loop {
            let head = lock(&self.shared.spool).peek();
            let record = match head {
                Ok(Some(record)) => record,
                Ok(None) => return Next::Idle,
                Err(error) => return self.failed(&error.to_string(), None),
            };
            if let Some(wait) = self.hold(record.payload.len()) {
                return Next::Wait(wait);
            }
            let outcome = self.send(&record.payload);
            if let Outcome::UnknownLayout(problem) = &outcome {
                layout_answers += 1;
                if layout_answers > MAX_LAYOUT_ANSWERS {
                    return self.failed(&problem.to_string(), Some(HELD_WAIT));
                }
                if let Err(error) = self.send_layouts(&record) {
                    return self.failed(&format!("{error:#}"), None);
                }
                continue;
            }
            let is_unknown = matches!(&outcome, Outcome::Held(problem) if problem.status == UNAUTHORIZED);
            if is_unknown && self.shared.credential.go_back() {
                continue;
            }
            layout_answers = 0;
            if let Some(next) = self.settle(&record, outcome) {
                return next;
            }
        }
    }

    fn send(&mut self, body: &[u8]) -> Outcome {
        self.allowance.take(body.len());
        let secret = self.shared.credential.secret();
        self.client.send_batch(&secret, body, Some(sent_at()))
    }

    /// Acts on an answer; `None` means that the next batch may follow.
    fn settle(&mut self, record: &Record, outcome: Outcome) -> Option<Next> {
        let settled = match outcome {
            Outcome::Accepted(_) | Outcome::Duplicate(_) => {
                let result = lock(&self.shared.spool).acknowledge(record);
                self.delivered();
                result
            }
            Outcome::Rejected(problem) => {
                let reason = problem.to_string();
                let result = lock(&self.shared.spool).reject(record, &reason);
                self.report_failure(&format!(
                    "batch {} was refused and set aside: {reason}",
                    record.seq
                ));
                result
            }
            Outcome::UnknownLayout(problem) | Outcome::Held(problem) => {
                return Some(self.failed(&problem.to_string(), Some(HELD_WAIT)));
            }
            Outcome::Retry { after, cause } => return Some(self.failed(&cause, after)),
        };
        settled.err().map(|error| self.failed(&error.to_string(), None))
    }

    fn delivered(&mut self) {
        self.backoff.reset();
        let spool = self.spool_status();
        self.shared.status.update(|status| {
            let now_ns = wall_ns();
            status.last_delivered_at = Some(rfc3339(now_ns));
            status.last_delivered_wall_ns = Some(now_ns);
            status.delivery_error = None;
            status.spool = spool;
        });
    }

    fn failed(&mut self, cause: &str, at_least: Option<Duration>) -> Next {
        self.report_failure(cause);
        Next::Wait(self.backoff.next_wait(at_least))
    }

    fn report_failure(&self, cause: &str) {
        let spool = self.spool_status();
        self.shared.status.update(|status| {
            status.delivery_error = Some(cause.to_owned());
            status.spool = spool;
        });
    }

    fn spool_status(&self) -> SpoolStatus {
        spool_status(&lock(&self.shared.spool))
    }

    /// Sends the layouts that `record` uses, in a batch of their own that overtakes the queue.
    fn send_layouts(&mut self, record: &Record) -> Result<()> {
        let hashes = layouts_used(&record.payload)?;
        let layouts: Vec<_> = {
            let store = lock(&self.shared.layouts);
            hashes.iter().filter_map(|hash| store.load(hash)).collect()
        };
        let (seq, stream_id) = {
            let mut spool = lock(&self.shared.spool);
            (spool.reserve_seq()?, spool.stream_id())
        };
        let header = header(self.shared.credential.host_id(), stream_id, seq, "");
        let sealed = Sealer::default().seal(
            Content {
                layouts,
                ..Content::default()
            },
            &header,
        )?;
        let batch = sealed.first().context("a layout too large to send")?;
        match self.send(&batch.body) {
            Outcome::Accepted(_) | Outcome::Duplicate(_) => {
                lock(&self.shared.spool).count_sent(batch.body.len() as u64);
                Ok(())
            }
            other => anyhow::bail!("the layouts that the service asked for were not taken: {other:?}"),
        }
    }
}

/// The queue's figures for the status file.
pub(crate) fn spool_status(spool: &Spool) -> SpoolStatus {
    let stats = spool.stats();
    SpoolStatus {
        batches: stats.pending_records,
        bytes: stats.bytes,
        dropped_batches: stats.dropped,
        damaged_records: stats.damaged,
        rejected_batches: stats.rejected,
    }
}

/// The header of a live batch that is sealed now.
pub(crate) fn header(host_id: &str, stream_id: [u8; 16], seq: u64, boot_id: &str) -> Header {
    Header {
        host_id: host_id.to_owned(),
        stream_id,
        seq,
        boot_id: boot_id.to_owned(),
        agent_version: crate::VERSION.to_owned(),
        origin: Origin::Live,
        sealed_wall_ns: wall_ns(),
        sealed_boottime_ns: Some(boottime_ns()),
    }
}

/// Both clocks of now, for the headers of a request: the service tells from them whether this host's clock is right.
pub(crate) fn sent_at() -> SentAt {
    SentAt {
        wall_ns: wall_ns(),
        boottime_ns: boottime_ns(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
