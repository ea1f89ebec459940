//! Enrolment of the simulated hosts.

use std::collections::BTreeMap;

use anyhow::Context as _;
use tierscope_upload::{Client, Enrolment, Settings};

use crate::host::SimHost;

/// Buys a credential for every host, over several connections.
pub(crate) fn enrol(
    settings: &Settings,
    token: &str,
    hosts: &mut [SimHost],
    connections: usize,
) -> anyhow::Result<()> {
    let share = hosts.len().div_ceil(connections.max(1)).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = hosts
            .chunks_mut(share)
            .map(|chunk| {
                scope.spawn(move || {
                    let client = Client::new(settings)?;
                    chunk
                        .iter_mut()
                        .try_for_each(|host| enrol_one(&client, token, host))
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

fn enrol_one(client: &Client, token: &str, host: &mut SimHost) -> anyhow::Result<()> {
    let labels: BTreeMap<String, String> = host.inventory.labels.iter().cloned().collect();
    let enrolled = client
        .enrol(&Enrolment {
            join_token: token.to_owned(),
            hostname: host.name.clone(),
            labels,
            origin: "simulated",
        })
        .with_context(|| format!("enrolling {}", host.name))?;
    host.host_id = enrolled.host_id;
    host.credential = enrolled.credential;
    Ok(())
}
