//! The ioctls of userfaultfd and of pagemap, and their structures.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};

/// Marks of pages by the kernel instead of messages to a handler.
pub(super) const FEATURE_WP_ASYNC: u64 = 1 << 15;
/// Marks also where no page is yet.
pub(super) const FEATURE_WP_UNPOPULATED: u64 = 1 << 13;
/// As `WP_ASYNC`, for reads and writes (Linux 7.3).
pub(super) const FEATURE_RWP: u64 = 1 << 17;
pub(super) const FEATURE_RWP_ASYNC: u64 = 1 << 18;
pub(super) const MODE_WP: u64 = 1 << 1;
pub(super) const MODE_RWP: u64 = 1 << 3;

const API: u64 = 0xaa;
const UFFDIO_API: u64 = read_write(0xaa, 0x3f, size_of::<ApiRequest>());
const UFFDIO_REGISTER: u64 = read_write(0xaa, 0x00, size_of::<Register>());
const UFFDIO_RWPROTECT: u64 = read_write(0xaa, 0x09, size_of::<Protect>());
const PAGEMAP_SCAN: u64 = read_write(b'f', 16, size_of::<ScanRequest>());

/// The number of an ioctl that reads and writes its argument (`_IOWR`).
const fn read_write(kind: u8, number: u8, bytes: usize) -> u64 {
    3 << 30 | (bytes as u64) << 16 | (kind as u64) << 8 | number as u64
}

#[derive(Debug, Default)]
#[repr(C)]
struct ApiRequest {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[derive(Debug, Default)]
#[repr(C)]
struct Register {
    start: u64,
    bytes: u64,
    mode: u64,
    ioctls: u64,
}

#[derive(Debug, Default)]
#[repr(C)]
struct Protect {
    start: u64,
    bytes: u64,
    mode: u64,
}

/// The argument of `PAGEMAP_SCAN`.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct ScanRequest {
    pub(super) size: u64,
    pub(super) flags: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Out: where the scan stopped.
    pub(super) walk_end: u64,
    pub(super) regions: u64,
    pub(super) region_count: u64,
    pub(super) max_pages: u64,
    pub(super) inverted: u64,
    pub(super) required: u64,
    pub(super) any_of: u64,
    pub(super) returned: u64,
}

/// Adjacent pages with the same categories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// Those that were asked for.
    pub categories: u64,
}

fn ioctl<T>(fd: &impl AsRawFd, number: u64, argument: &mut T) -> io::Result<usize> {
    // SAFETY: the kernel reads and writes `size_of::<T>()` bytes of the argument, as the number says. The one address in
    // an argument is that of the regions of a scan, which `scan` keeps alive with their length beside it.
    let result = unsafe {
        libc::ioctl(
            fd.as_raw_fd(),
            number as libc::Ioctl,
            std::ptr::from_mut(argument),
        )
    };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// One scan; the number of regions found.
pub(super) fn scan(
    pagemap: &impl AsRawFd,
    request: &mut ScanRequest,
    regions: &mut [Region],
) -> io::Result<usize> {
    request.size = size_of::<ScanRequest>() as u64;
    request.regions = regions.as_mut_ptr() as u64;
    request.region_count = regions.len() as u64;
    ioctl(pagemap, PAGEMAP_SCAN, request)
}

pub(super) fn userfaultfd() -> io::Result<OwnedFd> {
    // SAFETY: takes flags alone.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, open_flags()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that the kernel has just made for this process, and that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Flags of a userfaultfd: `UFFD_USER_MODE_ONLY`, which any user may ask for.
pub(super) fn open_flags() -> libc::c_int {
    libc::O_CLOEXEC | libc::O_NONBLOCK | 1
}

/// Asks for features. A kernel that lacks one refuses with `EINVAL`.
pub(super) fn request_features(uffd: &OwnedFd, features: u64) -> io::Result<()> {
    let mut request = ApiRequest {
        api: API,
        features,
        ioctls: 0,
    };
    ioctl(uffd, UFFDIO_API, &mut request).map(drop)
}

/// Makes a range of addresses one that is marked.
pub(super) fn register(uffd: &OwnedFd, start: u64, bytes: u64, mode: u64) -> io::Result<()> {
    let mut request = Register {
        start,
        bytes,
        mode,
        ioctls: 0,
    };
    ioctl(uffd, UFFDIO_REGISTER, &mut request).map(drop)
}

/// Marks all pages of a range as untouched (mode `RWP`).
pub(super) fn protect_from_reads(uffd: &OwnedFd, start: u64, bytes: u64) -> io::Result<()> {
    let mut request = Protect {
        start,
        bytes,
        mode: 1,
    };
    ioctl(uffd, UFFDIO_RWPROTECT, &mut request).map(drop)
}

pub(super) fn copy_descriptor(pid: u32, fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers alone; the descriptor that it returns belongs to nobody else.
    let pidfd = unsafe {
        let pidfd = libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0);
        if pidfd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(pidfd as i32)
    };
    // SAFETY: as above.
    unsafe {
        let copy = libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), fd, 0);
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(copy as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel_headers() {
        assert_eq!(UFFDIO_API, 0xc018_aa3f);
        assert_eq!(UFFDIO_REGISTER, 0xc020_aa00);
        assert_eq!(UFFDIO_RWPROTECT, 0xc018_aa09);
        assert_eq!(PAGEMAP_SCAN, 0xc060_6610);
    }
}
