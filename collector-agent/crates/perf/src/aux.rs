//! The auxiliary buffer of an SPE event: packets of a CPU, read from its tail to its head.

use rustix::io::Errno;

use crate::ring::{Ring, halves};
use crate::sys::{Descriptor, Memory, Stream};

/// The buffer beside the ring of the same event.
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
