//! An assembler for the few BPF instructions that are used here.

/// A register. `R0` returns, `R1` to `R5` pass arguments and are lost by calls, `R10` is the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reg {
    R0 = 0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    R10,
}

/// One instruction as the kernel takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(crate) struct Insn {
    code: u8,
    /// Destination in the lower half, source in the upper one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A place in the program that jumps lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// How two numbers are compared by a jump; unsigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Test {
    Equal = 0x10,
    AtLeast = 0x30,
    AnyBitOf = 0x40,
    NotEqual = 0x50,
}

const LOAD_64: u8 = 0x79;
const STORE_64: u8 = 0x7b;
const LOAD_IMMEDIATE_64: u8 = 0x18;
const ALU_64: u8 = 0x07;
const JUMP: u8 = 0x05;
const FROM_REGISTER: u8 = 0x08;
const ADD: u8 = 0x00;
const AND: u8 = 0x50;
const SHIFT_LEFT: u8 = 0x60;
const SHIFT_RIGHT: u8 = 0x70;
const MOVE: u8 = 0xb0;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// Source of a wide load: the address of a value of the map whose descriptor follows.
const MAP_VALUE: u8 = 2;
/// Source of a wide load: the address of a function of this program.
const FUNCTION: u8 = 4;
/// Source of a call: a function of the kernel, by its type id.
const KERNEL_FUNCTION: u8 = 2;

/// A program in the making.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<Insn>,
    /// Where each label is.
    places: Vec<Option<usize>>,
    /// Jumps by instruction, and where they lead.
    jumps: Vec<(usize, Label)>,
    /// Wide loads of functions, and which.
    functions: Vec<(usize, Label)>,
}

