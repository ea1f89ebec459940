//! The system calls: opening and steering events, and their memory. All `unsafe` of this crate is here.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::{PERF_FLAG_FD_CLOEXEC, perf_event_attr, perf_event_mmap_page};
use perf_event_open_sys::{ioctls, perf_event_open};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// What an event watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// A thread; `None` for all.
    pub(crate) thread: Option<u32>,
    /// A CPU; `None` for all.
    pub(crate) cpu: Option<u32>,
}

/// Reading of an event: its count and how long it was enabled and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reading {
    pub(crate) count: u64,
    pub(crate) enabled_ns: u64,
    pub(crate) running_ns: u64,
}

/// An open event.
#[derive(Debug)]
pub(crate) struct Descriptor(OwnedFd);

impl Descriptor {
    /// Opens an event, in the group of `leader` where there is one.
    pub(crate) fn open(attr: &perf_event_attr, target: Target, leader: Option<&Self>) -> Result<Self, Errno> {
        let mut attr = *attr;
        let group = leader.map_or(-1, Self::raw);
        let thread = target.thread.map_or(-1, u32::cast_signed);
        let cpu = target.cpu.map_or(-1, u32::cast_signed);
        // SAFETY: the kernel reads the structure, whose `size` is its size, and may write that field.
        let opened =
            unsafe { perf_event_open(&raw mut attr, thread, cpu, group, PERF_FLAG_FD_CLOEXEC.into()) };
        if opened < 0 {
            return Err(last_error());
        }
        // SAFETY: a fresh descriptor that nothing else owns.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(opened) }))
    }

    /// Lets it count.
    pub(crate) fn enable(&self) -> Result<(), Errno> {
        // SAFETY: an open perf event; the argument is a flag.
        checked(unsafe { ioctls::ENABLE(self.raw(), 0) })
    }

    pub(crate) fn disable(&self) -> Result<(), Errno> {
        // SAFETY: an open perf event; the argument is a flag.
        checked(unsafe { ioctls::DISABLE(self.raw(), 0) })
    }

    /// Changes how many events make a sample.
    pub(crate) fn set_period(&self, period: u64) -> Result<(), Errno> {
        let mut period = period;
        // SAFETY: an open perf event. The kernel takes this argument by address, and reads 8 bytes.
        checked(unsafe { set_period(self.raw(), &raw mut period) })
    }

    /// Sends its records to the ring of another event on the same CPU.
    pub(crate) fn send_to(&self, owner: &Self) -> Result<(), Errno> {
        // SAFETY: two open perf events.
        checked(unsafe { ioctls::SET_OUTPUT(self.raw(), owner.raw()) })
    }

    /// The id that its samples carry.
    pub(crate) fn id(&self) -> Result<u64, Errno> {
        let mut id = 0;
        // SAFETY: an open perf event; the kernel writes 8 bytes at the address.
        checked(unsafe { ioctls::ID(self.raw(), &raw mut id) })?;
        Ok(id)
    }

