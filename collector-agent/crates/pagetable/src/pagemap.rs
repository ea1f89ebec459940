//! `/proc/<pid>/pagemap`: what lies behind each page of a process. Residency, not accesses.
//!
//! The layout of an entry is the kernel's `Documentation/admin-guide/mm/pagemap.rst`. Reading costs some 10 ns per
//! page, whether something is there or not.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt as _;

use tierscope_rootfs::Root;
use tierscope_sample::vma_fold::ProcessKey;

use crate::page_draw::PageDraw;
use crate::process::{ProcessFiles, Unmeasured};

const ENTRY_BYTES: usize = 8;
/// Bytes asked for at once: the entries of 131,072 pages.
const CHUNK_BYTES: usize = 1 << 20;
const PFN_MASK: u64 = (1 << 55) - 1;

/// What the kernel says about one page of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageEntry(pub u64);

impl PageEntry {
    /// Whether the page is in memory and mapped.
    pub fn is_present(self) -> bool {
        self.0 >> 63 & 1 != 0
    }

    /// Whether the page is one of a file or of shared memory; a present page that is not is anonymous.
    pub fn is_file_or_shmem(self) -> bool {
        self.0 >> 61 & 1 != 0
    }

    /// Whether the page was written since the marks were cleared, on kernels that keep them.
    pub fn is_soft_dirty(self) -> bool {
        self.0 >> 55 & 1 != 0
    }

    /// Page frame number of a present page; `None` also where the kernel hides it from this process, which needs
    /// `CAP_SYS_ADMIN`.
    pub fn pfn(self) -> Option<u64> {
        let pfn = self.0 & PFN_MASK;
        (self.is_present() && pfn != 0).then_some(pfn)
    }
}

/// The entries in bytes of a pagemap file, in order. A cut entry at the end is left out.
pub fn entries(bytes: &[u8]) -> impl Iterator<Item = PageEntry> {
    let (whole, _) = bytes.as_chunks::<ENTRY_BYTES>();
    whole.iter().map(|entry| PageEntry(u64::from_ne_bytes(*entry)))
}

/// Reads what lies behind pages of processes beneath one root.
#[derive(Debug)]
pub struct PagemapReader {
    files: ProcessFiles,
    page_bytes: u64,
    buffer: Vec<u8>,
    bytes_read: u64,
}

/// The open pagemap of one process. It stays with the memory that the process had when it was opened: after the
/// process ends or executes another program, all pages are absent.
#[derive(Debug)]
pub struct Pagemap {
    file: File,
    process: ProcessKey,
}

impl AsRawFd for Pagemap {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl PagemapReader {
    /// A reader with a buffer of 1 MiB, taken at the first reading.
    pub fn new(root: Root) -> Self {
        Self {
            page_bytes: root.page_bytes(),
            files: ProcessFiles::new(root),
            buffer: Vec::new(),
            bytes_read: 0,
        }
    }

    /// Bytes of the page that one entry stands for.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read + self.files.bytes_read()
    }

    /// Opens the pagemap of a process.
    pub fn open(&mut self, process: ProcessKey) -> Result<Pagemap, Unmeasured> {
        let file = self
            .files
            .open(process, "pagemap", OpenOptions::new().read(true))?;
        Ok(Pagemap { file, process })
    }

    /// Hands out address and entry of each page in the ranges (addresses; partial pages count whole), in their order.
    pub fn each(
        &mut self,
        pagemap: &Pagemap,
        ranges: impl IntoIterator<Item = Range<u64>>,
        mut each: impl FnMut(u64, PageEntry),
    ) -> Result<(), Unmeasured> {
        for range in ranges {
            let mut address = range.start / self.page_bytes * self.page_bytes;
            while address < range.end {
                let got = self.fill(pagemap, address, range.end)?;
                if got < ENTRY_BYTES {
                    break;
                }
                for entry in entries(&self.buffer[..got]) {
                    each(address, entry);
                    address += self.page_bytes;
                }
            }
        }
        Ok(())
    }

    /// Hands out address and entry of each chosen page of a range, in their order.
    pub fn each_drawn(
        &mut self,
        pagemap: &Pagemap,
        range: Range<u64>,
        draw: &PageDraw,
        mut each: impl FnMut(u64, PageEntry),
    ) -> Result<(), Unmeasured> {
        if draw.pages_per_run() == 1 {
            return self.each(pagemap, [range], each);
        }
        for address in draw.addresses(range, self.page_bytes) {
            each(address, self.entry(pagemap, address)?);
        }
        Ok(())
    }

    /// The entry of the page at an address.
    pub fn entry(&mut self, pagemap: &Pagemap, address: u64) -> Result<PageEntry, Unmeasured> {
        let got = self.fill(pagemap, address, address + 1)?;
        Ok(entries(&self.buffer[..got]).next().unwrap_or_default())
    }

    /// Fails unless the process is still there; entries read before the check are those of the process.
    pub fn check_identity(&mut self, pagemap: &Pagemap) -> Result<(), Unmeasured> {
        self.files.check_identity(pagemap.process)
    }

    fn fill(&mut self, pagemap: &Pagemap, address: u64, end: u64) -> Result<usize, Unmeasured> {
        let pages = (end - address).div_ceil(self.page_bytes);
        let wanted = (pages as usize).saturating_mul(ENTRY_BYTES).min(CHUNK_BYTES);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let offset = address / self.page_bytes * ENTRY_BYTES as u64;
        let read = read_at(&pagemap.file, &mut self.buffer[..wanted], offset);
        let got = read.map_err(|error| self.files.unmeasured_io(pagemap.process, &error))?;
        self.bytes_read += got as u64;
        Ok(got)
    }
}

fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_their_places() {
        let page = PageEntry(1 << 63 | 1 << 61 | 1 << 56 | 0x1234);
        assert!(page.is_present() && page.is_file_or_shmem() && !page.is_soft_dirty());
        assert_eq!(page.pfn(), Some(0x1234));
        let hidden = PageEntry(1 << 63 | 1 << 55);
        assert!(hidden.is_soft_dirty() && !hidden.is_file_or_shmem());
        assert_eq!(hidden.pfn(), None, "without CAP_SYS_ADMIN");
        let swapped = PageEntry(1 << 62 | 1 << 57 | 0x42);
        assert!(!swapped.is_present());
        assert_eq!(swapped.pfn(), None, "the number is that of a swap slot");
    }

    #[test]
    fn a_cut_entry_is_left_out() {
        let mut bytes = [1_u64.to_ne_bytes(), 2_u64.to_ne_bytes()].concat();
        bytes.truncate(13);
        assert_eq!(entries(&bytes).collect::<Vec<_>>(), [PageEntry(1)]);
        assert_eq!(entries(&[]).count(), 0);
    }
}
