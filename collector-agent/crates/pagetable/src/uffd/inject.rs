//! System calls in the name of another process, by ptrace: its main thread is stopped, executes one `syscall`
//! instruction that it has anyway (in the vDSO), and goes on as if nothing had been. No memory of it is written.
//!
//! If this process is killed in the microseconds between the first changed register and the last restored one, the
//! other process goes on with wrong registers, and most likely ends.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use super::sys;

/// How long a process may take to stop: one that waits for a device cannot.
const STOP_LIMIT: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_micros(200);
/// Signals that may come in between before the step is given up.
const MAX_SIGNALS: usize = 16;
/// The instruction `syscall`.
pub(super) const SYSCALL_INSTRUCTION: [u8; 2] = [0x0f, 0x05];
/// Code segment of 64-bit programs.
const CODE_64_BIT: u64 = 0x33;
const MAX_ERRNO: i64 = 4095;

/// What C libraries take as a request of ptrace.
#[cfg(target_env = "musl")]
type Request = libc::c_int;
/// What C libraries take as a request of ptrace.
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

/// Why a system call was not made.
#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// ptrace refuses.
    #[error("{step} was refused: {error}; run with CAP_SYS_PTRACE, and see kernel.yama.ptrace_scope")]
    Refused {
        /// What was tried.
        step: &'static str,
        /// Its error.
        error: io::Error,
    },
    /// It did not stop.
    #[error("the process did not stop within {} s: it may wait for a device; try later", STOP_LIMIT.as_secs())]
    NotStopped,
    /// It ended meanwhile.
    #[error("the process has ended")]
    Ended,
    /// Its main thread runs other code than 64-bit.
    #[error("the process does not run 64-bit code")]
    Not64Bit,
    /// The step did not do what it should.
    #[error("the process did not make the call: too many signals came in between; try later")]
    NotMade,
    /// The call was made and failed.
    #[error("{call} in the process failed: {error}")]
    Failed {
        /// Which one.
        call: &'static str,
        /// Its error.
        error: io::Error,
    },
}

/// Opens a userfaultfd in a process and takes it over: afterwards only the caller holds it. `syscall_at` is an address
/// of a `syscall` instruction of the process. Runs in a thread of its own, so that the process is let go whatever
/// happens.
pub(super) fn take_userfaultfd(pid: u32, syscall_at: u64) -> Result<OwnedFd, InjectError> {
    let thread = std::thread::spawn(move || {
        let mut stopped = Stopped::stop(pid as libc::pid_t, syscall_at)?;
        let fd = stopped.call("userfaultfd", libc::SYS_userfaultfd, sys::open_flags() as u64)?;
        let copy = sys::copy_descriptor(pid, fd as i32);
        stopped.call("close", libc::SYS_close, fd)?;
        copy.map_err(|error| InjectError::Refused {
            step: "copying the descriptor",
            error,
        })
    });
    thread.join().unwrap_or(Err(InjectError::NotMade))
}

/// A stopped process; it goes on when this is dropped.
struct Stopped {
    pid: libc::pid_t,
    syscall_at: u64,
    registers: libc::user_regs_struct,
    /// A signal that came meanwhile, to be delivered when it goes on.
    signal: libc::c_int,
}