    /// Its count and times; the event has `read_format` 3.
    pub(crate) fn read(&self) -> Result<Reading, Errno> {
        let mut bytes = [0; 24];
        if rustix::io::read(&self.0, &mut bytes)? != bytes.len() {
            return Err(Errno::IO);
        }
        let word = |index: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * index + byte]));
        Ok(Reading {
            count: word(0),
            enabled_ns: word(1),
            running_ns: word(2),
        })
    }

    fn raw(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `PERF_EVENT_IOC_PERIOD`.
///
/// # Safety
/// `descriptor` is a perf event, `period` points to 8 bytes.
unsafe fn set_period(descriptor: i32, period: *mut u64) -> i32 {
    // SAFETY: as the caller promises. The binding wants the number by value, where the kernel wants its address.
    unsafe { ioctls::PERIOD(descriptor, period as u64) }
}

fn checked(result: i32) -> Result<(), Errno> {
    if result < 0 { Err(last_error()) } else { Ok(()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// The memory of an event: its control page and ring, or its auxiliary buffer.
#[derive(Debug)]
pub(crate) struct Memory {
    base: NonNull<u8>,
    length: usize,
    /// Where the ring begins, and its length, a power of two.
    data_offset: usize,
    data_bytes: usize,
}

// SAFETY: the mapping is shared memory that stays where it is; `Memory` alone writes its tail.
unsafe impl Send for Memory {}

/// One of the two streams of an event's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Records,
    Auxiliary,
}

impl Memory {
    /// Maps the control page and a ring of `data_bytes`, a power of two of pages.
    pub(crate) fn ring(event: &Descriptor, data_bytes: usize) -> Result<Self, Errno> {
        let page_bytes = rustix::param::page_size();
        Self::map(event, 0, (page_bytes, data_bytes))
    }

    /// Maps an auxiliary buffer of `bytes` behind the ring of the same event.
    pub(crate) fn auxiliary(ring: &Self, event: &Descriptor, bytes: usize) -> Result<Self, Errno> {
        let offset = ring.length as u64;
        let control = ring.control();
        // SAFETY: the control page is mapped writable; these two fields are for us to write before mapping the buffer.
        unsafe {
            (&raw mut (*control).aux_offset).write_volatile(offset);
            (&raw mut (*control).aux_size).write_volatile(bytes as u64);
        }
        Self::map(event, offset, (0, bytes))
    }

    /// Maps from `offset` of the event: bytes before the data, and bytes of data.
    fn map(
        event: &Descriptor,
        offset: u64,
        (data_offset, data_bytes): (usize, usize),
    ) -> Result<Self, Errno> {
        let length = data_offset + data_bytes;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at a place that the kernel chooses; it is unmapped when `Memory` is dropped.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, protection, flags, event, offset)? };
        let base = NonNull::new(base.cast::<u8>()).ok_or(Errno::NOMEM)?;
        Ok(Self {
            base,
            length,
            data_offset,
            data_bytes,
        })
    }

    fn control(&self) -> *mut perf_event_mmap_page {
        self.base.as_ptr().cast()
    }

    pub(crate) fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// How far the kernel has written. What it wrote before is visible after this.
    pub(crate) fn head(&self, stream: Stream) -> u64 {
        self.position(stream, true).load(Ordering::Acquire)
    }

    /// How far has been read.
    pub(crate) fn tail(&self, stream: Stream) -> u64 {
        self.position(stream, false).load(Ordering::Relaxed)
    }

    /// Gives the room before `tail` back to the kernel. All reading of it has happened before.
    pub(crate) fn set_tail(&self, stream: Stream, tail: u64) {
        self.position(stream, false).store(tail, Ordering::Release);
    }

    /// Appends the bytes `range` of the ring to `out`.
    ///
    /// # Panics
    /// When the range lies outside of the ring.
    pub(crate) fn copy(&self, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        assert!(range.start <= range.end && range.end <= self.data_bytes);
        let (old, added) = (out.len(), range.len());
        out.reserve(added);
        // SAFETY: the range lies in the mapping, and the kernel does not write between tail and head. `out` has room for
        // `added` bytes more, which are initialised by the copy.
        unsafe {
            let from = self.base.as_ptr().add(self.data_offset + range.start);
            std::ptr::copy_nonoverlapping(from, out.as_mut_ptr().add(old), added);
            out.set_len(old + added);
        }
    }

    fn position(&self, stream: Stream, is_head: bool) -> &AtomicU64 {
        let control = self.control();
        // SAFETY: aligned words of the control page, which is mapped as long as `self` lives; only accessed atomically,
        // here and in the kernel.
        unsafe {
            let field = match (stream, is_head) {
                (Stream::Records, true) => &raw mut (*control).data_head,
                (Stream::Records, false) => &raw mut (*control).data_tail,
                (Stream::Auxiliary, true) => &raw mut (*control).aux_head,
                (Stream::Auxiliary, false) => &raw mut (*control).aux_tail,
            };
            AtomicU64::from_ptr(field)
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the whole mapping made by `map`; nothing borrows from it.
        let _unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// The bytes of an attribute, as the kernel reads them.
#[cfg(test)]
pub(crate) fn attr_bytes(attr: &perf_event_attr) -> &[u8] {
    // SAFETY: a plain structure without padding, borrowed for as long as the result.
    unsafe { std::slice::from_raw_parts((&raw const *attr).cast(), size_of::<perf_event_attr>()) }
}
