//! Walks the page tables of a process with a program in the kernel: the accessed bit of each page, exactly.
//!
//! Needs `CAP_BPF`, `CAP_PERFMON` and `CAP_SYS_ADMIN` (or root), BTF, and the kernel's `bpf_task_from_pid` (6.2 and later);
//! x86-64. Reads kernel memory and writes none. Limits and costs: docs/method/page-bits.md.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use tierscope_rootfs::{Reader, Root};

use crate::PAGE_BYTES;
use crate::bpf::btf::{Btf, FIRST_FUNCTION_ID, describe_functions};
use crate::bpf::program::{
    self, KernelLayout, MAX_TABLES, PMD_SHIFT, RECORDS_AT, SHARED_BYTES, TABLE_ENTRIES, TABLES_AT,
    walk_program, word,
};
use crate::bpf::sys::{self, FuncInfo, SharedMemory};
use crate::own_memory::OwnMemory;
use crate::pagemap::PagemapReader;
use crate::physical::PhysicalLayout;
use crate::process::{Unmeasured, process_key};
use crate::walk_error::KERNEL_BTF;
pub use crate::walk_error::WalkError;

const GIB: u64 = 1 << 30;
/// Known pages; their tables lie apart, because each is 2 MiB from the next.
const KNOWN_PAGES: usize = 3;
const KNOWN_PAGES_APART: usize = 2 << 20;

/// An entry of a page table that maps memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafEntry(pub u64);

impl LeafEntry {
    const PRESENT: u64 = 1;
    const USER: u64 = 1 << 2;
    const ACCESSED: u64 = 1 << 5;
    const LEAF: u64 = 1 << 7;
    const NO_ACCESS: u64 = 1 << 8;
    const SPECIAL: u64 = 1 << 9;

    /// Whether it maps a page of the process: not the shared page of zeros, memory of a device or of the kernel, nor a
    /// slot of swap. A page to which no access is allowed (for the time being, with NUMA balancing) is one.
    pub fn is_resident(self) -> bool {
        let present = self.0 & Self::PRESENT != 0;
        let reachable = if present {
            self.0 & Self::USER != 0
        } else {
            self.0 & Self::NO_ACCESS != 0
        };
        reachable && self.0 & Self::SPECIAL == 0
    }

    /// As [`LeafEntry::is_resident`], for an entry that maps 2 MiB or more.
    fn is_resident_huge(self) -> bool {
        // Neither `PRESENT` nor `NO_ACCESS` is set for a moment while the kernel splits the page.
        self.0 & Self::LEAF != 0 && Self(self.0 | Self::NO_ACCESS).is_resident()
    }

    /// Whether the processor used the entry since the bit was cleared.
    pub fn is_accessed(self) -> bool {
        self.0 & Self::ACCESSED != 0
    }

    /// Number of the first page frame; `None` where it is stored inverted, without access.
    pub fn pfn(self, address_mask: u64) -> Option<u64> {
        (self.0 & Self::PRESENT != 0).then_some((self.0 & address_mask) / PAGE_BYTES)
    }
}

/// Memory that is mapped by one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// First address.
    pub address: u64,
    /// 4 KiB, 2 MiB or 1 GiB.
    pub size_bytes: u64,
    /// The entry.
    pub entry: LeafEntry,
}

/// Walks page tables. Holds one program and about 0.5 MiB of memory.
#[derive(Debug)]
pub struct PageTableWalker {
    layout: KernelLayout,
    memory: SharedMemory,
    program: OwnedFd,
    address_mask: u64,
    direct_map: u64,
}

