//! Reading a perf ring: from the tail to the head, which may lie on both sides of its end.

use std::ops::Range;

use rustix::io::Errno;

use crate::sys::{Descriptor, Memory, Stream};

/// The ring of one CPU, shared by all events on it.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: Memory,
}

impl Ring {
    /// Maps the ring of `owner`, `bytes` long; a power of two of pages.
    pub(crate) fn new(owner: &Descriptor, bytes: usize) -> Result<Self, Errno> {
        Memory::ring(owner, bytes).map(|memory| Self { memory })
    }

    /// The memory, for an auxiliary buffer beside it.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Moves all that the kernel has written into `out`, which is emptied first, and gives the room back. Whole records
    /// only: the kernel moves the head past a record when it is complete.
    pub(crate) fn take(&self, out: &mut Vec<u8>) {
        out.clear();
        let (tail, head) = (
            self.memory.tail(Stream::Records),
            self.memory.head(Stream::Records),
        );
        let Some(halves) = halves(tail, head, self.memory.data_bytes()) else {
            // More than the ring holds: the kernel never does that in a ring that is read. Begin anew.
            self.memory.set_tail(Stream::Records, head);
            return;
        };
        for half in halves {
            self.memory.copy(half, out);
        }
        self.memory.set_tail(Stream::Records, head);
    }
}

/// The stretches of a ring of `size` bytes that hold what was written from `tail` to `head`; positions only grow and are
/// taken modulo the size. `None` when that is more than the ring holds.
pub(crate) fn halves(tail: u64, head: u64, size: usize) -> Option<[Range<usize>; 2]> {
    let length = usize::try_from(head.wrapping_sub(tail)).ok()?;
    if length > size || size == 0 {
        return None;
    }
    let begin = (tail % size as u64) as usize;
    let until_end = length.min(size - begin);
    Some([begin..begin + until_end, 0..length - until_end])
}

/// The auxiliary buffer of an SPE event beside its ring: packets of a CPU, read from its tail to its head.
#[derive(Debug)]
pub(crate) struct AuxBuffer {
    memory: Memory,
}

impl AuxBuffer {
    /// Maps it; `bytes` is a power of two of pages.
    pub(crate) fn new(ring: &Ring, owner: &Descriptor, bytes: usize) -> Result<Self, Errno> {
        Memory::auxiliary(ring.memory(), owner, bytes).map(|memory| Self { memory })
    }

    /// Moves all packets into `out`, which is emptied first. Head and tail stand in the control page of `ring`.
    pub(crate) fn take(&self, ring: &Ring, out: &mut Vec<u8>) {
        out.clear();
        let control = ring.memory();
        let (tail, head) = (control.tail(Stream::Auxiliary), control.head(Stream::Auxiliary));
        // After an overrun the oldest packets are gone: the stretch that is left begins at a boundary of packets.
        if let Some(halves) = halves(tail, head, self.memory.data_bytes()) {
            for half in halves {
                self.memory.copy(half, out);
            }
        }
        control.set_tail(Stream::Auxiliary, head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wraps_is_read_in_two_halves() {
        assert_eq!(halves(0, 0, 64), Some([0..0, 0..0]));
        assert_eq!(halves(8, 40, 64), Some([8..40, 0..0]));
        assert_eq!(halves(48, 80, 64), Some([48..64, 0..16]));
        assert_eq!(halves(64 * 5 + 60, 64 * 6 + 60, 64), Some([60..64, 0..60]));
        assert_eq!(
            halves(u64::MAX - 7, 8, 64),
            Some([56..64, 0..8]),
            "positions wrap too"
        );
    }

    #[test]
    fn more_than_the_ring_holds_is_not_believed() {
        assert_eq!(halves(0, 65, 64), None);
        assert_eq!(halves(10, 9, 64), None);
        assert_eq!(halves(0, 0, 0), None);
    }
}
