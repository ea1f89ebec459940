//! What it takes to run a small program in the kernel: instructions, type information, and the calls of `bpf(2)`.
//!
//! The program is assembled here from instructions, so that neither a compiler nor an object file is needed at run time
//! or at build time. Encodings: the kernel's `Documentation/bpf/standardization/instruction-set.rst` and `btf.rst`.

pub mod btf;
pub(crate) mod insn;
pub(crate) mod program;
pub(crate) mod sys;