impl Stopped {
    fn stop(pid: libc::pid_t, syscall_at: u64) -> Result<Self, InjectError> {
        let refused = |step| move |error| InjectError::Refused { step, error };
        ptrace(libc::PTRACE_SEIZE, pid, 0, 0).map_err(refused("attaching to the process"))?;
        ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0).map_err(refused("stopping the process"))?;
        let mut stopped = Self {
            pid,
            syscall_at,
            registers: empty_registers(),
            signal: 0,
        };
        stopped.wait_for_stop()?;
        stopped.registers = stopped.read_registers()?;
        if stopped.registers.cs != CODE_64_BIT {
            return Err(InjectError::Not64Bit);
        }
        Ok(stopped)
    }

    /// Makes the process call the kernel; what the call returns.
    fn call(&mut self, name: &'static str, number: libc::c_long, argument: u64) -> Result<u64, InjectError> {
        let mut registers = self.registers;
        registers.rip = self.syscall_at;
        registers.rax = number as u64;
        // Not inside a call, so that the kernel does not repeat the one that was interrupted.
        registers.orig_rax = u64::MAX;
        registers.rdi = argument;
        (registers.rsi, registers.rdx) = (0, 0);
        self.write_registers(&registers)?;
        let made = self.step_over_call();
        let after = self.read_registers();
        self.write_registers(&self.registers)?;
        made?;
        let after = after?;
        if after.rip != self.syscall_at + SYSCALL_INSTRUCTION.len() as u64 {
            return Err(InjectError::NotMade);
        }
        let result = after.rax.cast_signed();
        if (-MAX_ERRNO..0).contains(&result) {
            return Err(InjectError::Failed {
                call: name,
                error: io::Error::from_raw_os_error(-result as i32),
            });
        }
        Ok(after.rax)
    }

    /// Executes one instruction. Signals that come meanwhile are kept for later.
    fn step_over_call(&mut self) -> Result<(), InjectError> {
        for _ in 0..MAX_SIGNALS {
            self.request(libc::PTRACE_SINGLESTEP, "stepping")?;
            let status = self.wait()?;
            match (libc::WSTOPSIG(status), status >> 16) {
                (libc::SIGTRAP, 0) => return Ok(()),
                (signal, 0) => self.signal = signal,
                _ => {}
            }
        }
        Err(InjectError::NotMade)
    }

    /// Waits for the stop that was asked for. A signal that stops it first is delivered later.
    fn wait_for_stop(&mut self) -> Result<(), InjectError> {
        let status = self.wait()?;
        if status >> 16 == 0 {
            self.signal = libc::WSTOPSIG(status);
        }
        Ok(())
    }

    fn wait(&self) -> Result<libc::c_int, InjectError> {
        let mut waited = Duration::ZERO;
        while waited < STOP_LIMIT {
            let mut status = 0;
            // SAFETY: the kernel writes one number to `status`.
            let pid = unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL | libc::WNOHANG) };
            match pid {
                0 => {
                    std::thread::sleep(POLL);
                    waited += POLL;
                }
                pid if pid < 0 || !libc::WIFSTOPPED(status) => return Err(InjectError::Ended),
                _ => return Ok(status),
            }
        }
        Err(InjectError::NotStopped)
    }

    fn request(&self, request: Request, step: &'static str) -> Result<(), InjectError> {
        ptrace(request, self.pid, 0, 0).map_err(|error| InjectError::Refused { step, error })
    }

    fn read_registers(&self) -> Result<libc::user_regs_struct, InjectError> {
        let mut registers = empty_registers();
        let address = std::ptr::from_mut(&mut registers) as usize;
        ptrace(libc::PTRACE_GETREGS, self.pid, 0, address).map_err(|error| InjectError::Refused {
            step: "reading registers",
            error,
        })?;
        Ok(registers)
    }

    fn write_registers(&self, registers: &libc::user_regs_struct) -> Result<(), InjectError> {
        let address = std::ptr::from_ref(registers) as usize;
        ptrace(libc::PTRACE_SETREGS, self.pid, 0, address).map_err(|error| InjectError::Refused {
            step: "writing registers",
            error,
        })
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It has its own registers again since the last call. Fails if it has ended or never stopped: then the end of
        // this thread lets it go.
        let _gone = ptrace(libc::PTRACE_DETACH, self.pid, 0, self.signal as usize);
    }
}

fn empty_registers() -> libc::user_regs_struct {
    // SAFETY: a structure of numbers, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

fn ptrace(request: Request, pid: libc::pid_t, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: `data` is a number, or the address of a register structure of the caller that the request reads or
    // fills; no request made here touches other memory of this process.
    let result = unsafe { libc::ptrace(request, pid, address, data) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
