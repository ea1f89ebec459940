//! The calls of `bpf(2)` that are used here, and the memory that a program shares with this process.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::ptr::NonNull;

use super::insn::Insn;

const MAP_CREATE: libc::c_int = 0;
const PROG_LOAD: libc::c_int = 5;
const PROG_TEST_RUN: libc::c_int = 10;
const BTF_LOAD: libc::c_int = 18;

const ARRAY: u32 = 2;
/// Flag of a map: its values can be mapped into memory.
const MMAPABLE: u32 = 1 << 10;
/// A program that runs when it is told to, in the context of the caller.
const SYSCALL: u32 = 31;
/// Flag of a program: it may sleep, as this type demands.
const SLEEPABLE: u32 = 1 << 4;
const LOG_BYTES: usize = 64 << 10;

/// Attributes of `BPF_MAP_CREATE`.
#[derive(Debug, Default)]
#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_bytes: u32,
    value_bytes: u32,
    max_entries: u32,
    flags: u32,
}

/// Attributes of `BPF_BTF_LOAD`.
#[derive(Debug, Default)]
#[repr(C)]
struct BtfLoad {
    btf: u64,
    log: u64,
    btf_bytes: u32,
    log_bytes: u32,
    log_level: u32,
    /// The kernel wants all bytes that it does not know to be zero, and padding has no value.
    rest: u32,
}

/// Attributes of `BPF_PROG_LOAD`, as far as the description of its functions.
#[derive(Debug, Default)]
#[repr(C)]
struct ProgLoad {
    prog_type: u32,
    insn_count: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
    btf_fd: i32,
    func_info_record_bytes: u32,
    func_info: u64,
    func_info_count: u32,
    line_info_record_bytes: u32,
    line_info: u64,
    line_info_count: u32,
    rest: u32,
}

/// Attributes of `BPF_PROG_TEST_RUN`.
#[derive(Debug, Default)]
#[repr(C)]
struct TestRun {
    prog_fd: i32,
    outcome: u32,
    data_in_bytes: u32,
    data_out_bytes: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration_ns: u32,
    context_in_bytes: u32,
    context_out_bytes: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch: u32,
    rest: u32,
}

/// Where a function of a program begins, and its id in the program's description.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct FuncInfo {
    pub(crate) insn: u32,
    pub(crate) type_id: u32,
}

#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) error: io::Error,
    /// The last line of the kernel's explanation; "" without one.
    pub(crate) explanation: String,
}

/// A descriptor, or an outcome; the error of the call otherwise.
fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the kernel reads and writes at most `size_of::<T>()` bytes of the attributes. The addresses in them are
    // those of buffers which the callers keep alive during the call, with their lengths beside them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(attributes),
            size_of::<T>(),
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result as libc::c_int)
    }
}

fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: a descriptor that the kernel has just made for this process, and that nothing else owns.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn address_of<T>(values: &[T]) -> u64 {
    values.as_ptr() as u64
}

/// A map with one value, which can be mapped into memory.
pub(crate) fn create_shared_map(bytes: usize) -> io::Result<OwnedFd> {
    let mut attributes = MapCreate {
        map_type: ARRAY,
        key_bytes: 4,
        value_bytes: bytes as u32,
        max_entries: 1,
        flags: MMAPABLE,
    };
    bpf(MAP_CREATE, &mut attributes).map(own)
}

/// Loads the description of a program's functions.
pub(crate) fn load_btf(btf: &[u8]) -> io::Result<OwnedFd> {
    let mut attributes = BtfLoad {
        btf: address_of(btf),
        btf_bytes: btf.len() as u32,
        ..BtfLoad::default()
    };
    bpf(BTF_LOAD, &mut attributes).map(own)
}

/// Loads a program. The kernel's explanation is asked for only after a refusal, because it costs time.
pub(crate) fn load_program(
    insns: &[Insn],
    btf: &OwnedFd,
    functions: &[FuncInfo],
) -> Result<OwnedFd, Refused> {
    // Functions of the kernel may be called only by programs under a licence that is compatible with its own.
    let license = c"Dual MIT/GPL";
    let mut log = Vec::new();
    loop {
        let mut attributes = ProgLoad {
            prog_type: SYSCALL,
            insn_count: insns.len() as u32,
            insns: address_of(insns),
            license: license.as_ptr() as u64,
            flags: SLEEPABLE,
            name: *b"tierscope_walk\0\0",
            btf_fd: btf.as_raw_fd(),
            func_info_record_bytes: size_of::<FuncInfo>() as u32,
            func_info: address_of(functions),
            func_info_count: functions.len() as u32,
            log_level: u32::from(!log.is_empty()),
            log_bytes: log.len() as u32,
            log: if log.is_empty() { 0 } else { address_of(&log) },
            ..ProgLoad::default()
        };
        match bpf(PROG_LOAD, &mut attributes) {
            Ok(fd) => return Ok(own(fd)),
            Err(error) if log.is_empty() && error.raw_os_error() != Some(libc::EPERM) => {
                log.resize(LOG_BYTES, 0_u8);
            }
            Err(error) => {
                return Err(Refused {
                    error,
                    explanation: last_reason(&log),
                });
            }
        }
    }
}

/// The last line before the statistics with which the kernel ends its explanation.
fn last_reason(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default());
    let mut lines = text.lines().filter(|line| !line.starts_with("processed "));
    lines.next_back().unwrap_or_default().to_owned()
}

/// Runs a program once; the number that it returns.
pub(crate) fn run(program: &OwnedFd) -> io::Result<u32> {
    let mut attributes = TestRun {
        prog_fd: program.as_raw_fd(),
        ..TestRun::default()
    };
    bpf(PROG_TEST_RUN, &mut attributes)?;
    Ok(attributes.outcome)
}

/// The value of a shared map, in this process's memory.
///
/// The program writes to it only inside [`run`]; whoever calls that must hold the memory exclusively.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    start: NonNull<u64>,
    words: usize,
}

// SAFETY: the mapping belongs to this value alone and is usable from any thread of the process.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    pub(crate) fn map(map: &OwnedFd, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice; no memory in use is replaced.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast::<u64>()) {
            Some(start) if start.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => Ok(Self {
                start,
                words: bytes / size_of::<u64>(),
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: the mapping has this many words, aligned to a page, lives as long as `self`, and is written by others
        // only while the caller of `run` holds `self` exclusively.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`; the exclusive borrow excludes other references.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, to which no reference is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * size_of::<u64>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_stands_before_the_statistics() {
        let log = b"0: (85) call 1\nR1 type=scalar expected=fp\nprocessed 9 insns (limit 1000000)\n\0\0";
        assert_eq!(last_reason(log), "R1 type=scalar expected=fp");
        assert_eq!(last_reason(&[]), "");
    }
}
