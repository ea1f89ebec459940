//! Swap on a zoned device: the host appends to zones, knows which slots are free without TRIM, and reclaims zones itself.
//!
//! After `ZNSwap` (Bergman et al., USENIX ATC 2022): zones by policy; reclaim takes the zone with the fewest slots to copy,
//! drops copies of pages that are clean in memory, and its time is charged to whoever fills the zones.

use crate::dies::Dies;
use crate::log::{Log, NONE};
use crate::outcome::Counts;
use crate::params::{Flash, SwapError, ZonePolicy, Zoned};

#[derive(Clone, Copy)]
pub(crate) struct Writer {
    pub(crate) cpu: u32,
    pub(crate) tenant: u32,
}

pub(crate) struct ZonedSwap {
    log: Log,
    pub(crate) dies: Dies,
    /// Page to place on flash.
    places: Vec<u32>,
    /// Page is clean in memory beside its copy.
    cached: Vec<bool>,
    /// Page to the stream that reclaim copies it to.
    owners: Vec<u8>,
    /// By page: host writes when it was written last, to tell hot pages from cold ones.
    written_at: Vec<u32>,
    writes: u32,
    mean_life: f64,
    live: u32,
    how: Zoned,
    flash: Flash,
    streams: Streams,
}

/// Open zones by use: the first ones take pages from memory, the others what reclaim copies.
#[derive(Clone, Copy)]
struct Streams {
    host: u32,
    reclaim: u32,
}

impl Streams {
    /// As many as the policy asks for, within the device's limit of open zones.
    fn new(how: Zoned, cpus: u32, tenants: u32) -> Self {
        let (host, reclaim) = match how.policy {
            ZonePolicy::Single => (1, 1),
            ZonePolicy::PerCore => (cpus, 1),
            ZonePolicy::HotCold => (2, 1),
            ZonePolicy::PerTenant => (tenants, tenants),
        };
        let reclaim = reclaim.min(how.open_zones / 2).max(1);
        Self {
            host: host.min(how.open_zones - reclaim).max(1),
            reclaim,
        }
    }
}

impl ZonedSwap {
    pub(crate) fn new(flash: Flash, how: Zoned, pages: usize, cpus: u32, tenants: u32) -> Self {
        let streams = Streams::new(how, cpus, tenants);
        Self {
            log: Log::new(flash, flash.segments(), streams.host + streams.reclaim),
            dies: Dies::new(flash),
            places: vec![NONE; pages],
            cached: vec![false; pages],
            owners: vec![0; pages],
            written_at: vec![0; pages],
            writes: 0,
            mean_life: f64::INFINITY,
            live: 0,
            how,
            flash,
            streams,
        }
    }

    pub(crate) fn has_copy(&self, page: u32) -> bool {
        self.places[page as usize] != NONE
    }

    pub(crate) fn used_ratio(&self) -> f64 {
        f64::from(self.live) / f64::from(self.flash.slots)
    }

    pub(crate) fn physical_slots(&self) -> u64 {
        self.log.physical_slots()
    }

    fn stream_of(&self, page: u32, writer: Writer) -> u32 {
        let wanted = match self.how.policy {
            ZonePolicy::Single => 0,
            ZonePolicy::PerCore => writer.cpu,
            ZonePolicy::PerTenant => writer.tenant,
            ZonePolicy::HotCold => {
                let life = self.writes - self.written_at[page as usize];
                u32::from(self.written_at[page as usize] != 0 && f64::from(life) < self.mean_life)
            }
        };
        wanted % self.streams.host
    }

    /// Appends a page to a zone. Returns the time that the writer spends on reclaim.
    pub(crate) fn write(
        &mut self,
        page: u32,
        writer: Writer,
        now_ns: u64,
        counts: &mut Counts,
    ) -> Result<u64, SwapError> {
        let stream = self.stream_of(page, writer);
        self.note_life(page);
        self.owners[page as usize] = (writer.tenant % self.streams.reclaim) as u8;
        counts.swap_writes += 1;
        self.append(stream, page, now_ns, counts)?;
        self.live += 1;
        self.reclaim(now_ns, counts)
    }

    fn note_life(&mut self, page: u32) {
        self.writes += 1;
        let last = std::mem::replace(&mut self.written_at[page as usize], self.writes);
        if last == 0 {
            return;
        }
        let life = f64::from(self.writes - last);
        self.mean_life = if self.mean_life.is_finite() {
            self.mean_life + (life - self.mean_life) / 1024.0
        } else {
            life
        };
    }

    /// When the page has been read; its copy stays.
    pub(crate) fn read(&mut self, page: u32, now_ns: u64) -> u64 {
        let place = self.places[page as usize];
        self.set_cached(page, true);
        match self.log.die_of(place) {
            Some(die) => self.dies.read(die, now_ns),
            None => now_ns + self.flash.transfer_ns,
        }
    }

    /// The page leaves memory, clean: the copy is all that is left of it.
    pub(crate) fn drop_from_memory(&mut self, page: u32) {
        self.set_cached(page, false);
    }

    fn set_cached(&mut self, page: u32, cached: bool) {
        if std::mem::replace(&mut self.cached[page as usize], cached) != cached {
            self.log.spare(self.places[page as usize], cached);
        }
    }

    /// The copy of a page is stale. The host notes it: nothing is sent to the device.
    pub(crate) fn release(&mut self, page: u32) {
        if self.has_copy(page) {
            self.set_cached(page, false);
            self.log.kill(self.places[page as usize]);
            self.places[page as usize] = NONE;
            self.live -= 1;
        }
    }

    fn append(
        &mut self,
        stream: u32,
        page: u32,
        now_ns: u64,
        counts: &mut Counts,
    ) -> Result<(), SwapError> {
        let written = self.log.append(stream, page).ok_or(SwapError::NoFlash)?;
        self.places[page as usize] = written.place;
        counts.device_writes += 1;
        counts.flash_writes += 1;
        if let Some(die) = written.programs {
            self.dies.program(die, now_ns);
        }
        Ok(())
    }

    /// Resets zones until as many are empty as reclaim itself may open. Returns the host's time for copying.
    fn reclaim(&mut self, now_ns: u64, counts: &mut Counts) -> Result<u64, SwapError> {
        let mut copied = 0;
        while self.log.free_segments() <= self.streams.reclaim as usize {
            let Some(victim) = self.log.victim() else {
                break;
            };
            let mut page_read = NONE;
            for (flash_page, page) in self.log.reset(victim) {
                if std::mem::replace(&mut self.cached[page as usize], false) {
                    self.places[page as usize] = NONE;
                    self.live -= 1;
                    counts.dropped_copies += 1;
                    continue;
                }
                if flash_page != page_read {
                    page_read = flash_page;
                    self.dies
                        .add(flash_page % self.flash.dies, now_ns, self.flash.read_ns);
                }
                let stream = self.streams.host + u32::from(self.owners[page as usize]);
                self.append(stream, page, now_ns, counts)?;
                counts.host_copies += 1;
                copied += 1;
            }
            self.dies.erase(now_ns);
            counts.erases += 1;
        }
        Ok(copied * self.how.copy_ns)
    }
}
