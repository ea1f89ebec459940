//! A draw of the pages of a process with far more address space than memory.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use tierscope_pagetable::PAGE_BYTES;
use tierscope_pagetable::page_draw::PageDraw;
use tierscope_pagetable::pagemap::PagemapReader;
use tierscope_pagetable::process::process_key;
use tierscope_rootfs::Root;

const SPAN_BYTES: usize = 64 << 30;
const TOUCHED: usize = 20_000;

#[test]
#[allow(unsafe_code, reason = "memory of its own")]
fn a_draw_finds_as_much_as_is_there() {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which nothing else uses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), SPAN_BYTES, access, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    // SAFETY: the mapping above, and pages within it.
    unsafe {
        libc::madvise(start, SPAN_BYTES, libc::MADV_NOHUGEPAGE);
        for offset in (0..SPAN_BYTES).step_by(SPAN_BYTES / TOUCHED) {
            start.cast::<u8>().add(offset).write_volatile(1);
        }
    }
    let root = Root::live();
    let key = process_key(&root, std::process::id()).unwrap();
    let mut reader = PagemapReader::new(root);
    let opened = reader.open(key).unwrap();
    let draw = PageDraw::of(11, SPAN_BYTES as u64 / PAGE_BYTES, None);
    let (mut looked_at, mut resident) = (0, 0);
    let first = start.addr() as u64;
    reader
        .each_drawn(&opened, first..first + SPAN_BYTES as u64, &draw, |_, entry| {
            looked_at += 1;
            resident += u64::from(entry.is_present()) * draw.pages_per_run();
        })
        .unwrap();
    assert!(
        (1 << 16..1 << 18).contains(&looked_at),
        "{looked_at} pages were looked at"
    );
    // Some 156 of the chosen pages are there: the estimate is off by a twelfth on average.
    let ratio = resident as f64 / TOUCHED as f64;
    assert!((0.6..1.4).contains(&ratio), "{resident} of {TOUCHED} pages");
}
