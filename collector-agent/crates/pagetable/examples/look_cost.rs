//! What looking at a process once costs: how much processor time the reading of its mappings and of the pages that are
//! drawn takes, against its size, and of 4,096 pages one by one, as they are followed between tiers. Prints one JSON object of numbers. Arguments: GiB of address space, mappings, and
//! `huge` (every page is there, as huge pages of zeros), `sparse` (one page in 64 is) or `reserved` (nothing may be
//! touched).
#![allow(clippy::print_stdout, reason = "its result is what it prints")]
#![allow(clippy::unwrap_used, reason = "a measurement that cannot be made ends")]

use std::sync::Arc;

use tierscope_pagetable::PAGE_BYTES;
use tierscope_pagetable::mappings::MapsReader;
use tierscope_pagetable::page_draw::PageDraw;
use tierscope_pagetable::pagemap::PagemapReader;
use tierscope_pagetable::process::process_key;
use tierscope_rootfs::Root;

const HUGE_BYTES: usize = 2 << 20;
/// Pages touched of a sparse mapping at most, so that it fits in memory.
const MOST_TOUCHED: usize = 1 << 18;
const FOLLOWED: u64 = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [gib, mappings, kind] = arguments.as_slice() else {
        panic!("GiB, mappings, kind")
    };
    let (gib, mappings): (usize, usize) = (gib.parse().unwrap(), mappings.parse().unwrap());
    let bytes = gib << 30;
    let start = map(bytes, kind);
    split(start, bytes, mappings);

    let root = Root::live();
    let process = process_key(&root, std::process::id()).unwrap();
    let mut maps = MapsReader::new(root.clone(), Box::new(|name: &str| Arc::from(name)));
    let mut pagemap = PagemapReader::new(root);
    let (mut looked_at, mut resident) = (0_u64, 0_u64);
    let before = cpu_ns();
    let listed = maps.read(process).unwrap();
    let span = |accessible: bool| {
        let alike = listed.iter().filter(|mapping| mapping.accessible == accessible);
        alike
            .map(|mapping| (mapping.page_mapping.end - mapping.page_mapping.start) / PAGE_BYTES)
            .sum()
    };
    let draws = [
        PageDraw::of(1, span(false), None),
        PageDraw::of(1, span(true), None),
    ];
    let opened = pagemap.open(process).unwrap();
    for mapping in &listed {
        let draw = &draws[usize::from(mapping.accessible)];
        let range = mapping.page_mapping.start..mapping.page_mapping.end;
        pagemap
            .each_drawn(&opened, range, draw, |_, entry| {
                looked_at += 1;
                resident += u64::from(entry.is_present()) * draw.pages_per_run();
            })
            .unwrap();
    }
    let cpu_ms = (cpu_ns() - before) as f64 / 1e6;
    let before = cpu_ns();
    for page in 0..FOLLOWED {
        let address = start as u64 + page * (bytes as u64 / FOLLOWED / PAGE_BYTES * PAGE_BYTES);
        pagemap.entry(&opened, address).unwrap();
    }
    let followed_ms = (cpu_ns() - before) as f64 / 1e6;
    println!(
        "{{\"cpu_ms\": {cpu_ms:.2}, \"followed_ms\": {followed_ms:.2}, \"mappings\": {}, \"pages_looked_at\": {looked_at}, \"resident_gib\": {:.2}}}",
        listed.len(),
        (resident * PAGE_BYTES) as f64 / f64::from(1 << 30)
    );
}

#[allow(unsafe_code, reason = "memory of its own")]
fn map(bytes: usize, kind: &str) -> *mut u8 {
    let access = if kind == "reserved" {
        libc::PROT_NONE
    } else {
        libc::PROT_READ | libc::PROT_WRITE
    };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, which nothing else uses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED, "no such mapping");
    let first = start.cast::<u8>();
    let (step, write) = match kind {
        "huge" => (HUGE_BYTES, false),
        "sparse" => ((64 * PAGE_BYTES as usize).max(bytes / MOST_TOUCHED), true),
        _ => return first,
    };
    let advice = if write {
        libc::MADV_NOHUGEPAGE
    } else {
        libc::MADV_HUGEPAGE
    };
    // SAFETY: the mapping above, and bytes within it.
    unsafe {
        libc::madvise(start, bytes, advice);
        for offset in (0..bytes).step_by(step) {
            if write {
                first.add(offset).write_volatile(1);
            } else {
                first.add(offset).read_volatile();
            }
        }
    }
    first
}

/// Cuts a mapping in so many, by what may be done with every second part.
#[allow(unsafe_code, reason = "memory of its own")]
fn split(start: *mut u8, bytes: usize, mappings: usize) {
    let part = bytes / mappings / PAGE_BYTES as usize * PAGE_BYTES as usize;
    for number in (1..mappings).step_by(2) {
        // SAFETY: a part of the mapping, which nothing reads afterwards.
        let done = unsafe { libc::mprotect(start.add(number * part).cast(), part, libc::PROT_READ) };
        assert_eq!(done, 0, "no more mappings: raise vm.max_map_count");
    }
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the time.
    #[allow(unsafe_code, reason = "a system call")]
    let _done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