impl PageTableWalker {
    /// Loads the program and finds the tables of this process with it. Costs some 50 ms.
    pub fn new(root: &Root) -> Result<Self, WalkError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(WalkError::Architecture);
        }
        if !root.is_live() {
            return Err(WalkError::Recording);
        }
        let mut reader = Reader::new(root.clone());
        let physical = PhysicalLayout::read(&mut reader)?;
        let layout = kernel_layout(root, physical.five_levels)?;
        let map = sys::create_shared_map(SHARED_BYTES).map_err(refused("making a map"))?;
        let memory = SharedMemory::map(&map, SHARED_BYTES).map_err(refused("mapping a map into memory"))?;
        let program = load(&layout, &map)?;
        let mut walker = Self {
            layout,
            memory,
            program,
            address_mask: physical.address_mask(),
            direct_map: 0,
        };
        walker.direct_map = find_direct_map(&mut walker, root, &physical)?;
        Ok(walker)
    }

    /// Bits of an entry that are a physical address.
    pub fn address_mask(&self) -> u64 {
        self.address_mask
    }

    /// Hands out all memory that a process has mapped, by address. The process runs on meanwhile; that it is the one
    /// that is meant is for the caller to check before and after.
    pub fn walk(&mut self, pid: u32, mut each: impl FnMut(Leaf)) -> Result<(), Unmeasured> {
        let (mut cursor, end) = (0, self.layout.end_of_addresses());
        let mut top = None;
        while cursor < end {
            cursor = self.run(pid, cursor, end, self.direct_map)?;
            let found = self.word(word::TOP);
            if *top.get_or_insert(found) != found {
                // It executes another program now, with other memory.
                return Err(Unmeasured::Gone);
            }
            self.leaves(&mut each);
        }
        Ok(())
    }

    /// One run of the program from an address on; where it stopped.
    fn run(&mut self, pid: u32, cursor: u64, end: u64, direct_map: u64) -> Result<u64, Unmeasured> {
        let inputs = [
            (word::PID, u64::from(pid)),
            (word::CURSOR, cursor),
            (word::END, end),
            (word::DIRECT_MAP, direct_map),
            (word::ADDRESS_MASK, self.address_mask),
            (word::RECORDS, 0),
            (word::TABLES, 0),
        ];
        for (place, value) in inputs {
            self.memory.words_mut()[place as usize / 8] = value;
        }
        match sys::run(&self.program) {
            Ok(program::DONE) => Ok(self.word(word::CURSOR)),
            Ok(program::NO_TASK | program::NO_MEMORY) => Err(Unmeasured::Gone),
            Ok(other) => Err(Unmeasured::Unreadable(format!(
                "the walk of page tables ended with {other}"
            ))),
            Err(error) => Err(Unmeasured::Unreadable(format!(
                "the walk of page tables was refused: {error}"
            ))),
        }
    }

    /// Looks for the highest table of a process; the address at which the kernel sees it.
    pub(crate) fn top_table(&mut self, pid: u32) -> Result<u64, Unmeasured> {
        self.run(pid, 0, 0, 0)?;
        Ok(self.word(word::TOP))
    }

    /// The entry for one page of a process, if physical memory begins at `direct_map`.
    pub(crate) fn entry_at(
        &mut self,
        pid: u32,
        address: u64,
        direct_map: u64,
    ) -> Result<Option<Leaf>, Unmeasured> {
        let page = address / PAGE_BYTES * PAGE_BYTES;
        self.run(pid, page, page + 1, direct_map)?;
        let mut found = None;
        self.leaves(&mut |leaf: Leaf| {
            if (leaf.address..leaf.address + leaf.size_bytes).contains(&page) {
                found = Some(leaf);
            }
        });
        Ok(found)
    }

    /// Hands out what the last run found.
    fn leaves(&self, each: &mut impl FnMut(Leaf)) {
        let words = self.memory.words();
        let records = self.word(word::RECORDS) as usize;
        let (records, _) = words[RECORDS_AT / 8..]
            .as_chunks::<2>()
            .0
            .split_at(records.min(program::MAX_RECORDS));
        let (tables, _) = words[TABLES_AT / 8..].as_chunks::<TABLE_ENTRIES>();
        let mut tables = tables[..MAX_TABLES].iter();
        for [place, entry] in records {
            let (base, shift) = (place & !(PAGE_BYTES - 1), place & (PAGE_BYTES - 1));
            if shift >= u64::from(PMD_SHIFT) {
                let (entry, size_bytes) = (LeafEntry(*entry), 1 << shift);
                let address = base & !(size_bytes - 1);
                if entry.is_resident_huge() {
                    each(Leaf {
                        address,
                        size_bytes,
                        entry,
                    });
                }
            } else if let Some(table) = tables.next() {
                for (address, entry) in (base..).step_by(PAGE_BYTES as usize).zip(table) {
                    let entry = LeafEntry(*entry);
                    if entry.is_resident() {
                        each(Leaf {
                            address,
                            size_bytes: PAGE_BYTES,
                            entry,
                        });
                    }
                }
            }
        }
    }

    fn word(&self, place: i16) -> u64 {
        self.memory.words()[place as usize / 8]
    }
}

fn refused(step: &'static str) -> impl Fn(io::Error) -> WalkError {
    move |error| WalkError::Refused {
        step,
        reason: error.to_string(),
    }
}

/// Finds in the description of the kernel what the program needs.
fn kernel_layout(root: &Root, five_levels: bool) -> Result<KernelLayout, WalkError> {
    let mut memory = read_kernel_btf(root).map_err(|error| WalkError::NoBtf {
        reason: error.to_string(),
    })?;
    let btf = Btf::parse(memory.bytes_mut())?;
    let function = |name| btf.function(name).ok_or(WalkError::Lacks { missing: name });
    let member = |structure, member: &'static str| {
        btf.member_offset_bytes(structure, member)
            .ok_or(WalkError::Lacks { missing: member })
    };
    Ok(KernelLayout {
        task_from_pid: function("bpf_task_from_pid")?,
        task_release: function("bpf_task_release")?,
        task_mm: member("task_struct", "mm")?,
        mm_pgd: member("mm_struct", "pgd")?,
        five_levels,
    })
}

/// The description of some 5 MiB, in memory that goes back to the kernel when it is dropped, and not to the heap.
fn read_kernel_btf(root: &Root) -> io::Result<OwnMemory> {
    let mut file = File::open(root.join(KERNEL_BTF))?;
    let bytes = file.metadata()?.len();
    let mut memory = OwnMemory::new(bytes.div_ceil(PAGE_BYTES).max(1) as usize)?;
    file.read_exact(&mut memory.bytes_mut()[..bytes as usize])?;
    Ok(memory)
}

