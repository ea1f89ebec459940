//! Taking what a back end reads of one process.

use std::sync::Arc;

use super::classes::{class_of, is_same_mapping};
use super::keyed_hash::keyed_hash;
use super::keyed_space::{FileKey, SpaceKey};
use super::listed::{PageMapping, PageSize, PageState, UNIT_SHIFT};
use super::space::{Cursor, HIGHEST_LEVEL};
use super::tiles::Touch;
use super::{PageGroup, ProcessReading};
use crate::gaps::end_by_unmap;
use crate::heat::PageKind;
use crate::vma::ProcessKey;

#[derive(Clone, Copy)]
struct Reading<'a> {
    page: &'a PageState,
    observed: bool,
}

#[derive(Clone, Copy)]
struct Active {
    space: usize,
    number: u64,
    subpage: u64,
    class: usize,
    sampled: bool,
}

/// Where the pages of a mapping are kept, and how far its listing has got.
#[derive(Default)]
struct Places {
    file: Option<(usize, Cursor)>,
    own: Option<(usize, Cursor)>,
}

impl ProcessReading<'_> {
    /// Takes pages of a mapping, in order of address. A mapping may come in several consecutive chunks.
    pub fn mapping(&mut self, mapping: &PageMapping, pages: &[PageState]) {
        if let Some(process) = self.group.processes.get_mut(&self.process) {
            process.list(mapping);
        }
        let mut places = Places::default();
        let inside = pages.iter().filter(|page| {
            page.address < mapping.end
                && page.address.saturating_add(u64::from(page.size.bytes())) > mapping.start
        });
        for page in inside {
            self.page(mapping, &mut places, page);
        }
    }

    /// Adds resident bytes of the process, for back ends that do not list every page.
    pub fn resident(&mut self, kind: PageKind, bytes: i64) {
        if let Some(process) = self.group.processes.get_mut(&self.process) {
            process.resident_bytes[kind as usize] += bytes.max(0);
        }
    }

    /// Says which share of time and cores was observed, for back ends that sample.
    pub fn duty(&mut self, ratio: f64) {
        self.group.interval.duty.add(ratio);
    }

    /// Says how many events one sample stands for.
    pub fn period(&mut self, events: f64) {
        self.group.interval.period.add(events);
    }

    #[inline]
    fn page(&mut self, mapping: &PageMapping, places: &mut Places, page: &PageState) {
        let kind = if page.anon { PageKind::Anon } else { mapping.kind };
        let class = class_of(kind, page.size, page.tier);
        let in_file = mapping.inode != 0;
        let place = if in_file && !page.anon {
            &mut places.file
        } else {
            &mut places.own
        };
        let group = &mut *self.group;
        let (space, cursor) = place.get_or_insert_with(|| {
            let key = key_of(self.process, mapping, page.anon);
            (group.space_at(key), Cursor::default())
        });
        let offset = if in_file {
            // A huge page may begin before the stretch of it that is mapped.
            mapping
                .offset_bytes
                .wrapping_add(page.address)
                .wrapping_sub(mapping.start)
        } else {
            page.address
        };
        let number = (offset & !(u64::from(page.size.bytes()) - 1)) >> UNIT_SHIFT;
        let subpage = (offset >> UNIT_SHIFT) - number;
        let reading = Reading {
            page,
            observed: self.observed,
        };
        group.list(*space, cursor, (number, subpage), class, reading);
    }
}

impl PageGroup {
    /// Takes one page of a space. `number` is its place, and the sub-page that was active.
    #[inline]
    fn list(&mut self, space: usize, cursor: &mut Cursor, number: (u64, u64), class: u16, reading: Reading) {
        let (number, subpage) = number;
        let Reading { page, observed } = reading;
        let keyed = &mut self.spaces[space];
        let (tracked, new) = keyed.space.page(cursor, number, class);
        let old = tracked.marks.class() as u16;
        let renewed = old != class && !tracked.is_listed() && !is_same_mapping(old, class);
        if renewed {
            let end = end_by_unmap(self.shape.flatten(tracked.history), observed);
            self.classes.end_gap(usize::from(old), &self.options.tiers, end);
            tracked.renew(class);
        } else if !tracked.is_listed() {
            tracked.marks.set_class(class);
        }
        if (new || renewed)
            && let Some(sampler) = &self.sampler
        {
            tracked.set_sampled(sampler.selects(keyed_hash(sampler.key(), &[keyed.hash, number])));
        }
        if tracked.list(observed) {
            tracked.marks.shift();
        }
        let counted = page.loads | page.stores != 0;
        let active = observed && (page.active || counted);
        if active {
            let samples = u64::from(page.loads.max(page.stores).max(1));
            let level = self.shape.level(samples, self.options.frequency);
            tracked.activate((level as u32).min(HIGHEST_LEVEL));
            if self.counts {
                tracked.marks.count(u64::from(page.loads));
            }
        }
        let (class, sampled) = (tracked.marks.class(), tracked.is_sampled());
        if renewed {
            keyed.space.forget_subpages(number);
        }
        if !active {
            return;
        }
        let active = Active {
            space,
            number,
            subpage,
            class,
            sampled,
        };
        self.note_activity(active, page);
    }

    /// Notes the activity of a page that was seen active.
    #[inline]
    fn note_activity(&mut self, active: Active, page: &PageState) {
        let sees_subpages = self.samples_events();
        let keyed = &mut self.spaces[active.space];
        if active.sampled
            && let Some(sampler) = &mut self.sampler
        {
            let id = keyed_hash(sampler.key(), &[keyed.hash, active.number]);
            let (loads, stores) = if self.counts {
                (page.loads, page.stores)
            } else {
                (1, 0)
            };
            sampler.touch(id, loads, stores);
        }
        if !self.counts || page.loads | page.stores == 0 {
            return;
        }
        let samples = &mut self.classes.at(active.class, &self.options.tiers).tally.samples;
        samples.loads += u64::from(page.loads);
        samples.stores += u64::from(page.stores);
        self.interval.touches.push(Touch {
            space: active.space,
            number: active.number,
            class: active.class as u16,
            count: page.loads.saturating_add(page.stores),
        });
        if page.size == PageSize::Huge2M && sees_subpages {
            keyed.space.touch_subpage(active.number, active.subpage);
        }
    }
}

fn key_of(process: ProcessKey, mapping: &PageMapping, anon: bool) -> SpaceKey {
    if mapping.inode == 0 {
        return SpaceKey::Anon(process);
    }
    let file = FileKey {
        device: mapping.device,
        inode: mapping.inode,
        name: Arc::clone(&mapping.name),
    };
    if anon {
        SpaceKey::Copies(process, file)
    } else {
        SpaceKey::File(file)
    }
}
