//! Threads bound to processors.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::MembenchError;

/// Binds the calling thread to one processor.
pub(crate) fn pin_to(cpu: u32) -> Result<(), MembenchError> {
    let not_pinned = |cause: String| MembenchError::NotPinned { cpu, cause };
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(not_pinned(format!(
            "only processors below {} can be named",
            CpuSet::MAX_CPU
        )));
    }
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).map_err(|error| not_pinned(error.to_string()))
}

/// Those of `cpus` that this process may use; all where the kernel does not say.
pub(crate) fn allowed(cpus: &[u32]) -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else {
        return cpus.to_vec();
    };
    let is_allowed = |cpu: &u32| (*cpu as usize) < CpuSet::MAX_CPU && set.is_set(*cpu as usize);
    cpus.iter().copied().filter(is_allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_where_it_may_run_and_nowhere_else() {
        let everywhere: Vec<u32> = (0..1024).collect();
        let mine = allowed(&everywhere);
        assert!(!mine.is_empty());
        let bound = std::thread::spawn(move || pin_to(mine[0]).map(|()| (allowed(&mine), mine[0])));
        let bound = bound.join().expect("the thread ended");
        assert!(
            matches!(&bound, Ok((allowed, cpu)) if *allowed == [*cpu]),
            "{bound:?}"
        );
        assert!(matches!(
            pin_to(1_000_000),
            Err(MembenchError::NotPinned { cpu: 1_000_000, .. })
        ));
    }
}
