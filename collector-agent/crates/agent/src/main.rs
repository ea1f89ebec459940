//! The `tierscope-agent` binary.

fn main() {}
