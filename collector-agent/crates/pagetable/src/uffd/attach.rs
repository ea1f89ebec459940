//! Write tracking of a process that does not help: opened in it by ptrace, for processes whose owner asks for it.

use std::os::unix::fs::FileExt as _;

use tierscope_rootfs::{Reader, Root};
use tierscope_sample::vma_fold::ProcessKey;

use super::scan::ScanError;
use super::track::WriteTracker;
use crate::maps::MapsLine;
use crate::process::{ProcessFiles, Unmeasured};

/// Largest vDSO that is searched.
const VDSO_LIMIT_BYTES: u64 = 64 << 10;

/// Why a process is not tracked.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// A file of the process cannot be used.
    #[error(transparent)]
    Process(#[from] Unmeasured),
    /// The way of calling the kernel is known for one architecture alone.
    #[error("writes are tracked on x86-64 only")]
    Architecture,
    /// Somebody else holds it.
    #[error("process {tracer} traces it, as a debugger does: end that first")]
    Traced {
        /// Who.
        tracer: u32,
    },
    /// A call that it does not expect could end it.
    #[error("it restricts its own system calls (seccomp), so a call in its name could end it")]
    Seccomp,
    /// Two users of one mapping are not possible.
    #[error("it uses userfaultfd itself, and the kernel allows one user for each mapping")]
    OwnUse,
    /// There is nowhere to make a call from.
    #[error("it has no vDSO, in which the instruction for a system call is looked for")]
    NoInstruction,
    /// The call was not made.
    #[cfg(target_arch = "x86_64")]
    #[error(transparent)]
    Inject(#[from] super::inject::InjectError),
    /// The kernel cannot track.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// Attaches to a process. It stands still for some milliseconds; afterwards it pays about 1 us for the first write to
/// each page and interval. Nothing is tracked until [`WriteTracker::cover`].
pub fn attach(root: &Root, process: ProcessKey) -> Result<WriteTracker, AttachError> {
    let mut files = ProcessFiles::new(root.clone());
    files.check_identity(process)?;
    check_status(&mut files, process)?;
    check_descriptors(root, process)?;
    let syscall_at = syscall_instruction(&mut files, process)?;
    let uffd = take_userfaultfd(process, syscall_at)?;
    files.check_identity(process)?;
    Ok(WriteTracker::new(root, process, uffd)?)
}

#[cfg(target_arch = "x86_64")]
fn take_userfaultfd(process: ProcessKey, syscall_at: u64) -> Result<std::os::fd::OwnedFd, AttachError> {
    Ok(super::inject::take_userfaultfd(process.pid, syscall_at)?)
}

#[cfg(not(target_arch = "x86_64"))]
fn take_userfaultfd(_process: ProcessKey, _syscall_at: u64) -> Result<std::os::fd::OwnedFd, AttachError> {
    Err(AttachError::Architecture)
}

/// Refuses a process that ptrace would harm.
fn check_status(files: &mut ProcessFiles, process: ProcessKey) -> Result<(), AttachError> {
    let (mut tracer, mut seccomp) = (0, 0);
    files.each_line(process, "status", |line| {
        let number = |prefix| {
            line.strip_prefix(prefix)
                .and_then(|value: &str| value.trim().parse().ok())
        };
        tracer = number("TracerPid:").unwrap_or(tracer);
        seccomp = number("Seccomp:").unwrap_or(seccomp);
    })?;
    match (tracer, seccomp) {
        (0, 0) => Ok(()),
        (0, _) => Err(AttachError::Seccomp),
        _ => Err(AttachError::Traced { tracer }),
    }
}

fn check_descriptors(root: &Root, process: ProcessKey) -> Result<(), AttachError> {
    let reader = Reader::new(root.clone());
    let directory = format!("/proc/{}/fd", process.pid);
    let descriptors = reader.list(&directory).unwrap_or_default();
    let is_uffd = |fd: &String| {
        let target = reader.link(&format!("{directory}/{fd}"));
        target.is_ok_and(|target| target.as_os_str() == "anon_inode:[userfaultfd]")
    };
    if descriptors.iter().any(is_uffd) {
        return Err(AttachError::OwnUse);
    }
    Ok(())
}

/// Where the vDSO of a process has the instruction for a system call.
fn syscall_instruction(files: &mut ProcessFiles, process: ProcessKey) -> Result<u64, AttachError> {
    let mut vdso = None;
    files.each_line(process, "maps", |line| {
        if let Some(line) = MapsLine::parse(line).filter(|line| line.name == "[vdso]") {
            vdso = Some(line.start..line.end);
        }
    })?;
    let vdso = vdso.ok_or(AttachError::NoInstruction)?;
    let memory = files.open(process, "mem", std::fs::OpenOptions::new().read(true))?;
    let mut code = vec![0; (vdso.end - vdso.start).min(VDSO_LIMIT_BYTES) as usize];
    let read = memory.read_exact_at(&mut code, vdso.start);
    read.map_err(|error| files.unmeasured_io(process, &error))?;
    let found = code.windows(2).position(|bytes| bytes == [0x0f, 0x05]);
    found
        .map(|at| vdso.start + at as u64)
        .ok_or(AttachError::NoInstruction)
}
