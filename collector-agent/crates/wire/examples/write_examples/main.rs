//! Writes contract/examples/batch: `cargo run -p tierscope-wire --example write_examples`.
//!
//! `<name>.pb` is the protobuf message, `<name>.json` says what a reader must find in it, and `body.pb.zst` is
//! the counters example as the body of an upload.

mod payloads;
mod view;

use std::error::Error;
use std::fs;
use std::path::Path;

use tierscope_opened::open_inflated;
use tierscope_wire::{Sealer, inflate};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../contract/examples/batch");
    fs::create_dir_all(&directory)?;
    for (name, header, content) in payloads::all() {
        let sealed = Sealer::default().seal(content, &header)?;
        let message = inflate(&sealed[0].body)?;
        let opened = open_inflated(&message, &[])?;
        let mut text = serde_json::to_string_pretty(&view::batch(&opened))?;
        text.push('\n');
        fs::write(directory.join(format!("{name}.pb")), &message)?;
        fs::write(directory.join(format!("{name}.json")), text)?;
        if name == "counters" {
            fs::write(directory.join("body.pb.zst"), &sealed[0].body)?;
        }
    }
    Ok(())
}
