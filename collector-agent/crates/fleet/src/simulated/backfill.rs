//! Loads the history of all hosts at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tierscope_upload::Client;

use crate::simulated::Stage;
use crate::simulated::host::SimHost;
use crate::simulated::sender;

/// Minutes per batch: far below the size limits for recordings of usual width; the sealer splits what is not.
const MINUTES_PER_BATCH: i64 = 120;

/// Sends everything up to `end_minute`, host by host over several connections.
pub(crate) fn load(stage: &Stage, hosts: &mut [SimHost], end_minute: i64) -> anyhow::Result<()> {
    let total = hosts.len();
    let said_every = (total / 10).max(1);
    let done = AtomicUsize::new(0);
    let queue = Mutex::new(hosts.iter_mut());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    let work = || -> anyhow::Result<()> {
        let client = stage.connect()?;
        while let Some(host) = next() {
            load_host(stage, &client, host, end_minute)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(said_every) || done == total {
                stage
                    .progress
                    .say(&format!("history of {done} of {total} hosts sent"));
            }
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
    })
}

fn load_host(stage: &Stage, client: &Client, host: &mut SimHost, end_minute: i64) -> anyhow::Result<()> {
    while host.next_minute() < end_minute {
        let until = (host.next_minute() + MINUTES_PER_BATCH).min(end_minute);
        for sealed in host.seal_until(until)? {
            sender::send(stage, client, &host.credential, &sealed)?;
        }
        stage.saved.advance(host);
    }
    Ok(())
}