fn load(layout: &KernelLayout, map: &OwnedFd) -> Result<OwnedFd, WalkError> {
    use std::os::fd::AsRawFd as _;
    let btf = sys::load_btf(&describe_functions(&["tierscope_walk", "tierscope_step"]));
    let btf = btf.map_err(refused("describing the program's functions"))?;
    let step = "assembling the program";
    let (insns, step_at) = walk_program(layout, map.as_raw_fd()).ok_or(WalkError::Refused {
        step,
        reason: "a jump is too long".to_owned(),
    })?;
    let functions = [(0, FIRST_FUNCTION_ID), (step_at, FIRST_FUNCTION_ID + 1)];
    let functions = functions.map(|(insn, type_id)| FuncInfo { insn, type_id });
    sys::load_program(&insns, &btf, &functions).map_err(|refused| WalkError::Refused {
        step: "loading the program",
        reason: if refused.explanation.is_empty() {
            refused.error.to_string()
        } else {
            format!("{} ({})", refused.error, refused.explanation)
        },
    })
}

/// The address at which the kernel sees physical address 0, which it keeps secret: found by trying.
///
/// The highest table of a process lies in the map of physical memory, and the map begins at a multiple of 1 GiB. A guess
/// is right if the walk of known pages of this process yields the frames that pagemap names. Guesses begin at the lowest
/// address, so that no wrong one reads beyond physical memory, where devices may be mapped.
fn find_direct_map(
    walker: &mut PageTableWalker,
    root: &Root,
    physical: &PhysicalLayout,
) -> Result<u64, WalkError> {
    let this = process_key(root, std::process::id())?;
    let mut memory = vec![0_u8; KNOWN_PAGES * KNOWN_PAGES_APART];
    let known: Vec<u64> = memory
        .chunks_mut(KNOWN_PAGES_APART)
        .map(|chunk| {
            chunk[0] = black_box(1);
            chunk.as_ptr() as u64
        })
        .collect();
    let mut pagemap = PagemapReader::new(root.clone());
    let opened = pagemap.open(this)?;
    let top = walker.top_table(this.pid)?;
    let lowest = top.saturating_sub(physical.end_of_memory) / GIB * GIB;
    for guess in (lowest..=top).step_by(GIB as usize) {
        let mut right = 0;
        for &address in &known {
            let frame = pagemap.entry(&opened, address)?.pfn();
            let frame = frame.ok_or(WalkError::NoFrames("pagemap hides the numbers of page frames"))?;
            let leaf = walker.entry_at(this.pid, address, guess)?;
            let mask = walker.address_mask();
            let shown = leaf.and_then(|leaf| {
                let first = leaf.entry.pfn(mask & !(leaf.size_bytes - 1))?;
                Some(first + (address - leaf.address) / PAGE_BYTES)
            });
            if shown != Some(frame) {
                break;
            }
            right += 1;
        }
        if right == known.len() {
            black_box(&memory);
            return Ok(guess);
        }
    }
    Err(WalkError::NotFound)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn entries_tell_pages_of_the_process_from_all_else() {
        let user_page = LeafEntry(0x8000_0000_1234_5067);
        assert!(user_page.is_resident() && user_page.is_accessed());
        assert_eq!(user_page.pfn(0x000f_ffff_ffff_f000), Some(0x12345));
        let without_access = LeafEntry(0x1234_5100);
        assert!(without_access.is_resident() && !without_access.is_accessed());
        assert_eq!(without_access.pfn(0x000f_ffff_ffff_f000), None);
        let zeros = LeafEntry(0x1234_5225);
        let of_kernel = LeafEntry(0x1234_5063);
        let swapped = LeafEntry(0xffff_ff00_0000_0600);
        let nothing = LeafEntry(0);
        assert!(
            [zeros, of_kernel, swapped, nothing]
                .iter()
                .all(|entry| !entry.is_resident())
        );
        let (huge, being_split) = (LeafEntry(0x1234_00e7), LeafEntry(0x1234_00e6));
        assert!(huge.is_resident_huge() && being_split.is_resident_huge());
        assert!(!user_page.is_resident_huge(), "a table, not a huge page");
    }

    /// The kernel checks a program without running it, so that for five levels is checked on hosts with four.
    #[test]
    fn the_kernel_accepts_the_program_for_four_and_five_levels() {
        let root = Root::live();
        for five_levels in [false, true] {
            let layout = match kernel_layout(&root, five_levels) {
                Ok(layout) => layout,
                Err(error) => return skip(&error),
            };
            let loaded = sys::create_shared_map(SHARED_BYTES)
                .map_err(refused("making a map"))
                .and_then(|map| load(&layout, &map));
            match loaded {
                Ok(_) => {}
                Err(error @ WalkError::Refused { .. }) if error.to_string().contains("not permitted") => {
                    return skip(&error);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn skip(error: &WalkError) {
        use std::io::Write as _;
        let _ = writeln!(io::stderr(), "skipped: {error}");
    }
}
