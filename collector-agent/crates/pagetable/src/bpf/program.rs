//! The program that copies the page tables of a process, and the layout of the memory that it shares with the agent.
//!
//! One run visits table after table from a cursor on, in steps of what one entry of the lowest upper level maps
//! (2 MiB), and stops when its room is used up. It reads the entry of each upper level by itself and copies the table
//! of the lowest level right after reading where it lies, so that little can change in between. It writes nothing but
//! the shared memory.

use super::insn::{Assembler, Insn, Label, Reg, Test};

/// Words (64 bits) of the shared memory by which agent and program talk; offsets in bytes.
pub(crate) mod word {
    /// In: the process.
    pub(crate) const PID: i16 = 0;
    /// In and out: the first address that has not been visited.
    pub(crate) const CURSOR: i16 = 8;
    /// In: the address after the last.
    pub(crate) const END: i16 = 16;
    /// In: where the kernel maps physical address 0.
    pub(crate) const DIRECT_MAP: i16 = 24;
    /// In: the bits of an entry that are a physical address.
    pub(crate) const ADDRESS_MASK: i16 = 32;
    /// Out: where the table of the highest level lies.
    pub(crate) const TOP: i16 = 40;
    /// In (0) and out: records written.
    pub(crate) const RECORDS: i16 = 48;
    /// In (0) and out: tables copied.
    pub(crate) const TABLES: i16 = 56;
}

pub(crate) const TABLE_ENTRIES: usize = 512;
/// Most records of one run.
pub(crate) const MAX_RECORDS: usize = 1024;
/// Most tables copied in one run: those of 256 MiB.
pub(crate) const MAX_TABLES: usize = 128;
const TABLE_SHIFT: u8 = 12;
/// A record has the address with the [`EntryShift`] in its lower 12 bits, and the entry that led there.
const RECORD_SHIFT: u8 = 4;
/// Where the records begin, in bytes.
pub(crate) const RECORDS_AT: usize = 4096;
/// Where the copied tables begin, in bytes.
pub(crate) const TABLES_AT: usize = RECORDS_AT + (MAX_RECORDS << RECORD_SHIFT);
/// Size of the shared memory.
pub(crate) const SHARED_BYTES: usize = TABLES_AT + (MAX_TABLES << TABLE_SHIFT);

/// Outcomes of one run.
pub(crate) const DONE: u32 = 0;
/// There is no such process.
pub(crate) const NO_TASK: u32 = 1;
/// It has no memory: a thread of the kernel, or ended.
pub(crate) const NO_MEMORY: u32 = 2;

/// Steps of one run at most: about 2 ms where nothing is mapped.
const MAX_STEPS: i32 = 8192;

/// Bits of the address that an entry of a level maps: 12 for a page, 21 for 2 MiB, 30 for 1 GiB, and so on.
pub(crate) type EntryShift = u8;
/// Entries of this level and of the one above may map memory by themselves.
pub(crate) const PMD_SHIFT: EntryShift = 21;
const PUD_SHIFT: EntryShift = 30;
const FOUR_LEVELS: [EntryShift; 3] = [39, PUD_SHIFT, PMD_SHIFT];
const FIVE_LEVELS: [EntryShift; 4] = [48, 39, PUD_SHIFT, PMD_SHIFT];

const PRESENT: i32 = 1;
/// The entry maps memory itself instead of leading to a table.
const LEAF: i32 = 1 << 7;
/// Set without `PRESENT`: mapped, and no access is allowed.
const NO_ACCESS: i32 = 1 << 8;

const PROBE_READ_KERNEL: i32 = 113;
const LOOP: i32 = 181;
const FRAME: i16 = -8;

/// What the program needs to know of the running kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KernelLayout {
    /// Type id of `bpf_task_from_pid`.
    pub(crate) task_from_pid: u32,
    /// Type id of `bpf_task_release`.
    pub(crate) task_release: u32,
    /// Where `mm` lies in `task_struct`, in bytes.
    pub(crate) task_mm: u32,
    /// Where `pgd` lies in `mm_struct`, in bytes.
    pub(crate) mm_pgd: u32,
    /// Whether page tables have five levels.
    pub(crate) five_levels: bool,
}

