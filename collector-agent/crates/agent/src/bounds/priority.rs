//! Everything else on the host goes first: processor and disk time are what others leave.

/// `IOPRIO_WHO_PROCESS`, `IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT` of `linux/ioprio.h`.
const WHO_PROCESS: libc::c_int = 1;
const CLASS_IDLE: libc::c_int = 3 << 13;

/// Lowers the priority of this thread and of all that it starts from now on. What the host refuses is passed over: it
/// is measured all the same, at its usual priority.
pub(crate) fn lower(nice: i32) {
    let _ = rustix::process::nice(nice);
    be_idle_at_disks();
    be_batch();
}

/// Disk time is taken when nobody else wants it.
fn be_idle_at_disks() {
    // SAFETY: three integers by value; no memory is read or written. 0 is the calling thread.
    let _ = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE) };
}

/// No boost at wake-up, so nobody is pushed off a processor. Asked of the kernel itself: musl's own function refuses.
fn be_batch() {
    let no_priority: libc::c_int = 0;
    // SAFETY: the kernel reads one integer, all of `struct sched_param`, from a live value. 0 is the calling thread.
    let _ = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_BATCH,
            &raw const no_priority,
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own, so that other tests keep their priority.
    #[test]
    fn a_thread_becomes_idle_at_disks_and_a_batch_one() {
        let seen = std::thread::spawn(|| {
            lower(1);
            // SAFETY: integers by value, of the calling thread.
            unsafe {
                (
                    libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0),
                    libc::syscall(libc::SYS_sched_getscheduler, 0),
                )
            }
        });
        let (class, policy) = seen.join().expect("ended");
        assert_eq!(
            (class, policy),
            (i64::from(CLASS_IDLE), i64::from(libc::SCHED_BATCH))
        );
    }
}