impl Assembler {
    /// A label without a place yet.
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Puts a label before the next instruction.
    pub(crate) fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.code.len());
    }

    /// Number of instructions so far.
    pub(crate) fn len(&self) -> usize {
        self.code.len()
    }

    pub(crate) fn mov(&mut self, to: Reg, from: Reg) {
        self.push(ALU_64 | FROM_REGISTER | MOVE, to as u8, from as u8, 0, 0);
    }

    pub(crate) fn mov_number(&mut self, to: Reg, number: i32) {
        self.push(ALU_64 | MOVE, to as u8, 0, 0, number);
    }

    pub(crate) fn add(&mut self, to: Reg, from: Reg) {
        self.push(ALU_64 | FROM_REGISTER | ADD, to as u8, from as u8, 0, 0);
    }

    pub(crate) fn add_number(&mut self, to: Reg, number: i32) {
        self.push(ALU_64 | ADD, to as u8, 0, 0, number);
    }

    pub(crate) fn and(&mut self, to: Reg, from: Reg) {
        self.push(ALU_64 | FROM_REGISTER | AND, to as u8, from as u8, 0, 0);
    }

    pub(crate) fn and_number(&mut self, to: Reg, number: i32) {
        self.push(ALU_64 | AND, to as u8, 0, 0, number);
    }

    pub(crate) fn shift_left(&mut self, to: Reg, bits: u8) {
        self.push(ALU_64 | SHIFT_LEFT, to as u8, 0, 0, i32::from(bits));
    }

    pub(crate) fn shift_right(&mut self, to: Reg, bits: u8) {
        self.push(ALU_64 | SHIFT_RIGHT, to as u8, 0, 0, i32::from(bits));
    }

    /// The 64-bit word at `base + offset`.
    pub(crate) fn load(&mut self, to: Reg, base: Reg, offset: i16) {
        self.push(LOAD_64, to as u8, base as u8, offset, 0);
    }

    /// Writes a 64-bit word to `base + offset`.
    pub(crate) fn store(&mut self, base: Reg, offset: i16, from: Reg) {
        self.push(STORE_64, base as u8, from as u8, offset, 0);
    }

    /// The address of byte `offset` of the only value of a map.
    pub(crate) fn map_value(&mut self, to: Reg, map_fd: i32, offset: i32) {
        self.push(LOAD_IMMEDIATE_64, to as u8, MAP_VALUE, 0, map_fd);
        self.push(0, 0, 0, 0, offset);
    }

    /// The address of a function of this program.
    pub(crate) fn function(&mut self, to: Reg, function: Label) {
        self.functions.push((self.code.len(), function));
        self.push(LOAD_IMMEDIATE_64, to as u8, FUNCTION, 0, 0);
        self.push(0, 0, 0, 0, 0);
    }

    pub(crate) fn jump(&mut self, target: Label) {
        self.jumps.push((self.code.len(), target));
        self.push(JUMP, 0, 0, 0, 0);
    }

    pub(crate) fn jump_if(&mut self, left: Reg, test: Test, right: i32, target: Label) {
        self.jumps.push((self.code.len(), target));
        self.push(JUMP | test as u8, left as u8, 0, 0, right);
    }

    pub(crate) fn jump_if_register(&mut self, left: Reg, test: Test, right: Reg, target: Label) {
        self.jumps.push((self.code.len(), target));
        self.push(JUMP | FROM_REGISTER | test as u8, left as u8, right as u8, 0, 0);
    }

    /// Calls a helper by its number in `bpf.h`.
    pub(crate) fn call_helper(&mut self, helper: i32) {
        self.push(CALL, 0, 0, 0, helper);
    }

    pub(crate) fn call_kernel(&mut self, type_id: u32) {
        self.push(CALL, 0, KERNEL_FUNCTION, 0, type_id.cast_signed());
    }

    pub(crate) fn exit(&mut self) {
        self.push(EXIT, 0, 0, 0, 0);
    }

    /// The program, with all jumps resolved. `None` if a label has no place or is too far away.
    pub(crate) fn finish(mut self) -> Option<Vec<Insn>> {
        for (at, label) in &self.jumps {
            let distance = self.places[label.0]? as i64 - *at as i64 - 1;
            self.code[*at].offset = i16::try_from(distance).ok()?;
        }
        for (at, label) in &self.functions {
            let distance = self.places[label.0]? as i64 - *at as i64 - 1;
            self.code[*at].immediate = i32::try_from(distance).ok()?;
        }
        Some(self.code)
    }

    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        self.code.push(Insn {
            code,
            registers: from << 4 | to,
            offset,
            immediate,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as the kernel documentation and other assemblers print them.
    fn bytes(code: &[Insn]) -> Vec<u64> {
        let word = |insn: &Insn| {
            u64::from(insn.code)
                | u64::from(insn.registers) << 8
                | u64::from(insn.offset.cast_unsigned()) << 16
                | u64::from(insn.immediate.cast_unsigned()) << 32
        };
        code.iter().map(word).collect()
    }

    #[test]
    fn instructions_have_the_encoding_of_the_standard() {
        let mut code = Assembler::default();
        code.mov(Reg::R6, Reg::R1);
        code.mov_number(Reg::R0, -1);
        code.add_number(Reg::R1, -8);
        code.add(Reg::R3, Reg::R8);
        code.and(Reg::R9, Reg::R2);
        code.and_number(Reg::R3, 511);
        code.shift_left(Reg::R3, 3);
        code.shift_right(Reg::R3, 39);
        code.load(Reg::R9, Reg::R10, -8);
        code.store(Reg::R6, 16, Reg::R7);
        code.map_value(Reg::R6, 5, 4096);
        code.call_helper(113);
        code.call_kernel(0x1234);
        code.exit();
        let expected = [
            0x0000_0000_0000_16bf,
            0xffff_ffff_0000_00b7,
            0xffff_fff8_0000_0107,
            0x0000_0000_0000_830f,
            0x0000_0000_0000_295f,
            0x0000_01ff_0000_0357,
            0x0000_0003_0000_0367,
            0x0000_0027_0000_0377,
            0x0000_0000_fff8_a979,
            0x0000_0000_0010_767b,
            0x0000_0005_0000_2618,
            0x0000_1000_0000_0000,
            0x0000_0071_0000_0085,
            0x0000_1234_0000_2085,
            0x0000_0000_0000_0095,
        ];
        assert_eq!(bytes(&code.finish().unwrap_or_default()), expected);
    }

    #[test]
    fn jumps_count_from_the_next_instruction() {
        let mut code = Assembler::default();
        let (back, ahead, function) = (code.label(), code.label(), code.label());
        code.place(back);
        code.jump_if(Reg::R1, Test::AtLeast, 7, ahead);
        code.jump_if_register(Reg::R1, Test::Equal, Reg::R2, back);
        code.function(Reg::R2, function);
        code.jump(back);
        code.place(ahead);
        code.exit();
        code.place(function);
        code.exit();
        let expected = [
            0x0000_0007_0004_0135,
            0x0000_0000_fffe_211d,
            0x0000_0003_0000_4218,
            0x0000_0000_0000_0000,
            0x0000_0000_fffb_0005,
            0x0000_0000_0000_0095,
            0x0000_0000_0000_0095,
        ];
        assert_eq!(bytes(&code.finish().unwrap_or_default()), expected);
    }

    #[test]
    fn a_label_without_a_place_is_no_program() {
        let mut code = Assembler::default();
        let nowhere = code.label();
        code.jump(nowhere);
        assert_eq!(code.finish(), None);
    }
}