impl KernelLayout {
    fn levels(&self) -> &'static [EntryShift] {
        if self.five_levels {
            &FIVE_LEVELS
        } else {
            &FOUR_LEVELS
        }
    }

    /// The address after the last one that a process can have.
    pub(crate) fn end_of_addresses(&self) -> u64 {
        if self.five_levels { 1 << 56 } else { 1 << 47 }
    }
}

/// The program, and the instruction at which its second function begins.
pub(crate) fn walk_program(layout: &KernelLayout, map_fd: i32) -> Option<(Vec<Insn>, u32)> {
    let mut code = Assembler::default();
    let step = code.label();
    write_walk(&mut code, layout, map_fd, step);
    let step_at = code.len() as u32;
    code.place(step);
    write_step(&mut code, layout, map_fd);
    Some((code.finish()?, step_at))
}

/// Finds the highest table of the process, then takes steps.
fn write_walk(code: &mut Assembler, layout: &KernelLayout, map_fd: i32, step: Label) {
    let (no_task, no_memory) = (code.label(), code.label());
    code.map_value(Reg::R6, map_fd, 0);
    code.load(Reg::R1, Reg::R6, word::PID);
    code.call_kernel(layout.task_from_pid);
    code.jump_if(Reg::R0, Test::Equal, 0, no_task);
    code.mov(Reg::R7, Reg::R0);
    write_read(code, Reg::R7, layout.task_mm);
    code.mov(Reg::R1, Reg::R7);
    code.call_kernel(layout.task_release);
    code.load(Reg::R8, Reg::R10, FRAME);
    code.jump_if(Reg::R8, Test::Equal, 0, no_memory);
    write_read(code, Reg::R8, layout.mm_pgd);
    code.jump_if(Reg::R0, Test::NotEqual, 0, no_memory);
    code.load(Reg::R1, Reg::R10, FRAME);
    code.store(Reg::R6, word::TOP, Reg::R1);
    code.mov_number(Reg::R1, MAX_STEPS);
    code.function(Reg::R2, step);
    code.mov_number(Reg::R3, 0);
    code.mov_number(Reg::R4, 0);
    code.call_helper(LOOP);
    code.mov_number(Reg::R0, DONE.cast_signed());
    code.exit();
    for (label, outcome) in [(no_task, NO_TASK), (no_memory, NO_MEMORY)] {
        code.place(label);
        code.mov_number(Reg::R0, outcome.cast_signed());
        code.exit();
    }
}

/// Reads the word at `base + offset` into the frame; `R0` is not 0 if it cannot be read.
fn write_read(code: &mut Assembler, base: Reg, offset_bytes: u32) {
    code.mov(Reg::R3, base);
    code.add_number(Reg::R3, offset_bytes.cast_signed());
    code.mov(Reg::R1, Reg::R10);
    code.add_number(Reg::R1, i32::from(FRAME));
    code.mov_number(Reg::R2, 8);
    code.call_helper(PROBE_READ_KERNEL);
}

/// One step: from the highest table down to what the cursor points at. Returns 1 to end the run.
///
/// `R6` is the shared memory, `R7` the cursor, `R8` the table, `R9` its entry.
fn write_step(code: &mut Assembler, layout: &KernelLayout, map_fd: i32) {
    let stop = code.label();
    code.map_value(Reg::R6, map_fd, 0);
    code.load(Reg::R7, Reg::R6, word::CURSOR);
    code.load(Reg::R1, Reg::R6, word::END);
    code.jump_if_register(Reg::R7, Test::AtLeast, Reg::R1, stop);
    code.load(Reg::R8, Reg::R6, word::TOP);
    for shift in layout.levels() {
        write_descent(code, *shift, stop);
    }
    write_copy(code, stop);
    code.place(stop);
    code.mov_number(Reg::R0, 1);
    code.exit();
}

