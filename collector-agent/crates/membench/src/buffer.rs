//! Memory from the kernel: on one node, of huge or of small pages, given back on drop.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use tierscope_sample::page_size;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::MembenchError;

/// Buffers begin and end at a multiple of this: the usual size of a huge page.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;
/// The smallest of any kernel: a step of as much touches each page.
const SMALL_PAGE_BYTES: usize = page_size::MODEL_BYTES as usize;
/// `MPOL_BIND` of linux/mempolicy.h: memory of these nodes or none.
const MPOL_BIND: libc::c_int = 2;
/// Bits of the node mask; the kernel knows at most 1,024 nodes.
const MASK_BITS: usize = 1024;
const MASK_WORDS: usize = MASK_BITS / u64::BITS as usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Huge ones, as far as the kernel has them.
    Huge,
    /// None but the smallest.
    Small,
}

/// A mapping of this process alone, every page of it resident.
#[derive(Debug)]
pub(crate) struct Buffer {
    mapping: *mut c_void,
    mapped_bytes: usize,
    region: Region,
}

/// A part of a buffer that one thread works on at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Region {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a region is an address and a length. Whoever dereferences it does so under the contract of `Region::start`.
unsafe impl Send for Region {}

impl Region {
    /// The address of its first byte, aligned to a cache line. Valid for reads and writes of [`Self::bytes`] bytes as
    /// long as the buffer lives; only one thread may use a region at a time.
    pub(crate) fn start(self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn bytes(self) -> usize {
        self.bytes
    }

    /// Splits it into `n` equal parts whose length is a multiple of `unit` bytes; what is left over is not used.
    pub(crate) fn split(self, n: usize, unit: usize) -> Vec<Region> {
        let bytes = self.bytes / n.max(1) / unit * unit;
        let part = |index: usize| Region {
            // SAFETY: `index < n` and `n * bytes <= self.bytes`, so that the part lies within this region.
            start: unsafe { self.start.add(index * bytes) },
            bytes,
        };
        (0..n).map(part).collect()
    }

    /// Its first `bytes` bytes, and the rest.
    pub(crate) fn split_at(self, bytes: usize) -> (Region, Region) {
        let bytes = bytes.min(self.bytes);
        let rest = Region {
            // SAFETY: `bytes <= self.bytes`: the address is within the region or one past its end.
            start: unsafe { self.start.add(bytes) },
            bytes: self.bytes - bytes,
        };
        (Region { bytes, ..self }, rest)
    }
}

impl Buffer {
    /// Maps `bytes` (rounded up to huge pages), bound to `node` where one is given, and touches every page.
    pub(crate) fn new(bytes: usize, pages: Pages, node: Option<u32>) -> Result<Self, MembenchError> {
        let bytes = bytes.max(1).next_multiple_of(HUGE_PAGE_BYTES);
        let mapped_bytes = bytes + HUGE_PAGE_BYTES;
        let not_mapped = |cause: String| MembenchError::NotMapped { bytes, cause };
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice changes no memory in use.
        let mapping = unsafe { mmap_anonymous(null_mut(), mapped_bytes, protection, flags) }
            .map_err(|error| not_mapped(error.to_string()))?;
        let padding = mapping.cast::<u8>().align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the mapping is one huge page longer than the buffer, so that the aligned address lies within it.
        let start = unsafe { mapping.cast::<u8>().add(padding) };
        let start = NonNull::new(start).ok_or_else(|| not_mapped("no address".to_owned()))?;
        let region = Region { start, bytes };
        let buffer = Self {
            mapping,
            mapped_bytes,
            region,
        };
        let advice = match pages {
            Pages::Huge => Advice::LinuxHugepage,
            Pages::Small => Advice::LinuxNoHugepage,
        };
        // SAFETY: the range is this buffer's own, and the advice changes the size of its pages alone. A kernel without
        // huge pages refuses, and the buffer has small ones then.
        let _ = unsafe { madvise(start.as_ptr().cast(), bytes, advice) };
        if let Some(node) = node {
            bind(region, node)?;
        }
        buffer.touch();
        Ok(buffer)
    }

    pub(crate) fn region(&self) -> Region {
        self.region
    }

    fn touch(&self) {
        for offset in (0..self.region.bytes).step_by(SMALL_PAGE_BYTES) {
            // SAFETY: the offset lies within the buffer, which no other thread knows yet. Volatile, so that the write
            // happens and makes the page resident.
            unsafe { self.region.start().add(offset).write_volatile(0) };
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and regions do not outlive the buffer.
        let _ = unsafe { munmap(self.mapping, self.mapped_bytes) };
    }
}

/// Binds memory that has no pages yet to a node.
fn bind(region: Region, node: u32) -> Result<(), MembenchError> {
    let not_bound = |cause: String| MembenchError::NotBound { node, cause };
    let mut mask = [0_u64; MASK_WORDS];
    let Some(word) = mask.get_mut(node as usize / u64::BITS as usize) else {
        return Err(not_bound("no such node".to_owned()));
    };
    *word |= 1 << (node % u64::BITS);
    // SAFETY: the kernel reads MASK_BITS bits of the mask (it takes one off the number given) and changes the policy of
    // this buffer's own range alone.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            region.start(),
            region.bytes,
            MPOL_BIND,
            mask.as_ptr(),
            MASK_BITS + 1,
            0,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(not_bound(std::io::Error::last_os_error().to_string()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_and_its_parts_do_not_overlap() {
        let buffer = Buffer::new(3 << 20, Pages::Huge, None).unwrap();
        let region = buffer.region();
        assert_eq!(
            (region.start() as usize % HUGE_PAGE_BYTES, region.bytes()),
            (0, 4 << 20)
        );
        let parts = region.split(3, 4096);
        let ends: Vec<usize> = parts
            .iter()
            .map(|part| part.start() as usize + part.bytes())
            .collect();
        assert!(
            parts
                .iter()
                .all(|part| part.bytes() % 4096 == 0 && part.bytes() > 1 << 20)
        );
        assert!(parts[1].start() as usize >= ends[0] && parts[2].start() as usize >= ends[1]);
        assert!(ends[2] <= region.start() as usize + region.bytes());
        let (first, rest) = region.split_at(1 << 20);
        assert_eq!((first.bytes(), rest.bytes()), (1 << 20, 3 << 20));
        assert_eq!(rest.start() as usize, first.start() as usize + (1 << 20));
    }

    #[test]
    fn a_node_that_does_not_exist_is_refused_with_the_kernels_reason() {
        for node in [1023, 5000] {
            let error = Buffer::new(1, Pages::Small, Some(node)).unwrap_err();
            assert!(
                matches!(&error, MembenchError::NotBound { node: named, .. } if *named == node),
                "{error}"
            );
        }
    }
}
