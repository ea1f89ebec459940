//! Turns a protobuf descriptor set into Rust types: `gen-rust DESCRIPTORS OUT_DIR` (called by contract/gen_proto.py).

use std::error::Error;
use std::path::PathBuf;

use prost::Message;
use prost_types::FileDescriptorSet;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(descriptors), Some(out_dir)) = (arguments.next(), arguments.next()) else {
        return Err("usage: gen-rust DESCRIPTORS OUT_DIR".into());
    };
    let set = FileDescriptorSet::decode(std::fs::read(descriptors)?.as_slice())?;
    prost_build::Config::new()
        .out_dir(out_dir)
        .compile_fds(set)?;
    Ok(())
}
