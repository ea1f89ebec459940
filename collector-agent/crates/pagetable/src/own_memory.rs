//! Memory of this process that probes try things on: a mapping of its own, of base pages.

use std::io;
use std::ptr::NonNull;

/// A private anonymous mapping, readable and writable, without huge pages; given back when dropped.
#[derive(Debug)]
pub(crate) struct OwnMemory {
    start: NonNull<u8>,
    pages: usize,
    page_bytes: usize,
}

impl OwnMemory {
    pub(crate) fn new(pages: usize) -> io::Result<Self> {
        let page_bytes = tierscope_rootfs::Root::live().page_bytes() as usize;
        let bytes = pages * page_bytes;
        // SAFETY: a new mapping at an address of the kernel's choice; no memory in use is replaced.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = Self {
            start,
            pages,
            page_bytes,
        };
        // SAFETY: the mapping made above. A kernel without huge pages refuses, which is as good.
        unsafe { libc::madvise(memory.start.as_ptr().cast(), bytes, libc::MADV_NOHUGEPAGE) };
        Ok(memory)
    }

    pub(crate) fn addresses(&self) -> std::ops::Range<u64> {
        let start = self.start.as_ptr() as u64;
        start..start + (self.pages * self.page_bytes) as u64
    }

    pub(crate) fn page_of(&self, address: u64) -> Option<usize> {
        let inside = self.addresses().contains(&address);
        inside.then(|| (address - self.addresses().start) as usize / self.page_bytes)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the whole mapping, which is initialised with zeros and which nothing else refers to.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.pages * self.page_bytes) }
    }

    pub(crate) fn write(&mut self, page: usize) {
        // SAFETY: `at` is inside the mapping, which nothing else refers to.
        unsafe { self.at(page).write_volatile(1) };
    }

    pub(crate) fn read(&self, page: usize) {
        // SAFETY: `at` is inside the mapping, and no exclusive reference to it exists.
        unsafe { self.at(page).read_volatile() };
    }

    fn at(&self, page: usize) -> *mut u8 {
        assert!(page < self.pages, "page {page} is not in the mapping");
        // SAFETY: checked to be inside the mapping.
        unsafe { self.start.as_ptr().add(page * self.page_bytes) }
    }
}

impl Drop for OwnMemory {
    fn drop(&mut self) {
        let bytes = self.pages * self.page_bytes;
        // SAFETY: the mapping made in `new`, to which no reference is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), bytes) };
    }
}