/// Reads the entry for the cursor in the table `R8`, and makes `R8` the table that it leads to. An entry that leads
/// nowhere or maps memory itself ends the step.
fn write_descent(code: &mut Assembler, shift: EntryShift, stop: Label) {
    let (hole, mapped, table, down) = (code.label(), code.label(), code.label(), code.label());
    code.mov(Reg::R3, Reg::R7);
    code.shift_right(Reg::R3, shift);
    code.and_number(Reg::R3, TABLE_ENTRIES as i32 - 1);
    code.shift_left(Reg::R3, 3);
    code.add(Reg::R8, Reg::R3);
    write_read(code, Reg::R8, 0);
    code.jump_if(Reg::R0, Test::NotEqual, 0, hole);
    code.load(Reg::R9, Reg::R10, FRAME);
    code.jump_if(Reg::R9, Test::AnyBitOf, PRESENT | NO_ACCESS, mapped);
    code.place(hole);
    write_advance(code, shift);
    code.place(mapped);
    if shift <= PUD_SHIFT {
        code.jump_if(Reg::R9, Test::AnyBitOf, LEAF, table);
        code.jump_if(Reg::R9, Test::AnyBitOf, PRESENT, down);
        code.jump(hole);
        code.place(table);
        write_record(code, shift, stop);
        write_advance(code, shift);
    } else {
        code.jump_if(Reg::R9, Test::AnyBitOf, PRESENT, down);
        code.jump(hole);
        code.place(table);
    }
    code.place(down);
    code.load(Reg::R8, Reg::R6, word::ADDRESS_MASK);
    code.and(Reg::R8, Reg::R9);
    code.load(Reg::R1, Reg::R6, word::DIRECT_MAP);
    code.add(Reg::R8, Reg::R1);
}

/// Copies the table `R8` of the lowest level and ends the step.
fn write_copy(code: &mut Assembler, stop: Label) {
    let unreadable = code.label();
    code.load(Reg::R4, Reg::R6, word::RECORDS);
    code.jump_if(Reg::R4, Test::AtLeast, MAX_RECORDS as i32, stop);
    code.load(Reg::R4, Reg::R6, word::TABLES);
    code.jump_if(Reg::R4, Test::AtLeast, MAX_TABLES as i32, stop);
    code.shift_left(Reg::R4, TABLE_SHIFT);
    code.mov(Reg::R1, Reg::R6);
    code.add(Reg::R1, Reg::R4);
    code.add_number(Reg::R1, TABLES_AT as i32);
    code.mov_number(Reg::R2, 1 << TABLE_SHIFT);
    code.mov(Reg::R3, Reg::R8);
    code.call_helper(PROBE_READ_KERNEL);
    code.jump_if(Reg::R0, Test::NotEqual, 0, unreadable);
    code.load(Reg::R1, Reg::R6, word::TABLES);
    code.add_number(Reg::R1, 1);
    code.store(Reg::R6, word::TABLES, Reg::R1);
    write_record(code, TABLE_SHIFT, stop);
    code.place(unreadable);
    write_advance(code, PMD_SHIFT);
}

/// Notes cursor, shift and entry; stops the run where there is no room.
fn write_record(code: &mut Assembler, shift: EntryShift, stop: Label) {
    code.load(Reg::R1, Reg::R6, word::RECORDS);
    code.jump_if(Reg::R1, Test::AtLeast, MAX_RECORDS as i32, stop);
    code.mov(Reg::R2, Reg::R1);
    code.add_number(Reg::R2, 1);
    code.store(Reg::R6, word::RECORDS, Reg::R2);
    code.shift_left(Reg::R1, RECORD_SHIFT);
    code.mov(Reg::R2, Reg::R6);
    code.add(Reg::R2, Reg::R1);
    code.mov(Reg::R1, Reg::R7);
    code.shift_right(Reg::R1, PMD_SHIFT);
    code.shift_left(Reg::R1, PMD_SHIFT);
    code.add_number(Reg::R1, i32::from(shift));
    code.store(Reg::R2, RECORDS_AT as i16, Reg::R1);
    code.store(Reg::R2, RECORDS_AT as i16 + 8, Reg::R9);
}

/// Moves the cursor behind what the entry of a level maps, and ends the step.
fn write_advance(code: &mut Assembler, shift: EntryShift) {
    code.shift_right(Reg::R7, shift);
    code.add_number(Reg::R7, 1);
    code.shift_left(Reg::R7, shift);
    code.store(Reg::R6, word::CURSOR, Reg::R7);
    code.mov_number(Reg::R0, 0);
    code.exit();
}
