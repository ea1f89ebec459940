//! `/metrics` for Prometheus: the agent's own health, memory by node and tier, tier moves, pressure, heat of services,
//! and what this host does not show. Figures are those of the newest collection; a page is made without reading a file.

pub(crate) mod exporter;
mod exposition;
mod http;
mod missing;
mod page;
mod pods;
mod readings;
mod services;
mod tiers;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use tierscope_clock::SECOND_NS;
use tierscope_rootfs::Missing;
use tierscope_sample::counters::CounterSample;
use tierscope_sample::heat::HeatRow;
use tierscope_sample::inventory::Inventory;

use crate::collect::Gone;
use crate::source::{Collection, FoundPods};
use crate::status::{Status, StatusFile};
use crate::threads::spawn;
use exposition::Page;
use http::HostNames;
use readings::Readings;

/// A file that gave nothing is named for so long: the rarest are tried every ten minutes.
const GONE_NS: i64 = 660 * SECOND_NS;

/// What `/metrics` shows, shared between the collecting loop and the servers.
#[derive(Clone, Default)]
pub(crate) struct Shown(Arc<Mutex<Newest>>);

#[derive(Default)]
struct Newest {
    readings: Readings,
    /// Files that gave nothing, with why and when, by path.
    gone: BTreeMap<String, (Missing, i64)>,
    inventory: Arc<Inventory>,
    heat: Vec<HeatRow>,
    pods: FoundPods,
}

impl Shown {
    pub(crate) fn keep(&self, collection: &Collection) {
        self.keep_counters(&collection.sample, &collection.gone);
        let mut newest = self.lock();
        newest.inventory = Arc::clone(&collection.inventory);
        newest.heat.clone_from(&collection.heat.rows);
        newest.pods.clone_from(&collection.pods);
    }

    /// Takes counters that were read between two collections.
    pub(crate) fn keep_counters(&self, sample: &CounterSample, gone: &[Gone]) {
        let now_ns = sample.end_boottime_ns.unwrap_or(sample.end_wall_ns);
        let mut newest = self.lock();
        newest.readings.take(sample);
        newest
            .gone
            .retain(|_, (_, tried_ns)| (0..=GONE_NS).contains(&(now_ns - *tried_ns)));
        for gone in gone {
            newest
                .gone
                .insert(gone.path.clone(), (gone.missing.clone(), now_ns));
        }
    }

    /// Shows nothing any more: the agent rests.
    pub(crate) fn clear(&self) {
        *self.lock() = Newest::default();
    }

    /// The page, with what the agent says of itself.
    pub(crate) fn render(&self, status: &Status) -> String {
        let mut page = Page::default();
        page::write(&mut page, status);
        let newest = self.lock();
        tiers::write(&mut page, &newest.readings, &newest.inventory);
        let heat = services::heat_by_place(&newest.heat);
        services::write_heat(&mut page, &heat, newest.heat.first());
        services::write_placement(&mut page, &newest.readings);
        let node = pods::Node {
            readings: &newest.readings,
            inventory: &newest.inventory,
            pods: &newest.pods,
            heat: &heat,
        };
        pods::write(&mut page, &node);
        missing::write(&mut page, &newest.gone, &newest.inventory);
        page.into_text()
    }

    fn lock(&self) -> MutexGuard<'_, Newest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens at `address`, which must be on loopback, and answers from threads of its own until the process ends.
pub(crate) fn serve(address: SocketAddr, status: StatusFile, shown: Shown) -> Result<SocketAddr> {
    ensure!(
        address.ip().is_loopback(),
        "`metrics_listen`: {address} can be reached from other hosts; use 127.0.0.1 or [::1]"
    );
    let render = move || shown.render(&status.snapshot());
    serve_page(address, HostNames::loopback(), render).context("`metrics_listen`")
}

/// Answers requests to `address` that name one of `names` with what `render` gives.
fn serve_page(
    address: SocketAddr,
    names: HostNames,
    render: impl Fn() -> String + Send + Sync + 'static,
) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address)
        .with_context(|| format!("{address} cannot be listened at; choose another port"))?;
    let bound = listener.local_addr()?;
    let answerer = Arc::new(http::Answerer::new(listener, names, render));
    spawn("metrics", move || answerer.serve())?;
    Ok(bound)
}

#[cfg(test)]
mod tests;
